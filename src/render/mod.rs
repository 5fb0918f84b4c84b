//! Files from a [`Summary`]: tables, figures and a report. Nothing is computed here that they do not show.
//!
//! `tables` holds the tables as data, which `markdown`, `latex`, `csv`, `report` and [`Terminal`] write each in
//! its own markup. [`files`] lists every file of a results folder. [`folder`] reads such a folder and writes them;
//! [`update`] does so if a file is missing, different or outdated, which the list `outputs.json` shows.
//! Files hold no times and no paths of the machine: rendering again gives the same bytes.

mod csv;
mod figure;
mod latex;
mod markdown;
mod numbers;
mod outputs;
#[cfg(feature = "parquet")]
mod parquet;
mod report;
mod tables;
mod terminal;
mod verify;

pub use figure::{Figure, figures};
pub use outputs::{FORMAT, Files, indexed, is_index_current, refuse_lost_ledger};
pub use report::page;
pub use terminal::Terminal;
pub use verify::{Verified, verify};

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::analyse::{Folder, Summary, analyse};
use crate::error::Error;
use crate::ledger::{self, Ledger, Plan};

/// What rendering a folder gave.
#[derive(Debug)]
pub struct Rendered {
    pub files: Files,
    pub summary: Summary,
    /// Lines of the ledger that were set aside; the table's own warnings are in the summary.
    pub warnings: Vec<String>,
}

/// Reads `plan.json` and the ledgers of `dir` and builds every file that the experiment asks for. Writes those that
/// are missing or different.
///
/// Each file is replaced whole or not at all, and none is touched unless all could be built.
pub fn folder(dir: &Path) -> Result<Rendered, Error> {
    let _lock = ledger::lock(dir);
    let (summary, warnings) = read(dir)?;
    let files = outputs::write_table(dir, &summary)?;
    Ok(Rendered { files, summary, warnings })
}

/// Writes the files of a table into `dir` that are missing or different, if a look at their list shows that there may
/// be any. Gives the files written.
pub fn update(dir: &Path, summary: &Summary) -> Result<Vec<PathBuf>, Error> {
    let _lock = ledger::lock(dir);
    outputs::remove_leftovers(dir);
    match outputs::is_current(dir, summary) {
        true => Ok(Vec::new()),
        false => Ok(outputs::write_table(dir, summary)?.written),
    }
}

/// Writes `index.html` into the folder `dir`, over experiments in the folders of these names in it, next to it the numbers
/// of its figure, and a list of both. Files that are up to date are left alone. The page comes first among the files.
pub fn index(dir: &Path, experiments: &[(String, &Summary)]) -> Result<Files, Error> {
    let _lock = ledger::lock(dir);
    let path = dir.join(report::INDEX);
    let ours = report::GENERATOR.as_bytes();
    if fs::read(&path).is_ok_and(|bytes| !bytes.windows(ours.len()).any(|part| part == ours)) {
        return Err(Error::input(format!(
            "{} was not written by npsvcpp and is left alone; move it away to have an index page there",
            path.display()
        )));
    }
    ledger::remove_leftovers(dir);
    outputs::write_index(dir, experiments, report::index(experiments)?)
}

/// Every file that the experiment asks for, with its path in the results folder. Pictures take the most time, so they
/// are drawn in parallel.
pub fn files(summary: &Summary) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let drawn = draw(summary)?;
    let mut files = texts(summary);
    files.push((report::FILE.to_owned(), page(summary, &drawn).into_bytes()));
    #[cfg(feature = "parquet")]
    files.push((outputs::PARQUET.to_owned(), parquet::cells(summary)?));
    let path = |figure: &Figure, ending: &str| format!("figures/{}.{ending}", figure.name);
    let wanted = drawn.par_iter().filter(|(figure, _)| summary.asks_for(&path(figure, "svg")));
    let pictures = wanted.map(|(figure, svg)| {
        Ok([
            (path(figure, "svg"), svg.clone().into_bytes()),
            (path(figure, "png"), figure.png(svg)?),
            (path(figure, "csv"), figure.data.clone().into_bytes()),
        ])
    });
    files.extend(pictures.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten());
    files.retain(|(file, _)| summary.asks_for(file));
    Ok(files)
}

/// All figures, each with its SVG.
pub fn draw(summary: &Summary) -> Result<Vec<(Figure, String)>, Error> {
    let drawn = figures(summary).into_par_iter().map(|figure| {
        let svg = figure.svg()?;
        Ok((figure, svg))
    });
    drawn.collect()
}

/// The tables as files. Those with times are separate files, since they differ from run to run.
pub fn texts(summary: &Summary) -> Vec<(String, Vec<u8>)> {
    let mut texts = vec![
        ("table.md", markdown::document(summary)),
        ("table.tex", latex::document(summary)),
        ("table.csv", csv::cells(summary)),
    ];
    if let Some(table) = tables::times(summary) {
        let [md, tex, csv] = outputs::TIMES;
        texts.extend([
            (md, markdown::times(summary, &table)),
            (tex, latex::table(summary, &table, &[])),
            (csv, csv::table(summary, &table)),
        ]);
    }
    texts.into_iter().map(|(file, text)| (file.to_owned(), text.into_bytes())).collect()
}

/// The table of a results folder, and a sentence per line of the ledger that was set aside.
pub fn read(dir: &Path) -> Result<(Summary, Vec<String>), Error> {
    let plan = Plan::read(dir)?;
    refuse_lost_ledger(dir)?;
    // First the hash: if a run appends to the ledger at the same time, the table counts as outdated.
    let ledger = ledger::hash(dir)?;
    let known = Ledger::read_planned(dir, Some(&plan))?;
    let skipped = known.warnings();
    let folder = Folder { dir: Some(dir), skipped_lines: skipped.len(), ledger };
    Ok((analyse(plan, known.into_records(), &folder), skipped))
}
