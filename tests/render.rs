//! A ledger becomes the same honest tables whoever renders it, and however it ended.

use std::fs;
use std::path::Path;

use npsvcpp::kernel::Kernel;
use npsvcpp::ledger::{
    Contents, Plan, PlannedCell, PlannedDataset, PlannedMethod, Record, Status, Writer,
};
use npsvcpp::render::{
    self, Csv, Exporter, Latex, Markdown, Place, RenderError, Summary, Terminal,
};
use npsvcpp::spec::{
    Compare, DatasetOptions, DatasetSpec, Experiment, MethodSpec, Rendering, Reproduces, Select,
    SelectBy, SelectOn, Splits, Test,
};
use serde_json::{Map, json};

const SPLITS: usize = 10;
const NO_DATA: &str = "chg is not here: get it from its authors\nand put it into data/chg";

fn experiment() -> Experiment {
    let registered = |name: &str, subsample| DatasetSpec::Registered {
        name: name.to_owned(),
        options: DatasetOptions { subsample },
    };
    let methods = methods();
    Experiment {
        name: "small".to_owned(),
        title: "Four methods & four datasets".to_owned(),
        reproduces: Some(Reproduces { table: 2 }),
        protocol: None,
        seed: 7,
        datasets: vec![
            registered("chg", None),
            registered("binalpha", None),
            registered("pendigits", Some(2000)),
            registered("dna", None),
        ],
        splits: Splits::default(),
        kernel: Kernel::default(),
        jitter: 1e-6,
        methods: methods
            .iter()
            .map(|method| MethodSpec {
                method: method.method.clone(),
                label: None,
                fixed: Map::new(),
                tuned: Vec::new(),
            })
            .collect(),
        select: None,
        compare: Some(Compare {
            against: "k-npsvcpp".to_owned(),
            levels: vec![0.05, 0.1],
            test: vec![Test::PairedT, Test::NadeauBengio],
        }),
        render: vec![Rendering::Table],
    }
}

fn methods() -> Vec<PlannedMethod> {
    let method = |method: &str, label: &str| PlannedMethod {
        method: method.to_owned(),
        label: label.to_owned(),
        scheme: None,
        points: 1,
    };
    vec![
        method("svm", "SVM"),
        method("twsvm", "TWSVM_1"),
        method("npsvm", "NPSVM"),
        method("k-npsvcpp", "K-NPSVC++"),
    ]
}

fn dataset(name: &str, shape: [usize; 4]) -> PlannedDataset {
    let [n_train, n_test, dims, classes] = shape;
    PlannedDataset {
        name: name.to_owned(),
        unavailable: None,
        hash: format!("hash-{name}"),
        samples: n_train + n_test,
        dims,
        classes: (0..classes).map(|class| class.to_string()).collect(),
        class_counts: vec![1; classes],
        n_train,
        n_test,
        splits: vec!["split".to_owned(); SPLITS],
        notes: Vec::new(),
    }
}

fn plan() -> Plan {
    let mut datasets = vec![
        dataset("chg", [0; 4]),
        dataset("binalpha", [842, 562, 320, 36]),
        dataset("pendigits", [1200, 800, 16, 10]),
        dataset("dna", [1200, 800, 180, 3]),
    ];
    datasets[0].unavailable = Some(NO_DATA.to_owned());
    datasets[3].notes = vec!["the scaled file was read".to_owned()];
    let methods = methods();
    let mut cells = Vec::new();
    for dataset in 0..datasets.len() {
        for method in 0..methods.len() {
            for split in 0..SPLITS {
                cells.push(PlannedCell {
                    cell: format!("{dataset}-{method}-{split}"),
                    dataset,
                    method,
                    split,
                });
            }
        }
    }
    Plan {
        version: "0.1.0".to_owned(),
        experiment: experiment(),
        datasets,
        methods,
        cells,
    }
}

/// Accuracies by dataset: SVM is clearly worse, TWSVM clearly better, NPSVM about the same as
/// the reference, with differences that vary from split to split.
fn accuracy(dataset: usize, method: usize, split: usize) -> f64 {
    let level = [0.0, 71.25, 99.25, 95.5][dataset];
    let shift = [-1.5, 0.5, -0.125, 0.0][method];
    let wobble = [0.0, 0.25, -0.5, 0.125, -0.25][split % 5];
    let own = [0.5, 0.25, 0.75, 0.0][method] * [1.0, -1.0, 0.5][(split + dataset) % 3];
    let worse_on_dna = if (dataset, method) == (3, 1) {
        -0.75
    } else {
        0.0
    };
    level + shift + wobble + own + worse_on_dna
}

fn record(plan: &Plan, planned: &PlannedCell) -> Record {
    let (dataset, method) = (
        &plan.datasets[planned.dataset],
        &plan.methods[planned.method],
    );
    let available = dataset.unavailable.is_none();
    let value = available.then(|| accuracy(planned.dataset, planned.method, planned.split));
    Record {
        cell: planned.cell.clone(),
        experiment: plan.experiment.name.clone(),
        dataset: dataset.name.clone(),
        method: method.method.clone(),
        label: method.label.clone(),
        scheme: None,
        split: planned.split,
        seed: plan.experiment.seed,
        n_train: dataset.n_train,
        n_test: dataset.n_test,
        dims: dataset.dims,
        classes: dataset.classes.len(),
        params: json!({"c": 1.0}),
        status: if available {
            Status::Ok
        } else {
            Status::Skipped
        },
        error: dataset.unavailable.clone(),
        accuracy: value,
        balanced_accuracy: value,
        fit_seconds: value.map(|_| 0.5),
        predict_seconds: value.map(|_| 0.25),
        peak_mb: None,
        certificate: None,
        selection: None,
        started: "2024-07-21T09:00:00Z".to_owned(),
        host: "somewhere".to_owned(),
        threads: 1,
        device: "cpu".to_owned(),
        version: "0.1.0".to_owned(),
        git: Some("abc1234".to_owned()),
        extra: Map::new(),
    }
}

/// Every cell run; one skipped dataset and one failed split.
fn records(plan: &Plan) -> Vec<Record> {
    let mut records: Vec<Record> = plan.cells.iter().map(|cell| record(plan, cell)).collect();
    let failed = &mut records[(SPLITS * 4) + (SPLITS * 2) + 3];
    assert_eq!((failed.label.as_str(), failed.split), ("NPSVM", 3));
    failed.status = Status::Failed;
    failed.error = Some("no KKT point within 10% of {tol} after 100 sweeps".to_owned());
    failed.accuracy = None;
    records
}

fn summary(plan: &Plan, records: &[Record]) -> Summary {
    Summary::new(plan, &records.iter().collect::<Vec<_>>())
}

fn whole() -> Summary {
    let plan = plan();
    summary(&plan, &records(&plan))
}

fn export(exporter: &dyn Exporter, summary: &Summary) -> String {
    let bytes = exporter.export(summary).expect("exports");
    String::from_utf8(bytes).expect("text")
}

fn write_folder(dir: &Path, plan: &Plan, records: &[Record]) {
    let text = serde_json::to_vec(plan).expect("a plan is JSON");
    fs::write(dir.join(Plan::FILE), text).expect("writes");
    let mut writer = Writer::open(&dir.join("ledger.jsonl"))
        .expect("opens")
        .expect("nobody else holds the lock");
    for record in records {
        writer.append(record).expect("appends");
    }
}

#[test]
fn markdown() {
    insta::assert_snapshot!(export(&Markdown, &whole()));
}

#[test]
fn latex() {
    insta::assert_snapshot!(export(&Latex, &whole()));
}

#[test]
fn csv() {
    insta::assert_snapshot!(export(&Csv, &whole()));
}

#[test]
fn terminal_wide() {
    insta::assert_snapshot!(Terminal::default().show(&whole()));
}

#[test]
fn terminal_of_eighty_columns() {
    let terminal = Terminal {
        width: Some(80),
        colour: false,
    };
    let shown = terminal.show(&whole());
    let table = shown
        .lines()
        .filter(|line| line.starts_with(['│', '┌', '╞', '└']));
    assert!(table.clone().count() > 10);
    assert!(table.clone().all(|line| line.chars().count() <= 80));
    insta::assert_snapshot!(shown);
}

#[test]
fn terminal_of_forty_columns_wraps_and_still_fits() {
    let terminal = Terminal {
        width: Some(40),
        colour: false,
    };
    let shown = terminal.show(&whole());
    let mut table = shown
        .lines()
        .filter(|line| line.starts_with(['│', '┌', '╞', '└']));
    assert!(table.all(|line| line.chars().count() <= 40), "{shown}");
}

#[test]
fn colour_changes_nothing_but_colour() {
    let plain = Terminal::default().show(&whole());
    assert!(!plain.contains('\u{1b}'));
    let coloured = Terminal {
        colour: true,
        ..Terminal::default()
    };
    let coloured = coloured.show(&whole());
    assert!(coloured.contains('\u{1b}'));
    let mut stripped = String::new();
    let mut inside = false;
    for c in coloured.chars() {
        match c {
            '\u{1b}' => inside = true,
            'm' if inside => inside = false,
            _ if inside => {}
            c => stripped.push(c),
        }
    }
    let legend = "Green: best of a row; cyan: second best.\n";
    assert_eq!(stripped.replace(legend, ""), plain);
}

#[test]
fn wins_and_losses_are_told_apart() {
    let summary = whole();
    let [_, binalpha, pendigits, dna] = &summary.rows[..] else {
        panic!("four datasets");
    };
    let svm = &binalpha.cells[0];
    assert_eq!(svm.marks(), "‡(‡)");
    assert!(!svm.naive.as_ref().unwrap().better);
    let twsvm = &pendigits.cells[1];
    assert!(twsvm.naive.as_ref().unwrap().better);
    assert!(twsvm.naive.as_ref().unwrap().mark().ends_with('↑'));
    assert_eq!(dna.cells[1].place, Place::Other);
    for row in &summary.rows {
        let reference = &row.cells[3];
        assert!(reference.naive.is_none() && reference.corrected.is_none());
        for cell in &row.cells {
            if let (Some(naive), Some(corrected)) = (&cell.naive, &cell.corrected) {
                assert!(corrected.p >= naive.p);
            }
        }
    }
}

#[test]
fn a_failed_split_leaves_the_others_and_is_accounted_for() {
    let summary = whole();
    let cell = &summary.rows[1].cells[2];
    assert_eq!((cell.counts.ok, cell.counts.failed), (9, 1));
    assert_eq!(cell.values.len(), 9);
    assert_eq!(cell.share().as_deref(), Some("9/10"));
    assert_eq!(cell.place, Place::Other);
    assert_eq!(cell.naive.as_ref().unwrap().n, 9);
    let ranks = summary.ranks.as_ref().unwrap();
    assert_eq!(ranks.datasets, 2, "binalpha is incomplete, chg is skipped");
}

#[test]
fn the_papers_numbers_stand_beside_ours() {
    let summary = whole();
    assert_eq!(summary.paper.unwrap().table, "2");
    let cell = &summary.rows[1].cells[3];
    let paper = cell.paper.unwrap();
    assert_eq!(paper.value, 71.28);
    assert_eq!(cell.difference, Some(cell.mean.unwrap() - 71.28));
    assert!(!summary.rows[1].other_problem);
    assert!(summary.rows[2].other_problem, "a part of pendigits");
    assert_eq!(summary.rows[0].cells[0].difference, None);
}

#[test]
fn without_a_table_to_reproduce_there_is_no_paper() {
    let mut plan = plan();
    plan.experiment.reproduces = None;
    let summary = summary(&plan, &records(&plan));
    assert!(summary.paper.is_none());
    assert!(!export(&Markdown, &summary).contains("Paper"));
    assert!(!export(&Latex, &summary).contains("Paper"));
    plan.experiment.reproduces = Some(Reproduces { table: 9 });
    let summary = self::summary(&plan, &records(&plan));
    assert!(
        summary.warnings[0].contains("Table 9"),
        "{:?}",
        summary.warnings
    );
}

#[test]
fn files_of_ones_own_never_meet_the_papers_numbers() {
    let mut plan = plan();
    plan.datasets[1].name = "mine".to_owned();
    let summary = summary(&plan, &records(&plan));
    assert!(
        summary.rows[1]
            .cells
            .iter()
            .all(|cell| cell.paper.is_none())
    );
}

#[test]
fn doubtful_choices_are_warned_of() {
    let mut plan = plan();
    plan.experiment.select = Some(Select {
        by: SelectBy::CrossValidation,
        folds: 5,
        on: SelectOn::Test,
        subsample: None,
        once: true,
    });
    plan.methods[0].points = 6;
    plan.methods[1].points = 18;
    plan.cells.retain(|cell| cell.split < 3);
    let warnings = summary(&plan, &records(&self::plan())).warnings;
    let has = |text: &str| warnings.iter().any(|warning| warning.contains(text));
    assert!(has("chosen on the test samples"));
    assert!(has("chosen once per dataset"));
    assert!(has("tuning budgets differ") && has("SVM 6 and TWSVM_1 18"));
    assert!(has("the parameters of NPSVM and K-NPSVC++ are fixed"));
    assert!(has("fewer than 10 splits") && has("dna (3)"));
    assert!(
        has("ledger records of 112 cells outside the plan"),
        "{warnings:?}"
    );
}

#[test]
fn marks_without_the_correction_are_warned_of() {
    let mut plan = plan();
    let records = records(&plan);
    let compare = plan.experiment.compare.as_mut().unwrap();
    compare.test = vec![Test::PairedT];
    let summary = summary(&plan, &records);
    assert_eq!(summary.rows[1].cells[0].marks(), "‡");
    assert!(
        summary
            .warnings
            .iter()
            .any(|w| w.contains("plain paired t-test"))
    );
    plan.experiment.compare = None;
    let summary = self::summary(&plan, &records);
    assert!(
        summary
            .rows
            .iter()
            .flat_map(|row| &row.cells)
            .all(|cell| cell.marks().is_empty())
    );
}

#[test]
fn a_reference_that_is_not_there_is_named() {
    let mut plan = plan();
    plan.experiment.compare.as_mut().unwrap().against = "d-npsvcpp".to_owned();
    let summary = summary(&plan, &records(&plan));
    assert!(summary.comparison.is_none());
    assert!(summary.warnings[0].contains("d-npsvcpp, is not among SVM"));
}

#[test]
fn one_split_is_shown_but_not_tested() {
    let mut plan = plan();
    plan.cells.retain(|cell| cell.split == 0);
    let summary = summary(&plan, &records(&self::plan()));
    let cell = &summary.rows[1].cells[0];
    assert!(cell.mean.is_some() && cell.deviation.is_none());
    assert!(cell.naive.is_none() && cell.corrected.is_none());
    assert!(export(&Markdown, &summary).contains("| 69.25 |"));
}

#[test]
fn the_same_difference_everywhere_is_explained() {
    let plan = plan();
    let mut records = records(&plan);
    for record in &mut records {
        if record.dataset == "dna" && record.method == "svm" {
            record.accuracy = Some(accuracy(3, 3, record.split) - 1.0);
        }
    }
    let summary = summary(&plan, &records);
    let cell = &summary.rows[3].cells[0];
    assert_eq!(cell.naive.as_ref().unwrap().p, 0.0);
    let note = &summary.footnotes[cell.footnotes[0]];
    assert_eq!(
        note,
        "SVM on dna: the same difference on every split, so the tests give p = 0"
    );
}

#[test]
fn every_state_of_a_ledger_has_its_words() {
    let plan = plan();
    let mut records = records(&plan);
    assert_eq!(
        summary(&plan, &[]).state,
        "Nothing has run yet: none of the 160 planned cells is in the ledger."
    );
    assert_eq!(
        summary(&plan, &records[..50]).state,
        "Unfinished: of 160 cells 10 ok, 40 skipped, 110 not run; all numbers are preliminary."
    );
    assert_eq!(
        summary(&plan, &records).state,
        "Finished: of 160 cells 119 ok, 1 failed, 40 skipped."
    );
    for record in &mut records {
        record.status = Status::Failed;
        record.error = Some("out of memory".to_owned());
    }
    let failed = summary(&plan, &records);
    assert_eq!(
        failed.state,
        "No cell succeeded: of 160 planned, 160 failed."
    );
    assert!(
        failed
            .footnotes
            .contains(&"dna: all 10 splits failed: out of memory".to_owned())
    );
    let none = Plan {
        cells: Vec::new(),
        ..plan
    };
    assert_eq!(summary(&none, &[]).state, "The plan has no cells.");
}

#[test]
fn every_exporter_takes_every_state() {
    let plan = plan();
    let records = records(&plan);
    let empty = Plan {
        cells: Vec::new(),
        datasets: Vec::new(),
        methods: Vec::new(),
        ..plan.clone()
    };
    let summaries = [
        summary(&plan, &[]),
        summary(&plan, &records[..50]),
        summary(&empty, &records),
    ];
    for summary in &summaries {
        for exporter in render::exporters() {
            assert!(!exporter.export(summary).unwrap().is_empty());
        }
        for width in [None, Some(0), Some(1), Some(20)] {
            let terminal = Terminal {
                width,
                colour: false,
            };
            assert!(terminal.show(summary).contains(&summary.state));
        }
    }
}

#[test]
fn a_plan_that_points_outside_itself_is_survived() {
    let mut plan = plan();
    plan.cells[0].dataset = 99;
    plan.cells[1].method = 99;
    let summary = summary(&plan, &records(&self::plan()));
    assert!(
        summary
            .warnings
            .iter()
            .any(|w| w.contains("2 cells of the plan"))
    );
}

#[test]
fn a_record_without_an_accuracy_is_not_ok() {
    let plan = plan();
    let mut records = records(&plan);
    records[SPLITS * 4].accuracy = None;
    let summary = summary(&plan, &records);
    assert_eq!(summary.rows[1].cells[0].counts.failed, 1);
    assert!(
        summary
            .footnotes
            .iter()
            .any(|note| note.contains("holds no accuracy"))
    );
}

#[test]
fn a_later_record_replaces_an_earlier_one() {
    let plan = plan();
    let mut records = records(&plan);
    let again = record(&plan, &plan.cells[SPLITS * 4 + SPLITS * 2 + 3]);
    records.push(again);
    let contents = Contents {
        records,
        warnings: Vec::new(),
    };
    let summary = Summary::new(&plan, &contents.latest());
    assert!(summary.rows[1].cells[2].counts.complete());
}

#[test]
fn rendering_a_folder_twice_gives_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan();
    write_folder(dir.path(), &plan, &records(&plan));
    let read = |files: &[std::path::PathBuf]| -> Vec<Vec<u8>> {
        files.iter().map(|file| fs::read(file).unwrap()).collect()
    };
    let first = render::folder(dir.path()).unwrap();
    let bytes = read(&first.files);
    let second = render::folder(dir.path()).unwrap();
    assert_eq!(bytes, read(&second.files));
    assert!(first.warnings.is_empty());

    let mut names: Vec<String> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut expected = vec![
        "ledger.jsonl",
        "plan.json",
        "table.csv",
        "table.md",
        "table.tex",
    ];
    if cfg!(feature = "parquet") {
        expected.insert(0, "cells.parquet");
    }
    assert_eq!(names, expected, "and no temporary files");
    assert_eq!(first.files.len(), expected.len() - 2);
    let markdown = fs::read_to_string(dir.path().join("table.md")).unwrap();
    assert_eq!(markdown, export(&Markdown, &whole()));
}

#[test]
fn a_torn_line_is_passed_over_and_said_so() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan();
    write_folder(dir.path(), &plan, &records(&plan));
    let ledger = dir.path().join("ledger.jsonl");
    let mut text = fs::read(&ledger).unwrap();
    text.truncate(text.len() - 40);
    fs::write(&ledger, text).unwrap();
    let rendered = render::folder(dir.path()).unwrap();
    assert_eq!(rendered.warnings.len(), 1);
    assert_eq!(rendered.summary.counts.missing, 1);
    let markdown = fs::read_to_string(dir.path().join("table.md")).unwrap();
    assert!(markdown.contains("ignored: 1 line of the ledger"));
}

#[test]
fn folders_that_are_no_results_are_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let error = render::folder(&dir.path().join("nowhere")).unwrap_err();
    assert!(matches!(error, RenderError::NoFolder(_)));
    let error = render::folder(dir.path()).unwrap_err();
    assert!(matches!(error, RenderError::NoPlan(_)));
    assert!(error.to_string().contains("has no plan.json"));
    fs::write(dir.path().join(Plan::FILE), "{\"version\": 3}").unwrap();
    let error = render::folder(dir.path()).unwrap_err();
    assert!(
        error.to_string().contains("plan.json: invalid type"),
        "{error}"
    );
}

#[test]
fn an_output_that_cannot_be_replaced_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan();
    write_folder(dir.path(), &plan, &records(&plan));
    fs::create_dir(dir.path().join("table.tex")).unwrap();
    let error = render::folder(dir.path()).unwrap_err();
    assert!(matches!(error, RenderError::Write { .. }));
    assert!(error.to_string().contains("table.tex"), "{error}");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_holds_the_records_of_the_plan() {
    use polars::prelude::{ParquetReader, SerReader};

    let plan = plan();
    let mut records = records(&plan);
    let mut stale = records[0].clone();
    stale.cell = "older".to_owned();
    records.insert(0, stale);
    let bytes = render::CellsParquet
        .export(&summary(&plan, &records))
        .unwrap();
    let frame = ParquetReader::new(std::io::Cursor::new(bytes))
        .finish()
        .unwrap();
    assert_eq!(frame.height(), 160);
    let accuracy = frame.column("accuracy").unwrap().f64().unwrap();
    assert_eq!(accuracy.get(0), None);
    assert_eq!(accuracy.get(45), Some(accuracy_of(&plan, 45)));
    assert_eq!(accuracy.null_count(), 41);
    let cell = frame.column("cell").unwrap().str().unwrap();
    assert_eq!(cell.get(45), Some("1-0-5"));
    let params = frame.column("params").unwrap().str().unwrap();
    assert_eq!(params.get(45), Some("{\"c\":1.0}"));
    assert_eq!(frame.width(), 33);
}

#[cfg(feature = "parquet")]
fn accuracy_of(plan: &Plan, index: usize) -> f64 {
    let cell = &plan.cells[index];
    accuracy(cell.dataset, cell.method, cell.split)
}
