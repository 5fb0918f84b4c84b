//! The paper's claims: its method is better than each rival, dataset by dataset.
//!
//! A claim is a cell of the paper's table in which its method has the higher mean. What ours says
//! to it depends on the test, so every claim has two answers.

use super::marks::Comparison;
use super::summary::{Cell, Column, Row};
use super::text::{counted, listed};
use crate::paper::{self, Mark};
use crate::stats::TTest;

/// Level at which a claim is answered: that of the paper's ‡.
pub(super) const LEVEL: f64 = 0.05;

/// What a test says to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// The paper's method is significantly better here, too.
    Holds,
    /// No significant difference.
    Open,
    /// The rival is significantly better.
    Contradicted,
    /// Not tested, but the paper's method is ahead here, too.
    SameOrder,
    /// Not tested, and the paper's method is not ahead here.
    OtherOrder,
    /// No results of both methods.
    NotRun,
}

/// "The paper's method is better than this rival on this dataset."
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Index of the row.
    pub row: usize,
    /// Index of the rival's column.
    pub column: usize,
    /// How far the paper's method was ahead, in points.
    pub lead: f64,
    /// The paper's mark of it.
    pub mark: Option<Mark>,
    /// How far it is ahead here.
    pub ours: Option<f64>,
    /// By the paper's test.
    pub naive: Answer,
    /// By the test corrected for overlapping training sets.
    pub corrected: Answer,
}

impl Answer {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Open => "open",
            Self::Contradicted => "contradicted",
            Self::SameOrder => "same order as the paper",
            Self::OtherOrder => "other order",
            Self::NotRun => "not run",
        }
    }

    fn of(test: Option<&TTest>) -> Self {
        match test {
            None => Self::NotRun,
            Some(test) if test.p >= LEVEL => Self::Open,
            Some(test) if test.mean_difference > 0.0 => Self::Holds,
            Some(_) => Self::Contradicted,
        }
    }
}

/// The claims of a table, by row and column.
///
/// Empty unless our reference method is the one the table's marks refer to: then our tests are of
/// the same pairs.
pub(super) fn of(
    table: Option<&paper::Table>,
    columns: &[Column],
    comparison: Option<&Comparison>,
    rows: &[Row],
) -> Vec<Claim> {
    let (Some(table), Some(comparison)) = (table, comparison) else {
        return Vec::new();
    };
    let reference = comparison.reference;
    let is_the_papers = |column: &Column| Some(&column.method) == table.against.as_ref();
    if !columns.get(reference).is_some_and(is_the_papers) {
        return Vec::new();
    }
    let mut claims = Vec::new();
    for (row_index, row) in rows.iter().enumerate() {
        let Some(theirs) = row.cells.get(reference).and_then(|cell| cell.paper) else {
            continue;
        };
        for (column, cell) in row.cells.iter().enumerate() {
            let rival = cell.paper.filter(|_| !is_the_papers(&columns[column]));
            let lead = rival.map(|rival| (theirs.value - rival.value, rival.mark));
            if let Some((lead, mark)) = lead.filter(|(lead, _)| *lead > 0.0) {
                let pair = (&row.cells[reference], cell);
                claims.push(claim(row, pair, (row_index, column), lead, mark));
            }
        }
    }
    claims
}

fn claim(
    row: &Row,
    (reference, cell): (&Cell, &Cell),
    at: (usize, usize),
    lead: f64,
    mark: Option<Mark>,
) -> Claim {
    let paired = cell.paired.as_ref().filter(|_| !row.other_problem);
    let ahead = (reference.mean.zip(cell.mean)).map(|(reference, rival)| reference - rival);
    let ours = paired.map(|paired| paired.naive.mean_difference);
    let (naive, corrected) = match (row.trainings, ahead) {
        // Of networks on another problem, or trained once, only the order says something.
        (Some(trainings), Some(ahead)) if row.other_problem || trainings == 1 => {
            let order = match ahead > 0.0 {
                true => Answer::SameOrder,
                false => Answer::OtherOrder,
            };
            (order, order)
        }
        // There is one test of trainings.
        (Some(_), _) => {
            let answer = Answer::of(paired.map(|paired| &paired.naive));
            (answer, answer)
        }
        _ => (
            Answer::of(paired.map(|paired| &paired.naive)),
            Answer::of(paired.and_then(|paired| paired.corrected.as_ref())),
        ),
    };
    Claim {
        row: at.0,
        column: at.1,
        lead,
        mark,
        ours: ours.or(ahead.filter(|_| row.trainings.is_some())),
        naive,
        corrected,
    }
}

/// How the claims stand under both tests, in two sentences at most.
pub(super) fn sentence(method: &str, table: &str, claims: &[Claim]) -> Option<String> {
    if claims.is_empty() {
        return None;
    }
    let tried: Vec<&Claim> =
        (claims.iter()).filter(|claim| claim.naive != Answer::NotRun).collect();
    let head = format!(
        "Table {table} of the paper has {method} ahead of a rival in {}; {} of them {} run here",
        counted(claims.len(), "cell"),
        tried.len(),
        if tried.len() == 1 { "was" } else { "were" }
    );
    if tried.is_empty() {
        return Some(format!("{head}, so nothing is said about the paper's claims."));
    }
    let is_order = |claim: &&&Claim| matches!(claim.naive, Answer::SameOrder | Answer::OtherOrder);
    let (order, tried): (Vec<&Claim>, Vec<&Claim>) = tried.iter().partition(is_order);
    let order = match order.len() {
        0 => String::new(),
        all => {
            let same = order.iter().filter(|claim| claim.naive == Answer::SameOrder).count();
            format!(
                " Not tested, but compared by order: {same} of {all} as in the paper, {} not.",
                all - same
            )
        }
    };
    if tried.is_empty() {
        return Some(format!("{head}.{order}"));
    }
    let counted = |answer: fn(&Claim) -> Answer| {
        let parts: Vec<String> = [Answer::Holds, Answer::Open, Answer::Contradicted]
            .iter()
            .map(|kind| {
                let count = tried.iter().filter(|claim| answer(claim) == *kind).count();
                let word = match kind {
                    Answer::Holds if count == 1 => "holds",
                    Answer::Holds => "hold",
                    Answer::Open if count == 1 => "is open",
                    Answer::Open => "are open",
                    _ if count == 1 => "is contradicted",
                    _ => "are contradicted",
                };
                format!("{count} {word}")
            })
            .collect();
        listed(&parts)
    };
    Some(format!(
        "{head}. At level {LEVEL}, by the paper's test {}; by the corrected test {}.{order}",
        counted(|claim| claim.naive),
        counted(|claim| claim.corrected)
    ))
}

/// What the answers mean where networks are trained on a single split.
pub(super) const OF_TRAININGS: &str = " Several trainings on one split get one answer, by the paired t-test over \
    trainings. Where there is one training, or another problem than the paper's, only the order is compared.";

/// What the answers mean.
pub(super) fn legend(method: &str) -> String {
    format!(
        "A claim is a cell of the paper's table with a lower mean than {method}'s. It holds if \
         {method} is better here too and significantly so at level {LEVEL}, is contradicted if the \
         rival is, and is open otherwise; first by the paper's paired t-test, then by the one \
         corrected for overlapping training sets."
    )
}
