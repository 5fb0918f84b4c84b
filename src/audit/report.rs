//! What an audit found, as a table and sentences.

use std::fmt::{self, Display};
use std::path::Path;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{ContentArrangement, Table};
use indexmap::IndexMap;

use super::compare::Difference;
use super::draw::{Choice, Drawn};
use super::records::Records;
use crate::analyse::text;
use crate::error::Exit;
use crate::ledger::{Place, Plan, Record};
use crate::render::Verified;
use crate::wording::counted;

/// Columns of a terminal that the table fits.
const WIDTH: u16 = 80;

/// Disagreements that are shown; the others are counted.
const SHOWN: usize = 40;

/// What an audit found.
#[derive(Debug, Default)]
pub struct Audit {
    folder: String,
    /// Cells of the plan.
    planned: usize,
    /// Those of them whose records can be compared with the plan.
    finished: usize,
    /// Cells that were computed again.
    pub(super) rows: Vec<Row>,
    /// One sentence each.
    disagreements: Vec<String>,
    pub(super) unchecked: Reasons,
    pub(super) files: Verified,
}

/// A row of the table.
#[derive(Debug)]
pub(super) struct Row {
    cell: String,
    recorded: String,
    recomputed: String,
    verdict: Verdict,
    /// The place of the cell in the plan.
    pub order: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Agrees,
    /// With the parameters chosen once more.
    AgreesAndChoice,
    /// With the recorded choice of parameters.
    AgreesForChoice,
    Disagrees,
    NotChecked,
}

impl Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agrees => "agrees",
            Self::AgreesAndChoice => "agrees, choice repeated",
            Self::AgreesForChoice => "agrees, recorded choice",
            Self::Disagrees => "disagrees",
            Self::NotChecked => "not checked",
        })
    }
}

/// Reasons why cells of something, such as a dataset, are not checked, with the number of cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Reasons(IndexMap<(String, String), usize>);

impl Reasons {
    pub fn add(&mut self, of: String, reason: String) {
        *self.0.entry((of, reason)).or_default() += 1;
    }
}

/// What a reader calls a cell.
pub(super) fn name((dataset, label, split, training_seed): Place<'_>) -> String {
    let seed = match training_seed {
        0 => String::new(),
        number => format!(", seed {number}"),
    };
    format!("{dataset}, split {split}{seed}, {label}")
}

impl Audit {
    pub(super) fn new(dir: &Path, plan: &Plan, finished: usize) -> Self {
        let folder = dir.display().to_string();
        Self { folder, planned: plan.cells.len(), finished, ..Self::default() }
    }

    /// Adds what is wrong with the records.
    pub(super) fn add(&mut self, records: Records<'_>) {
        for (reason, count) in records.other_code.0 {
            *self.unchecked.0.entry(reason).or_default() += count;
        }
        for (order, cell, difference) in records.differences {
            self.add_difference(order, cell, difference, "expected");
        }
    }

    pub(super) fn disagree(&mut self, sentence: String) {
        self.disagreements.push(sentence);
    }

    /// Adds a refit and how it differs from its record.
    pub(super) fn add_refit(
        &mut self,
        one: &Drawn<'_>,
        place: Place<'_>,
        differences: Vec<Difference>,
        again: &Record,
    ) {
        let cell = name(place);
        if differences.is_empty() {
            let verdict = match one.choice {
                Choice::Fixed => Verdict::Agrees,
                Choice::Repeated => Verdict::AgreesAndChoice,
                Choice::Recorded => Verdict::AgreesForChoice,
            };
            let [recorded, recomputed] = [one.record, again].map(accuracy);
            self.rows.push(Row { cell, recorded, recomputed, verdict, order: one.order });
            return;
        }
        for difference in differences {
            self.add_difference(one.order, cell.clone(), difference, "recomputed:");
        }
    }

    /// Adds a cell whose refit was lost.
    pub(super) fn add_lost(&mut self, one: &Drawn<'_>, place: Place<'_>) {
        self.rows.push(Row {
            cell: name(place),
            recorded: accuracy(one.record),
            recomputed: "–".to_owned(),
            verdict: Verdict::NotChecked,
            order: one.order,
        });
    }

    fn add_difference(&mut self, order: usize, cell: String, found: Difference, other: &str) {
        let what = found.what;
        let [recorded, expected] =
            [found.recorded, found.expected].map(|value| text::clean(&value));
        self.disagreements
            .push(format!("{cell}: {what} is {recorded} in the ledger, {other} {expected}"));
        self.rows.push(Row {
            cell,
            recorded: format!("{what} {recorded}"),
            recomputed: expected,
            verdict: Verdict::Disagrees,
            order,
        });
    }

    /// Everything that disagrees, one sentence each.
    pub fn disagreements(&self) -> impl Iterator<Item = &String> {
        self.disagreements.iter().chain(&self.files.problems)
    }

    /// Everything that could not be checked and why, one sentence each.
    pub fn unchecked(&self) -> impl Iterator<Item = String> {
        let cells = self.unchecked.0.iter();
        let cells = cells
            .map(|((of, reason), count)| format!("{} of {of}: {reason}", counted(*count, "cell")));
        cells.chain(self.files.unchecked.iter().cloned())
    }

    /// The exit code: something disagrees, or something could not be checked, or all is well.
    pub fn exit(&self) -> Exit {
        match (self.disagreements().next(), self.unchecked().next()) {
            (Some(_), _) => Exit::Failed,
            (None, Some(_)) => Exit::Incomplete,
            (None, None) => Exit::Complete,
        }
    }

    fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(WIDTH);
        table.set_header(["cell", "recorded", "recomputed", "verdict"]);
        let mut disagreements = 0;
        for row in &self.rows {
            disagreements += usize::from(row.verdict == Verdict::Disagrees);
            if row.verdict == Verdict::Disagrees && disagreements > SHOWN {
                continue;
            }
            let verdict = row.verdict.to_string();
            table.add_row([&row.cell, &row.recorded, &row.recomputed, &verdict]);
        }
        table.force_no_tty();
        table.trim_fmt()
    }
}

fn accuracy(record: &Record) -> String {
    record.accuracy.map_or("–".to_owned(), |accuracy| format!("{} %", text::number(accuracy)))
}

/// Sentences under a heading; too many are counted.
fn list(f: &mut fmt::Formatter<'_>, heading: &str, sentences: &[String]) -> fmt::Result {
    for sentence in sentences.iter().take(SHOWN) {
        writeln!(f, "{heading}: {sentence}")?;
    }
    match sentences.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(f, "{heading}: {more} more"),
    }
}

impl Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { folder, planned, finished, .. } = self;
        writeln!(f, "{folder}: {finished} of {} are finished", counted(*planned, "cell"))?;
        if !self.rows.is_empty() {
            writeln!(f, "{}", self.table())?;
        }
        let (disagreements, unchecked) =
            (Vec::from_iter(self.disagreements().cloned()), Vec::from_iter(self.unchecked()));
        list(f, "disagrees", &disagreements)?;
        list(f, "not checked", &unchecked)?;
        let agreed = [Verdict::Agrees, Verdict::AgreesAndChoice, Verdict::AgreesForChoice];
        let agreed = self.rows.iter().filter(|row| agreed.contains(&row.verdict)).count();
        let files = counted(self.files.agreed, "file");
        let problems = match disagreements.len() {
            0 => "nothing disagrees".to_owned(),
            count => counted(count, "disagreement"),
        };
        write!(f, "{} and {files} agree, {problems} in {folder}", counted(agreed, "refitted cell"))
    }
}
