//! `splits SPEC|FOLDER --out DIR`.

use std::path::Path;

use npsvcpp::data::Dataset;
use npsvcpp::ledger::provenance::SPEC;
use npsvcpp::plan::{self, Former, Part};
use npsvcpp::run::{EXPORT_INDEX, export_splits};
use npsvcpp::spec;
use npsvcpp::wording::counted;
use npsvcpp::{Error, Exit};

use super::{Failure, check, store};
use crate::cli::SplitsArgs;
use crate::output::{note, show};

pub fn splits(arguments: &SplitsArgs, quiet: bool) -> Result<Exit, Failure> {
    let SplitsArgs { source, out, with_data, data } = arguments;
    refuse_other_files(out)?;
    let store = store(data)?;
    // Splits follow from shapes and hashes, without vectors of images.
    let store = if *with_data { store } else { store.for_plan() };
    let results = source.is_dir().then_some(source.as_path());
    let spec = match results {
        Some(folder) if !folder.join(SPEC).is_file() => {
            let problem = format!(
                "{} has no {SPEC}, so it is not the results folder of a run; name a spec, or the folder that `npsvcpp run` \
                 wrote",
                folder.display()
            );
            return Err(Error::input(problem).into());
        }
        Some(folder) => spec::load(&folder.join(SPEC))?,
        None => spec::load(source)?,
    };
    let formers: Vec<Former> = results.map(Former::read).into_iter().collect();
    let prepared = check::plan(&spec, &store, &formers, &Part::default(), quiet)?;
    let experiment = &prepared.plan.experiment;
    let whole = |index: usize| -> Result<Dataset, Error> {
        let loaded = plan::load_whole(&experiment.datasets[index], experiment, &store);
        loaded.map_err(|error| Error::input(error.to_string()))
    };
    let reasons = export_splits(&prepared, results, out, with_data.then_some(&whole))?;
    for reason in &reasons {
        note!("{reason}");
    }
    let written = counted(experiment.datasets.len() - reasons.len(), "dataset");
    show!("splits of {written} in {}", out.display());
    Ok(if reasons.is_empty() { Exit::Complete } else { Exit::Incomplete })
}

/// Refuses a folder that holds anything but an export.
fn refuse_other_files(out: &Path) -> Result<(), Error> {
    let is_file = out.exists() && !out.is_dir();
    let is_occupied = || {
        let mut files = std::fs::read_dir(out).into_iter().flatten();
        files.next().is_some() && !out.join(EXPORT_INDEX).is_file()
    };
    match is_file || is_occupied() {
        false => Ok(()),
        true => Err(Error::input(format!(
            "--out {}: found other files there, expected a new folder, an empty one, or one with exported splits; choose \
             another folder",
            out.display()
        ))),
    }
}
