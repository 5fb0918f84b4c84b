//! `embedding`: test samples as they came and as a method represents them, as maps side by side.

use super::canvas::Shape;
use super::colour;
use super::font::Face;
use super::plot::{Look, bar};
use super::scale::Scale;
use super::sheet::{Frame, Sheet, text_around, text_at};
use super::{Drawn, caption, one_split};
use crate::ledger::Cloud;
use crate::render::csv::quoted;
use crate::render::text::number;
use crate::render::{Mapped, Summary};

/// Maps that are drawn.
const MOST: usize = 6;
const NAME: Face = Face::bold(12.5);
const WORDS: Face = Face::plain(11.0);
const LETTER: Face = Face::bold(8.5);

/// The figure, where a map was recorded.
pub(super) fn figure(summary: &Summary) -> Option<Drawn> {
    let first = summary.maps.first()?;
    let title = format!("{}: samples before and after", summary.heading());
    let mut sheet = Sheet::new(&title);
    sheet.y += 6.0;
    for mapped in summary.maps.iter().take(MOST) {
        let frames = sheet.grid(2, 2, 470.0);
        let clouds = [("raw data", &mapped.embedding.raw), ("z(x)", &mapped.embedding.learnt)];
        for (frame, (what, cloud)) in frames.into_iter().zip(clouds) {
            panel(summary, mapped, what, cloud, frame, &mut sheet.shapes);
        }
    }
    let mut rows: Vec<usize> = (summary.maps.iter().take(MOST)).map(|mapped| mapped.row).collect();
    rows.dedup();
    let words = format!(
        "{} t-SNE with perplexity {} of the test samples, at most 1000 of them; axes have no unit; left and right have \
         the same seed, and each sample is drawn as its class. Silhouette (from −1 to 1) and the share of samples \
         whose {} nearest neighbours tell their class are those of the spaces themselves, not of the maps. The method \
         never saw the classes of these samples.",
        one_split(summary, rows.into_iter()),
        first.embedding.perplexity,
        first.embedding.neighbours
    );
    let picture = sheet.finish(title.clone(), &caption(summary, &words));
    Some(Drawn { name: "embedding", title, picture, data: data(summary) })
}

fn panel(
    summary: &Summary,
    mapped: &Mapped,
    what: &str,
    cloud: &Cloud,
    outer: Frame,
    shapes: &mut Vec<Shape>,
) {
    let dataset = summary.rows.get(mapped.row).map_or("", |row| row.dataset.as_str());
    let label = summary.columns.get(mapped.column).map_or("", |column| column.label.as_str());
    let name = match what {
        "z(x)" => format!("{dataset}: z(x) of {label}, {} dimensions", cloud.dims),
        _ => format!("{dataset}: {what}, {} dimensions", cloud.dims),
    };
    let name = NAME.shortened(&name, outer.width);
    shapes.push(text_at(NAME, colour::INK, (outer.left, outer.top + 12.0), name));
    let frame = Frame { top: outer.top + 22.0, height: outer.height - 48.0, ..outer };
    shapes.push(bar(frame.left, frame.top, frame.width, frame.height, colour::EMPTY));
    let x = Scale::linear(cloud.points.iter().map(|point| point[0]), 1e-6);
    let y = Scale::linear(cloud.points.iter().map(|point| point[1]), 1e-6);
    if let (Some(x), Some(y)) = (x, y) {
        let names = summary.plan.datasets.get(mapped.row).map(|dataset| dataset.classes.as_slice());
        for (point, &class) in cloud.points.iter().zip(&mapped.embedding.labels) {
            let at = (
                frame.left + x.place(point[0]) * frame.width,
                frame.top + (1.0 - y.place(point[1])) * frame.height,
            );
            shapes.extend(sample(at, class, names.and_then(|names| names.get(class))));
        }
    }
    let words = format!(
        "silhouette {}, nearest neighbours right {} %",
        number(cloud.silhouette),
        number(cloud.knn_accuracy)
    );
    let below = (outer.left + outer.width / 2.0, outer.top + outer.height - 8.0);
    shapes.push(text_around(WORDS, colour::INK, below, words));
}

/// A sample: the letter of its class where that is short, or else a mark.
fn sample(at: (f64, f64), class: usize, name: Option<&String>) -> Vec<Shape> {
    let look = Look::of(class);
    match name.filter(|name| name.chars().count() <= 2) {
        Some(name) => vec![text_around(LETTER, look.colour, (at.0, at.1 + 3.0), name.clone())],
        None => look.mark.draw(at, 2.5, look.colour),
    }
}

fn data(summary: &Summary) -> String {
    let mut text = "dataset,label,space,sample,class,x,y\n".to_owned();
    for mapped in &summary.maps {
        let (Some(row), Some(column)) =
            (summary.rows.get(mapped.row), summary.columns.get(mapped.column))
        else {
            continue;
        };
        let names = format!("{},{}", quoted(&row.dataset), quoted(&column.label));
        for (space, cloud) in [("raw", &mapped.embedding.raw), ("learnt", &mapped.embedding.learnt)]
        {
            for (sample, (point, class)) in
                cloud.points.iter().zip(&mapped.embedding.labels).enumerate()
            {
                text +=
                    &format!("{names},{space},{sample},{class},{:?},{:?}\n", point[0], point[1]);
            }
        }
    }
    text
}
