//! `time`: what accuracy costs, mean time of a fit against mean accuracy.

use serde::Serialize;

use super::axis::Axis;
use super::model::{Figure, Look, Mark, Panel, Series, UPWARDS};
use super::{MOST, in_rows, undrawn_methods};
use crate::analyse::{Entry, Summary};
use crate::render::csv::{Names, finite};

#[derive(Serialize)]
struct Times {
    fit_seconds: Option<f64>,
    accuracy: Option<f64>,
    sd: Option<f64>,
    splits: usize,
}

/// The figure, if times are known.
pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let (mut panels, mut data, mut series) = (Vec::new(), Vec::new(), Series::default());
    for row in &summary.rows {
        let times: Vec<(Names, Times)> = summary.entries_of(row).map(times).collect();
        panels.extend(panel(&row.dataset, times.iter().take(MOST), &mut series));
        data.extend(times);
    }
    let words = "Means over splits; bars reach one standard deviation of the accuracy. Times were measured on the \
                 machines named in the report. They exclude the kernel matrix, which all methods share, and the choice of \
                 parameters.";
    let words = words.to_owned() + &undrawn_methods(summary);
    let (rows, legend) = (in_rows(&panels, 3), series.legend(UPWARDS));
    super::figure(summary, "time against accuracy", rows, legend, &words, &data)
}

fn times(entry: Entry<'_>) -> (Names<'_>, Times) {
    let cell = entry.cell;
    let times = Times {
        fit_seconds: finite(cell.fit_seconds),
        accuracy: finite(cell.mean),
        sd: cell.deviation,
        splits: cell.counts.done,
    };
    (Names::of(entry), times)
}

impl Times {
    /// Seconds, mean accuracy and its deviation, if they can be drawn.
    fn point(&self) -> Option<(f64, f64, f64)> {
        let seconds = self.fit_seconds.filter(|seconds| *seconds > 0.0)?;
        let mean = self.accuracy.filter(|mean| (0.0..=100.0).contains(mean))?;
        Some((seconds, mean, self.sd.unwrap_or(0.0)))
    }
}

fn panel<'a>(
    dataset: &str,
    times: impl Iterator<Item = &'a (Names<'a>, Times)>,
    series: &mut Series,
) -> Option<Panel> {
    let points: Vec<_> =
        times.filter_map(|(names, times)| Some((names.label, times.point()?))).collect();
    let x = Axis::log(points.iter().map(|(_, (seconds, ..))| *seconds))?;
    let y = Axis::percent(points.iter().flat_map(|(_, (_, mean, sd))| [mean - sd, mean + sd]))?;
    let mut marks = Vec::new();
    for (label, (seconds, mean, sd)) in points {
        let (x, look) = (seconds.log10(), Look { radius: 4.5, ..series.look(label) });
        marks.push(Mark::line(vec![(x, mean - sd), (x, mean + sd)], 1.5, look.colour));
        marks.push(Mark::dot((x, mean), look));
    }
    Some(Panel {
        name: dataset.to_owned(),
        about: "test accuracy (%)".to_owned(),
        below: "seconds per fit".to_owned(),
        marks,
        ..Panel::new(x, y, 180.0)
    })
}
