//! Tables from a results folder: nothing is fitted here, everything comes from plan and ledger.
//!
//! [`Summary`] is the table as a model. Each [`Exporter`] turns it into one file:
//! [`Markdown`], [`Latex`], [`Csv`], [`AccuracyFigure`] and, with the feature `parquet`,
//! `CellsParquet`; [`Terminal`] turns it into text for a screen. [`folder`] reads a results folder and writes every file.
//! Files hold no times and no paths of the machine: rendering again gives the same bytes.

mod csv;
mod figure;
mod latex;
mod markdown;
mod marks;
mod notes;
mod origin;
#[cfg(feature = "parquet")]
mod parquet;
mod summary;
mod terminal;
mod text;
mod warnings;

pub use csv::Csv;
pub use figure::AccuracyFigure;
pub use latex::Latex;
pub use markdown::Markdown;
pub use marks::{Comparison, Verdict};
#[cfg(feature = "parquet")]
pub use parquet::CellsParquet;
pub use summary::{Cell, Column, Counts, Place, Ranks, Row, Summary};
pub use terminal::Terminal;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::ledger::{self, Plan};

/// Turns a table into one file of the results folder.
pub trait Exporter {
    /// Path of the file in the results folder, with `/` between folders.
    fn file_name(&self) -> &str;

    /// The whole file, the same bytes for the same table.
    fn export(&self, summary: &Summary) -> Result<Vec<u8>, ExportError>;
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
pub fn exporters() -> Vec<Box<dyn Exporter>> {
    let mut exporters: Vec<Box<dyn Exporter>> = vec![
        Box::new(Markdown),
        Box::new(Latex),
        Box::new(Csv),
        #[cfg(feature = "parquet")]
        Box::new(CellsParquet),
    ];
    for file in AccuracyFigure::ALL {
        exporters.push(Box::new(file));
    }
    exporters
}

/// Reads `plan.json` and `ledger.jsonl` of `dir` and writes every exporter's file into it.
///
/// Each file is replaced whole or not at all, and none is touched unless all could be built.
pub fn folder(dir: &Path) -> Result<Rendered, RenderError> {
    let (summary, warnings) = read(dir)?;
    let contents = exporters()
        .iter()
        .map(|exporter| {
            let path = dir.join(exporter.file_name());
            Ok((path, exporter.export(&summary)?))
        })
        .collect::<Result<Vec<_>, ExportError>>()?;
    let mut files = Vec::new();
    for (path, bytes) in contents {
        write(&path, &bytes).map_err(|source| RenderError::Write {
            path: path.clone(),
            source,
        })?;
        files.push(path);
    }
    Ok(Rendered {
        files,
        summary,
        warnings,
    })
}

/// Replaces a file whole or not at all; makes its folder if need be.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    ledger::replace(path, bytes)
}

/// The table of a results folder, and a sentence per line of the ledger that was passed over.
pub fn read(dir: &Path) -> Result<(Summary, Vec<String>), RenderError> {
    let plan = Plan::read(dir).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound if !dir.exists() => RenderError::NoFolder(dir.to_path_buf()),
        io::ErrorKind::NotFound => RenderError::NoPlan(dir.to_path_buf()),
        _ => RenderError::Read {
            path: dir.join(Plan::FILE),
            source,
        },
    })?;
    let path = dir.join(ledger::FILE);
    let contents = ledger::read(&path).map_err(|source| RenderError::Read { path, source })?;
    let mut summary = Summary::new(&plan, &contents.latest());
    // A torn line whose cell was run again takes nothing from the table.
    if !contents.warnings.is_empty() && !summary.counts.complete() {
        let lines = text::counted(contents.warnings.len(), "line");
        summary.warnings.push(format!(
            "ignored: {lines} of the ledger, torn or no record; run again to fill the gap"
        ));
    }
    Ok((summary, contents.warnings))
}
