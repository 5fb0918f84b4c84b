//! What is going on, while it goes on: bars on a terminal, plain lines elsewhere, or nothing.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use npsvcpp::data;
use npsvcpp::ledger::{Record, Status};
use npsvcpp::run::{Epochs, Loading, Observer, Training};

use crate::commands::duration;
use crate::output::note;

/// Plain lines come at most this often.
const LINE_EVERY: Duration = Duration::from_secs(2);
/// Plain lines about epochs come at most this often: a training may take hours.
const EPOCH_LINE_EVERY: Duration = Duration::from_secs(30);
/// The bar counts estimated work in this many steps, so that its rate means something even where
/// cells differ a thousandfold.
const STEPS: u64 = 10_000;

/// Progress of a run.
pub struct Display {
    quiet: bool,
    bar: ProgressBar,
    download: Mutex<Download>,
    state: Mutex<State>,
}

struct State {
    begun: Instant,
    last_line: Option<Instant>,
    cells: usize,
    total: usize,
    work: f64,
    total_work: f64,
    /// Work done of the cells under training.
    training: HashMap<String, f64>,
}

impl State {
    /// The share of the work that is done.
    fn share(&self) -> f64 {
        let done = self.work + self.training.values().sum::<f64>();
        match self.total_work > 0.0 {
            true => done / self.total_work,
            false => 1.0,
        }
    }

    /// Seconds to the end of the run, if work continues at its rate.
    fn seconds_left(&self) -> f64 {
        let share = self.share();
        match share > 0.0 {
            true => self.begun.elapsed().as_secs_f64() * (1.0 - share).max(0.0) / share,
            false => 0.0,
        }
    }

    fn is_due(&self, every: Duration) -> bool {
        let last = self.last_line.unwrap_or(self.begun);
        last.elapsed() >= every
    }
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
            training: HashMap::new(),
        };
        Self { quiet, bar, download: Mutex::new(Download::new(quiet)), state: Mutex::new(state) }
    }

    /// A dataset is being read, or downloaded first.
    pub fn loading(&self, event: Loading<'_>) {
        if self.quiet {
            return;
        }
        let mut download = self.download.lock().unwrap_or_else(|poison| poison.into_inner());
        match event {
            Loading::Download(progress) => {
                // Two bars at once would overwrite each other.
                self.clear();
                download.update(progress);
            }
            Loading::Dataset(name) if std::io::stderr().is_terminal() => {
                download.finish();
                self.bar.reset();
                self.show("{spinner} {msg}");
                self.bar.enable_steady_tick(Duration::from_millis(120));
                self.bar.set_message(format!("loading {name}"));
            }
            Loading::Dataset(name) => note!("loading {name}"),
            Loading::Encoding(name, images) => {
                note!("encoding {images} images of {name}, once; the features are kept");
            }
        }
    }

    /// All datasets are there.
    pub fn loaded(&self) {
        self.clear();
        self.download.lock().unwrap_or_else(|poison| poison.into_inner()).finish();
    }

    fn clear(&self) {
        if !self.bar.is_finished() {
            self.bar.disable_steady_tick();
            self.bar.finish_and_clear();
        }
    }

    fn show(&self, template: &str) {
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(template);
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    }
}

impl Observer for Display {
    fn begin(&self, total: usize, resumed: usize, work: f64) {
        let mut state = self.state.lock().unwrap_or_else(|poison| poison.into_inner());
        state.begun = Instant::now();
        (state.total, state.total_work) = (total, work);
        if self.quiet {
            return;
        }
        if resumed > 0 {
            let all = resumed + total;
            note!("{resumed} of {all} cells are done, {total} to run");
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
        let mut state = self.state.lock().unwrap_or_else(|poison| poison.into_inner());
        state.cells += 1;
        state.work += work;
        state.training.remove(&record.cell);
        let line = format!("[{}/{}] {}", state.cells, state.total, sentence(record));
        if std::io::stderr().is_terminal() {
            if record.status == Status::Failed {
                self.bar.suspend(|| note!("{line}"));
            }
            self.bar.set_position((state.share() * STEPS as f64) as u64);
            self.bar.set_message(line);
            return;
        }
        let is_due = state.last_line.is_none() || state.is_due(LINE_EVERY);
        if is_due || record.status == Status::Failed || state.cells == state.total {
            note!("{line}, about {} left", duration(state.seconds_left()));
            state.last_line = Some(Instant::now());
        }
    }

    fn training(&self, training: &Training<'_>) {
        if self.quiet {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(|poison| poison.into_inner());
        let Epochs { seconds, seconds_left, .. } = training.epochs;
        let done = training.work * seconds / (seconds + seconds_left).max(f64::MIN_POSITIVE);
        state.training.insert(training.cell.to_owned(), done);
        let line = epoch_line(training, state.seconds_left());
        if std::io::stderr().is_terminal() {
            self.bar.set_position((state.share() * STEPS as f64) as u64);
            self.bar.set_message(line);
        } else if state.is_due(EPOCH_LINE_EVERY) {
            note!("{line}");
            state.last_line = Some(Instant::now());
        }
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn changed(&self, causes: &[String]) {
        for cause in causes.iter().filter(|_| !self.quiet) {
            note!("{cause}");
        }
    }

    fn reused(&self, cells: usize, from: &Path) {
        if !self.quiet {
            note!("{cells} cells reused from {}", from.display());
        }
    }

    fn unrecorded(&self, cells: usize) {
        if cells > 0 {
            let what = "were done without what `record` asks for and are not run again";
            note!("warning: {cells} cells {what}; run into another folder (--out) to have it");
        }
    }
}

/// How far a training is; `run_left` is the time to the end of the run.
fn epoch_line(training: &Training<'_>, run_left: f64) -> String {
    let Training { dataset, label, split, epochs, .. } = training;
    let (done, all) = (epochs.done, epochs.all);
    let (left, run_left) = (duration(epochs.seconds_left), duration(run_left));
    format!(
        "{dataset} split {split} {label}: epoch {done} of {all}, about {left} left of this training, {run_left} of the run"
    )
}

fn sentence(record: &Record) -> String {
    let Record { dataset, label, split, .. } = record;
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
    /// Dataset and name of the file that was announced last.
    file: (String, String),
}

impl Download {
    pub fn new(quiet: bool) -> Self {
        Self { quiet, bar: ProgressBar::hidden(), file: <_>::default() }
    }

    pub fn update(&mut self, progress: data::Progress<'_>) {
        if self.quiet {
            return;
        }
        if let Some(line) = self.announcement(&progress) {
            if std::io::stderr().is_terminal() {
                let style = ProgressStyle::with_template(
                    "{msg:24} {bar:32.cyan} {bytes}/{total_bytes} {bytes_per_sec} ETA {eta}",
                );
                self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
                self.bar.reset();
                self.bar.set_message(progress.file.to_owned());
            } else {
                note!("{line}");
            }
        }
        if let Some(total) = progress.total {
            self.bar.set_length(total);
        }
        self.bar.set_position(progress.done);
    }

    /// A line for every file, once.
    fn announcement(&mut self, progress: &data::Progress<'_>) -> Option<String> {
        let file = (progress.dataset.to_owned(), progress.file.to_owned());
        if self.file == file {
            return None;
        }
        self.file = file;
        Some(format!("downloading {} of {}", progress.file, progress.dataset))
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_training_shows_its_epoch_and_the_time_left() {
        let training = Training {
            cell: "c",
            dataset: "flowers102",
            label: "D-NPSVC++",
            split: 0,
            work: 1.0,
            epochs: Epochs { done: 3, all: 50, seconds: 60.0, seconds_left: 180.0 },
        };
        let line = epoch_line(&training, 7200.0);
        assert!(line.starts_with("flowers102 split 0 D-NPSVC++: epoch 3 of 50, about "), "{line}");
        // A quarter of the only cell is done.
        let display = Display::new(false);
        display.begin(1, 0, 1.0);
        display.training(&training);
        assert_eq!(display.state.lock().unwrap().share(), 0.25);
        let quiet = Display::new(true);
        quiet.begin(1, 0, 1.0);
        quiet.training(&training);
        assert_eq!(quiet.state.lock().unwrap().share(), 0.0);
    }

    #[test]
    fn every_file_is_announced_once_whatever_arrives_of_it() {
        let mut download = Download::new(false);
        let mut said = Vec::new();
        for (dataset, file) in [("a", "x"), ("a", "x"), ("a", "y"), ("b", "y"), ("b", "y")] {
            let (done, total) = (said.len() as u64, None);
            said.extend(download.announcement(&data::Progress { dataset, file, done, total }));
        }
        let expected = ["x of a", "y of a", "y of b"].map(|file| format!("downloading {file}"));
        assert_eq!(said, expected);
    }

    #[test]
    fn a_download_while_datasets_are_loaded_is_shown_unless_quiet() {
        for quiet in [false, true] {
            let display = Display::new(quiet);
            display.loading(Loading::Dataset("a"));
            display.loading(Loading::Download(data::Progress {
                dataset: "a",
                file: "x",
                done: 3,
                total: Some(9),
            }));
            let download = display.download.lock().unwrap();
            let shown = (download.bar.position(), download.bar.length());
            assert_eq!(shown, if quiet { (0, None) } else { (3, Some(9)) });
        }
    }
}
