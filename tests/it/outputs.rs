//! Promise: rendering is complete or is redone. Files that are missing, changed by hand or outdated are written again, and
//! nothing else is touched.

use crate::rendered;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use crate::program::Folder;
use crate::rendered::{assert_same, files, finished, run};
use npsvcpp::{ledger, render};
use serde_json::{Value, json};

fn list(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Changes the list of a results folder.
fn edit(folder: &Folder, change: impl FnOnce(&mut Value)) {
    let path = folder.path("whole/outputs.json");
    let mut value = list(&path);
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

#[test]
fn every_output_is_listed_but_pictures_that_git_ignores() {
    let folder = finished("");
    let list = list(&folder.path("whole/outputs.json"));
    assert_eq!(list["format"], json!(render::FORMAT));
    let hash = ledger::hash(&folder.path("whole")).unwrap();
    assert_eq!(list["sources"]["ledger"], json!(hash));
    let sources = [
        "ledger.jsonl",
        "outputs.json",
        "plan.json",
        "provenance.json",
        "spec.yaml",
        "splits.json",
    ];
    let is_output = |path: &&PathBuf| {
        !path.starts_with("traces")
            && !sources.iter().any(|source| path.ends_with(source))
            && path.extension() != Some("png".as_ref())
    };
    let files = files(&folder.path("whole"));
    let outputs: Vec<&str> =
        (files.keys().filter(is_output)).map(|path| path.to_str().unwrap()).collect();
    let mut listed: Vec<&str> =
        (list["files"].as_object().unwrap().keys()).map(String::as_str).collect();
    listed.sort_by(|a, b| Path::new(a).cmp(Path::new(b)));
    assert_eq!(listed, outputs);
}

/// Which file a path names, and when it was written.
#[cfg(unix)]
fn identities(dir: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    use std::os::unix::fs::MetadataExt;
    let paths = files(dir).into_keys();
    let known = paths.map(|path| {
        let data = fs::metadata(dir.join(&path)).unwrap();
        (path, data.ino(), data.modified().unwrap())
    });
    known.collect()
}

#[cfg(unix)]
#[test]
fn a_run_that_finds_everything_in_order_writes_nothing() {
    let folder = finished("");
    let whole = folder.path("whole");
    // As after a checkout: the ledger may be newer than the tables.
    let ledger = File::options().append(true).open(whole.join(ledger::FILE)).unwrap();
    let later = SystemTime::now() + Duration::from_secs(3600);
    ledger.set_modified(later).unwrap();
    let before = identities(&whole);
    run(&folder, "whole");
    assert_eq!(identities(&whole), before);
    // Nor does a clone without the pictures that git ignores.
    fs::remove_file(whole.join("figures/accuracy.png")).unwrap();
    let before = identities(&whole);
    run(&folder, "whole");
    assert_eq!(identities(&whole), before);
}

#[test]
fn a_run_writes_again_what_is_missing_or_changed() {
    let folder = finished("");
    let whole = folder.path("whole");
    let before = files(&whole);
    let write = |name: &str, text: &str| fs::write(whole.join(name), text).unwrap();
    let remove = |name: &str| fs::remove_file(whole.join(name)).unwrap();
    let cases: [(&str, &dyn Fn()); 9] = [
        ("no figures, no times", &|| {
            fs::remove_dir_all(whole.join("figures")).unwrap();
            remove("times.md");
        }),
        ("an empty picture", &|| write("figures/time.svg", "")),
        ("garbage", &|| write("table.tex", "garbage")),
        ("no picture", &|| remove("figures/accuracy.svg")),
        ("no list", &|| remove("outputs.json")),
        ("half a list", &|| write("outputs.json", "{\"format\": 1, ")),
        ("an earlier format", &|| {
            edit(&folder, |list| list["format"] = json!(render::FORMAT - 1));
        }),
        ("another ledger", &|| {
            edit(&folder, |list| {
                list["sources"]["ledger"] = json!("0".repeat(64));
            });
        }),
        ("a shortened list", &|| {
            remove("table.md");
            edit(&folder, |list| {
                list["files"].as_object_mut().unwrap().remove("table.md");
            });
        }),
    ];
    for (case, damage) in cases {
        damage();
        run(&folder, "whole");
        assert_same(&files(&whole), &before, case);
    }
}

#[test]
fn rendering_writes_pictures_again_that_git_ignores() {
    let folder = finished("");
    let whole = folder.path("whole");
    let before = files(&whole);
    fs::remove_file(whole.join("figures/accuracy.png")).unwrap();
    fs::write(whole.join("figures/time.png"), "garbage").unwrap();
    let render = folder.run("render whole");
    assert_eq!(render.code, 0, "{}", render.err);
    assert_same(&files(&whole), &before, "render");
    let wrote = render.out.lines().filter(|line| line.starts_with("wrote "));
    let wrote: Vec<&str> = wrote.collect();
    assert_eq!(wrote, ["wrote whole/figures/accuracy.png", "wrote whole/figures/time.png"]);
    assert!(render.out.contains(" files are up to date\n"), "{}", render.out);
}

#[test]
fn every_source_of_a_table_can_make_it_outdated() {
    let folder = finished("");
    let whole = folder.path("whole");
    let update = || {
        let (summary, _) = render::read(&whole).unwrap();
        render::update(&whole, &summary).unwrap()
    };
    assert_eq!(update(), Vec::<PathBuf>::new());
    let append = |name: &str, text: &str| {
        let mut bytes = fs::read(whole.join(name)).unwrap();
        bytes.extend(text.bytes());
        fs::write(whole.join(name), bytes).unwrap();
    };
    let at = |name: &str| whole.join(name);
    // A record twice is a record: the bytes stay, but they come from another ledger.
    let ledger = fs::read_to_string(at(ledger::FILE)).unwrap();
    append(ledger::FILE, &format!("{}\n", ledger.lines().last().unwrap()));
    assert_eq!(update(), [at("outputs.json")]);
    append("spec.yaml", "# a note\n");
    assert_eq!(update(), [at("report.html"), at("outputs.json")]);
    let provenance = fs::read_to_string(at("provenance.json")).unwrap();
    let other = provenance.replace("\"processor\": \"", "\"processor\": \"a fast ");
    fs::write(at("provenance.json"), other).unwrap();
    assert_eq!(update(), [at("report.html"), at("outputs.json")]);
    let trace = files(&at("traces")).into_keys().next().unwrap();
    let first_split = update_of_traces(&whole);
    assert!(first_split.contains(&at("figures/convergence.svg")), "{trace:?} {first_split:?}");
    assert!(first_split.ends_with(&[at("outputs.json")]));
    let plan = fs::read_to_string(at("plan.json")).unwrap();
    let other = plan.replacen("\"title\": \"", "\"title\": \"Another ", 1);
    assert_ne!(plan, other);
    fs::write(at("plan.json"), other).unwrap();
    assert!(update().contains(&at("table.md")));
    assert_eq!(update(), Vec::<PathBuf>::new());
}

/// Changes every trace, since only some of them are drawn.
fn update_of_traces(whole: &Path) -> Vec<PathBuf> {
    for trace in files(&whole.join("traces")).into_keys() {
        let path = whole.join("traces").join(trace);
        let text = fs::read_to_string(&path).unwrap();
        let half = text.lines().count() / 2;
        let kept: Vec<&str> = text.lines().take(half.max(1)).collect();
        fs::write(path, kept.join("\n") + "\n").unwrap();
    }
    let (summary, _) = render::read(whole).unwrap();
    render::update(whole, &summary).unwrap()
}

#[test]
fn what_a_former_rendering_listed_is_removed_but_never_a_source() {
    let folder = finished("");
    let before = files(&folder.path("whole"));
    folder.write("whole/figures/gone.svg", "of another version");
    folder.write("whole/figures/mine.svg", "of the user");
    folder.write("outside.csv", "of the user");
    edit(&folder, |list| {
        list["format"] = json!(render::FORMAT - 1);
        for name in ["figures/gone.svg", "ledger.jsonl", "plan.json", "../outside.csv"] {
            list["files"][name] = json!("0".repeat(64));
        }
    });
    run(&folder, "whole");
    assert!(folder.path("outside.csv").exists());
    fs::remove_file(folder.path("whole/figures/mine.svg")).unwrap();
    assert_same(&files(&folder.path("whole")), &before, "outputs");
}

#[test]
fn leftovers_of_interrupted_writes_are_removed() {
    let folder = finished("");
    let whole = folder.path("whole");
    let before = files(&whole);
    for program in ["run tiny.yaml --offline --out whole", "render whole"] {
        for place in ["", "figures/", "traces/", "embeddings/", "shards/"] {
            folder.write(&format!("whole/{place}.replacing-bdnYep"), "half a fi");
        }
        // A file that a process writes now is locked.
        let in_use = File::create(whole.join("figures/.replacing-1-1")).unwrap();
        in_use.lock().unwrap();
        let ended = folder.run(&format!("{program} -q"));
        assert_eq!(ended.code, 0, "{}", ended.err);
        fs::remove_file(whole.join("figures/.replacing-1-1")).unwrap();
        assert_same(&files(&whole), &before, program);
    }
}

#[test]
fn the_index_page_is_complete_or_is_redone() {
    let folder = finished("");
    rendered::write(&folder.path("all/one"), &files(&folder.path("whole")));
    rendered::write(&folder.path("all/two"), &files(&folder.path("whole")));
    let render = || {
        let render = folder.run("render all/one all/two");
        assert_eq!(render.code, 0, "{}", render.err);
        render.out
    };
    assert!(render().contains("wrote all/index.outputs.json\n"));
    let before = files(&folder.path("all"));
    let list = list(&folder.path("all/index.outputs.json"));
    assert_eq!(list["format"], json!(render::FORMAT));
    let listed: Vec<&String> = list["files"].as_object().unwrap().keys().collect();
    assert!(listed.contains(&&"index.html".to_owned()), "{listed:?}");
    assert!(!render().contains("wrote "), "everything is up to date");
    let write = |name: &str, text: &str| fs::write(folder.path("all").join(name), text).unwrap();
    let cases: [(&str, &dyn Fn()); 4] = [
        ("no page", &|| {
            fs::remove_file(folder.path("all/index.html")).unwrap();
        }),
        ("garbage", &|| write("index.outputs.json", "garbage")),
        ("a leftover", &|| write(".replacing-bdnYep", "half a fi")),
        // The page over these experiments has no figure.
        ("of other experiments", &|| write("index-effect.csv", "1,2")),
    ];
    assert!(!before.contains_key(Path::new("index-effect.csv")));
    for (case, damage) in cases {
        damage();
        render();
        assert_same(&files(&folder.path("all")), &before, case);
    }
}

#[test]
fn the_index_page_of_the_working_folder_is_in_it() {
    let folder = finished("");
    for name in ["one", "two"] {
        rendered::write(&folder.path(name), &files(&folder.path("whole")));
    }
    folder.write("index-effect.csv", "of other experiments");
    let render = folder.run("render one two -q");
    assert_eq!(render.code, 0, "{}", render.err);
    for (name, is_there) in
        [("index.html", true), ("index.outputs.json", true), ("index-effect.csv", false)]
    {
        assert_eq!(folder.path(name).exists(), is_there, "{name}");
    }
}

#[test]
fn renderings_at_the_same_time_end_with_the_files_of_one() {
    let folder = finished("");
    let whole = folder.path("whole");
    let before = files(&whole);
    for name in ["table.md", "report.html", "outputs.json"] {
        fs::remove_file(whole.join(name)).unwrap();
    }
    let start = |arguments: &str| folder.command(arguments).stdout(Stdio::null()).spawn().unwrap();
    let started = [
        start("render whole -q"),
        start("run tiny.yaml --offline -q --out whole"),
        start("render whole -q"),
    ];
    for mut child in started {
        assert!(child.wait().unwrap().success());
    }
    assert_same(&files(&whole), &before, "at the same time");
}
