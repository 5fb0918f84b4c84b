//! The README lists every method with its losses.

use super::support::{method, methods};

#[test]
fn the_table_of_methods_is_complete() {
    let readme = include_str!("../../README.md");
    for entry in methods() {
        let info = method(entry.name, &serde_json::json!({})).info();
        let [near, far] = info.losses.map(|loss| loss.replace('|', "\\|"));
        let row = |line: &&str| {
            line.starts_with(&format!("| {} |", info.title))
                && line.ends_with(&format!("| {near} | {far} |"))
        };
        assert!(readme.lines().find(row).is_some(), "{info:?}");
    }
}
