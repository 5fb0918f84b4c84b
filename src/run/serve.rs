//! The other end of a worker's pipes: cells in, records out.
//!
//! One dataset is held at a time, and one split's kernel matrices, as in a run without workers.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, OnceLock};

use super::cell::{Bench, Choices};
use super::peak::mebibytes;
use super::worker::{Answer, Done, Request, Setup};
use super::{Prepared, prepare};
use crate::data::Store;
use crate::memory;
use crate::spec::Spec;

/// Answers requests until standard input ends.
pub fn serve() -> io::Result<()> {
    let requests = listen();
    let Ok(first) = requests.recv() else {
        return Ok(());
    };
    let setup: Setup = serde_json::from_str(&first)?;
    let threads = setup.circumstances.threads;
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(io::Error::other)?;
    let server = Server { setup, requests, choices: Choices::default() };
    pool.install(move || server.work())
}

/// Lines of standard input. Its end means that whoever started this process is gone, and then there is
/// no one to finish the cell for.
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

struct Server {
    setup: Setup,
    requests: Receiver<String>,
    choices: Choices,
}

impl Server {
    fn work(&self) -> io::Result<()> {
        let mut next = self.next()?;
        while let Some(request) = next {
            let dataset = request.dataset;
            // Choices are filed under the one dataset that is held.
            self.choices.lock().unwrap_or_else(|poison| poison.into_inner()).clear();
            next = match self.prepare(dataset) {
                Ok(prepared) => self.work_dataset(&prepared, request)?,
                Err(reason) => {
                    answer(&Answer::Refused(reason))?;
                    self.next()?
                }
            };
        }
        Ok(())
    }

    fn next(&self) -> io::Result<Option<Request>> {
        match self.requests.recv() {
            Ok(line) => Ok(Some(serde_json::from_str(&line)?)),
            Err(_) => Ok(None),
        }
    }

    /// The experiment with one of its datasets only.
    fn prepare(&self, dataset: usize) -> Result<Prepared, String> {
        let mut experiment = self.setup.experiment.clone();
        let spec = experiment.datasets.get(dataset).cloned();
        experiment.datasets = vec![spec.ok_or("there is no such dataset")?];
        // Everything was downloaded by the process that asks.
        let store =
            Store::new(self.setup.data.clone(), true).on_device(&self.setup.circumstances.device);
        prepare(&Spec::of(experiment)?, &store, &[], &|_| ()).map_err(|error| error.to_string())
    }

    /// Works on requests for one dataset; gives the first that is for another.
    fn work_dataset(&self, prepared: &Prepared, first: Request) -> io::Result<Option<Request>> {
        let dataset = first.dataset;
        let mut next = Some(first);
        while let Some(request) = next {
            if request.dataset != dataset {
                return Ok(Some(request));
            }
            let source = prepared.sources.first().and_then(Option::as_ref);
            next = match source.filter(|source| request.split < source.splits.len()) {
                Some(source) => {
                    let bench = Bench::new(
                        prepared,
                        source,
                        0,
                        request.split,
                        self.setup.circumstances.threads,
                    );
                    self.work_split(prepared, &bench, request)?
                }
                None => {
                    answer(&Answer::Refused("the data is no longer on this machine".into()))?;
                    self.next()?
                }
            };
        }
        Ok(None)
    }

    /// Works on requests for one split; gives the first that is for another.
    fn work_split(
        &self,
        prepared: &Prepared,
        bench: &Bench<'_>,
        first: Request,
    ) -> io::Result<Option<Request>> {
        let (dataset, split) = (first.dataset, first.split);
        let mut next = Some(first);
        while let Some(request) = next {
            if (request.dataset, request.split) != (dataset, split) {
                return Ok(Some(request));
            }
            answer(&self.cell(prepared, bench, request)?)?;
            next = self.next()?;
        }
        Ok(None)
    }

    fn cell(&self, prepared: &Prepared, bench: &Bench<'_>, request: Request) -> io::Result<Answer> {
        let mut cells = prepared.plan.cells.iter();
        let Some(cell) = cells.find(|cell| cell.cell == request.cell) else {
            let reason = "the data changed while the run was going on; run the same command again";
            return Ok(Answer::Refused(reason.into()));
        };
        if let Some(selection) = request.selection {
            let slot = Arc::new(OnceLock::from(Ok(selection)));
            let mut choices = self.choices.lock().unwrap_or_else(|poison| poison.into_inner());
            choices.insert((cell.dataset, cell.method), slot);
        }
        answer(&Answer::Started)?;
        let is_measured = memory::reset_peak();
        let (mut record, beside) =
            bench.run(cell, &self.setup.circumstances, &self.choices, &|epochs| {
                // Whoever asked is told the end, at the latest.
                let _ = answer(&Answer::Epoch(epochs));
            });
        let peak = memory::peak().filter(|_| is_measured);
        record.peak_mb = peak.map(mebibytes);
        Ok(Answer::Ended(Box::new(Done::new(record, beside))))
    }
}

fn answer(answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    let mut output = io::stdout().lock();
    output.write_all(&line)?;
    output.flush()
}
