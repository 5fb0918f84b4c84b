//! Promise: `--only` reads only the data that it needs, and a wrong name is reported before anything is read.

use crate::program::Folder;

const SPEC: &str = "name: two\ndatasets:\n  - files: {name: first, train: first.txt}\n  \
                    - files: {name: second, train: second.txt}\nsplits: {repeats: 2}\nmethods: [svm, {svm: {label: Soft, c: 0.1}}]\n";

fn folder() -> Folder {
    let folder = Folder::new();
    let rows = |n: usize| (0..n).map(|i| format!("{} 1:{i} 2:{}\n", i % 2, i * i % 7));
    folder.write("first.txt", rows(30).collect::<String>());
    folder.write("two.yaml", SPEC);
    folder
}

#[test]
fn data_that_only_leaves_out_is_not_read() {
    let folder = folder();
    // `second.txt` is missing or damaged, and the run does not notice.
    for second in [None, Some("no data")] {
        second.into_iter().for_each(|text| folder.write("second.txt", text));
        let run = folder.run("run two.yaml --offline -q --only dataset=first");
        assert_eq!(run.code, 0, "{}", run.err);
        assert_eq!(folder.records("results/two").len(), 4);
    }
    assert_eq!(folder.run("run two.yaml --offline -q").code, 2, "without --only, it is read");
    folder.write("second.txt", std::fs::read(folder.path("first.txt")).unwrap());
    let run = folder.run("run two.yaml --offline -q");
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(folder.records("results/two").len(), 8);
    // Its row stays when a narrower run does not read it.
    let table = || std::fs::read(folder.path("results/two/table.md")).unwrap();
    let before = table();
    std::fs::remove_file(folder.path("second.txt")).unwrap();
    let run = folder.run("run two.yaml --offline -q --only dataset=first --only split=0");
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(table(), before);
}

#[test]
fn a_wrong_name_is_reported_before_data_is_read() {
    let folder = folder();
    for (only, said) in [
        (
            "dataset=frist",
            "no dataset `frist` in this experiment, expected one of `first`, `second`; did you mean `first`?",
        ),
        (
            "method=svn",
            "no method `svn` in this experiment, expected one of `SVM`, `Soft`; did you mean `SVM`?",
        ),
    ] {
        let run = folder.run(&format!("run two.yaml --offline --only {only}"));
        assert_eq!((run.code, run.err), (2, format!("npsvcpp: --only: {said}\n")));
    }
}

#[test]
fn a_dry_run_counts_what_is_done() {
    let folder = folder();
    folder.write("second.txt", std::fs::read(folder.path("first.txt")).unwrap());
    let dry = |only: &str| folder.run(&format!("run two.yaml --offline -q --dry-run {only}"));
    let first = dry("");
    assert!(first.out.contains("\n8 cells, 8 to run"), "{}", first.out);
    assert_eq!(folder.run("run two.yaml --offline -q --only split=0 --only method=Soft").code, 0);
    let second = dry("--only split=0");
    assert_eq!(second.code, 0);
    assert!(second.out.contains("\n8 cells, 2 done in results/two, 6 to run"), "{}", second.out);
    assert!(
        second.out.ends_with("of these, --only chooses 4 of 8 cells, 2 of them done\n"),
        "{}",
        second.out
    );
    std::fs::remove_file(folder.path("second.txt")).unwrap();
    let third = dry("--only dataset=first");
    assert_eq!(third.code, 0, "{}", third.out);
    assert!(!third.out.contains("cannot run here"), "{}", third.out);
}
