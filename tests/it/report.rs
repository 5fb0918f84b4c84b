//! The report says everything on one page that needs only a browser, however a run ended.

use crate::rendered::{self, finished};
use crate::results;
use std::fs;

use crate::results::{plan, records, summary, write_folder};
use npsvcpp::Exit;
use npsvcpp::ledger::{Plan, Record, Status};
use npsvcpp::render;
use npsvcpp::spec::{Budget, Protocol, Search, Select, SelectBy, SelectOn};

fn page(plan: &Plan, records: &[Record]) -> String {
    let summary = summary(plan, records);
    render::page(&summary, &render::draw(&summary).expect("draws"))
}

/// The page without what has no words: style, scripts and pictures.
fn words(page: &str) -> String {
    let mut rest = page;
    let mut kept = String::new();
    let hidden = ["style", "script", "svg"];
    while let Some((start, name)) =
        hidden.iter().filter_map(|name| Some((rest.find(&format!("<{name}"))?, name))).min()
    {
        let end = format!("</{name}>");
        let after = rest[start..].find(&end).expect("what begins also ends") + start + end.len();
        kept.push_str(&rest[..start]);
        rest = &rest[after..];
    }
    kept + rest
}

#[test]
fn snapshot() {
    let plan = plan();
    insta::assert_snapshot!(words(&page(&plan, &records(&plan))));
}

#[test]
fn nothing_is_fetched_from_anywhere() {
    let plan = plan();
    let page = page(&plan, &records(&plan));
    for tag in ["src=", "@import", "url(", "<link rel=\"stylesheet\"", "<iframe", "fetch("] {
        assert!(!page.contains(tag), "{tag}");
    }
    assert_eq!(page.matches("<link").count(), 1, "an empty icon, so that none is asked for");
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print"));
}

#[test]
fn every_figure_is_on_the_page() {
    let plan = plan();
    let page = page(&plan, &records(&plan));
    for name in ["accuracy", "differences", "paper", "critical-difference", "time"] {
        assert!(page.contains(&format!("id=\"figure-{name}\"")), "{name}");
    }
    assert_eq!(page.matches("<svg").count(), page.matches("<figure").count());
}

#[test]
fn details_hold_every_split_with_parameters_and_reasons() {
    let plan = plan();
    let page = page(&plan, &records(&plan));
    let start = page.find("id=\"cells\">").unwrap() + "id=\"cells\">".len();
    let end = start + page[start..].find("</script>").unwrap();
    let details: serde_json::Value = serde_json::from_str(&page[start..end]).unwrap();
    assert_eq!(details["rows"].as_array().unwrap().len(), 4);
    assert_eq!(details["params"], serde_json::json!(["c = 1"]));
    let failed = &details["cells"][1][2];
    assert_eq!(failed.as_array().unwrap().len(), 10);
    assert!(failed[3]["e"].as_str().unwrap().contains("no KKT point"));
    assert!(failed[4]["a"].is_number() && failed[4]["p"] == 0);
    assert!(details["cells"][0][0][0]["e"].as_str().unwrap().starts_with("skipped: "));
}

#[test]
fn text_from_outside_cannot_become_markup() {
    let mut plan = plan();
    plan.experiment.title = "<script>alert(1)</script>".to_owned();
    plan.methods[0].label = "</script><img src=x onerror=alert(2)>".to_owned();
    let mut records = records(&plan);
    for record in &mut records {
        record.status = Status::Failed;
        record.error = Some("</script><b>".to_owned());
        record.accuracy = None;
    }
    let page = page(&plan, &records);
    assert!(
        !page.contains("<script>alert") && !page.contains("<img") && !page.contains("</script><b>")
    );
    assert_eq!(page.matches("<script").count(), 2);
}

#[test]
fn warnings_come_before_everything_else() {
    let mut plan = plan();
    plan.experiment.select = Some(Select {
        by: SelectBy::CrossValidation,
        folds: 5,
        on: SelectOn::Test,
        subsample: None,
        once: false,
        ..Select::default()
    });
    plan.methods[0].points = 6;
    let page = page(&plan, &records(&plan));
    let warning = page.find("chosen on the test samples").unwrap();
    assert!(warning < page.find("<main>").unwrap());
    assert!(page.contains("accuracy on THE TEST SAMPLES"));
}

#[test]
fn predefined_splits_are_not_called_random() {
    let mut plan = plan();
    plan.datasets[3].splits.truncate(1);
    plan.cells.retain(|cell| cell.dataset != 3 || cell.split == 0);
    let page_of = |plan: &Plan| words(&page(plan, &records(plan)));
    let mixed = "10 random splits of each dataset with 60 % for training, except for dna, which has a predefined split";
    assert_eq!(page_of(&plan).matches(mixed).count(), 2);
    for dataset in &mut plan.datasets {
        dataset.splits.truncate(1);
    }
    plan.cells.retain(|cell| cell.split == 0);
    let records: Vec<Record> = plan.cells.iter().map(|c| results::record(&plan, c)).collect();
    let own = words(&page(&plan, &records));
    assert!(own.contains("the predefined split of each dataset"));
    assert!(!own.contains("random split"), "{own}");
}

#[test]
fn the_search_is_named_and_nothing_is_raw_json() {
    let mut plan = plan();
    plan.experiment.select = Some(Select {
        search: Search::LatinHypercube(Budget { budget: 8 }),
        halving: true,
        ..Select::default()
    });
    plan.methods[3].points = 8;
    let page = words(&page(&plan, &records(&plan)));
    for named in
        ["5-fold cross-validation", "Latin hypercube", "at most 8 points", "successive halving"]
    {
        assert!(page.contains(named), "{named}");
    }
    assert!(page.contains("Gaussian: exp(") && page.contains("c = 1"));
    assert!(!page.contains("{&quot;"), "{page}");
}

#[test]
fn empty_half_finished_and_failed_ledgers_have_their_words() {
    let plan = plan();
    let all = records(&plan);
    let empty = page(&plan, &[]);
    assert!(empty.contains("Nothing has run yet") && empty.contains("No results yet"));
    assert!(empty.contains("not run"));
    let half = page(&plan, &all[..50]);
    assert!(half.contains("all numbers are preliminary"));
    let mut failed = all;
    for record in &mut failed {
        record.status = Status::Failed;
        record.error = Some("out of memory".to_owned());
        record.accuracy = None;
    }
    let failed = page(&plan, &failed);
    assert!(failed.contains("No cell succeeded") && failed.contains("out of memory"));
    for page in [empty, half, failed] {
        assert!(!words(&page).contains("NaN"), "no number that is none");
    }
}

#[test]
fn several_experiments_get_an_index_with_the_claims_of_all() {
    let dir = tempfile::tempdir().unwrap();
    let mut fixed = plan();
    fixed.experiment.protocol = Some(Protocol::Paper);
    let mut tuned = plan();
    tuned.experiment.name = "small-tuned".to_owned();
    tuned.experiment.protocol = Some(Protocol::Tuned);
    for (scheme, points, plan) in [("ovr", 1, &mut fixed), ("rvo", 12, &mut tuned)] {
        for method in &mut plan.methods[1..] {
            method.scheme = Some(scheme.to_owned());
            method.points = points;
        }
    }
    for (name, plan) in [("a", &fixed), ("b", &tuned)] {
        let folder = dir.path().join(name);
        fs::create_dir(&folder).unwrap();
        write_folder(&folder, plan, &records(plan));
    }
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let read = [&a, &b].map(|folder| render::read(folder).unwrap().0);
    let folders = [("a".to_owned(), &read[0]), ("b".to_owned(), &read[1])];
    let files = render::index(dir.path(), &folders).unwrap().all;
    let [index, numbers] = files.as_slice() else {
        panic!("{files:?}");
    };
    assert_eq!(index.parent(), Some(dir.path()));
    let page = fs::read_to_string(index).unwrap();
    assert!(page.contains("href=\"a/report.html\"") && page.contains("href=\"b/report.html\""));
    for head in ["small (paper): corrected", "small-tuned (tuned): corrected"] {
        assert!(page.contains(head), "{head}");
    }
    assert!(page.contains("id=\"figure-effect\""));
    let name = numbers.file_name().unwrap().to_str().unwrap();
    assert!(page.contains(&format!("its numbers are in {name}")));
    assert!(fs::read_to_string(numbers).unwrap().starts_with("dataset,"));
    insta::assert_snapshot!(words(&page));

    render::index(dir.path(), &folders).unwrap();
    assert_eq!(page, fs::read_to_string(index).unwrap(), "the same bytes again");
    fs::write(index, "<p>my own page</p>").unwrap();
    let error = render::index(dir.path(), &folders).unwrap_err();
    assert_eq!(error.exit, Exit::Input);
    assert!(error.message.contains("was not written by npsvcpp"), "{error}");
    assert_eq!(fs::read_to_string(index).unwrap(), "<p>my own page</p>");
}

#[test]
fn levels_are_compared_on_the_data_and_splits_they_share() {
    let dir = tempfile::tempdir().unwrap();
    let mut fixed = plan();
    let mut tuned = plan();
    for (scheme, points, plan) in [("ovr", 1, &mut fixed), ("ovr", 12, &mut tuned)] {
        plan.methods[1].scheme = Some(scheme.to_owned());
        plan.methods[1].points = points;
    }
    // Other values of binalpha, a part of pendigits, and other splits of dna from the seventh on.
    tuned.datasets[1].hash = "of another file".to_owned();
    tuned.datasets[2].n_train = 600;
    for split in &mut tuned.datasets[3].splits[6..] {
        *split = "of another seed".to_owned();
    }
    let folders = ["a", "b"].map(|name| dir.path().join(name));
    for (folder, plan) in folders.iter().zip([&fixed, &tuned]) {
        fs::create_dir(folder).unwrap();
        write_folder(folder, plan, &records(plan));
    }
    let read = folders.each_ref().map(|f| render::read(f).unwrap().0);
    let named = [("a".to_owned(), &read[0]), ("b".to_owned(), &read[1])];
    let files = render::index(dir.path(), &named).unwrap().all;
    let numbers = fs::read_to_string(&files[1]).unwrap();
    let lines: Vec<&str> = numbers.lines().skip(1).collect();
    assert_eq!(lines.len(), 2, "{numbers}");
    for (line, level) in lines.iter().zip(["ovr, fixed", "ovr, tuned"]) {
        assert!(line.starts_with("dna,") && line.contains(level) && line.contains(",6,"));
    }
}

#[test]
fn folders_in_different_places_have_no_index() {
    let folder = finished("");
    for name in ["one/a", "two/b"] {
        rendered::write(&folder.path(name), &rendered::files(&folder.path("whole")));
    }
    let render = folder.run("render one/a two/b -q");
    assert_eq!(render.code, 0, "{}", render.err);
    assert!(render.err.contains("no index page"), "{}", render.err);
    for place in ["", "one/", "two/"] {
        assert!(!folder.path(&format!("{place}index.html")).exists(), "{place}");
    }
}
