//! Tables from a results folder: nothing is fitted here, everything comes from plan and ledger.
//!
//! [`Summary`] is the table as a model. Each [`Exporter`] turns it into one file:
//! [`Markdown`], [`Latex`], [`Csv`], [`Report`] and, with the feature `parquet`, `CellsParquet`;
//! [`figures`] draws what the ledger has the numbers for; [`Terminal`] turns the table into text for a screen.
//! [`folder`] reads a results folder and writes every file; [`update`] does so if a file is missing, different or
//! outdated, which the list `outputs.json` shows.
//! Files hold no times and no paths of the machine: rendering again gives the same bytes.

mod across;
mod claims;
mod compare;
mod counts;
mod csv;
mod figure;
mod findings;
mod latex;
mod markdown;
mod marks;
mod notes;
mod origin;
mod outputs;
#[cfg(feature = "parquet")]
mod parquet;
mod protocol;
mod report;
mod reproduction;
mod sidecar;
mod study;
mod summary;
mod tables;
mod terminal;
mod text;
mod warnings;

pub use across::{Ranks, Tally};
pub use claims::{Answer, Claim};
pub use compare::Paired;
pub use csv::Csv;
pub use figure::{Drawn, figures};
pub use latex::Latex;
pub use markdown::Markdown;
pub use marks::{Comparison, Verdict};
pub use outputs::{FORMAT, Files, indexed, is_index_current, is_ledger_lost};
#[cfg(feature = "parquet")]
pub use parquet::CellsParquet;
pub use report::Report;
pub use sidecar::{Mapped, Trace, TracePoint};
pub use summary::{Cell, Column, Counts, Place, Row, Summary};
pub use terminal::Terminal;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use thiserror::Error;

use crate::ledger::{self, Ledger, Plan, Record};
use crate::spec::Rendering;

/// Turns a table into one file of the results folder.
pub trait Exporter: Sync {
    /// Path of the file in the results folder, with `/` between folders.
    fn file_name(&self) -> &str;

    /// The whole file, the same bytes for the same table.
    fn export(&self, summary: &Summary) -> Result<Vec<u8>, ExportError>;

    /// The same bytes for one who has drawn the [`figures`] already; only a page that shows them cares.
    fn export_with(&self, summary: &Summary, _figures: &[Drawn]) -> Result<Vec<u8>, ExportError> {
        self.export(summary)
    }
}

/// Why a table could not be turned into a file.
#[derive(Debug, Error)]
pub enum ExportError {
    /// A writer of Parquet or of pictures refused.
    #[error("cannot build {file}: {reason}")]
    Format { file: &'static str, reason: String },
}

/// Why a results folder could not be rendered.
#[derive(Debug, Error)]
pub enum RenderError {
    #[error("there is no folder {}", .0.display())]
    NoFolder(PathBuf),
    #[error(
        "{} has no {}, so it is not the results folder of a run, or the file was deleted; name the folder that \
         `npsvcpp run` wrote, such as results/<spec name>, or run its spec again",
        .0.display(),
        Plan::FILE
    )]
    NoPlan(PathBuf),
    #[error(
        "{} has no ledger any more, but tables that were made from one; restore {}, or start over with `run --fresh`",
        .0.display(),
        ledger::FILE
    )]
    NoLedger(PathBuf),
    #[error(
        "{} cannot be drawn again, because the traces or maps that it was drawn from are missing; restore the folders \
         {} and {}, or start over with `run --fresh`",
        .0.display(),
        ledger::TRACES,
        ledger::Embedding::FOLDER
    )]
    NoTraces(PathBuf),
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "{} was not written by npsvcpp and is left alone; move it away to have an index page there",
        .0.display()
    )]
    NotOurs(PathBuf),
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error("cannot write {}: {source}{}", path.display(), ledger::remedy(source))]
    Write { path: PathBuf, source: io::Error },
}

/// What rendering a folder gave.
#[derive(Debug)]
pub struct Rendered {
    pub files: Files,
    pub summary: Summary,
    /// Lines of the ledger that were skipped; the table's own warnings are in the summary.
    pub warnings: Vec<String>,
}

/// Every exporter of this build.
pub fn exporters() -> Vec<Box<dyn Exporter + Send>> {
    vec![
        Box::new(Markdown),
        Box::new(Latex),
        Box::new(Csv),
        #[cfg(feature = "parquet")]
        Box::new(CellsParquet),
        Box::new(Report),
    ]
}

/// Reads `plan.json` and the ledgers of `dir` and builds every file that the experiment asks for. Writes those that
/// are missing or different.
///
/// Each file is replaced whole or not at all, and none is touched unless all could be built.
pub fn folder(dir: &Path) -> Result<Rendered, RenderError> {
    let _lock = ledger::lock(dir);
    let (summary, warnings) = read(dir)?;
    outputs::remove_leftovers(dir);
    let files = outputs::write_table(dir, &summary, contents(&summary)?)?;
    Ok(Rendered { files, summary, warnings })
}

/// Writes the files of a table into `dir` that are missing or different, if a look at their list shows that there may
/// be any. Gives the files written.
pub fn update(dir: &Path, summary: &Summary) -> Result<Vec<PathBuf>, RenderError> {
    let _lock = ledger::lock(dir);
    outputs::remove_leftovers(dir);
    if outputs::is_current(dir, summary) {
        return Ok(Vec::new());
    }
    let files = outputs::write_table(dir, summary, contents(summary)?)?;
    Ok(files.written)
}

/// Writes `index.html` over several rendered folders into the folder they all lie in, next to it the numbers of its
/// figure, and a list of both. Files that are as they should be stay. The page comes first among the files.
///
/// Nothing is written if the folders lie in different ones.
pub fn index(folders: &[(&Path, &Summary)]) -> Result<Files, RenderError> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let paths: Vec<PathBuf> = folders.iter().map(|(path, _)| absolute(path)).collect();
    let Some(parent) = paths.first().and_then(|path| path.parent()) else {
        return Ok(Files::default());
    };
    if paths.iter().any(|path| path.parent() != Some(parent)) {
        return Ok(Files::default());
    }
    let experiments: Vec<(String, &Summary)> = (paths.iter().zip(folders))
        .map(|(path, (_, summary))| {
            let folder = path.file_name().unwrap_or_default().to_string_lossy();
            (folder.into_owned(), *summary)
        })
        .collect();
    // As the user wrote it, where that names a folder and not the way to one.
    let written = (folders.first())
        .filter(|(path, _)| path.file_name().is_some())
        .and_then(|(path, _)| path.parent());
    let dir = written.unwrap_or(parent);
    let _lock = ledger::lock(parent);
    let path = dir.join(report::INDEX);
    let ours = report::GENERATOR.as_bytes();
    if fs::read(&path).is_ok_and(|bytes| !bytes.windows(ours.len()).any(|part| part == ours)) {
        return Err(RenderError::NotOurs(path));
    }
    ledger::remove_leftovers(parent);
    outputs::write_index(dir, &experiments, report::index(&experiments)?)
}

/// Every file the experiment asks for, with its path in the results folder. Pictures take the most time, so all files
/// are built side by side.
fn contents(summary: &Summary) -> Result<Vec<(String, Vec<u8>)>, ExportError> {
    let is_wanted = |file: &str| Rendering::asks_for(&summary.render, file);
    let drawn = figures(summary);
    let exported = || {
        let mut exporters = exporters();
        exporters.retain(|exporter| is_wanted(exporter.file_name()));
        let files = exporters.par_iter().map(|exporter| {
            let file = exporter.file_name().to_owned();
            Ok((file, exporter.export_with(summary, &drawn)?))
        });
        files.collect::<Result<Vec<_>, ExportError>>()
    };
    let pictures = || {
        let mut wanted: Vec<&Drawn> = drawn.iter().collect();
        wanted.retain(|drawn| is_wanted(&format!("figures/{}.svg", drawn.name)));
        let files = wanted.par_iter().map(|drawn| {
            let file = |ending: &str| format!("figures/{}.{ending}", drawn.name);
            Ok([
                (file("svg"), drawn.svg()?),
                (file("png"), drawn.png()?),
                (file("csv"), drawn.data.clone().into_bytes()),
            ])
        });
        files.collect::<Result<Vec<_>, ExportError>>()
    };
    let (exported, pictures) = rayon::join(exported, pictures);
    let mut files = exported?;
    files.extend(times(summary));
    files.extend(pictures?.into_iter().flatten());
    Ok(files)
}

/// Files with times.
const TIMES: [&str; 3] = ["times.md", "times.tex", "times.csv"];

/// `times.md`, `times.tex` and `times.csv`, where times are known: seconds per fit, beside those of the
/// paper's Table A.1. In files of their own, since they differ from run to run.
fn times(summary: &Summary) -> Vec<(String, Vec<u8>)> {
    let Some(mut table) = tables::times(summary) else {
        return Vec::new();
    };
    let latex = latex::other(summary, &table);
    for warning in &summary.warnings {
        table.note += &format!(" Warning: {warning}.");
    }
    let csv = csv::with_cautions(summary, &csv::text_table(&table));
    let texts = [markdown::other(&table), latex, csv];
    let files = TIMES.iter().zip(texts);
    files.map(|(file, text)| ((*file).to_owned(), text.into_bytes())).collect()
}

/// The plan of a results folder; its absence is told apart from damage.
pub fn plan(dir: &Path) -> Result<Plan, RenderError> {
    if !dir.is_dir() {
        return Err(RenderError::NoFolder(dir.to_path_buf()));
    }
    Plan::read(dir).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => RenderError::NoPlan(dir.to_path_buf()),
        _ => RenderError::Read { path: dir.join(Plan::FILE), source },
    })
}

/// What the ledgers of a results folder say.
pub fn records(dir: &Path) -> Result<Ledger, RenderError> {
    Ledger::read(dir).map_err(|source| unreadable_ledger(dir, source))
}

fn unreadable_ledger(dir: &Path, source: io::Error) -> RenderError {
    RenderError::Read { path: dir.join(ledger::FILE), source }
}

/// The table of a results folder, and a sentence per line of the ledger that was skipped.
pub fn read(dir: &Path) -> Result<(Summary, Vec<String>), RenderError> {
    let plan = plan(dir)?;
    if is_ledger_lost(dir) {
        return Err(RenderError::NoLedger(dir.to_path_buf()));
    }
    // First the hash: if a run appends to the ledger meanwhile, the table counts as outdated.
    let hash = ledger::hash(dir).map_err(|source| unreadable_ledger(dir, source))?;
    let mut contents = records(dir)?;
    let passed_over = std::mem::take(&mut contents.warnings);
    let records = contents.into_records();
    let summary = summarise(dir, &plan, records, passed_over.len(), hash);
    Ok((summary, passed_over))
}

/// The table of a plan and the latest record of every cell, with what lies beside them in `dir`.
/// `passed_over` is how many lines of the ledgers are no records, `ledger` the [`ledger::hash`] of the ledgers
/// that hold exactly these records.
pub fn summarise(
    dir: &Path,
    plan: &Plan,
    records: Vec<Record>,
    passed_over: usize,
    ledger: String,
) -> Summary {
    let mut summary = Summary::of(plan, records);
    let mut inputs = outputs::Inputs::default();
    summary.origin = origin::recorded(dir);
    summary.spec = fs::read_to_string(dir.join("spec.yaml")).ok();
    inputs.add_plan(plan);
    inputs.add_json("provenance", &summary.origin);
    inputs.add_json("spec", &summary.spec);
    let mut traced = outputs::Inputs::default();
    sidecar::read(dir, &mut summary, &mut traced);
    summary.ledger = ledger;
    summary.inputs = inputs.hash();
    summary.traced = traced.hash();
    // A torn line whose cell was run again takes nothing from the table.
    if passed_over > 0 && !summary.counts.complete() {
        let lines = text::counted(passed_over, "line");
        let text =
            format!("ignored: {lines} of the ledger, torn or no record; run again to fill the gap");
        summary.warn("damaged", text);
    }
    summary
}
