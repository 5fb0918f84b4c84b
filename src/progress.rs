//! What is going on, while it goes on: bars on a terminal, plain lines elsewhere, or nothing.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use npsvcpp::data;
use npsvcpp::ledger::{Record, Status};
use npsvcpp::run::Observer;

use crate::commands::duration;

/// Plain lines come at most this often.
const LINE_EVERY: Duration = Duration::from_secs(2);
/// The bar counts estimated work in this many steps, so that its rate means something even where
/// cells differ a thousandfold.
const STEPS: u64 = 10_000;

/// Progress of a run.
pub struct Display {
    quiet: bool,
    bar: ProgressBar,
    state: Mutex<State>,
}

struct State {
    begun: Instant,
    last_line: Option<Instant>,
    cells: usize,
    total: usize,
    work: f64,
    total_work: f64,
}

impl Display {
    pub fn new(quiet: bool) -> Self {
        let bar = ProgressBar::hidden();
        let state = State {
            begun: Instant::now(),
            last_line: None,
            cells: 0,
            total: 0,
            work: 0.0,
            total_work: 0.0,
        };
        Self {
            quiet,
            bar,
            state: Mutex::new(state),
        }
    }

    /// A dataset is being read, or downloaded first.
    pub fn loading(&self, name: &str) {
        if self.quiet {
            return;
        }
        if std::io::stderr().is_terminal() {
            self.show("{spinner} {msg}");
            self.bar.enable_steady_tick(Duration::from_millis(120));
            self.bar.set_message(format!("loading {name}"));
        } else {
            eprintln!("loading {name}");
        }
    }

    /// All datasets are there.
    pub fn loaded(&self) {
        self.bar.disable_steady_tick();
        self.bar.finish_and_clear();
    }

    fn show(&self, template: &str) {
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(template);
        self.bar
            .set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    }
}

impl Observer for Display {
    fn begin(&self, total: usize, resumed: usize, work: f64) {
        let mut state = self
            .state
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        state.begun = Instant::now();
        (state.total, state.total_work) = (total, work);
        if self.quiet {
            return;
        }
        if resumed > 0 {
            eprintln!("{resumed} cells are already in the ledger, {total} to go");
        }
        if std::io::stderr().is_terminal() && total > 0 {
            self.bar.reset();
            self.bar.set_length(STEPS);
            self.show("{bar:32.cyan} {percent:>3}% {elapsed} ETA {eta}  {msg}");
            self.bar.enable_steady_tick(Duration::from_millis(500));
        }
    }

    fn record(&self, record: &Record, work: f64) {
        if self.quiet {
            return;
        }
        let mut state = self
            .state
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        state.cells += 1;
        state.work += work;
        let share = if state.total_work > 0.0 {
            state.work / state.total_work
        } else {
            1.0
        };
        let line = format!("[{}/{}] {}", state.cells, state.total, sentence(record));
        if std::io::stderr().is_terminal() {
            if record.status == Status::Failed {
                self.bar.suspend(|| eprintln!("{line}"));
            }
            self.bar.set_position((share * STEPS as f64) as u64);
            self.bar.set_message(line);
            return;
        }
        let is_due = state
            .last_line
            .is_none_or(|last| last.elapsed() >= LINE_EVERY);
        if is_due || record.status == Status::Failed || state.cells == state.total {
            let elapsed = state.begun.elapsed().as_secs_f64();
            let left = if share > 0.0 {
                elapsed * (1.0 - share).max(0.0) / share
            } else {
                0.0
            };
            eprintln!("{line}, about {} left", duration(left));
            state.last_line = Some(Instant::now());
        }
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn sentence(record: &Record) -> String {
    let Record {
        dataset,
        label,
        split,
        ..
    } = record;
    let outcome = match (record.status, record.accuracy, record.fit_seconds) {
        (Status::Ok, Some(accuracy), Some(seconds)) => format!("{accuracy:.2} % in {seconds:.2} s"),
        (Status::Skipped, ..) => "skipped".to_owned(),
        _ => format!("failed: {}", record.error.as_deref().unwrap_or("no reason")),
    };
    format!("{dataset} split {split} {label}: {outcome}")
}

/// Progress of downloads.
pub struct Download {
    quiet: bool,
    bar: ProgressBar,
    file: String,
}

impl Download {
    pub fn new(quiet: bool) -> Self {
        Self {
            quiet,
            bar: ProgressBar::hidden(),
            file: String::new(),
        }
    }

    pub fn update(&mut self, progress: data::Progress<'_>) {
        if self.quiet {
            return;
        }
        let is_terminal = std::io::stderr().is_terminal();
        if self.file != progress.file {
            self.file = progress.file.to_owned();
            if is_terminal {
                let style = ProgressStyle::with_template(
                    "{msg:24} {bar:32.cyan} {bytes}/{total_bytes} {bytes_per_sec} ETA {eta}",
                );
                self.bar
                    .set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
                self.bar.reset();
                self.bar.set_message(self.file.clone());
            } else {
                eprintln!("downloading {} of {}", progress.file, progress.dataset);
            }
        }
        if let Some(total) = progress.total {
            self.bar.set_length(total);
        }
        self.bar.set_position(progress.done);
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
