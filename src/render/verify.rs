//! Whether the files of a results folder are what its ledger gives. Nothing is written.

use std::path::Path;

use super::outputs::{FILE, FORMAT, Outputs, PARQUET, content, is_listed};
use super::{files, numbers};
use crate::analyse::Summary;
use crate::error::Error;

/// What a comparison of a results folder with its ledger found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// How many files agree.
    pub agreed: usize,
    /// A sentence for each file that disagrees.
    pub problems: Vec<String>,
    /// A sentence for what could not be compared.
    pub unchecked: Vec<String>,
}

/// Renders the folder `dir` again in memory and compares its files. Those of this version have to be the same byte by
/// byte; those of another version have to have the same numbers.
pub fn verify(dir: &Path, summary: &Summary) -> Result<Verified, Error> {
    let list = Outputs::read(dir, FILE);
    let rendered = files(summary)?;
    let mut found = Verified::default();
    if list.is_none() && !rendered.iter().any(|(name, _)| dir.join(name).exists()) {
        found.unchecked.push("tables, figures and report: there are none".to_owned());
        return Ok(found);
    }
    let list = list.unwrap_or_default();
    let is_own = list.format == FORMAT;
    let is_changed = |name: &str| list.files.contains_key(name) && !list.is_unchanged(dir, name);
    for name in list.files.keys() {
        let is_rendered = rendered.iter().any(|(file, _)| file == name);
        if !dir.join(name).exists() {
            found.problems.push(format!("{name} is listed in {FILE} but missing"));
        } else if is_changed(name) {
            found.problems.push(format!("{name} was changed after it was written"));
        } else if is_own && !is_rendered {
            match name == PARQUET {
                // This build cannot write it.
                true => found.unchecked.push(format!("{name}: this build cannot write it")),
                false => found.problems.push(format!("{name} does not follow from the ledger")),
            }
        }
    }
    for (name, bytes) in &rendered {
        if is_changed(name) {
            continue;
        }
        let problem = match content(&dir.join(name)) {
            None if is_own && is_listed(name) && !list.files.contains_key(name) => {
                Some(format!("{name} is missing"))
            }
            None => continue,
            // A picture has its numbers in the CSV file next to it.
            Some(_) if !is_own && !numbers::are_in(name) => continue,
            Some(there) if is_own => (there != *bytes).then(|| {
                let place = place(name, &there, bytes);
                format!("{place} does not follow from the ledger; `npsvcpp render` writes it again")
            }),
            Some(there) => numbers::difference(name, &there, bytes),
        };
        match problem {
            Some(problem) => found.problems.push(problem),
            None => found.agreed += 1,
        }
    }
    if is_own && found.problems.is_empty() && list.sources != summary.sources {
        let sources = summary.sources.iter();
        let other = sources.filter(|(name, hash)| list.sources.get(*name) != Some(hash));
        let other: Vec<&str> = other.map(|(name, _)| name.as_str()).collect();
        let other = other.join(" and ");
        found.problems.push(format!(
            "{FILE} names another {other} than there is; `npsvcpp render` writes it again"
        ));
    }
    Ok(found)
}

/// The first line of a table that differs, or else the file.
fn place(name: &str, there: &[u8], rendered: &[u8]) -> String {
    if ![".md", ".tex", ".csv"].iter().any(|ending| name.ends_with(ending)) {
        return name.to_owned();
    }
    let [there, rendered] = [there, rendered].map(|bytes| bytes.split(|byte| *byte == b'\n'));
    let same = there.zip(rendered).take_while(|(a, b)| a == b).count();
    format!("line {} of {name}", same + 1)
}
