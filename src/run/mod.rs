//! Running an experiment: plan -> cells -> ledger. Running again resumes.

mod cell;
mod cost;
mod filter;
pub mod host;
mod prepare;
mod provenance;
mod schedule;
mod select;
mod status;

pub use cost::{Estimate, estimate, size};
pub use filter::Filter;
pub use prepare::{Candidates, PrepareError, Prepared, Source, prepare};
pub use select::Selection;
pub use status::{FolderStatus, folder_status};

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use faer::Par;

use crate::ledger::{self, Contents, Plan, Record, Status, Writer};
use crate::model::TraceRow;
use cell::{Bench, Choices, Circumstances};
use schedule::{Group, Queue};

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Results folder.
    pub out: PathBuf,
    /// Groups side by side; as many as there are cores if left out.
    pub jobs: Option<usize>,
    /// Threads per group; the cores divided by the jobs if left out.
    pub threads: Option<usize>,
    /// Memory budget in bytes; four fifths of what is available if left out.
    pub memory: Option<u64>,
    /// Only cells that [`Filter::keep`] wants.
    pub only: Vec<Filter>,
    /// Run cells again whose last record is a failure.
    pub retry_failed: bool,
    /// Stop at the first failure.
    pub fail_fast: bool,
}

/// Told of every record as it is written.
pub trait Observer: Sync {
    /// `total` cells will be worked on; `resumed` more were already in the ledger.
    fn begin(&self, total: usize, resumed: usize, work: f64);
    /// A cell ended; `work` is its share of the whole, as estimated.
    fn record(&self, record: &Record, work: f64);
    fn end(&self);
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub done: usize,
    pub failed: usize,
    pub skipped: usize,
    /// Cells left over: interrupted, or stopped by the first failure.
    pub left: usize,
    /// One sentence per line of the ledger that was passed over.
    pub warnings: Vec<String>,
}

/// What keeps a run from being carried out.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum RunError {
    #[error("failed to write to {}: {source}", .path.display())]
    #[diagnostic(help("choose a folder you can write to with --out"))]
    Output { path: PathBuf, source: io::Error },
    #[error("failed to record a cell in {}: {source}; once that is mended, run the same command again to go on", .path.display())]
    Record { path: PathBuf, source: io::Error },
    #[error("another run is writing to {}{}", .path.display(), .holder.as_ref().map_or_else(String::new, |pid| format!(" (process {pid})")))]
    #[diagnostic(help("wait for it to end, or choose another folder with --out"))]
    Locked {
        path: PathBuf,
        holder: Option<String>,
    },
}

/// Runs what the ledger of `options.out` lacks. Sets nothing on fire when `interrupted` becomes
/// true: cells in flight are finished and recorded.
pub fn run(
    prepared: &Prepared,
    options: &Options,
    observer: &dyn Observer,
    interrupted: &AtomicBool,
) -> Result<Outcome, RunError> {
    let folder = Folder::open(&options.out)?;
    folder.write_plan(&prepared.plan)?;
    let known = folder.read()?;
    let todo = Todo::new(prepared, options, &known);
    let (jobs, threads) = parallelism(options, todo.groups.len());
    let circumstances = Circumstances {
        host: host::name(),
        threads,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git: host::commit(),
    };
    provenance::write(&options.out, prepared, &circumstances, jobs)
        .map_err(|source| folder.error(source))?;
    observer.begin(todo.cells, todo.resumed, todo.work);
    let session = Session {
        prepared,
        folder: &folder,
        circumstances,
        observer,
        interrupted,
        fail_fast: options.fail_fast,
        choices: known_choices(prepared, &known),
        queue: Queue::new(todo.groups, todo.budget),
        failure: Mutex::new(None),
    };
    session.skip(todo.skipped)?;
    session.work(jobs, threads);
    observer.end();
    if let Some(error) = session
        .failure
        .into_inner()
        .unwrap_or_else(|poison| poison.into_inner())
    {
        return Err(error);
    }
    let mut outcome = count(prepared, options, &folder.read()?);
    outcome.warnings = known.warnings;
    Ok(outcome)
}

/// Jobs and threads per job: all cores, groups first.
fn parallelism(options: &Options, groups: usize) -> (usize, usize) {
    let cores = host::cores();
    let jobs = match (options.jobs, options.threads) {
        (Some(jobs), _) => jobs,
        (None, Some(threads)) => (cores / threads.max(1)).max(1),
        (None, None) => cores,
    };
    let jobs = jobs.clamp(1, groups.max(1));
    (
        jobs,
        options
            .threads
            .unwrap_or_else(|| (cores / jobs).max(1))
            .max(1),
    )
}

/// The results folder of a run.
struct Folder {
    path: PathBuf,
    writer: Mutex<Writer>,
}

impl Folder {
    const HOLDER: &str = ".run.pid";

    fn open(path: &Path) -> Result<Self, RunError> {
        let error = |source| RunError::Output {
            path: path.to_path_buf(),
            source,
        };
        std::fs::create_dir_all(path).map_err(error)?;
        let writer = Writer::open(&path.join(ledger::FILE)).map_err(error)?;
        let Some(writer) = writer else {
            let holder = std::fs::read_to_string(path.join(Self::HOLDER)).ok();
            let holder = holder.map(|pid| pid.trim().to_owned());
            return Err(RunError::Locked {
                path: path.to_path_buf(),
                holder,
            });
        };
        std::fs::write(path.join(Self::HOLDER), std::process::id().to_string()).map_err(error)?;
        Ok(Self {
            path: path.to_path_buf(),
            writer: Mutex::new(writer),
        })
    }

    fn error(&self, source: io::Error) -> RunError {
        RunError::Record {
            path: self.path.clone(),
            source,
        }
    }

    fn read(&self) -> Result<Contents, RunError> {
        ledger::read(&self.path.join(ledger::FILE)).map_err(|source| self.error(source))
    }

    fn append(&self, record: &Record) -> Result<(), RunError> {
        let mut writer = self
            .writer
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        writer.append(record).map_err(|source| RunError::Record {
            path: self.path.clone(),
            source,
        })
    }

    fn write_plan(&self, plan: &Plan) -> Result<(), RunError> {
        write_json(&self.path.join(Plan::FILE), plan).map_err(|source| self.error(source))
    }

    /// `traces/<cell>.jsonl`: one line per iteration.
    fn write_trace(&self, cell: &str, trace: &[TraceRow]) -> Result<(), RunError> {
        if trace.is_empty() {
            return Ok(());
        }
        let write = || {
            let folder = self.path.join("traces");
            std::fs::create_dir_all(&folder)?;
            let mut text = String::new();
            for row in trace {
                text += &serde_json::to_string(row)?;
                text.push('\n');
            }
            std::fs::write(folder.join(format!("{cell}.jsonl")), text)
        };
        write().map_err(|source| RunError::Record {
            path: self.path.clone(),
            source,
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover is harmless: the lock, not this file, keeps others out.
        let _ = std::fs::remove_file(self.path.join(Self::HOLDER));
    }
}

/// Writes `value` as indented JSON, whole or not at all.
fn write_json(path: &Path, value: &impl serde::Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    ledger::replace(path, &text)
}

/// The cells a run still has to work on.
struct Todo {
    groups: Vec<Group>,
    /// Cells that cannot be started, with the reason.
    skipped: Vec<(usize, String)>,
    cells: usize,
    resumed: usize,
    work: f64,
    budget: f64,
}

impl Todo {
    fn new(prepared: &Prepared, options: &Options, known: &Contents) -> Self {
        let plan = &prepared.plan;
        let settled: HashMap<&str, &Record> = known
            .latest()
            .into_iter()
            .map(|record| (record.cell.as_str(), record))
            .collect();
        let budget = options
            .memory
            .or_else(default_budget)
            .map_or(f64::INFINITY, |b| b as f64);
        let mut todo = Self {
            groups: vec![],
            skipped: vec![],
            cells: 0,
            resumed: 0,
            work: 0.0,
            budget,
        };
        let mut groups: HashMap<(usize, usize), usize> = HashMap::new();
        for (index, cell) in plan.cells.iter().enumerate() {
            if !Filter::keep(&options.only, plan, cell) {
                continue;
            }
            let last = settled.get(cell.cell.as_str());
            let is_settled = last.is_some_and(|record| match record.status {
                Status::Ok => true,
                Status::Failed => !options.retry_failed,
                Status::Skipped => false,
            });
            if is_settled {
                todo.resumed += 1;
                continue;
            }
            let estimate = cost::cell(prepared, cell);
            let needs = estimate.bytes;
            let reason = plan.datasets[cell.dataset]
                .unavailable
                .clone()
                .or_else(|| (needs > budget).then(|| too_large(needs, budget)));
            if let Some(reason) = reason {
                // What the ledger already says in the same words is not said again.
                let is_known = last.is_some_and(|record| {
                    record.status == Status::Skipped && record.error.as_ref() == Some(&reason)
                });
                if is_known {
                    todo.resumed += 1;
                } else {
                    todo.cells += 1;
                    todo.skipped.push((index, reason));
                }
                continue;
            }
            todo.cells += 1;
            todo.work += estimate.flops;
            let at = *groups.entry((cell.dataset, cell.split)).or_insert_with(|| {
                let (dataset, split) = (cell.dataset, cell.split);
                todo.groups.push(Group {
                    dataset,
                    split,
                    cells: Vec::new(),
                    bytes: 0.0,
                });
                todo.groups.len() - 1
            });
            let group = &mut todo.groups[at];
            group.cells.push(index);
            group.bytes = group.bytes.max(needs);
        }
        todo
    }
}

fn default_budget() -> Option<u64> {
    host::available_memory().map(|bytes| bytes / 5 * 4)
}

fn too_large(needs: f64, budget: f64) -> String {
    format!(
        "needs about {} of memory, more than the budget of {}; raise it with --memory",
        cost::size(needs),
        cost::size(budget)
    )
}

/// Choices made once per dataset that the ledger already holds.
fn known_choices(prepared: &Prepared, known: &Contents) -> Choices {
    let mut choices = HashMap::new();
    let once = prepared
        .plan
        .experiment
        .select
        .as_ref()
        .is_some_and(|select| select.once);
    let by_cell: HashMap<&str, &Record> = known
        .latest()
        .into_iter()
        .map(|record| (record.cell.as_str(), record))
        .collect();
    for cell in prepared.plan.cells.iter().filter(|_| once) {
        let selection = by_cell
            .get(cell.cell.as_str())
            .and_then(|record| record.selection.clone())
            .and_then(|value| serde_json::from_value::<Selection>(value).ok());
        if let Some(selection) = selection {
            let slot: Arc<OnceLock<_>> = Arc::default();
            // The slot is new, so setting it cannot fail.
            let _ = slot.set(Ok(selection));
            choices.insert((cell.dataset, cell.method), slot);
        }
    }
    Mutex::new(choices)
}

/// A run in progress.
struct Session<'a> {
    prepared: &'a Prepared,
    folder: &'a Folder,
    circumstances: Circumstances,
    observer: &'a dyn Observer,
    interrupted: &'a AtomicBool,
    fail_fast: bool,
    choices: Choices,
    queue: Queue,
    failure: Mutex<Option<RunError>>,
}

impl Session<'_> {
    /// Records cells that cannot be started.
    fn skip(&self, skipped: Vec<(usize, String)>) -> Result<(), RunError> {
        for (index, reason) in skipped {
            let cell = &self.prepared.plan.cells[index];
            let mut record =
                cell::blank(self.prepared, cell, &self.circumstances, SystemTime::now());
            record.status = Status::Skipped;
            record.error = Some(reason);
            self.folder.append(&record)?;
            self.observer.record(&record, 0.0);
        }
        Ok(())
    }

    /// Works the queue off with `jobs` workers of `threads` threads each.
    fn work(&self, jobs: usize, threads: usize) {
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                    let par = if threads > 1 {
                        Par::rayon(threads)
                    } else {
                        Par::Seq
                    };
                    match pool {
                        Ok(pool) => pool.install(|| self.worker(par)),
                        // Without threads of its own a worker still works.
                        Err(_) => self.worker(Par::Seq),
                    }
                });
            }
        });
    }

    fn worker(&self, par: Par) {
        while let Some(group) = self.queue.take() {
            if let Err(error) = self.work_group(&group, par) {
                *self
                    .failure
                    .lock()
                    .unwrap_or_else(|poison| poison.into_inner()) = Some(error);
                self.queue.close();
            }
            self.queue.finish(&group);
        }
    }

    fn work_group(&self, group: &Group, par: Par) -> Result<(), RunError> {
        let Some(source) = &self.prepared.sources[group.dataset] else {
            return Ok(());
        };
        let bench = Bench::new(self.prepared, source, group.dataset, group.split, par);
        for &index in &group.cells {
            if self.interrupted.load(Ordering::SeqCst) {
                self.queue.close();
                return Ok(());
            }
            if self.queue.running() == 1 {
                host::reset_peak();
            }
            let cell = &self.prepared.plan.cells[index];
            let (record, trace) = bench.run(cell, &self.circumstances, &self.choices);
            self.folder.write_trace(&record.cell, &trace)?;
            self.folder.append(&record)?;
            self.observer
                .record(&record, cost::cell(self.prepared, cell).flops);
            if self.fail_fast && record.status == Status::Failed {
                self.queue.close();
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The state of the planned cells after a run.
fn count(prepared: &Prepared, options: &Options, contents: &Contents) -> Outcome {
    let plan = &prepared.plan;
    let wanted: HashSet<&str> = plan
        .cells
        .iter()
        .filter(|cell| Filter::keep(&options.only, plan, cell))
        .map(|cell| cell.cell.as_str())
        .collect();
    let mut outcome = Outcome::default();
    for record in contents.latest() {
        if wanted.contains(record.cell.as_str()) {
            match record.status {
                Status::Ok => outcome.done += 1,
                Status::Failed => outcome.failed += 1,
                Status::Skipped => outcome.skipped += 1,
            }
        }
    }
    outcome.left = wanted.len() - outcome.done - outcome.failed - outcome.skipped;
    outcome
}
