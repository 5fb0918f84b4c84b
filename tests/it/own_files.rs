//! Promise: the user's own files are read as what they are. What could be read in two ways is refused with the remedy,
//! and what looks like a mistake is reported before anything is computed.

use crate::program::{Ended, Folder};

/// Checks a spec whose only dataset is `files`.
fn check(folder: &Folder, files: &str) -> Ended {
    let text = format!("name: own\ndatasets: [{files}]\nsplits: {{repeats: 2}}\nmethods: [svm]\n");
    folder.write("own.yaml", text);
    folder.run("check own.yaml --offline -q")
}

/// Twenty samples of two features and two classes below a header.
fn table(header: &str, row: impl Fn(usize) -> String) -> String {
    let rows = (0..20).map(|i| row(i) + "\n");
    header.to_owned() + &rows.collect::<String>()
}

#[test]
fn check_prints_classes_with_their_counts() {
    let folder = Folder::new();
    let rows = table("w,h,kind\n", |i| {
        format!("{},{},{}", i % 7, i % 5, if i % 4 == 0 { "dog" } else { "cat" })
    });
    folder.write("a.csv", rows);
    let checked = check(&folder, "files: {train: a.csv}");
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert!(checked.out.contains("classes: cat (15), dog (5)"), "{}", checked.out);
    assert_eq!(checked.err, "");
    // Of many classes, the first ones.
    let rows: String = (0..30).map(|i| format!("k{:02},{}\n", i / 2, i % 3)).collect();
    folder.write("many.csv", rows);
    let checked = check(&folder, "files: {train: many.csv, label: 1}");
    assert!(checked.out.contains("k11 (2), and 3 more of 2 to 2 samples"), "{}", checked.out);
    assert!(checked.err.contains("warning: `many`: 15 classes for 30 samples"), "{}", checked.err);
}

#[test]
fn a_label_in_quotes_is_a_name_and_a_bare_number_a_position() {
    let folder = Folder::new();
    let rows = table("1,2,3\n", |i| format!("{},{},{}", i % 2, i % 7 + 1, i % 5 + 1));
    folder.write("a.csv", rows);
    let classes = |label: &str| {
        let checked =
            check(&folder, &format!("files: {{train: a.csv, header: true, label: {label}}}"));
        assert_eq!(checked.code, 0, "{}", checked.err);
        checked.out.lines().find(|line| line.contains("classes:")).unwrap().trim().to_owned()
    };
    assert_eq!(classes("1"), "classes: 0 (10), 1 (10)");
    assert_eq!(classes("'1'"), "classes: 0 (10), 1 (10)");
    assert_eq!(classes("'2'"), classes("2"));
    let refused = check(&folder, "files: {train: a.csv, label: '4', header: true}");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("a number without quotes is a position"), "{}", refused.err);
    let refused = check(&folder, "files: {train: a.csv, label: 1}");
    let said = "found the line `1,2,3`, a header or a sample, expected `header: true` or `header: false` in the spec";
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains(said), "{}", refused.err);
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    let folder = Folder::new();
    let rows = table("", |i| format!("{},{}", i % 7, ["b\u{e4}r", "b\u{f6}r", "hund"][i % 3]));
    let latin1: Vec<u8> = rows.chars().map(|c| c as u8).collect();
    folder.write("latin.csv", latin1);
    let refused = check(&folder, "files: {train: latin.csv}");
    assert_eq!(refused.code, 2);
    let said = "latin.csv:1:4: found byte 0xe4 (`ä` in Latin-1), expected UTF-8";
    assert!(refused.err.contains(said), "{}", refused.err);
    let wide: Vec<u8> = rows.encode_utf16().flat_map(u16::to_le_bytes).collect();
    folder.write("wide.txt", wide);
    let refused = check(&folder, "files: {train: wide.txt}");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("wide.txt: found UTF-16 text"), "{}", refused.err);
}

#[test]
fn warnings_come_before_computing_and_stay_with_the_results() {
    let folder = Folder::new();
    let rows = table(",w,h,kind\n", |i| format!("{i},{},{},{}", i % 7, 1000 * (i % 5), i % 2));
    folder.write("a.csv", rows);
    let checked = check(&folder, "files: {train: a.csv}");
    assert_eq!(checked.code, 0);
    let lines: Vec<&str> = checked.err.lines().collect();
    assert!(
        lines[0].starts_with("warning: `a`: column 1 has no name and counts the rows"),
        "{lines:?}"
    );
    assert!(lines[1].contains("scale the features first"), "{lines:?}");
    let run = folder.run("run own.yaml --offline -q");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.starts_with(lines[0]), "{}", run.err);
    let table = std::fs::read_to_string(folder.path("results/own/table.md")).unwrap();
    assert!(table.contains("column 1 has no name and counts the rows"), "{table}");
    std::fs::remove_dir_all(folder.path("results")).unwrap();
    let checked = check(&folder, "files: {train: a.csv, drop: [1, h]}");
    assert_eq!((checked.code, checked.err.as_str()), (0, ""));
    assert!(checked.out.contains("20 samples x 1 dims x 2 classes"), "{}", checked.out);
}

#[test]
fn a_kernel_that_is_constant_is_warned_of() {
    let folder = Folder::new();
    folder.write("a.csv", table("", |i| format!("{},{}", 1e-9 * (i % 7) as f64, i % 2)));
    let text = "name: own\ndatasets: [files: {train: a.csv}]\nkernel: {gaussian: {width: 1}}\nmethods: [svm]\n";
    folder.write("own.yaml", text);
    let checked = folder.run("check own.yaml --offline -q");
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert!(
        checked.err.contains("the kernel is constant on all pairs of samples"),
        "{}",
        checked.err
    );
}

#[test]
fn an_official_split_needs_a_usable_test_file() {
    let folder = Folder::new();
    let text = "name: own\ndatasets:\n  - svmguide3: {official_split: true}\n  - pendigits: {official_split: true}\n\
                methods: [svm]\n";
    folder.write("own.yaml", text);
    let refused = folder.run("check own.yaml --offline -q");
    assert_eq!(refused.code, 2);
    let said = "own.yaml:3:33: dataset `svmguide3`: there is no official split, because its test file has samples of one \
                class only; leave `official_split` out\n";
    assert_eq!(refused.err, said);
    folder.write("own.yaml", text.replace("  - svmguide3: {official_split: true}\n", ""));
    let checked = folder.run("check own.yaml --offline -q");
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert!(checked.out.contains("7494 train / 3498 test, 1 split"), "{}", checked.out);
}
