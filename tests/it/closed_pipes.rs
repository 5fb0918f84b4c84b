//! Promise: a reader that has seen enough, or a terminal that is gone, ends no run and no command;
//! results that cannot be written for another reason are an error.

use std::process::Stdio;

use crate::program::Folder;

const SPEC: &str = "\
name: own
datasets: [{files: {name: own, train: own.txt}}]
splits: {repeats: 2}
methods: [svm]
";

fn folder() -> Folder {
    let folder = Folder::new();
    let rows = (0..30).map(|i| format!("{} 1:{i} 2:{}\n", i % 2, i * i % 7));
    folder.write("own.txt", rows.collect::<String>());
    folder.write("own.yaml", SPEC);
    folder
}

/// A pipe that nobody reads.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_run_goes_on_when_nobody_listens() {
    let folder = folder();
    let mut command = folder.command("run own.yaml --offline");
    let status = command.stdout(closed()).stderr(closed()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(folder.records("results/own").len(), 2);
    assert!(folder.path("results/own/table.md").is_file());
}

#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let folder = folder();
    let run = folder.run("run own.yaml --offline -q");
    assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
    for arguments in [
        "schema",
        "list methods",
        "list datasets",
        "status results/own",
        "render results/own",
        "check own.yaml --offline -q",
        "data path optdigits",
        "data verify optdigits",
    ] {
        let output = folder.command(arguments).stdout(closed()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments}");
    }
    // A refusal keeps its code too.
    let mut command = folder.command("check none.yaml");
    assert_eq!(command.stderr(closed()).status().unwrap().code(), Some(2));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let folder = folder();
    let full = std::fs::File::create("/dev/full").unwrap();
    let output = folder.command("schema").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("npsvcpp: failed to write to standard output: "), "{said}");
}
