//! Modules use each other in one direction only, as `docs/architecture.md` shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each module of `src` may use, besides [`BASICS`]. A module is listed below all that it uses.
const MAY_USE: [(&str, &[&str]); 14] = [
    ("paper", &[]),
    ("stats", &[]),
    ("methods", &[]),
    ("data", &[]),
    ("networks", &["data", "methods"]),
    ("spec", &["data", "methods", "paper"]),
    ("event", &["data"]),
    ("plan", &["event", "spec", "networks", "data", "methods"]),
    ("ledger", &["plan", "spec", "data"]),
    ("run", &["event", "ledger", "plan", "spec", "networks", "data", "methods", "stats"]),
    ("analyse", &["ledger", "plan", "spec", "stats", "paper"]),
    ("render", &["analyse", "ledger"]),
    ("audit", &["event", "ledger", "plan", "spec", "run", "analyse", "render", "data", "methods"]),
    ("program", ANYTHING),
];

/// The error type, plurals and suggestions, the memory of the machine. Everything may use them; they use nothing.
const BASICS: [&str; 3] = ["error", "wording", "memory"];

/// The files of the program, which is the last layer and may use all of the library.
const PROGRAM: [&str; 5] = ["cli", "commands", "main", "output", "progress"];

const ANYTHING: &[&str] = &["*"];

/// The modules of the library that a text names, as `crate::name` or in `use crate::{name, other}`.
fn used(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for root in ["crate::", "npsvcpp::"] {
        for (at, _) in text.match_indices(root) {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if text[..at].ends_with(is_word) {
                continue;
            }
            let rest = &text[at + root.len()..];
            let paths = match rest.starts_with('{') {
                true => group(rest),
                false => vec![rest],
            };
            let name = |path: &str| {
                path.trim_start().split(|c| !is_word(c)).next().unwrap_or("").to_owned()
            };
            found.extend(paths.into_iter().map(name));
        }
    }
    // Types and functions of the root belong to no module.
    found.retain(|name| name.starts_with(|c: char| c.is_ascii_lowercase()));
    found
}

/// The paths of `{one, two::{three, four}}` at the start of a text.
fn group(text: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut paths) = (0, 1, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && c == ',') {
            paths.push(&text[begin..at]);
            begin = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    paths
}

#[test]
fn paths_are_found_in_every_form() {
    let text = "use crate::spec::{self, Form};\nuse crate::{\n    data::{Store, split},\n    ledger,\n};\n\
                fn f() -> npsvcpp::run::Error { crate::Root; mycrate::other; }";
    assert_eq!(Vec::from_iter(used(text)), ["data", "ledger", "run", "spec"]);
}

/// A source without comments and tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let end = text
        .find("#[cfg(test)]\nmod ")
        .filter(|at| text[*at..].lines().nth(1).unwrap().ends_with('{'));
    let lines = text[..end.unwrap_or(text.len())].lines();
    lines.map(|line| line.split("//").next().unwrap().to_owned() + "\n").collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The module of a file, such as `data` of `src/data/csv.rs`.
fn module(path: &Path, root: &Path) -> String {
    let first = path.strip_prefix(root).unwrap().components().next().unwrap();
    let name = first.as_os_str().to_str().unwrap().trim_end_matches(".rs");
    if PROGRAM.contains(&name) { "program".to_owned() } else { name.to_owned() }
}

#[test]
fn modules_use_only_those_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 100, "only {} sources were found", files.len());
    let table: BTreeMap<&str, &[&str]> = MAY_USE.into_iter().collect();
    for path in files {
        let user = module(&path, &root);
        // The root only lists the modules.
        if user == "lib" {
            continue;
        }
        let may = match BASICS.contains(&user.as_str()) {
            true => &[],
            false => {
                *table.get(user.as_str()).unwrap_or_else(|| panic!("add `{user}` to the table"))
            }
        };
        let is_allowed = |name: &str| {
            may == ANYTHING || name == user || may.contains(&name) || BASICS.contains(&name)
        };
        for name in used(&code(&path)) {
            let path = path.display();
            assert!(
                is_allowed(&name),
                "`{user}` must not use `{name}`, as {path} does; see docs/architecture.md"
            );
        }
    }
}

/// So no two modules can use each other.
#[test]
fn the_table_is_in_order() {
    for (index, (user, may)) in MAY_USE.iter().enumerate() {
        let below: Vec<&str> = MAY_USE[..index].iter().map(|(name, _)| *name).collect();
        let above = may.iter().find(|name| **name != "*" && !below.contains(name));
        assert_eq!(above, None, "`{user}` may use only modules that come before it in the table");
    }
}
