//! The child process: reads jobs and runs them.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};

use super::job::{Job, RunContext, Stop, run_job};
use super::worker::Answer;
use super::{Prepared, prepare, thread_pool};
use crate::data::Store;
use crate::spec::{Experiment, Spec};

/// Runs jobs until standard input ends.
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
            let is_held = |(dataset, _): &(usize, Prepared)| *dataset == job.dataset;
            let loaded = match held.take().filter(is_held) {
                Some((_, prepared)) => Ok(prepared),
                None => load(&experiment, job.dataset, &store),
            };
            let ready = loaded.and_then(|prepared| {
                use_plan(&prepared, &mut job)?;
                Ok(prepared)
            });
            match ready {
                Err(reason) => answer(&Err(reason))?,
                Ok(prepared) => {
                    let emit =
                        |_: &_, event| answer(&Ok(event)).map_err(|_: io::Error| Stop::Asked);
                    if run_job(&prepared, &job, &context, &emit).is_err() {
                        return Ok(());
                    }
                    held = Some((job.dataset, prepared));
                }
            }
        }
        Ok(())
    })
}

/// Lines of standard input. Its end means that the process that started this one is gone, so nobody needs the cell in
/// flight.
fn listen() -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
        std::process::exit(0);
    });
    receiver
}

/// The experiment with one of its datasets only.
fn load(experiment: &Experiment, dataset: usize, store: &Store) -> Result<Prepared, String> {
    let mut experiment = experiment.clone();
    let spec = experiment.datasets.get(dataset).cloned();
    experiment.datasets = vec![spec.ok_or("there is no such dataset")?];
    prepare(&Spec::of(experiment)?, store, &[], &|_| ()).map_err(|error| error.to_string())
}

/// Replaces the cells of a job by those of this process's plan, which has one dataset only.
fn use_plan(prepared: &Prepared, job: &mut Job) -> Result<(), String> {
    if prepared.sources[0].is_none() {
        return Err("the data is no longer on this machine".to_owned());
    }
    for cell in &mut job.cells {
        let mut planned = prepared.plan.cells.iter();
        let found = planned.find(|planned| planned.cell == cell.cell);
        *cell = found
            .cloned()
            .ok_or("the data changed while the run was going on; run the same command again")?;
    }
    Ok(())
}

fn answer(answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    let mut output = io::stdout().lock();
    output.write_all(&line)?;
    output.flush()
}
