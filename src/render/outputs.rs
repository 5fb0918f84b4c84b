//! `outputs.json`: the files of a rendering with their hashes, and the hashes of what they were made from.
//!
//! It is written last. So a rendering that was killed, that met a full disk, or whose files were changed
//! since does not match its list, and the next run or rendering writes what is missing or different. Two kinds of
//! files are not listed: PNG, which git ignores, and what the build that rendered cannot write.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{figure, report};
use crate::analyse::{Summary, sha256 as hash};
use crate::error::Error;
use crate::ledger;

/// Number of the renderer's format. Raise it whenever the renderer writes other bytes for the same results folder, so
/// that folders rendered before are rendered again.
pub const FORMAT: u32 = 4;

/// Name of the list in a results folder.
pub(super) const FILE: &str = "outputs.json";
/// Name of the list next to the page over several experiments.
pub(super) const INDEX: &str = "index.outputs.json";
/// Sources of a table: its ledgers, and the traces and maps next to them.
const LEDGER: &str = "ledger";
const TRACES: &str = "traces";
/// The one file that not every build can write.
pub(super) const PARQUET: &str = "cells.parquet";
/// Files with times, which are there where times are known.
pub(super) const TIMES: [&str; 3] = ["times.md", "times.tex", "times.csv"];
/// The other files of every experiment, unless it does not ask for them.
const TABLES: [&str; 4] = ["table.md", "table.tex", "table.csv", report::FILE];

/// The files of a rendering.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// All of them but the list.
    pub all: Vec<PathBuf>,
    /// Those that were missing or different, and so were written.
    pub written: Vec<PathBuf>,
}

/// A list of files.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outputs {
    pub format: u32,
    /// SHA-256 of what the files were made from, by name.
    pub sources: BTreeMap<String, String>,
    /// SHA-256 of each file, by its path from the list's folder, with `/` between folders.
    pub files: BTreeMap<String, String>,
}

impl Outputs {
    /// The list `name` in `dir`; `None` if there is none or it is damaged.
    pub fn read(dir: &Path, name: &str) -> Option<Self> {
        serde_json::from_slice(&content(&dir.join(name))?).ok()
    }

    /// Whether the listed files are those that this build would write from `sources`. Files that another build
    /// added are fine if they are as listed.
    fn is_current(&self, dir: &Path, sources: &BTreeMap<String, String>, names: &[String]) -> bool {
        self.format == FORMAT
            && self.sources == *sources
            && names.iter().all(|name| self.files.contains_key(name))
            && self.files.keys().all(|name| self.is_unchanged(dir, name))
    }

    /// Whether a listed file is as it was written.
    pub fn is_unchanged(&self, dir: &Path, name: &str) -> bool {
        let found = content(&dir.join(name)).map(|bytes| hash(&bytes));
        found.is_some() && found.as_ref() == self.files.get(name)
    }
}

/// Whether the files of a table in `dir` are all there, as they were written, and would be the same if written again.
pub(super) fn is_current(dir: &Path, summary: &Summary) -> bool {
    let parquet = cfg!(feature = "parquet").then_some(PARQUET);
    let names = TABLES.into_iter().chain(parquet).filter(|name| summary.asks_for(name));
    let names: Vec<String> = names.map(str::to_owned).collect();
    Outputs::read(dir, FILE).is_some_and(|list| list.is_current(dir, &summary.sources, &names))
}

/// Writes the files of a table into `dir` that are missing or different, and their list.
pub(super) fn write_table(dir: &Path, summary: &Summary) -> Result<Files, Error> {
    remove_leftovers(dir);
    let files = super::files(summary)?;
    let pictures = figure::names()
        .flat_map(|name| ["svg", "png", "csv"].map(|ending| format!("figures/{name}.{ending}")));
    let known = TABLES.into_iter().chain(TIMES).chain([PARQUET]).map(str::to_owned);
    write(dir, FILE, summary.sources.clone(), files, known.chain(pictures))
}

/// Writes the page over several experiments into `dir`, its other files, and their list.
pub(super) fn write_index(
    dir: &Path,
    experiments: &[(String, &Summary)],
    files: Vec<(String, Vec<u8>)>,
) -> Result<Files, Error> {
    let sources = experiments.iter().flat_map(|(name, summary)| within(name, &summary.sources));
    write(dir, INDEX, sources.collect(), files, [report::NUMBERS.to_owned()])
}

/// The sources of an experiment on the index page, by the name of its folder.
fn within(folder: &str, sources: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let sources = sources.iter();
    sources.map(|(name, hash)| (format!("{folder}/{name}"), hash.clone())).collect()
}

/// Names of the experiments on the index page in `dir`; none if there is no such page.
pub fn indexed(dir: &Path) -> Vec<String> {
    let list = Outputs::read(dir, INDEX).unwrap_or_default();
    let names = list.sources.keys().filter_map(|name| name.rsplit_once('/'));
    let mut names: Vec<String> = names.map(|(name, _)| name.to_owned()).collect();
    names.dedup();
    names
}

/// Whether the index page in `dir` is as it was written, and shows what the lists of its experiments say.
pub fn is_index_current(dir: &Path) -> bool {
    let Some(list) = Outputs::read(dir, INDEX) else {
        return false;
    };
    let sources = indexed(dir).into_iter().flat_map(|name| {
        let known = Outputs::read(&dir.join(&name), FILE).unwrap_or_default();
        within(&name, &known.sources)
    });
    list.is_current(dir, &sources.collect(), &[report::INDEX.to_owned()])
}

/// Refuses a results folder whose ledgers are gone although its files were made from some.
pub fn refuse_lost_ledger(dir: &Path) -> Result<(), Error> {
    let listed = Outputs::read(dir, FILE);
    let ledgers = ledger::ledgers(dir).unwrap_or_default();
    // A missing file has no size.
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |file| file.len());
    let are_gone = ledgers.iter().all(|path| size(path) == 0);
    let is_other =
        |list: &Outputs| ledger::hash(dir).is_ok_and(|now| list.sources.get(LEDGER) != Some(&now));
    match listed.filter(|_| are_gone).is_some_and(|list| is_other(&list)) {
        false => Ok(()),
        true => Err(Error::input(format!(
            "{} has no ledger any more, but tables that were made from one; restore {}, or start over with \
             `run --fresh`",
            dir.display(),
            ledger::FILE
        ))),
    }
}

/// Writes the files that are missing or different, removes those of a former rendering, and writes the list.
///
/// `known` names files that a rendering may have written before there were lists.
fn write(
    dir: &Path,
    list: &str,
    sources: BTreeMap<String, String>,
    mut files: Vec<(String, Vec<u8>)>,
    known: impl IntoIterator<Item = String>,
) -> Result<Files, Error> {
    let former = Outputs::read(dir, list);
    refuse_lost_traces(dir, former.as_ref(), &sources, &files)?;
    let mut outputs = Outputs {
        format: FORMAT,
        sources,
        files: (files.iter().filter(|(name, _)| is_listed(name)))
            .map(|(name, bytes)| (name.clone(), hash(bytes)))
            .collect(),
    };
    let all: Vec<PathBuf> = files.iter().map(|(name, _)| dir.join(name)).collect();
    // Files that are not listed come first. If the program is killed among them, what is listed still differs from the
    // list, and the next run writes all.
    files.sort_by_key(|(name, _)| is_listed(name));
    let files: Vec<(PathBuf, Vec<u8>)> = (files.into_iter())
        .map(|(name, bytes)| (dir.join(name), bytes))
        .filter(|(path, bytes)| content(path).as_ref() != Some(bytes))
        .collect();
    let pairs = files.iter().map(|(path, bytes)| (&**path, &**bytes));
    ledger::replace_all(pairs)?;
    let listed = former.iter().flat_map(|former| former.files.keys());
    let listed = listed.filter(|name| is_output(name)).cloned();
    for name in known.into_iter().chain(listed) {
        let path = dir.join(&name);
        if all.contains(&path) {
            continue;
        }
        if name != PARQUET || !is_kept(dir, former.as_ref(), &mut outputs) {
            ledger::remove(&path)?;
        }
    }
    let mut written: Vec<PathBuf> = files.into_iter().map(|(path, _)| path).collect();
    let path = dir.join(list);
    let text = ledger::json(&outputs);
    if content(&path).as_ref() != Some(&text) {
        ledger::replace(&path, &text)?;
        written.push(path);
    }
    Ok(Files { all, written })
}

/// Figures that were drawn from traces or maps are not removed because these are gone.
fn refuse_lost_traces(
    dir: &Path,
    former: Option<&Outputs>,
    sources: &BTreeMap<String, String>,
    files: &[(String, Vec<u8>)],
) -> Result<(), Error> {
    let Some(former) = former.filter(|former| former.format == FORMAT) else {
        return Ok(());
    };
    let is_same = |(name, hash): (&String, &String)| sources.get(name) == Some(hash);
    let mut others = former.sources.iter().filter(|(name, _)| *name != TRACES);
    let has_figure = |name: &&String| name.starts_with("figures/") && dir.join(name).is_file();
    let is_gone = |name: &&String| !files.iter().any(|(file, _)| file == *name);
    let mut figures = former.files.keys().filter(has_figure).filter(is_gone);
    match figures.next() {
        Some(figure) if others.all(is_same) => Err(Error::failed(format!(
            "{} cannot be drawn again, because the traces or maps that it was drawn from are missing; restore the \
             folders {} and {}, or start over with `run --fresh`",
            dir.join(figure).display(),
            ledger::TRACES,
            ledger::Embedding::FOLDER
        ))),
        _ => Ok(()),
    }
}

/// Whether a build that cannot write `cells.parquet` keeps the one that is there: unless it is known to be outdated or
/// damaged. It stays in the list if it was in it.
fn is_kept(dir: &Path, former: Option<&Outputs>, outputs: &mut Outputs) -> bool {
    let Some(former) = former else {
        return true;
    };
    if former.sources != outputs.sources {
        return false;
    }
    let Some(hash) = former.files.get(PARQUET) else {
        return true;
    };
    let is_unchanged = former.is_unchanged(dir, PARQUET);
    if is_unchanged && former.format == FORMAT {
        outputs.files.insert(PARQUET.to_owned(), hash.clone());
    }
    is_unchanged
}

/// Whether a file is in the list of outputs.
pub(super) fn is_listed(name: &str) -> bool {
    !name.ends_with(".png")
}

/// Whether a file that a list names may be an output. Lists can be damaged, so a ledger or a plan, or a file
/// elsewhere, is never removed because of one.
fn is_output(name: &str) -> bool {
    let file = name.strip_prefix("figures/").unwrap_or(name);
    let ending = file.rsplit_once('.').map(|(_, ending)| ending);
    let endings = ["md", "tex", "csv", "html", "svg", "parquet"];
    !file.contains(['/', '\\']) && ending.is_some_and(|ending| endings.contains(&ending))
}

/// The content of a regular file, if it can be read.
pub(super) fn content(path: &Path) -> Option<Vec<u8>> {
    // Reading a pipe might never end.
    path.is_file().then(|| fs::read(path).ok()).flatten()
}

/// Removes what interrupted writes left in a results folder and in the folders in it.
pub(super) fn remove_leftovers(dir: &Path) {
    ledger::remove_leftovers(dir);
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            ledger::remove_leftovers(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(ledger: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("ledger".to_owned(), ledger.to_owned())])
    }

    fn file(name: &str, text: &str) -> (String, Vec<u8>) {
        (name.to_owned(), text.into())
    }

    /// Renders as a build that can write Parquet.
    fn large(dir: &Path, ledger: &str) {
        let files = vec![file("table.md", ledger), file(PARQUET, ledger)];
        write(dir, FILE, sources(ledger), files, []).unwrap();
    }

    /// Renders as a build that cannot, and says whether `cells.parquet` is there and listed.
    fn small(dir: &Path, ledger: &str) -> (bool, bool) {
        let files = vec![file("table.md", ledger)];
        write(dir, FILE, sources(ledger), files, [PARQUET.to_owned()]).unwrap();
        let list = Outputs::read(dir, FILE).unwrap();
        assert!(list.is_current(dir, &sources(ledger), &["table.md".to_owned()]));
        let is_listed = list.files.contains_key(PARQUET);
        // The other build writes what is not listed.
        let names = ["table.md".to_owned(), PARQUET.to_owned()];
        assert_eq!(list.is_current(dir, &sources(ledger), &names), is_listed);
        (dir.join(PARQUET).exists(), is_listed)
    }

    #[test]
    fn a_build_without_parquet_keeps_the_file_while_it_is_current() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        large(dir, "first");
        let both = ["table.md".to_owned(), PARQUET.to_owned()];
        let list = Outputs::read(dir, FILE).unwrap();
        assert!(list.is_current(dir, &sources("first"), &both[..1]));
        assert!(list.is_current(dir, &sources("first"), &both));
        fs::write(dir.join("table.md"), "garbage").unwrap();
        assert_eq!(small(dir, "first"), (true, true));
        assert_eq!(small(dir, "second"), (false, false), "of another ledger");
        large(dir, "second");
        fs::write(dir.join(PARQUET), "garbage").unwrap();
        assert_eq!(small(dir, "second"), (false, false), "damaged");
    }

    #[test]
    fn a_build_without_parquet_keeps_a_file_of_which_it_knows_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        large(dir, "first");
        fs::remove_file(dir.join(FILE)).unwrap();
        assert_eq!(small(dir, "first"), (true, false));
        assert_eq!(small(dir, "first"), (true, false));
        assert_eq!(small(dir, "second"), (false, false));
    }

    #[test]
    fn lists_cannot_have_sources_or_files_elsewhere_removed() {
        for name in ["table.md", "figures/time.svg", "cells.parquet"] {
            assert!(is_output(name), "{name}");
        }
        for name in [
            "ledger.jsonl",
            "plan.json",
            "spec.yaml",
            "../x.md",
            "/x.md",
            "figures/../../x.md",
            "traces/x.csv",
            "..\\x.md",
            "x",
        ] {
            assert!(!is_output(name), "{name}");
        }
    }
}
