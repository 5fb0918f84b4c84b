//! `run --fresh`: moves the results of an experiment aside and compares them with the new ones.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::folder::refuse_in_use;
use crate::error::Error;
use crate::ledger::{self, Ledger, Place, Plan};

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
/// takes its place. An error if a run is writing to it.
pub fn set_aside(folder: &Path) -> Result<PathBuf, Error> {
    refuse_in_use(folder, &ledger::ledgers(folder)?, 1)?;
    let name = folder.file_name().unwrap_or_default();
    let numbered = |number: usize| {
        let mut aside = name.to_os_string();
        aside.push(format!("{MARK}{number}"));
        aside
    };
    let is_free = |name: &OsString| folder.with_file_name(name).symlink_metadata().is_err();
    let name = (1..).map(numbered).find(is_free).expect("some number is free");
    let aside = folder.with_file_name(&name);
    std::fs::rename(folder, &aside).map_err(Error::cannot("rename", folder))?;
    ledger::replace(&folder.join(NOTE), name.as_encoded_bytes())?;
    Ok(aside)
}

/// The folder that was moved aside and not compared yet, if there is one; it is given once.
pub fn take_set_aside(folder: &Path) -> Option<PathBuf> {
    let note = folder.join(NOTE);
    let aside = folder.with_file_name(std::fs::read_to_string(&note).ok()?);
    std::fs::remove_file(note).ok()?;
    aside.is_dir().then_some(aside)
}

/// Which accuracies of two results folders are the same, and which moved, split by split.
pub fn compare(before: (&Plan, &Ledger), after: (&Plan, &Ledger)) -> String {
    let (before, after) = (accuracies(before), accuracies(after));
    let mut pairs: BTreeMap<(&str, &str), Vec<(f64, f64)>> = BTreeMap::new();
    for (place, &now) in &after {
        if let Some(&then) = before.get(place) {
            pairs.entry((place.0, place.1)).or_default().push((then, now));
        }
    }
    let both: usize = pairs.values().map(Vec::len).sum();
    let (gone, new) = (before.len() - both, after.len() - both);
    let (mut moved, mut lines) = (0, String::new());
    for ((dataset, label), pairs) in pairs {
        let of = pairs.len();
        let mean = |part: fn(&(f64, f64)) -> f64| pairs.iter().map(part).sum::<f64>() / of as f64;
        let (then, now) = (mean(|pair| pair.0), mean(|pair| pair.1));
        let distances = pairs.iter().map(|(then, now)| (now - then).abs());
        let splits = distances.clone().filter(|distance| *distance != 0.0).count();
        if splits > 0 {
            moved += splits;
            lines += &format!(
                "\n  {dataset}, {label}: mean {then:.2} -> {now:.2} ({:+.2}); \
                 {splits} of {of} splits moved, by at most {:.2}",
                now - then,
                distances.fold(0.0, f64::max)
            );
        }
    }
    let mut text = format!("{} accuracies are the same, {moved} moved", both - moved);
    for (number, what) in [(gone, "missing now"), (new, "new")] {
        if number > 0 {
            text += &format!(", {number} are {what}");
        }
    }
    text + &lines
}

/// The accuracy of every finished cell.
fn accuracies<'a>((plan, ledger): (&'a Plan, &Ledger)) -> HashMap<Place<'a>, f64> {
    let done = plan.cells.iter().filter(|cell| ledger.is_done(&cell.cell));
    done.filter_map(|cell| Some((plan.place(cell), ledger.get(&cell.cell)?.accuracy?))).collect()
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
