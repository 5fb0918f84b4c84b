//! Jobs in child processes, so that a cell that hangs or dies stops no other cell.
//!
//! A child is this program again, started with the command `worker`. It reads one job per line from its standard
//! input and writes one event per line to its standard output. Only the process that started it writes to the
//! ledger. If a child dies, or a cell takes too long, that cell fails, and a new child gets the rest of the job.

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{self, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use super::job::{Emit, Job, JobEvent, RunContext, Stop, blank, run_job, timestamp};
use super::thread_pool;
use crate::data::Store;
use crate::error::Error;
use crate::plan::{Part, Prepared, prepare};
use crate::spec::{Experiment, Spec};

/// How to run cells in child processes.
#[derive(Clone, Debug)]
pub struct Isolation {
    /// This program.
    pub program: PathBuf,
    /// The folder of `--data`.
    pub data: Option<PathBuf>,
    /// Longest time a cell may take.
    pub timeout: Option<Duration>,
    /// Longest time until a cell begins, in which a child process loads the data.
    pub loading: Duration,
}

impl Isolation {
    /// Loading is a matter of seconds or minutes: files have been downloaded, and images encoded, before.
    pub const LOADING: Duration = Duration::from_secs(3600);
}

/// A line that a child writes: what happens to the current cell, or why it cannot begin.
type Answer = Result<JobEvent, String>;

/// Has a child process run jobs. The first job starts it, and the next one after it died.
pub(super) struct Worker<'a> {
    pub prepared: &'a Prepared,
    pub isolation: &'a Isolation,
    pub context: &'a RunContext,
    pub child: Option<Child>,
}

impl Worker<'_> {
    /// Does the same as [`run_job`].
    pub fn run_job(&mut self, job: &Job, emit: Emit<'_>) -> Result<(), Stop> {
        let mut left = job.clone();
        while !left.cells.is_empty() {
            self.send(&mut left, emit)?;
        }
        Ok(())
    }

    /// Sends a job to the child and removes the cells that end from it, up to the first that the child loses.
    fn send(&mut self, left: &mut Job, emit: Emit<'_>) -> Result<(), Stop> {
        let mut child = match self.child.take() {
            Some(child) => child,
            None => self.start().map_err(|error| {
                Error::failed(format!("failed to start a worker process: {error}"))
            })?,
        };
        // A child that cannot read the job is found dead below.
        let _ = write_line(&mut child.input, left);
        let Isolation { timeout, loading, .. } = *self.isolation;
        let loaded_by = || Instant::now().checked_add(loading);
        let (mut deadline, mut is_loading) = (loaded_by(), true);
        let mut begun = SystemTime::now();
        let reason = loop {
            let Some(cell) = left.cells.first() else {
                self.child = Some(child);
                return Ok(());
            };
            let wait = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            match child.answers.recv_timeout(wait.unwrap_or(Duration::MAX)) {
                Ok(Ok(event)) => {
                    let is_done = matches!(event, JobEvent::Done { .. });
                    if matches!(event, JobEvent::Started) {
                        begun = SystemTime::now();
                        deadline = timeout.and_then(|limit| Instant::now().checked_add(limit));
                        is_loading = false;
                    }
                    emit(cell, event)?;
                    if is_done {
                        left.cells.remove(0);
                        (deadline, is_loading) = (loaded_by(), true);
                    }
                }
                Ok(Err(reason)) => break reason,
                Err(RecvTimeoutError::Disconnected) => {
                    break format!("its worker process {}", ending(child.end()));
                }
                Err(RecvTimeoutError::Timeout) if is_loading => {
                    let limit = humantime::format_duration(loading);
                    break format!(
                        "did not begin within {limit}, and its worker process was stopped"
                    );
                }
                Err(RecvTimeoutError::Timeout) => {
                    let limit = humantime::format_duration(timeout.unwrap_or_default());
                    break format!("took longer than --cell-timeout {limit} and was stopped");
                }
            }
        };
        let cell = left.cells.remove(0);
        let mut record = blank(self.prepared, &cell, self.context);
        record.started = timestamp(begun);
        record.error = Some(reason);
        emit(&cell, JobEvent::Lost(Box::new(record)))
    }

    fn start(&self) -> io::Result<Child> {
        let mut process = Command::new(&self.isolation.program)
            .arg("worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut input = process.stdin.take().expect("standard input is a pipe");
        let output = process.stdout.take().expect("standard output is a pipe");
        let _ = write_line(
            &mut input,
            &(&self.prepared.plan.experiment, self.context, &self.isolation.data),
        );
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            let mut answers = lines.map_while(|line| serde_json::from_str(&line).ok());
            answers.all(|answer| sender.send(answer).is_ok())
        });
        Ok(Child { process, input, answers })
    }
}

/// A running child process. It ends when this is dropped.
pub(super) struct Child {
    process: process::Child,
    input: ChildStdin,
    answers: Receiver<Answer>,
}

impl Child {
    /// Ends the process, if it has not ended by itself, and gives its status.
    fn end(&mut self) -> Option<ExitStatus> {
        // A process that died by itself keeps its own status.
        let _ = self.process.kill();
        self.process.wait().ok()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

fn write_line(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// The end of a sentence about a process.
fn ending(status: Option<ExitStatus>) -> String {
    #[cfg(unix)]
    if let Some(signal) = status.and_then(|s| std::os::unix::process::ExitStatusExt::signal(&s)) {
        let meaning = match signal {
            6 => " (aborted, for example because memory or stack ran out)",
            9 => " (killed, for example because memory ran out)",
            11 => " (segmentation fault)",
            _ => "",
        };
        return format!("was ended by signal {signal}{meaning}");
    }
    match status.and_then(|status| status.code()) {
        Some(code) => format!("ended with code {code}"),
        None => "ended".into(),
    }
}

/// The child process: runs the jobs of standard input until it ends.
pub fn serve() -> io::Result<()> {
    let lines = listen();
    let Ok(first) = lines.recv() else {
        return Ok(());
    };
    let (experiment, context, data): (Experiment, RunContext, Option<PathBuf>) =
        serde_json::from_str(&first)?;
    // The process that started this one has downloaded everything.
    let store = Store::new(data, true).on_device(&context.device);
    let pool = thread_pool(context.threads).map_err(io::Error::other)?;
    pool.install(|| {
        // One dataset is held at a time.
        let mut held: Option<(usize, Prepared)> = None;
        for line in lines {
            let mut job: Job = serde_json::from_str(&line)?;
            let known = held.take().filter(|(dataset, _)| *dataset == job.dataset);
            let loaded = match known {
                Some((_, prepared)) => Ok(prepared),
                None => load(&experiment, job.dataset, &store),
            };
            // The process that started this one starts another one after an error.
            let prepared = match loaded.and_then(|prepared| check(prepared, &mut job)) {
                Ok(prepared) => prepared,
                Err(reason) => return answer(Err(reason)),
            };
            let emit = |_: &_, event| answer(Ok(event)).map_err(|_| Stop::Asked);
            if run_job(&prepared, &job, &context, &emit).is_err() {
                return Ok(());
            }
            held = Some((job.dataset, prepared));
        }
        Ok(())
    })
}

/// Lines of standard input. Its end means that the process that started this one is gone, so nobody needs the
/// running cell.
fn listen() -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut lines = io::stdin().lock().lines().map_while(Result::ok);
        if lines.all(|line| sender.send(line).is_ok()) {
            std::process::exit(0);
        }
    });
    receiver
}

/// The experiment with one of its datasets only.
fn load(experiment: &Experiment, dataset: usize, store: &Store) -> Result<Prepared, String> {
    let mut experiment = experiment.clone();
    let spec = experiment.datasets.get(dataset).cloned();
    experiment.datasets = vec![spec.ok_or("there is no such dataset")?];
    let prepared = prepare(&Spec::of(experiment)?, store, &[], &Part::default(), &|_| ());
    prepared.map_err(|error| error.to_string())
}

/// Makes sure that the cells of a job are in this process's plan, which has one dataset only.
fn check(prepared: Prepared, job: &mut Job) -> Result<Prepared, String> {
    if prepared.sources[0].is_err() {
        return Err("the data is no longer on this machine".to_owned());
    }
    job.cells.iter_mut().for_each(|cell| cell.dataset = 0);
    match job.cells.iter().all(|cell| prepared.plan.cells.contains(cell)) {
        true => Ok(prepared),
        false => Err("the data changed during the run; run the same command again".to_owned()),
    }
}

fn answer(answer: Answer) -> io::Result<()> {
    write_line(&mut io::stdout().lock(), &answer)
}
