//! Promise: however a run or a rendering is interrupted while it writes its files, the next one ends with the
//! files of an undisturbed one. Fail points hit every write in turn; see `src/ledger/replace.rs`.

use std::path::Path;

use crate::rendered::{Files, assert_same, files, finished, run, write};

/// A figure is enough: as a picture that is listed, as one that is not, and as numbers.
const RENDER: &str = "render: [table, critical-difference, report]\n";

/// What a rendering reads.
fn sources(whole: &Files) -> Files {
    let is_source = |path: &Path| {
        let names = ["ledger.jsonl", "plan.json", "provenance.json", "spec.yaml", "splits.json"];
        path.starts_with("traces") || names.iter().any(|name| path == Path::new(name))
    };
    let sources = whole.iter().filter(|(path, _)| is_source(path));
    sources.map(|(path, bytes)| (path.clone(), bytes.clone())).collect()
}

fn assert_no_leftovers(files: &Files, case: &str) {
    let mut names = files.keys().map(|path| path.to_string_lossy());
    assert!(!names.any(|name| name.contains(".replacing-")), "{case}");
}

/// Writes of a rendering: its files and their list.
fn writes(whole: &Files) -> usize {
    whole.len() - sources(whole).len()
}

#[test]
fn a_rendering_killed_at_any_write_is_completed() {
    let folder = finished(RENDER);
    let whole = files(&folder.path("whole"));
    let mut killed = 0;
    loop {
        let out = format!("killed-{killed}");
        write(&folder.path(&out), &sources(&whole));
        let arguments = format!("run tiny.yaml --offline -q --out {out}");
        let ended = folder.run_failing(&arguments, "replace", killed, "kill");
        if ended.status.success() {
            break;
        }
        assert_eq!(ended.status.code(), None, "a signal ended it");
        run(&folder, &out);
        assert_same(&files(&folder.path(&out)), &whole, &format!("write {killed}"));
        killed += 1;
    }
    assert_eq!(killed, writes(&whole));
}

#[test]
fn a_rendering_on_a_disk_full_at_any_write_is_completed() {
    let folder = finished(RENDER);
    let whole = files(&folder.path("whole"));
    let mut failed = 0;
    loop {
        let out = format!("full-{failed}");
        write(&folder.path(&out), &sources(&whole));
        let arguments = format!("run tiny.yaml --offline -q --out {out}");
        let ended = folder.run_failing(&arguments, "replace", failed, "full");
        if ended.status.success() {
            break;
        }
        assert_eq!(ended.status.code(), Some(1));
        let said = String::from_utf8(ended.stderr).unwrap();
        let name = (said.strip_prefix(&format!("npsvcpp: cannot write {out}/")))
            .and_then(|rest| {
                rest.strip_suffix(
                    ": No space left on device (os error 28); free some space, then run the same \
                     command to continue\n",
                )
            })
            .unwrap_or_else(|| panic!("{said}"));
        assert!(whole.contains_key(Path::new(name)), "{name}");
        let found = files(&folder.path(&out));
        assert!(!found.contains_key(Path::new(name)), "{name}");
        assert_no_leftovers(&found, &said);
        run(&folder, &out);
        assert_same(&files(&folder.path(&out)), &whole, &said);
        failed += 1;
    }
    assert_eq!(failed, writes(&whole));
}

/// Files of a table from a former ledger, of which each may or may not have been replaced.
#[test]
fn a_rendering_over_a_former_one_is_completed() {
    let folder = finished(RENDER);
    let whole = files(&folder.path("whole"));
    // The same experiment before its last record.
    let mut former = sources(&whole);
    let ledger = former.get_mut(Path::new("ledger.jsonl")).unwrap();
    let end = ledger[..ledger.len() - 1].iter().rposition(|&byte| byte == b'\n');
    ledger.truncate(end.unwrap() + 1);
    write(&folder.path("former"), &former);
    assert_eq!(folder.run("render former -q").code, 0);
    let former = files(&folder.path("former"));
    for how in ["kill", "full"] {
        for k in 0.. {
            let out = format!("{how}-{k}");
            write(&folder.path(&out), &former);
            write(&folder.path(&out), &sources(&whole));
            let arguments = format!("render {out} -q");
            let ended = folder.run_failing(&arguments, "replace", k, how);
            if ended.status.success() {
                assert!(k > 5, "most files show the last record");
                break;
            }
            run(&folder, &out);
            assert_same(&files(&folder.path(&out)), &whole, &out);
        }
    }
}

/// Times differ from run to run, so only the names of the files can be compared.
#[test]
fn a_run_from_nothing_interrupted_at_any_write_is_completed() {
    let folder = finished(RENDER);
    let whole: Vec<_> = files(&folder.path("whole")).into_keys().collect();
    for k in 0.. {
        let out = format!("out-{k}");
        let arguments = format!("run tiny.yaml --offline -q --out {out}");
        let how = if k % 2 == 0 { "kill" } else { "full" };
        if folder.run_failing(&arguments, "replace", k, how).status.success() {
            assert!(k > 12, "{k}");
            break;
        }
        run(&folder, &out);
        let found = files(&folder.path(&out));
        assert_eq!(found.keys().collect::<Vec<_>>(), whole.iter().collect::<Vec<_>>());
        run(&folder, &out);
        assert_same(&files(&folder.path(&out)), &found, &out);
    }
}

#[test]
fn an_index_page_interrupted_at_any_write_is_completed() {
    let folder = finished(RENDER);
    let whole = files(&folder.path("whole"));
    let render = |out: &str| {
        let render = folder.run(&format!("render {out}/one {out}/two -q"));
        assert_eq!(render.code, 0, "{}", render.err);
        files(&folder.path(out))
    };
    let prepare = |out: &str| {
        for name in ["one", "two"] {
            write(&folder.path(out).join(name), &whole);
        }
    };
    prepare("all");
    let expected = render("all");
    let mut hits = 0;
    for how in ["kill", "full"] {
        for k in 0.. {
            let out = format!("{how}-{k}");
            prepare(&out);
            let arguments = format!("render {out}/one {out}/two -q");
            let ended = folder.run_failing(&arguments, "replace", k, how);
            if ended.status.success() {
                break;
            }
            hits += 1;
            assert_same(&render(&out), &expected, &out);
        }
    }
    assert_eq!(hits, 2 * 2, "the page and its list");
}
