//! Every finished record of a ledger against the plan, without computing anything again.

use std::collections::HashMap;

use serde_json::Value;

use super::compare::Difference;
use super::report::{Reasons, name};
use crate::ledger::{Ledger, Plan, PlannedCell, Record, Status};
use crate::plan::{Prepared, code_version};
use crate::run;
use crate::wording::counted;

/// A finished cell of the folder that this program plans, too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finished<'a> {
    pub cell: &'a PlannedCell,
    pub record: &'a Record,
    /// Its place in the folder's plan.
    pub order: usize,
}

/// The finished cells of a folder, and what is wrong with their records.
#[derive(Default)]
pub(super) struct Records<'a> {
    pub finished: Vec<Finished<'a>>,
    /// Differences with the place of the cell in the plan, and what the cell is called.
    pub differences: Vec<(usize, String, Difference)>,
    /// Cells that other code computed.
    pub other_code: Reasons,
}

/// What a record says about its cell, and what follows from the plan.
const CLAIMS: [&str; 9] = [
    "dataset",
    "method",
    "scheme",
    "split",
    "training_seed",
    "seed",
    "split_hash",
    "data_hash",
    "weights_hash",
];

/// The same for data on this machine.
const SHAPES: [&str; 4] = ["n_train", "n_test", "dims", "classes"];

/// Compares every finished record of the folder with the plan that `prepared` makes from the folder's spec.
pub(super) fn check<'a>(plan: &Plan, known: &'a Ledger, prepared: &'a Prepared) -> Records<'a> {
    let cells = prepared.plan.cells.iter();
    let planned: HashMap<&str, &PlannedCell> =
        cells.map(|cell| (cell.cell.as_str(), cell)).collect();
    let mut records = Records::default();
    // Cells that this program plans in another way, by dataset and difference.
    let mut strange: Vec<(usize, String, Difference, usize)> = Vec::new();
    for (order, theirs) in plan.cells.iter().enumerate() {
        let record = known.get(&theirs.cell).filter(|record| record.status == Status::Ok);
        let Some(record) = record else { continue };
        if let Some(cell) = planned.get(theirs.cell.as_str()) {
            let place = name(prepared.plan.place(cell));
            let found = differences(prepared, cell, record).into_iter();
            records.differences.extend(found.map(|one| (order, place.clone(), one)));
            records.finished.push(Finished { cell, record, order });
            continue;
        }
        let (dataset, label, ..) = plan.place(theirs);
        match cause(plan, theirs, prepared) {
            Err(version) => records.other_code.add(label.to_owned(), version),
            Ok(difference) => match strange
                .iter_mut()
                .find(|(_, of, known, _)| of == dataset && *known == difference)
            {
                Some((.., count)) => *count += 1,
                None => strange.push((order, dataset.to_owned(), difference, 1)),
            },
        }
    }
    records.differences.extend(strange.into_iter().map(|(order, dataset, difference, count)| {
        (order, format!("{dataset}, {}", counted(count, "cell")), difference)
    }));
    records
}

/// Claims of a record that do not follow from the plan.
fn differences(prepared: &Prepared, cell: &PlannedCell, record: &Record) -> Vec<Difference> {
    let row = &prepared.plan.datasets[cell.dataset];
    let expected = Record {
        split_hash: row.splits.get(cell.split).cloned(),
        data_hash: Some(row.hash.clone()),
        ..run::expected(prepared, cell)
    };
    let [recorded, expected] = [record, &expected]
        .map(|record| serde_json::to_value(record).expect("a record can be written as JSON"));
    let is_here = prepared.sources[cell.dataset].is_ok();
    let shapes = SHAPES.iter().filter(|_| is_here);
    let claims = CLAIMS.iter().chain(shapes).copied();
    let wrong = claims.filter(|key| {
        // Records of former versions lack some of these.
        let is_known = recorded.get(key).is_some() && expected.get(key).is_some();
        is_known && recorded[*key] != expected[*key]
    });
    let mut found: Vec<Difference> =
        wrong.map(|key| Difference::new(key, text(&recorded[key]), text(&expected[key]))).collect();
    // A label may have been renamed since, but not to that of another method.
    let own = &prepared.plan.methods[cell.method].label;
    let is_other = |label: &String| label == &record.label && label != own;
    if prepared.plan.methods.iter().any(|method| is_other(&method.label)) {
        found.push(Difference::new("label", record.label.clone(), own.clone()));
    }
    found
}

/// A value in a table; of a hash, enough to tell it from others.
fn text(value: &Value) -> String {
    let is_hash = |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    match value.as_str() {
        Some(hash) if is_hash(hash) => hash[..12].to_owned(),
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}

/// Why this program does not plan a cell of the folder: what differs, or else which code computed it.
fn cause(plan: &Plan, cell: &PlannedCell, prepared: &Prepared) -> Result<Difference, String> {
    let was = &plan.datasets[cell.dataset];
    let now = prepared.plan.datasets.iter().find(|row| row.name == was.name);
    let hash = |value: &str| text(&Value::from(value));
    if let Some(now) = now.filter(|now| now.hash != was.hash) {
        let is = format!("{} on this machine", hash(&now.hash));
        return Ok(Difference::new("data_hash", hash(&was.hash), is));
    }
    let splits = [Some(was), now].map(|row| row.and_then(|row| row.splits.get(cell.split)));
    if let [Some(was), Some(now)] = splits
        && was != now
    {
        let is = format!("{} from the data", hash(now));
        return Ok(Difference::new("split_hash", hash(was), is));
    }
    // A damaged plan may name a method that its experiment lacks.
    let method = prepared.candidates.get(cell.method);
    let code = method.and_then(|method| {
        let version = method.entry.info.version;
        let code = code_version(plan, cell, method).filter(|code| *code != version)?;
        Some(format!(
            "computed with version {code} of the method's code; this program has version {version}"
        ))
    });
    let recorded = "another plan's".to_owned();
    let other = || Difference::new("identity", recorded, format!("that of {}", Plan::FILE));
    code.map_or_else(|| Ok(other()), Err)
}
