//! Tables from a results folder: nothing is fitted here, everything comes from plan and ledger.
//!
//! [`Summary`] is the table as a model. Each [`Exporter`] turns it into one file:
//! [`Markdown`], [`Latex`], [`Csv`], [`Report`] and, with the feature `parquet`, `CellsParquet`;
//! [`figures`] draws what the ledger has the numbers for; [`Terminal`] turns the table into text for a screen.
//! [`folder`] reads a results folder and writes every file.
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

use crate::ledger::{self, Contents, Plan, Record};
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
        "{} has no {}, so it is not the results folder of a run; name the folder that \
         `npsvcpp run` wrote, such as results/<spec name>",
        .0.display(),
        Plan::FILE
    )]
    NoPlan(PathBuf),
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "{} was not written by npsvcpp and is left alone; move it away to have an index page there",
        .0.display()
    )]
    NotOurs(PathBuf),
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// What rendering a folder gave.
#[derive(Debug)]
pub struct Rendered {
    pub files: Vec<PathBuf>,
    pub summary: Summary,
    /// Lines of the ledger that were passed over; the table's own warnings are in the summary.
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

/// Reads `plan.json` and the ledgers of `dir` and writes every exporter's file into it that the
/// experiment asks for.
///
/// Each file is replaced whole or not at all, and none is touched unless all could be built.
pub fn folder(dir: &Path) -> Result<Rendered, RenderError> {
    let (summary, warnings) = read(dir)?;
    write_all(dir, summary, warnings)
}

/// Writes every file of a table that the experiment asks for into `dir`.
pub fn write_all(
    dir: &Path,
    summary: Summary,
    warnings: Vec<String>,
) -> Result<Rendered, RenderError> {
    let mut files = Vec::new();
    for (path, bytes) in contents(&summary)? {
        let path = dir.join(path);
        write(&path, &bytes).map_err(|source| RenderError::Write {
            path: path.clone(),
            source,
        })?;
        files.push(path);
    }
    remove_former(dir, &files)?;
    Ok(Rendered {
        files,
        summary,
        warnings,
    })
}

/// Takes away what an earlier rendering wrote and this one did not, so that nothing in `dir` shows other numbers
/// than the ledger's. Files that this program never writes stay.
fn remove_former(dir: &Path, written: &[PathBuf]) -> Result<(), RenderError> {
    let exporters = exporters();
    let tables = exporters
        .iter()
        .map(|exporter| exporter.file_name().to_owned());
    let pictures = figure::NAMES
        .iter()
        .flat_map(|name| ["svg", "png", "csv"].map(|ending| format!("figures/{name}.{ending}")));
    let files = tables.chain(TIMES.map(str::to_owned)).chain(pictures);
    for path in files.map(|file| dir.join(file)) {
        if written.contains(&path) {
            continue;
        }
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(RenderError::Write { path, source });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes `index.html` over several rendered folders into the folder they all lie in, and beside it the
/// numbers of its figure. The page comes first among the files written.
///
/// Nothing is written if the folders lie in different ones.
pub fn index(folders: &[(&Path, &Summary)]) -> Result<Vec<PathBuf>, RenderError> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let paths: Vec<PathBuf> = folders.iter().map(|(path, _)| absolute(path)).collect();
    let Some(parent) = paths.first().and_then(|path| path.parent()) else {
        return Ok(Vec::new());
    };
    if paths.iter().any(|path| path.parent() != Some(parent)) {
        return Ok(Vec::new());
    }
    let experiments: Vec<(String, &Summary)> = (paths.iter().zip(folders))
        .map(|(path, (_, summary))| {
            let folder = path.file_name().unwrap_or_default().to_string_lossy();
            (format!("{folder}/{}", report::FILE), *summary)
        })
        .collect();
    // As the user wrote it, where that names a folder and not the way to one.
    let written = (folders.first())
        .filter(|(path, _)| path.file_name().is_some())
        .and_then(|(path, _)| path.parent());
    let path = written.unwrap_or(parent).join(report::INDEX);
    let ours = report::GENERATOR.as_bytes();
    if fs::read(&path).is_ok_and(|bytes| !bytes.windows(ours.len()).any(|part| part == ours)) {
        return Err(RenderError::NotOurs(path));
    }
    let mut files = Vec::new();
    for (name, bytes) in report::index(&experiments)? {
        let path = path.with_file_name(name);
        write(&path, &bytes).map_err(|source| RenderError::Write {
            path: path.clone(),
            source,
        })?;
        files.push(path);
    }
    Ok(files)
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
    files
        .map(|(file, text)| ((*file).to_owned(), text.into_bytes()))
        .collect()
}

/// Replaces a file whole or not at all; makes its folder if need be.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    ledger::replace(path, bytes)
}

/// The plan of a results folder; its absence is told apart from damage.
pub fn plan(dir: &Path) -> Result<Plan, RenderError> {
    if !dir.is_dir() {
        return Err(RenderError::NoFolder(dir.to_path_buf()));
    }
    Plan::read(dir).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => RenderError::NoPlan(dir.to_path_buf()),
        _ => RenderError::Read {
            path: dir.join(Plan::FILE),
            source,
        },
    })
}

/// What the ledgers of a results folder say.
pub fn records(dir: &Path) -> Result<Contents, RenderError> {
    ledger::read_folder(dir).map_err(|source| RenderError::Read {
        path: dir.join(ledger::FILE),
        source,
    })
}

/// The table of a results folder, and a sentence per line of the ledger that was passed over.
pub fn read(dir: &Path) -> Result<(Summary, Vec<String>), RenderError> {
    let plan = plan(dir)?;
    let mut contents = records(dir)?;
    let passed_over = std::mem::take(&mut contents.warnings);
    let summary = summarise(dir, &plan, contents.into_latest(), passed_over.len());
    Ok((summary, passed_over))
}

/// The table of a plan and the latest record of every cell, with what lies beside them in `dir`.
/// `passed_over` is how many lines of the ledgers are no records.
pub fn summarise(dir: &Path, plan: &Plan, records: Vec<Record>, passed_over: usize) -> Summary {
    let mut summary = Summary::of(plan, records);
    summary.origin = origin::recorded(dir);
    sidecar::read(dir, &mut summary);
    summary.spec = fs::read_to_string(dir.join("spec.yaml")).ok();
    // A torn line whose cell was run again takes nothing from the table.
    if passed_over > 0 && !summary.counts.complete() {
        let lines = text::counted(passed_over, "line");
        let text =
            format!("ignored: {lines} of the ledger, torn or no record; run again to fill the gap");
        summary.warn("damaged", text);
    }
    summary
}

/// Whether the files of a table in `dir` are there and newer than ledgers, plan and program, so that
/// writing them again would give the same bytes.
pub fn is_current(dir: &Path, summary: &Summary) -> bool {
    let date = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    let dates: Option<Vec<_>> = exporters()
        .iter()
        .map(|exporter| exporter.file_name())
        .filter(|file| Rendering::asks_for(&summary.render, file))
        .map(|file| date(&dir.join(file)))
        .collect();
    let oldest = dates.and_then(|dates| dates.into_iter().min());
    let mut sources = ledger::ledgers(dir).unwrap_or_default();
    sources.push(dir.join(Plan::FILE));
    sources.extend(std::env::current_exe());
    let newest = sources.iter().filter_map(|source| date(source)).max();
    matches!((oldest, newest), (Some(oldest), Some(newest)) if newest < oldest)
}
