//! `time`: what accuracy costs, mean time of a fit against mean accuracy.

use serde::Serialize;

use super::axis::Axis;
use super::lanes::{self, MOST};
use super::model::{Figure, Look, Mark, Panel};
use crate::analyse::{Cell, Summary};
use crate::render::csv::{Names, Number};

#[derive(Default, Serialize)]
struct Times {
    fit_seconds: Number,
    accuracy: Number,
    sd: Number,
    splits: usize,
}

/// The figure, if times are known.
pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let mut rows = Vec::new();
    let mut panels = Vec::new();
    for row in &summary.rows {
        let times: Vec<Times> = row.cells.iter().map(Times::of).collect();
        panels.extend(panel(&row.dataset, times.iter().take(MOST)));
        rows.extend(summary.entries_of(row).map(Names::of).zip(times));
    }
    let words = "Means over splits; bars reach one standard deviation of the accuracy. Times are of the machines named in \
                 the report, without the kernel matrix, which all methods share, and without the choice of parameters.";
    let words = words.to_owned() + &lanes::undrawn_methods(summary);
    let legend = summary.columns.iter().take(MOST).map(|column| column.label.clone());
    let title = ("time", "time against accuracy");
    let figure = super::figure(summary, title, (panels, 3), &words, &rows)?;
    Some(Figure { legend: Look::legend(legend), ..figure })
}

impl Times {
    fn of(cell: &Cell) -> Self {
        Self {
            fit_seconds: cell.fit_seconds.into(),
            accuracy: cell.mean.into(),
            sd: cell.deviation.into(),
            splits: cell.counts.done,
        }
    }

    /// Seconds, mean accuracy and its deviation, if they can be drawn.
    fn point(&self) -> Option<(f64, f64, f64)> {
        let seconds = self.fit_seconds.0.filter(|seconds| *seconds > 0.0)?;
        let mean = self.accuracy.0.filter(|mean| (0.0..=100.0).contains(mean))?;
        Some((seconds, mean, self.sd.value()))
    }
}

fn panel<'a>(dataset: &str, times: impl Iterator<Item = &'a Times>) -> Option<Panel> {
    let points: Vec<_> = times.map(Times::point).collect();
    let x = Axis::log(points.iter().flatten().map(|point| point.0))?;
    let ends = points.iter().flatten().flat_map(|&(_, mean, sd)| [mean - sd, mean + sd]);
    let y = Axis::percent(ends)?;
    let mut marks = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let look = Look { radius: 4.5, ..Look::series(index) };
        if let Some((seconds, mean, sd)) = *point {
            let x = seconds.log10();
            marks.push(Mark::line(vec![(x, mean - sd), (x, mean + sd)], 1.5, look.colour));
            marks.push(Mark::Dots { at: vec![(x, mean)], look });
        }
    }
    Some(Panel {
        name: dataset.to_owned(),
        about: "test accuracy (%)".to_owned(),
        below: "seconds per fit".to_owned(),
        marks,
        ..Panel::new(x, y, 180.0)
    })
}
