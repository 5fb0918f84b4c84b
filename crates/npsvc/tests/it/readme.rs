//! The README lists every method with its losses.

use npsvc::AnyMethod;

#[test]
fn the_table_of_methods_is_complete() {
    let readme = include_str!("../../README.md");
    for method in AnyMethod::all() {
        let info = method.info();
        let [similar, dissimilar] = info.losses.map(|loss| loss.replace('|', "\\|"));
        let row = |line: &&str| {
            line.starts_with(&format!("| {} |", info.title))
                && line.ends_with(&format!("| {similar} | {dissimilar} |"))
        };
        assert!(readme.lines().find(row).is_some(), "{info:?}");
    }
}
