//! The progress of a command on standard error: a bar on a terminal, plain lines elsewhere, or nothing.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use npsvcpp::data::Progress;
use npsvcpp::plan::Place;
use npsvcpp::wording::{counted, duration};
use npsvcpp::{Ending, Epochs, Event};

use crate::output::note;

/// Plain lines come at most this often.
const LINE_EVERY: Duration = Duration::from_secs(2);
/// Plain lines about epochs come at most this often: a training may take hours.
const EPOCH_LINE_EVERY: Duration = Duration::from_secs(30);
/// The bar counts estimated work in this many steps, so that its rate means something even if cells
/// differ a thousandfold.
const STEPS: u64 = 10_000;

/// Shows events.
pub struct Display {
    quiet: bool,
    is_terminal: bool,
    bar: ProgressBar,
    state: Mutex<State>,
}

/// How far a run is.
#[derive(Default)]
struct State {
    begun: Option<Instant>,
    last_line: Option<Instant>,
    cells: usize,
    total: usize,
    work: f64,
    total_work: f64,
    /// Work done of the cells under training.
    training: HashMap<String, f64>,
    /// Dataset and name of the file that was announced last.
    download: Option<(String, String)>,
}

impl State {
    /// The share of the work that is done.
    fn share(&self) -> f64 {
        let done = self.work + self.training.values().sum::<f64>();
        if self.total_work > 0.0 { done / self.total_work } else { 1.0 }
    }

    /// Time to the end of the run, if work continues at its rate.
    fn left(&self) -> String {
        let elapsed = self.begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
        let share = self.share();
        duration(if share > 0.0 { elapsed * (1.0 - share).max(0.0) / share } else { 0.0 })
    }

    /// Whether a plain line is due; if so, the next one is due after `every`.
    fn is_due(&mut self, every: Duration, is_important: bool) -> bool {
        let last = self.last_line.or(self.begun);
        let is_due = is_important || last.is_none_or(|last| last.elapsed() >= every);
        if is_due {
            self.last_line = Some(Instant::now());
        }
        is_due
    }
}

impl Display {
    pub fn new(quiet: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { quiet, is_terminal, bar: ProgressBar::hidden(), state: Mutex::default() }
    }

    pub fn show(&self, event: Event<'_>) {
        if self.quiet && !matches!(event, Event::Unrecorded { .. }) {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(|poison| poison.into_inner());
        match event {
            Event::Loading(dataset) if self.is_terminal => {
                self.start("{spinner} {msg}", Some(Duration::from_millis(120)));
                self.bar.set_message(format!("loading {dataset}"));
            }
            Event::Loading(dataset) => note!("loading {dataset}"),
            Event::Download(progress) => self.download(&mut state, &progress),
            Event::Encoding { dataset, images } => self.bar.suspend(|| {
                note!("encoding {images} images of {dataset}, once; the features are kept");
            }),
            Event::Loaded | Event::End => self.bar.finish_and_clear(),
            Event::Reused { cells, from } => {
                note!("{} reused from {}", counted(cells, "cell"), from.display());
            }
            Event::Unrecorded { cells: 0 } => {}
            Event::Unrecorded { cells } => note!(
                "warning: {} done without the recordings that `record` requests will not run again; to get them, use \
                 another folder (--out)",
                counted(cells, "cell")
            ),
            Event::Rerun { why } => note!("{why}"),
            Event::Begin { cells, done, work } => {
                let begun = Some(Instant::now());
                *state = State { begun, total: cells, total_work: work, ..State::default() };
                if done > 0 {
                    let all = done + cells;
                    note!("{done} of {all} cells are done, {cells} to run");
                }
                if self.is_terminal && cells > 0 {
                    let template = "{bar:32.cyan} {percent:>3}% {elapsed} ETA {eta}  {msg}";
                    self.start(template, Some(Duration::from_millis(500)));
                    self.bar.set_length(STEPS);
                }
            }
            Event::Epoch { cell, place, work, epochs } => {
                let seconds = epochs.seconds + epochs.seconds_left;
                let done = work * epochs.seconds / seconds.max(f64::MIN_POSITIVE);
                state.training.insert(cell.to_owned(), done);
                let line = epoch_line(place, epochs, &state.left());
                if !self.is_terminal && state.is_due(EPOCH_LINE_EVERY, false) {
                    note!("{line}");
                }
                self.advance(&state, line);
            }
            Event::Cell { cell, place, work, ending } => {
                state.work += work;
                state.training.remove(cell);
                self.cell(&mut state, place, ending);
            }
        }
    }

    /// Begins a bar; without a terminal nothing is drawn.
    fn start(&self, template: &str, tick: Option<Duration>) {
        let style = ProgressStyle::with_template(template);
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        self.bar.reset();
        match tick {
            Some(every) => self.bar.enable_steady_tick(every),
            None => self.bar.disable_steady_tick(),
        }
    }

    fn download(&self, state: &mut State, progress: &Progress<'_>) {
        let Progress { dataset, file, done, total } = *progress;
        let announced = Some((dataset.to_owned(), file.to_owned()));
        if state.download != announced {
            let template = "{msg:24} {bar:32.cyan} {bytes}/{total_bytes} {bytes_per_sec} ETA {eta}";
            self.start(template, None);
            self.bar.set_message(file.to_owned());
            if !self.is_terminal {
                note!("downloading {file} of {dataset}");
            }
            state.download = announced;
        }
        if let Some(total) = total {
            self.bar.set_length(total);
        }
        self.bar.set_position(done);
    }

    fn cell(&self, state: &mut State, place: Place<'_>, ending: Ending<'_>) {
        state.cells += 1;
        let line = format!("[{}/{}] {}", state.cells, state.total, sentence(place, ending));
        let has_failed = matches!(ending, Ending::Failed(_));
        let is_important = has_failed || state.cells == 1 || state.cells == state.total;
        if self.is_terminal && has_failed {
            self.bar.suspend(|| note!("{line}"));
        } else if !self.is_terminal && state.is_due(LINE_EVERY, is_important) {
            note!("{line}, about {} left", state.left());
        }
        self.advance(state, line);
    }

    fn advance(&self, state: &State, line: String) {
        self.bar.set_position((state.share() * STEPS as f64) as u64);
        self.bar.set_message(line);
    }
}

/// The progress of a training; `run_left` is the time to the end of the run.
fn epoch_line((dataset, label, split, _): Place<'_>, epochs: Epochs, run_left: &str) -> String {
    let left = duration(epochs.seconds_left);
    format!(
        "{dataset} split {split} {label}: epoch {} of {}, about {left} left of this training, {run_left} of the run",
        epochs.done, epochs.all
    )
}

fn sentence((dataset, label, split, _): Place<'_>, ending: Ending<'_>) -> String {
    let ending = match ending {
        Ending::Done { accuracy, seconds } => format!("{accuracy:.2} % in {seconds:.2} s"),
        Ending::Skipped => "skipped".to_owned(),
        Ending::Failed(reason) => format!("failed: {reason}"),
    };
    format!("{dataset} split {split} {label}: {ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_training_shows_its_epoch_and_the_time_left() {
        let place = ("flowers102", "D-NPSVC++", 0, 0);
        let epochs = Epochs { done: 3, all: 50, seconds: 60.0, seconds_left: 180.0 };
        let line = epoch_line(place, epochs, "2.0 h");
        let said = "flowers102 split 0 D-NPSVC++: epoch 3 of 50, about 3 min left of this training, 2.0 h of the run";
        assert_eq!(line, said);
        // A quarter of the only cell is done.
        let display = Display::new(false);
        display.show(Event::Begin { cells: 1, done: 0, work: 1.0 });
        display.show(Event::Epoch { cell: "c", place, work: 1.0, epochs });
        assert_eq!(display.state.lock().unwrap().share(), 0.25);
    }

    #[test]
    fn a_download_is_shown_unless_quiet() {
        for (quiet, expected) in [(false, (3, Some(9))), (true, (0, None))] {
            let display = Display::new(quiet);
            display.show(Event::Loading("a"));
            let progress = Progress { dataset: "a", file: "x", done: 3, total: Some(9) };
            display.show(Event::Download(progress));
            assert_eq!((display.bar.position(), display.bar.length()), expected);
        }
    }
}
