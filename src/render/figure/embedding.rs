//! `embedding`: test samples as they came and as a method represents them, as maps next to each other.

use plotters::style::text_anchor::HPos;
use serde::Serialize;

use super::axis::Axis;
use super::model::{Figure, Look, Mark, Panel};
use super::text::Face;
use super::{colour, in_rows, one_split};
use crate::analyse::text::number;
use crate::analyse::{Entry, Summary};
use crate::ledger::Cloud;

#[derive(Serialize)]
struct Sample<'a> {
    dataset: &'a str,
    label: &'a str,
    space: &'static str,
    sample: usize,
    class: usize,
    x: f64,
    y: f64,
}

/// The figure, if a map was recorded.
pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let maps = Vec::from_iter(
        summary.entries().filter_map(|entry| Some((entry, entry.cell.map.as_ref()?))),
    );
    let (_, first) = maps.first()?;
    let (mut panels, mut data) = (Vec::new(), Vec::new());
    for (Entry { row, column, .. }, map) in &maps {
        let (dataset, label) = (row.dataset.as_str(), column.label.as_str());
        let learnt = format!("z(x) of {label}");
        for (space, what, cloud) in
            [("raw", "raw data", &map.raw), ("learnt", &learnt, &map.learnt)]
        {
            let samples = cloud.points.iter().zip(&map.labels).enumerate();
            let samples = Vec::from_iter(samples.map(|(sample, (&[x, y], &class))| Sample {
                dataset,
                label,
                space,
                sample,
                class,
                x,
                y,
            }));
            let name = format!("{dataset}: {what}, {} dimensions", cloud.dims);
            panels.extend(panel(name, cloud, &samples, &row.data.classes));
            data.extend(samples);
        }
    }
    let words = format!(
        "{} t-SNE with perplexity {} of the test samples, at most 1000 of them; axes have no unit; left and right have the \
         same seed, and each sample is drawn as its class. Silhouette (from −1 to 1) and the share of samples whose {} \
         nearest neighbours predict their class are computed in the original spaces, not on the maps. The method never \
         saw the classes of these samples.",
        one_split(maps.iter().map(|(entry, _)| entry.row)),
        first.perplexity,
        first.neighbours
    );
    let (title, rows) = ("samples before and after", in_rows(&panels, 2));
    super::figure(summary, title, rows, Vec::new(), &words, &data)
}

fn panel(name: String, cloud: &Cloud, samples: &[Sample], classes: &[String]) -> Option<Panel> {
    let of = |pick: fn(&[f64; 2]) -> f64| Axis::linear(cloud.points.iter().map(pick), 1e-6);
    let (x, y) = (of(|point| point[0])?, of(|point| point[1])?);
    let ground = Mark::rectangle((x.low, y.low), (x.high, y.high), colour::EMPTY);
    let mut marks = vec![ground];
    marks.extend(samples.iter().filter_map(|sample| mark(sample, classes.get(sample.class))));
    let below = format!(
        "silhouette {}, nearest neighbours right {} %",
        number(cloud.silhouette),
        number(cloud.knn_accuracy)
    );
    let hidden = |axis: Axis| Axis::hidden(axis.low, axis.high);
    Some(Panel { name, below, marks, ..Panel::new(hidden(x), hidden(y), 420.0) })
}

/// A sample: the letter of its class if that is short, or else a point.
fn mark(sample: &Sample, class: Option<&String>) -> Option<Mark> {
    let at = (sample.x, sample.y);
    let look = Look { radius: 2.5, ..Look::series(sample.class) };
    Some(match class.filter(|name| name.chars().count() <= 2) {
        Some(name) => {
            let letter = Face::bold(8.5, 10.0, look.colour);
            Mark::text(at, HPos::Center, letter, name)
        }
        None => Mark::dot(at, look),
    })
}
