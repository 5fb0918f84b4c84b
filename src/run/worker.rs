//! Cells in processes of their own, so that one that hangs or dies takes nothing with it.
//!
//! A worker is this program again, started with the command `worker`. It reads one JSON request per
//! line from its standard input, a cell each, and answers on its standard output. Only the process
//! that started it writes to the ledger. A worker that dies, or works on a cell for too long and is
//! killed, fails that cell; the next cell starts a new one.

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::beside::Beside;
use super::cell::Circumstances;
use crate::event::Epochs;
use crate::ledger::{Embedding, Record, Selection};
use crate::spec::Experiment;

/// How to run cells in processes of their own.
#[derive(Clone, Debug)]
pub struct Isolation {
    /// This program.
    pub program: PathBuf,
    /// The folder of `--data`.
    pub data: Option<PathBuf>,
    /// Longest time a cell may take.
    pub timeout: Option<Duration>,
}

/// The first line a worker reads.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    pub experiment: Experiment,
    pub circumstances: Circumstances,
    pub data: Option<PathBuf>,
}

/// Every other line it reads: a cell, by its place in the experiment.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub cell: String,
    pub dataset: usize,
    pub method: usize,
    pub split: usize,
    /// A choice of parameters made once per dataset, where it is known.
    pub selection: Option<Selection>,
}

/// What it writes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The data is loaded and the cell begins: from now on its time counts.
    Started,
    /// The network under training ended an epoch.
    Epoch(Epochs),
    /// The cell ended, well or not.
    Ended(Box<Done>),
    /// The cell cannot be started.
    Refused(String),
}

/// A cell that ended, and the files next to its record.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Done {
    pub record: Record,
    /// One line of JSON per iteration.
    pub trace: String,
    pub embedding: Option<Embedding>,
}

impl Done {
    pub fn new(record: Record, beside: Beside) -> Self {
        let line = |row| serde_json::to_string(row).expect("a row is numbers") + "\n";
        Self { record, trace: beside.trace.iter().map(line).collect(), embedding: beside.embedding }
    }
}

/// Why a cell has no record of its own.
#[derive(Debug)]
pub(super) enum Loss {
    /// No process could be started.
    NoWorker(io::Error),
    /// The cell failed, for this reason.
    Failed(String),
}

/// A process that runs cells; started when the first comes, and again after it died.
pub(super) struct Worker<'a> {
    isolation: &'a Isolation,
    setup: &'a Setup,
    running: Option<Running>,
}

struct Running {
    process: Child,
    requests: ChildStdin,
    answers: Receiver<Answer>,
}

impl<'a> Worker<'a> {
    pub fn new(isolation: &'a Isolation, setup: &'a Setup) -> Self {
        Self { isolation, setup, running: None }
    }

    /// What networks are trained on there.
    pub fn device(&self) -> &str {
        &self.setup.circumstances.device
    }

    /// Has one cell run.
    pub fn run(&mut self, request: &Request, on_epoch: &dyn Fn(Epochs)) -> Result<Done, Loss> {
        let timeout = self.isolation.timeout;
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        match running.ask(request, timeout, on_epoch) {
            Ok(answer) => {
                self.running = Some(running);
                Ok(answer)
            }
            Err(end) => {
                let status = running.stop();
                Err(Loss::Failed(match (end, timeout) {
                    (End::Refused(reason), _) => reason,
                    (End::TooLong, Some(limit)) => format!(
                        "took longer than --cell-timeout {} and was stopped",
                        humantime::format_duration(limit)
                    ),
                    _ => format!("its worker process {}", ending(status)),
                }))
            }
        }
    }

    fn start(&self) -> Result<Running, Loss> {
        let start = || {
            let mut process = Command::new(&self.isolation.program)
                .arg("worker")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let (Some(requests), Some(answers)) = (process.stdin.take(), process.stdout.take())
            else {
                return Err(io::Error::other("a worker process without pipes"));
            };
            let (sender, receiver) = channel();
            std::thread::spawn(move || {
                for line in BufReader::new(answers).lines().map_while(Result::ok) {
                    let Ok(answer) = serde_json::from_str(&line) else {
                        break;
                    };
                    if sender.send(answer).is_err() {
                        break;
                    }
                }
            });
            Ok(Running { process, requests, answers: receiver })
        };
        let mut running = start().map_err(Loss::NoWorker)?;
        // A worker that cannot even read this is found dead at the first request.
        let _ = running.send(self.setup);
        Ok(running)
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop();
        }
    }
}

/// Why no record came.
enum End {
    Refused(String),
    TooLong,
    Died,
}

impl Running {
    fn ask(
        &mut self,
        request: &Request,
        limit: Option<Duration>,
        on_epoch: &dyn Fn(Epochs),
    ) -> Result<Done, End> {
        self.send(request).map_err(|_| End::Died)?;
        let mut deadline = None;
        loop {
            let answer = match deadline {
                Some(end) => (self.answers)
                    .recv_timeout(Instant::saturating_duration_since(&end, Instant::now())),
                None => (self.answers.recv()).map_err(|_| RecvTimeoutError::Disconnected),
            };
            match answer {
                Ok(Answer::Started) => deadline = limit.map(|limit| Instant::now() + limit),
                Ok(Answer::Epoch(epochs)) => on_epoch(epochs),
                Ok(Answer::Ended(done)) => return Ok(*done),
                Ok(Answer::Refused(reason)) => return Err(End::Refused(reason)),
                Err(RecvTimeoutError::Timeout) => return Err(End::TooLong),
                Err(RecvTimeoutError::Disconnected) => return Err(End::Died),
            }
        }
    }

    fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.requests.write_all(&line)?;
        self.requests.flush()
    }

    /// Ends the process, if it has not ended by itself, and tells how it did.
    fn stop(mut self) -> Option<ExitStatus> {
        // It has closed its output or been given up, so there is nothing to wait for but its end;
        // one that died by itself keeps its own status.
        let _ = self.process.kill();
        self.process.wait().ok()
    }
}

/// The end of a sentence about a process.
fn ending(status: Option<ExitStatus>) -> String {
    #[cfg(unix)]
    if let Some(signal) = status.and_then(|s| std::os::unix::process::ExitStatusExt::signal(&s)) {
        let meaning = match signal {
            6 => " (it gave up, as when memory or stack run out)",
            9 => " (killed, as systems do when memory runs out)",
            11 => " (a wrong memory access)",
            _ => "",
        };
        return format!("was ended by signal {signal}{meaning}");
    }
    match status.and_then(|status| status.code()) {
        Some(code) => format!("ended with code {code}"),
        None => "ended".into(),
    }
}
