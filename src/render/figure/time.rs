//! `time`: what accuracy costs, mean time of a fit against mean accuracy.

use super::plot::{Look, Plot};
use super::scale::Scale;
use super::sheet::Sheet;
use super::{Drawn, MOST, MOST_PANELS, caption, left_out};
use crate::render::csv::{optional, quoted};
use crate::render::{Cell, Row, Summary};

/// The figure, where times are known.
pub(super) fn figure(summary: &Summary) -> Option<Drawn> {
    let timed = |cell: &Cell| point(cell).is_some();
    let rows: Vec<&Row> =
        (summary.rows.iter()).filter(|row| row.cells.iter().any(timed)).take(MOST_PANELS).collect();
    if rows.is_empty() {
        return None;
    }
    let title = format!("{}: time against accuracy", summary.heading());
    let mut sheet = Sheet::new(&title);
    let entries = summary
        .columns
        .iter()
        .take(MOST)
        .enumerate()
        .map(|(index, column)| (column.label.clone(), Look::of(index).icon()));
    sheet.legend(entries.collect());
    let columns = rows.len().min(3);
    let frames = sheet.grid(rows.len(), columns, 250.0);
    for (row, frame) in rows.iter().zip(frames) {
        let points: Vec<_> = row.cells.iter().take(MOST).map(point).collect();
        let x = Scale::log(points.iter().flatten().map(|point| point.0));
        let y = points.iter().flatten().flat_map(|&(_, mean, sd)| [mean - sd, mean + sd]);
        let (Some(x), Some(y)) = (x, Scale::linear(y, 0.5)) else {
            continue;
        };
        let titles = (row.dataset.as_str(), "seconds per fit", "test accuracy (%)");
        let plot = Plot::new(frame, (x, y), titles, &mut sheet.shapes);
        for (index, point) in points.iter().enumerate() {
            let Some((seconds, mean, sd)) = *point else {
                continue;
            };
            let look = Look::of(index);
            sheet.shapes.push(plot.whisker(seconds, (mean - sd, mean + sd), look.colour));
            sheet.shapes.extend(look.mark.draw(plot.at(seconds, mean), 4.5, look.colour));
        }
    }
    let words = "Means over splits; bars reach one standard deviation of the accuracy. Times are of the \
                 machines named in the report, without the kernel matrix, which all methods share, and \
                 without the choice of parameters.";
    let picture = sheet
        .finish(title.clone(), &caption(summary, &(words.to_owned() + &left_out(summary, "time"))));
    Some(Drawn { name: "time", title, picture, data: data(summary) })
}

/// Seconds, mean accuracy and its deviation, as far as they can be drawn.
fn point(cell: &Cell) -> Option<(f64, f64, f64)> {
    let seconds = cell.fit_seconds.filter(|seconds| *seconds > 0.0)?;
    let mean = cell.mean.filter(|mean| (0.0..=100.0).contains(mean))?;
    Some((seconds, mean, cell.deviation.unwrap_or(0.0)))
}

fn data(summary: &Summary) -> String {
    let mut text = "dataset,method,label,fit_seconds,accuracy,sd,splits\n".to_owned();
    for row in &summary.rows {
        for (cell, column) in row.cells.iter().zip(&summary.columns) {
            let names = [&row.dataset, &column.method, &column.label].map(|name| quoted(name));
            let numbers = [cell.fit_seconds, cell.mean, cell.deviation].map(optional);
            text += &format!("{},{},{}\n", names.join(","), numbers.join(","), cell.counts.ok);
        }
    }
    text
}
