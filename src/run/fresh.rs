//! `run --fresh`: moves the results of an experiment aside and compares them with the new ones.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::ledger::{self, Ledger, Plan, Status};

/// What the name of a folder that was moved aside has before its number.
const MARK: &str = ".old-";

/// Whether a folder holds results that `run --fresh` moved aside.
pub fn is_set_aside(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name.rsplit_once(MARK).is_some_and(|(before, number)| {
        !before.is_empty() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Names the folder that was moved aside, in the new one, until both are compared.
const NOTE: &str = ".compare-with";

/// Renames `results/x` to `results/x.old-1`, or to the first number that is free, and gives the new path. A new folder
/// takes its place.
pub fn set_aside(folder: &Path) -> io::Result<PathBuf> {
    let name = folder.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    for number in 1.. {
        let mut aside = name.to_os_string();
        aside.push(format!("{MARK}{number}"));
        let aside = folder.with_file_name(aside);
        if aside.symlink_metadata().is_err() {
            std::fs::rename(folder, &aside)?;
            std::fs::create_dir(folder)?;
            let name = aside.file_name().unwrap_or_default();
            ledger::replace(&folder.join(NOTE), name.as_encoded_bytes())?;
            ledger::sync_folder(aside.parent().unwrap_or(Path::new(""))).or_else(|error| {
                match error.kind() {
                    // A folder without a parent in its path lies in the current one.
                    io::ErrorKind::NotFound => Ok(()),
                    _ => Err(error),
                }
            })?;
            return Ok(aside);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// The folder that was moved aside and not compared yet, if there is one; it is given once.
pub fn take_set_aside(folder: &Path) -> Option<PathBuf> {
    let note = folder.join(NOTE);
    let aside = folder.with_file_name(std::fs::read_to_string(&note).ok()?);
    std::fs::remove_file(note).ok()?;
    aside.is_dir().then_some(aside)
}

/// New numbers next to the former ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Accuracies that both have, to the last digit.
    pub same: usize,
    /// Methods on datasets of which at least one accuracy moved.
    pub moved: Vec<Moved>,
    /// Accuracies that only the former results have.
    pub gone: usize,
    /// Accuracies that only the new results have.
    pub new: usize,
}

/// A method on a dataset whose accuracies moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    pub dataset: String,
    pub label: String,
    /// Mean over the splits that both have.
    pub before: f64,
    pub after: f64,
    /// Splits that moved, of those that both have.
    pub splits: usize,
    pub of: usize,
    /// Largest difference of a split.
    pub most: f64,
}

/// Compares the accuracies of two results folders, split by split.
pub fn compare(before: (&Plan, &Ledger), after: (&Plan, &Ledger)) -> Comparison {
    let (before, after) = (accuracies(before), accuracies(after));
    let mut comparison = Comparison::default();
    let mut pairs: BTreeMap<(&str, &str), Vec<(f64, f64)>> = BTreeMap::new();
    for (place, &now) in &after {
        match before.get(place) {
            None => comparison.new += 1,
            Some(&then) => pairs.entry((place.0, place.1)).or_default().push((then, now)),
        }
    }
    comparison.gone = before.keys().filter(|place| !after.contains_key(*place)).count();
    for ((dataset, label), pairs) in pairs {
        let of = pairs.len();
        let mean = |part: fn(&(f64, f64)) -> f64| pairs.iter().map(part).sum::<f64>() / of as f64;
        let distances = pairs.iter().map(|(then, now)| (now - then).abs());
        let splits = distances.clone().filter(|distance| *distance != 0.0).count();
        comparison.same += of - splits;
        if splits > 0 {
            comparison.moved.push(Moved {
                dataset: dataset.to_owned(),
                label: label.to_owned(),
                before: mean(|pair| pair.0),
                after: mean(|pair| pair.1),
                splits,
                of,
                most: distances.fold(0.0, f64::max),
            });
        }
    }
    comparison
}

/// The accuracy of every finished cell by dataset, label, split and training seed.
fn accuracies<'a>(
    (plan, ledger): (&'a Plan, &'a Ledger),
) -> HashMap<(&'a str, &'a str, usize, usize), f64> {
    let cells = plan.cells.iter().filter_map(|cell| {
        let record = ledger.get(&cell.cell).filter(|record| record.status == Status::Ok);
        let accuracy = record?.accuracy?;
        let (dataset, method) = (&plan.datasets[cell.dataset], &plan.methods[cell.method]);
        let place = (&*dataset.name, &*method.label, cell.split, cell.training_seed);
        Some((place, accuracy))
    });
    cells.collect()
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moved: usize = self.moved.iter().map(|moved| moved.splits).sum();
        write!(f, "{} accuracies are the same, {moved} moved", self.same)?;
        if self.gone > 0 {
            write!(f, ", {} are missing now", self.gone)?;
        }
        if self.new > 0 {
            write!(f, ", {} are new", self.new)?;
        }
        for one in &self.moved {
            let Moved { dataset, label, before, after, splits, of, most } = one;
            let shift = after - before;
            write!(
                f,
                "\n  {dataset}, {label}: mean {before:.2} -> {after:.2} ({shift:+.2}); \
                 {splits} of {of} splits moved, by at most {most:.2}"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_that_fresh_gives_are_set_aside() {
        for name in ["results/x.old-1", "x.old-12", "a.old-1.old-3"] {
            assert!(is_set_aside(Path::new(name)), "{name}");
        }
        for name in ["results/x", "x.old", "x.old-", "x.old-a", ".old-1", "x.old-1/y"] {
            assert!(!is_set_aside(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn the_first_free_number_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("x")).unwrap();
        for expected in ["x.old-1", "x.old-2"] {
            let aside = set_aside(&dir.path().join("x")).unwrap();
            assert_eq!(aside, dir.path().join(expected));
            assert!(aside.is_dir());
        }
    }
}
