//! The figure of a ledger shows every method and dataset, or why there is nothing to show.

use crate::results;
use std::fs;

use crate::results::{SPLITS, accuracy, plan, record, summary, write_folder};
use npsvcpp::analyse::Summary;
use npsvcpp::ledger::{Plan, Record, Status};
use npsvcpp::render::{self, Figure};

/// All cells run, and no accuracy above 100 %.
fn records(plan: &Plan) -> Vec<Record> {
    let mut records = results::records(plan);
    for record in records.iter_mut().filter(|r| r.dataset == "pendigits") {
        record.accuracy = record.accuracy.map(|accuracy| accuracy - 2.0);
    }
    records
}

fn whole() -> Summary {
    let plan = plan();
    summary(&plan, &records(&plan))
}

fn accuracy_figure(summary: &Summary) -> Figure {
    let first = render::figures(summary).into_iter().next();
    first.filter(|drawn| drawn.name == "accuracy").expect("always drawn")
}

fn png(summary: &Summary) -> Vec<u8> {
    accuracy_figure(summary).png(&svg(summary)).expect("draws")
}

fn csv(summary: &Summary) -> String {
    accuracy_figure(summary).data
}

fn svg(summary: &Summary) -> String {
    accuracy_figure(summary).svg().expect("draws")
}

/// The words of the SVG, line after line, which must be a sound document.
fn words(summary: &Summary) -> String {
    let text = svg(summary);
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    let document = roxmltree::Document::parse(&text).expect("XML");
    let texts = document.descendants().filter(|n| n.has_tag_name("text"));
    let lines: Vec<&str> = texts.filter_map(|n| n.text()).map(str::trim).collect();
    lines.join("\n")
}

/// The same as one line, since long sentences are wrapped.
fn prose(summary: &Summary) -> String {
    words(summary).replace('\n', " ")
}

/// The number of elements of the SVG that a test accepts.
fn count(summary: &Summary, accept: impl Fn(&roxmltree::Node) -> bool) -> usize {
    let text = svg(summary);
    let document = roxmltree::Document::parse(&text).expect("XML");
    document.descendants().filter(accept).count()
}

fn size(png: &[u8]) -> (u32, u32) {
    let picture = image::load_from_memory(png).expect("a PNG");
    (picture.width(), picture.height())
}

/// A number of the SVG's first element.
fn attribute(summary: &Summary, name: &str) -> u32 {
    let text = svg(summary);
    let document = roxmltree::Document::parse(&text).expect("XML");
    let value = document.root_element().attribute(name).expect("a size");
    value.parse().expect("a number")
}

fn failed(records: &[Record], reason: &str) -> Vec<Record> {
    let mut failed = records.to_vec();
    for record in &mut failed {
        record.status = Status::Failed;
        record.error = Some(reason.to_owned());
        record.accuracy = None;
    }
    failed
}

#[test]
fn data() {
    insta::assert_snapshot!(csv(&whole()));
}

#[test]
fn every_name_is_in_the_picture() {
    let words = words(&whole());
    let lines: Vec<&str> = words.lines().collect();
    for name in ["SVM", "TWSVM_1", "NPSVM", "K-NPSVC++"] {
        assert!(lines.contains(&name), "{name} in {words}");
    }
    for name in ["chg", "binalpha", "pendigits ≠", "dna"] {
        assert!(lines.contains(&name), "{name} in {words}");
    }
    assert!(lines.contains(&"Four methods & four datasets: test accuracy by method"));
    assert!(lines.contains(&"842 train, 562 test, 320 dims, 36 classes"));
}

#[test]
fn the_marks_are_explained() {
    let words = words(&whole());
    for text in [
        "mean ± sd over splits",
        "one split",
        "K-NPSVC++, the reference (dashes: its mean)",
        "paper (Table 2), mean ± sd",
    ] {
        assert!(words.contains(text), "{text} in {words}");
    }
    let prose = prose(&whole());
    assert!(prose.contains("one standard deviation (sd) over the splits"));
    assert!(prose.contains("≠: the problem differs from the paper's."));
    assert!(prose.contains("Finished: of 160 cells 119 ok, 1 failed, 40 skipped."));
}

/// Each mean of the paper is a dark diamond with a white one in it.
fn is_diamond(node: &roxmltree::Node) -> bool {
    node.has_tag_name("polygon") && node.attribute("fill") == Some("#222222")
}

#[test]
fn every_split_and_every_number_of_the_paper_has_a_mark() {
    let summary = whole();
    let faint = |node: &roxmltree::Node| {
        node.has_tag_name("circle") && node.attribute("opacity") == Some("0.3")
    };
    assert!(!words(&summary).contains('◂'), "all is on the axes");
    assert_eq!(count(&summary, faint), 119 + 3, "and three in the legend");
    assert_eq!(count(&summary, is_diamond), 3 * 4 + 1, "and one in the legend");
}

#[test]
fn the_reference_stands_out() {
    let mut plan = plan();
    let bold = |name: &'static str| {
        move |node: &roxmltree::Node| {
            let is_bold = node.attribute("font-weight") == Some("bold");
            is_bold && node.text().is_some_and(|text| text.trim() == name)
        }
    };
    let whole = whole();
    assert_eq!(count(&whole, bold("K-NPSVC++")), 3, "once per panel");
    assert_eq!(count(&whole, bold("SVM")), 0);
    plan.experiment.compare = None;
    let without = summary(&plan, &records(&plan));
    assert_eq!(count(&without, bold("K-NPSVC++")), 0);
    assert!(!words(&without).contains("the reference"));
}

#[test]
fn without_a_table_to_reproduce_there_is_no_paper() {
    let mut plan = plan();
    plan.experiment.reproduces = None;
    let summary = summary(&plan, &records(&plan));
    assert_eq!(count(&summary, is_diamond), 0);
    assert!(!words(&summary).contains("paper (Table"));
    assert!(!csv(&summary).contains(",paper,"));
}

#[test]
fn the_png_is_the_svg_at_twice_its_size() {
    let summary = whole();
    let (width, height) = size(&png(&summary));
    assert_eq!((width, height), (1920, 2 * attribute(&summary, "height")));
    assert_eq!(attribute(&summary, "width"), 960);
    let picture = image::load_from_memory(&png(&summary)).unwrap();
    let picture = picture.to_rgb8();
    assert_eq!(picture.get_pixel(0, 0).0, [255; 3]);
    let has = |colour: [u8; 3]| picture.pixels().any(|pixel| pixel.0 == colour);
    assert!(has([0x00, 0x72, 0xb2]), "blue of the methods");
    assert!(has([0xd5, 0x5e, 0x00]), "vermilion of the reference");
    assert!(has([0x22; 3]), "the paper's ink");
}

#[test]
fn rendering_a_folder_twice_gives_the_same_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan();
    write_folder(dir.path(), &plan, &records(&plan));
    let files = ["svg", "png", "csv"].map(|end| dir.path().join(format!("figures/accuracy.{end}")));
    let rendered = render::folder(dir.path()).unwrap();
    assert!(files.iter().all(|file| rendered.files.all.contains(file)));
    let first = files.each_ref().map(|file| fs::read(file).unwrap());
    render::folder(dir.path()).unwrap();
    assert_eq!(first, files.each_ref().map(|file| fs::read(file).unwrap()));
    let summary = whole();
    let direct = [svg(&summary).into_bytes(), png(&summary), csv(&summary).into_bytes()];
    assert_eq!(first, direct);
}

#[test]
fn a_folder_that_is_a_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    write_folder(dir.path(), &plan(), &[]);
    fs::write(dir.path().join("figures"), "").unwrap();
    let error = render::folder(dir.path()).unwrap_err().to_string();
    assert!(error.contains("accuracy.png"), "{error}");
}

#[test]
fn a_dataset_that_is_not_to_be_had_gets_its_reason() {
    let prose = prose(&whole());
    let reason = "no results: chg is not here: get it from its authors and put it into data/chg";
    assert!(prose.contains(reason), "{prose}");
    assert!(csv(&whole()).contains(
        "chg,svm,SVM,no,none,,0,,,,chg is not here: get it from its authors and put it into data/chg"
    ));
}

#[test]
fn an_empty_ledger_says_so_in_every_panel() {
    let nothing = summary(&plan(), &[]);
    assert_eq!(words(&nothing).matches("no results: not run yet").count(), 3);
    assert_eq!(prose(&nothing).matches("Nothing has run yet").count(), 1);
    assert_eq!(size(&png(&nothing)).0, 1920);
    assert!(csv(&nothing).contains("dna,svm,SVM,no,none,,0,,,,not run yet,"));
}

#[test]
fn a_half_finished_ledger_shows_what_there_is() {
    let plan = plan();
    let half = summary(&plan, &records(&plan)[..SPLITS * 4 + 15]);
    let words = words(&half);
    assert_eq!(words.matches("no result: not run").count(), 2, "{words}");
    assert!(words.lines().any(|line| line == "5/10"));
    assert_eq!(words.matches("no results: not run yet").count(), 2);
    let prose = prose(&half);
    assert!(prose.contains("all numbers are preliminary"));
    assert!(prose.contains("k of its n planned splits succeeded"));
}

#[test]
fn failures_are_shown_with_their_reason() {
    let plan = plan();
    let all = summary(&plan, &failed(&records(&plan), "out of memory"));
    let reason = "no results: all 10 splits failed: out of memory";
    assert_eq!(words(&all).matches(reason).count(), 3);
    assert!(prose(&all).contains("No cell succeeded"));

    let mut some = failed(&records(&plan), "no KKT point");
    for record in some.iter_mut().filter(|record| record.method == "svm") {
        record.error = Some("out of memory".to_owned());
    }
    some.retain(|record| record.method != "npsvm");
    let prose = prose(&summary(&plan, &some));
    assert!(
        prose.contains(
            "no results: SVM: all 10 splits failed: out of memory; TWSVM_1 and K-NPSVC++: all 10 \
             splits failed: no KKT point; 10 of 40 cells not run yet"
        ),
        "{prose}"
    );
}

#[test]
fn a_failed_method_among_others_has_its_word() {
    let plan = plan();
    let mut records = records(&plan);
    for record in &mut records {
        if record.dataset == "dna" && record.method == "svm" {
            record.status = Status::Failed;
            record.accuracy = None;
        }
    }
    let words = words(&summary(&plan, &records));
    assert_eq!(words.matches("no result: failed").count(), 1);
}

#[test]
fn a_reason_of_any_length_is_cut_with_an_ellipsis() {
    let plan = plan();
    let long = "x".repeat(100_000) + " & <so on>";
    let long = summary(&plan, &failed(&records(&plan), &long));
    assert!(words(&long).lines().any(|line| line.ends_with('…')));
    assert!(attribute(&long, "height") < 3000);
}

#[test]
fn a_distant_value_leaves_room_for_the_others() {
    let plan = plan();
    let mut records = records(&plan);
    for record in &mut records {
        if record.dataset == "dna" && record.method == "svm" {
            record.accuracy = Some(33.0 + (record.split % 2) as f64);
        }
    }
    let summary = summary(&plan, &records);
    assert!(words(&summary).contains("◂ 33.50 ± 0.53"));
    assert!(prose(&summary).contains("◂: mean ± sd of a value too far below the others"));
    assert!(csv(&summary).contains("dna,svm,SVM,no,split,0,,33.0,,,"));
}

#[test]
fn accuracies_outside_0_to_100_are_not_drawn() {
    let plan = plan();
    let mut records = records(&plan);
    for record in records.iter_mut().filter(|r| r.dataset == "dna") {
        record.accuracy = Some(f64::MAX);
    }
    let summary = summary(&plan, &records);
    assert_eq!(words(&summary).matches("accuracies outside 0 to 100").count(), 4);
    let data = csv(&summary);
    assert!(!data.contains("inf") && !data.contains("NaN"), "{data}");
}

#[test]
fn one_split_and_equal_splits_are_drawn() {
    let mut one = plan();
    one.cells.retain(|cell| cell.split == 0);
    let one = summary(&one, &records(&plan()));
    assert!(csv(&one).contains("binalpha,svm,SVM,no,mean,,1,69.25,,,,"));
    words(&one);
    let plan = plan();
    let mut records = records(&plan);
    for record in &mut records {
        record.accuracy = record.accuracy.map(|_| 100.0);
    }
    words(&summary(&plan, &records));
}

#[test]
fn a_plan_of_nothing_has_no_figure() {
    let plan = plan();
    let no_datasets = Plan { datasets: Vec::new(), cells: Vec::new(), ..plan.clone() };
    let no_methods = Plan { methods: Vec::new(), cells: Vec::new(), ..plan };
    for nothing in [no_datasets, no_methods] {
        assert!(render::figures(&summary(&nothing, &[])).is_empty());
    }
}

#[test]
fn very_large_plans_are_drawn_in_part_with_all_data() {
    let mut plan = plan();
    let (dataset, method) = (plan.datasets[3].clone(), plan.methods[0].clone());
    for number in 0..60 {
        let mut dataset = dataset.clone();
        dataset.name = format!("dataset {number}");
        plan.datasets.push(dataset);
        let mut method = method.clone();
        method.label = format!("a method with a very long name that differs at its end {number}");
        plan.methods.push(method);
    }
    let mut records = records(&plan);
    for number in 4..64 {
        let mut cell = plan.cells[SPLITS * 12].clone();
        cell.dataset = number;
        cell.cell = format!("{number}");
        let mut record = record(&results::plan(), &results::plan().cells[SPLITS * 12]);
        record.cell.clone_from(&cell.cell);
        record.accuracy = Some(accuracy(3, 0, number % SPLITS));
        plan.cells.push(cell);
        records.push(record);
    }
    let summary = summary(&plan, &records);
    let prose = prose(&summary);
    assert!(prose.contains(" of 64 panels are drawn; accuracy.csv has the numbers of all."));
    assert!(prose.contains("40 of 64 methods are drawn; the data has all."));
    assert!(csv(&summary).contains("dataset 59,"));
    let height = attribute(&summary, "height");
    assert!((2000..5000).contains(&height), "{height}");
    assert_eq!(size(&png(&summary)), (1920, 2 * height));
}
