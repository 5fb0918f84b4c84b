//! Promise: a number in a table is the one that a run recorded. Lines that were damaged or edited, or that contradict the
//! plan, are reported and set aside, and their cells run again.

use std::fs;

use npsvcpp::ledger::{Ledger, Record};
use serde_json::{Value, json};

use crate::program::{Ended, Folder};
use crate::tiny;

/// A folder with the finished experiment in `out`.
fn finished() -> Folder {
    let folder = tiny::folder(1);
    let ended = run(&folder);
    assert_eq!(ended.code, 0, "{}", ended.err);
    folder
}

fn run(folder: &Folder) -> Ended {
    folder.run("run tiny.yaml --offline --out out --jobs 1")
}

fn text(folder: &Folder, ledger: &str) -> String {
    fs::read_to_string(folder.path(ledger)).unwrap()
}

/// The first record of the experiment with other fields, as a line with a checksum that fits.
fn forged(folder: &Folder, fields: Value) -> String {
    let mut record = serde_json::to_value(&tiny::records(folder, "out/ledger.jsonl")[0]).unwrap();
    let Value::Object(fields) = fields else { panic!("{fields}") };
    record.as_object_mut().unwrap().extend(fields);
    let record: Record = serde_json::from_value(record).unwrap();
    String::from_utf8(record.line()).unwrap()
}

/// The ledger with another first line.
fn with_first(folder: &Folder, first: &str) -> String {
    let text = text(folder, "out/ledger.jsonl");
    let (_, rest) = text.split_once('\n').unwrap();
    first.to_owned() + rest
}

/// Every line has the checksum that belongs to it.
fn assert_sound(folder: &Folder, ledger: &str) {
    let text = text(folder, ledger);
    for line in text.split_inclusive('\n') {
        assert!(line.ends_with("\"}\n") && line.contains("\"crc\":\""), "{line}");
    }
    let out = folder.path(ledger);
    let read = Ledger::read(out.parent().unwrap()).unwrap();
    assert_eq!(read.warnings(), [""; 0]);
}

#[test]
fn a_record_that_cannot_be_true_is_set_aside_until_its_cell_was_run_again() {
    let folder = finished();
    let before = text(&folder, "out/ledger.jsonl");
    assert_sound(&folder, "out/ledger.jsonl");
    let line = before.lines().next().unwrap();
    let accuracy = tiny::records(&folder, "out/ledger.jsonl")[0].accuracy.unwrap();
    let better = if accuracy < 50.0 { accuracy + 10.0 } else { accuracy - 10.0 };
    let [was, is] = [accuracy, better].map(|value| format!("\"accuracy\":{value:?},"));
    let edited = line.replacen(&was, &is, 1);
    assert_ne!(edited, line);
    for (first, said) in [
        (edited + "\n", "`crc` is "),
        (forged(&folder, json!({"accuracy": 51.0})), "`accuracy` is 51, which is 5.1 of 10 test"),
        (forged(&folder, json!({"dataset": "two"})), "`dataset` is two, expected one as plan.json"),
        (forged(&folder, json!({"method": "gepsvm"})), "`method` is gepsvm, expected lstwsvm"),
        (forged(&folder, json!({"split_hash": "0a"})), "`split_hash` is 0a, expected "),
        (forged(&folder, json!({"data_hash": "0a"})), "`data_hash` is 0a, expected "),
    ] {
        folder.write("out/ledger.jsonl", with_first(&folder, &first));
        for command in ["status out", "render out"] {
            let ended = folder.run(command);
            let place = format!("warning: out/ledger.jsonl:1: skipped a record whose {said}");
            assert!(ended.err.contains(&place), "{said}: {}", ended.err);
        }
        assert!(folder.run("status out").out.contains("3 of 4 cells done"));
        assert!(text(&folder, "out/table.md").contains("incomplete"));
        // The run that fixes it does not report it, nor does any later command.
        for command in ["run tiny.yaml --offline --out out", "status out", "render out"] {
            let ended = folder.run(command);
            assert_eq!(ended.code, 0, "{}", ended.err);
            assert!(!ended.err.contains("skipped"), "{}", ended.err);
        }
        assert!(!text(&folder, "out/table.md").contains("ignored"));
        let again = text(&folder, "out/ledger.jsonl");
        assert!(again.starts_with(&first), "nothing is rewritten");
        assert_eq!(again.lines().count(), before.lines().count() + 1);
        folder.write("out/ledger.jsonl", &before);
    }
}

/// A record of version 0.1 counts without a checksum, and without the hashes it lacks.
#[test]
fn lines_without_a_checksum_count() {
    let folder = finished();
    let old = tiny::records(&folder, "out/ledger.jsonl").into_iter().map(|record| {
        let mut record = serde_json::to_value(record).unwrap();
        let fields = record.as_object_mut().unwrap();
        fields.retain(|name, _| !["split_hash", "data_hash"].contains(&name.as_str()));
        record.to_string() + "\n"
    });
    folder.write("out/ledger.jsonl", old.collect::<String>());
    let ended = run(&folder);
    assert!(ended.err.contains("4 of 4 cells are done, 0 to run"), "{}", ended.err);
    assert!(!ended.err.contains("warning"), "{}", ended.err);
}

/// Records that are copied get a checksum of their new line, which keeps fields of other versions.
#[test]
fn copied_records_have_their_own_checksums() {
    let folder = tiny::folder(2);
    for shard in ["1/2", "2/2"] {
        let ended = folder.run(&format!("run tiny.yaml --offline --out out --shard {shard}"));
        assert_eq!(ended.code, 0, "{}", ended.err);
    }
    let shard = "out/shards/1-of-2.jsonl";
    let known = text(&folder, shard);
    let stranger = known.lines().map(|line| {
        let mut record: Record = serde_json::from_str(line).unwrap();
        record.extra.shift_remove("crc");
        record.extra.insert("energy".to_owned(), json!(3));
        String::from_utf8(record.line()).unwrap()
    });
    folder.write(shard, stranger.collect::<String>());
    assert_eq!(folder.run("merge out").code, 0);
    assert_sound(&folder, "out/ledger.jsonl");
    assert_eq!(text(&folder, "out/ledger.jsonl").matches("\"energy\":3").count(), 4);

    // Another name of the experiment makes other lines.
    folder.write("other.yaml", tiny::spec(2).replace("name: tiny", "name: other"));
    let ended = folder.run("run other.yaml --offline --out other --reuse out");
    assert!(ended.err.contains("8 cells reused from out"), "{}", ended.err);
    assert_sound(&folder, "other/ledger.jsonl");
    assert_eq!(text(&folder, "other/ledger.jsonl").matches("\"energy\":3").count(), 4);
}

/// What is wrong in one folder is not copied into another one.
#[test]
fn a_record_that_was_set_aside_is_neither_merged_nor_reused() {
    let folder = finished();
    let first = forged(&folder, json!({"data_hash": "0a"}));
    folder.write("out/ledger.jsonl", with_first(&folder, &first));
    let merged = folder.run("merge out --out joined");
    assert_eq!(merged.code, 3);
    assert!(merged.err.contains("out/ledger.jsonl:1: skipped a record"), "{}", merged.err);
    assert_eq!(text(&folder, "joined/ledger.jsonl").lines().count(), 3);
    let reused = folder.run("run tiny.yaml --offline --out again --reuse out");
    assert!(reused.err.contains("3 cells reused from out"), "{}", reused.err);
    assert_eq!(reused.code, 0);
    assert_sound(&folder, "again/ledger.jsonl");
}

#[test]
fn lines_of_isolated_cells_have_checksums() {
    let folder = tiny::folder(1);
    let ended = folder.run("run tiny.yaml --offline --out out --isolate");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_sound(&folder, "out/ledger.jsonl");
}
