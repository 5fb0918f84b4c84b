//! Tests of records, and of the one that counts among several.

use super::*;
use serde_json::{Value, json};

fn record(cell: &str, status: Status, started: &str) -> Record {
    let accuracy = (status == Status::Ok).then_some(50.0);
    let (cell, started) = (cell.to_owned(), started.to_owned());
    Record { cell, status, accuracy, started, ..Record::default() }
}

fn ledger(records: impl IntoIterator<Item = Record>) -> Ledger {
    let mut ledger = Ledger::default();
    records.into_iter().for_each(|record| ledger.insert(record));
    ledger
}

/// The results of a folder with these ledgers: its own and one per shard.
fn read(ledgers: &[&Ledger]) -> Vec<(String, Status, String)> {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(SHARDS)).unwrap();
    for (index, ledger) in ledgers.iter().enumerate() {
        let path = match index {
            0 => folder.path().join(FILE),
            _ => folder.path().join(SHARDS).join(format!("{index}.jsonl")),
        };
        Writer::open(&path).unwrap().unwrap().append_all(ledger.records()).unwrap();
    }
    let read = Ledger::read(folder.path()).unwrap();
    assert_eq!(read.warnings(), [""; 0]);
    read.records().map(|r| (r.cell.clone(), r.status, r.started.clone())).collect()
}

/// A machine whose clock is wrong must not decide which record counts.
#[test]
fn success_counts_more_than_a_later_failure_elsewhere() {
    let good = ledger([record("a", Status::Ok, "1970")]);
    let bad = ledger([record("a", Status::Failed, "2099")]);
    let skip = ledger([record("a", Status::Skipped, "2100")]);
    let expected = [("a".to_owned(), Status::Ok, "1970".to_owned())];
    assert_eq!(read(&[&good, &bad, &skip]), expected);
    assert_eq!(read(&[&skip, &bad, &good]), expected);
    assert_eq!(read(&[&skip, &bad])[0].1, Status::Failed);
}

#[test]
fn within_a_ledger_the_last_record_counts_before_ledgers_are_joined() {
    let first = ledger([
        record("a", Status::Ok, "1"),
        record("b", Status::Skipped, "2"),
        record("a", Status::Failed, "3"),
    ]);
    let second = ledger([record("b", Status::Failed, "1")]);
    let found = read(&[&first, &second]);
    let expected = [("a", Status::Failed, "3"), ("b", Status::Failed, "1")];
    assert_eq!(found, expected.map(|(a, b, c)| (a.to_owned(), b, c.to_owned())));
}

#[test]
fn of_equals_the_first_ledgers_record_counts() {
    let one = ledger([record("a", Status::Ok, "1")]);
    let two = ledger([record("a", Status::Ok, "2")]);
    assert_eq!(read(&[&one, &two, &two])[0].2, "1");
}

fn parsed(accuracy: &str, seconds: &str) -> Result<Record, String> {
    let record = record("a", Status::Ok, "2024");
    let mut line = serde_json::to_string(&record).unwrap();
    for (field, was, value) in [("accuracy", "50.0", accuracy), ("fit_seconds", "null", seconds)] {
        line = line.replace(&format!("\"{field}\":{was}"), &format!("\"{field}\":{value}"));
    }
    Record::parse(line.as_bytes())
}

#[test]
fn values_that_cannot_be_are_no_records() {
    for accuracy in ["0", "100", "100.00000000000001"] {
        assert!(parsed(accuracy, "0").is_ok(), "{accuracy}");
    }
    for (accuracy, seconds, said) in [
        ("null", "1", "`accuracy` is missing, expected a percentage of 0 to 100"),
        ("150", "1", "`accuracy` is 150, expected a percentage of 0 to 100"),
        ("-3.5", "1", "`accuracy` is -3.5, expected a percentage of 0 to 100"),
        ("90", "-1", "`fit_seconds` is -1, expected a number that is not negative"),
        ("NaN", "1", "not a ledger record (expected value)"),
        ("1e999", "1", "not a ledger record (number out of range)"),
    ] {
        let reason = parsed(accuracy, seconds).unwrap_err();
        assert!(reason.ends_with(said), "{reason}");
    }
}

#[test]
fn a_torn_line_names_no_place_in_it() {
    let line = serde_json::to_vec(&record("a", Status::Ok, "2024")).unwrap();
    let reason = Record::parse(&line[..line.len() / 2]).unwrap_err();
    assert_eq!(reason, "a line that is not a ledger record: it breaks off");
    let reason = Record::parse(br#"{"cell": 7}"#).unwrap_err();
    assert!(!reason.contains("column"), "{reason}");
}

/// The text of a record of `ok` with these fields added or replaced.
fn line(fields: Value) -> String {
    let mut value = serde_json::to_value(record("a", Status::Ok, "2024")).unwrap();
    let Value::Object(fields) = fields else { panic!("{fields}") };
    value.as_object_mut().unwrap().extend(fields);
    value.to_string()
}

#[test]
fn what_another_version_wrote_is_written_back_as_it_was() {
    let point = json!({"params": {"c": 1.0}, "scores": [50.0], "mean": 50.0, "auc": 0.5});
    let selection = json!({
        "settings": {"by": "halton", "depth": 3}, "samples": 4, "points": [point], "chosen": 0, "seconds": 1.5, "rounds": [1, 2],
    });
    let certificate = json!({
        "primal": 1.5, "dual": 1.0, "gap": 0.5, "iterations": 3, "converged": true, "residual": 1e-9,
    });
    let text = line(json!({
        "selection": selection, "certificate": certificate, "energy": {"joule": 3},
    }));
    let record = Record::parse(text.as_bytes()).unwrap();
    assert_eq!(record.selection.as_ref().map(|selection| selection.points.len()), Some(1));
    assert_eq!(record.certificate.as_ref().map(|certificate| certificate.iterations), Some(3));
    let written: Value = serde_json::to_value(&record).unwrap();
    assert_eq!(written, serde_json::from_str::<Value>(&text).unwrap());
}

/// The checksum is that of Python's `zlib.crc32`.
#[test]
fn a_line_ends_with_its_checksum() {
    let text = String::from_utf8(crc::add(br#"{"cell":"a","split":0}"#.to_vec())).unwrap();
    assert_eq!(text, "{\"cell\":\"a\",\"split\":0,\"crc\":\"57d41bf4\"}\n");
    let line = record("a", Status::Ok, "2024").line();
    let read = Record::parse(&line).unwrap();
    assert_eq!(read, record("a", Status::Ok, "2024"), "the checksum is not a field of the record");
    assert_eq!(read.line(), line);
}

#[test]
fn every_changed_byte_of_a_line_is_noticed() {
    let line = record("a", Status::Ok, "2024").line();
    let line = line.trim_ascii_end();
    // Without its name, the checksum is a field that this version does not know.
    let end = line.len() - br#""crc":"01234567"}"#.len();
    for at in (0..end).chain(line.len() - 10..line.len()) {
        for bit in 0..7 {
            let mut changed = line.to_vec();
            changed[at] ^= 1 << bit;
            assert!(Record::parse(&changed).is_err(), "{}", String::from_utf8_lossy(&changed));
        }
    }
    let reformatted = String::from_utf8_lossy(line).replace(",\"crc\":", ", \"crc\":");
    let reason = Record::parse(reformatted.as_bytes()).unwrap_err();
    assert!(reason.ends_with("`crc` is not the last key of its line"), "{reason}");
}

/// Whatever fields another version has added, the checksum covers them.
#[test]
fn unknown_fields_are_part_of_the_checksum() {
    let mut known = record("a", Status::Ok, "2024");
    known.extra.insert("energy".to_owned(), json!({"joule": 3}));
    let line = known.line();
    assert_eq!(Record::parse(&line).unwrap(), known);
    let changed = String::from_utf8(line).unwrap().replace("\"joule\":3", "\"joule\":4");
    let reason = Record::parse(changed.as_bytes()).unwrap_err();
    assert!(reason.ends_with("the line was damaged or edited"), "{reason}");
}

#[test]
fn an_accuracy_is_a_whole_number_of_test_samples() {
    let of = |accuracy: f64, n_test: usize| {
        let record = Record { n_test, accuracy: Some(accuracy), ..record("a", Status::Ok, "") };
        Record::parse(&record.line())
    };
    for correct in 0..=6497 {
        assert!(of(100.0 * f64::from(correct) / 6497.0, 6497).is_ok(), "{correct}");
    }
    assert!(of(100.0 * 99_999_998.0 / 99_999_999.0, 99_999_999).is_ok());
    let reason = of(81.25, 6497).unwrap_err();
    assert_eq!(
        reason,
        "a record whose `accuracy` is 81.25, which is 5278.8125 of 6497 test samples, expected a whole number"
    );
}

/// The cells whose lines are reported, of a ledger with these lines.
fn reported(lines: &[String]) -> Vec<usize> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE), lines.join("\n")).unwrap();
    let ledger = Ledger::read(folder.path()).unwrap();
    let number = |warning: &String| {
        let (_, rest) = warning.rsplit_once(".jsonl:").unwrap();
        rest.split(':').next().unwrap().parse().unwrap()
    };
    ledger.warnings().iter().map(number).collect()
}

#[test]
fn a_damaged_line_is_reported_until_its_cell_was_run_again() {
    let sound = String::from_utf8(record("a", Status::Ok, "2024").line()).unwrap();
    let sound = sound.trim_end().to_owned();
    let edited = sound.replace("50.0", "60.0");
    let torn = sound[..sound.len() / 2].to_owned();
    let other = sound.replace("\"cell\":\"a\"", "\"cell\":\"b\"");
    let lines = |lines: &[&String]| reported(&lines.iter().copied().cloned().collect::<Vec<_>>());
    assert_eq!(lines(&[&edited, &torn, &other]), [1, 2, 3]);
    assert_eq!(lines(&[&edited, &torn, &other, &sound]), [3]);
    // Later damage is not undone by an earlier line.
    assert_eq!(lines(&[&sound, &edited]), [2]);
}

/// Fields without which a record still counts.
const OPTIONAL: [&str; 30] = [
    "smallest_pivot",
    "experiment",
    "label",
    "seed",
    "n_train",
    "n_test",
    "dims",
    "classes",
    "started",
    "host",
    "threads",
    "device",
    "version",
    "scheme",
    "training_seed",
    "error",
    "balanced_accuracy",
    "fit_seconds",
    "predict_seconds",
    "peak_mb",
    "certificate",
    "selection",
    "git",
    "split_hash",
    "data_hash",
    "weights_hash",
    "kernel_seconds",
    "factor_rank",
    "factor_error",
    "select_seconds",
];

/// If another version gives an optional field another form, the record counts and the field stays as it is.
#[test]
fn a_field_of_another_form_never_drops_a_record() {
    let seven = json!([7, {"of": "another form"}]);
    let known = OPTIONAL.iter().map(|name| ((*name).to_owned(), seven.clone()));
    let every = Value::Object(known.collect());
    let mut fields = vec![every];
    fields.extend(OPTIONAL.map(|name| json!({name: seven})));
    for fields in fields {
        let text = line(fields.clone());
        let record = Record::parse(text.as_bytes()).unwrap();
        assert_eq!((record.status, record.accuracy), (Status::Ok, Some(50.0)), "{fields}");
        assert_eq!(serde_json::to_string(&record).unwrap(), text);
        // The others are read as usual.
        let text = line(json!({"selection": 7, "kernel_seconds": 2.5}));
        let record = Record::parse(text.as_bytes()).unwrap();
        assert_eq!((record.selection, record.kernel_seconds), (None, Some(2.5)));
    }
}

#[test]
fn cells_are_tallied_by_their_status() {
    let ledger = ledger([
        record("a", Status::Ok, ""),
        record("b", Status::Failed, ""),
        record("c", Status::Skipped, ""),
    ]);
    let cell = |cell: &str| PlannedCell {
        cell: cell.to_owned(),
        dataset: 0,
        method: 0,
        split: 0,
        training_seed: 0,
    };
    let tally = ledger.tally(&["a", "b", "c", "d", "e"].map(cell));
    assert_eq!(tally, Tally { done: 1, failed: 1, skipped: 1, missing: 2 });
    assert_eq!(tally.planned(), 5);
}

/// Every line of the published ledgers is written back byte for byte, so that merging and reusing change nothing.
#[test]
fn published_records_are_written_back_as_they_are() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let mut count = 0;
    let entries = fs::read_dir(results).unwrap().map(|entry| entry.unwrap().path());
    for folder in entries.filter(|path| path.is_dir()) {
        let text = read_present(&folder.join(FILE)).unwrap().unwrap_or_default();
        for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let record = Record::parse(line).unwrap();
            // Lines of version 0.1 have no checksum.
            let has_checksum = serde_json::from_slice::<Value>(line).unwrap().get("crc").is_some();
            let written = match has_checksum {
                true => record.line().trim_ascii_end().to_vec(),
                false => serde_json::to_vec(&record).unwrap(),
            };
            assert_eq!(written, line);
            count += 1;
        }
    }
    assert!(count > 2000, "{count}");
}
