//! The paper's claims: its method is better than each rival, dataset by dataset.
//!
//! A claim is a cell of the paper's table in which its method has the higher mean. What ours says
//! to it depends on the test, so every claim has two answers.

use super::ranks::LEVEL;
use super::summary::{Cell, Column, Row};
use super::text::{counted, listed};
use crate::paper;
use crate::stats::TTest;

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

/// What our results say to "the paper's method is better than this rival on this dataset".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
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

/// Answers the claims of a table in the cells of the rivals.
///
/// There are none unless our reference method is the one the table's marks refer to: then our tests are of the same
/// pairs.
pub(super) fn answer(rows: &mut [Row], columns: &[Column], table: &paper::Table, reference: usize) {
    let is_the_papers = |column: &Column| Some(&column.method) == table.against.as_ref();
    if !is_the_papers(&columns[reference]) {
        return;
    }
    for row in rows {
        let printed = |cell: &Cell| cell.paper.as_ref().map(|paper| paper.printed.value);
        let Some(theirs) = printed(&row.cells[reference]) else {
            continue;
        };
        let claims: Vec<Option<Claim>> = (row.cells.iter().zip(columns))
            .map(|(cell, column)| {
                let rival = printed(cell).filter(|_| !is_the_papers(column))?;
                (theirs > rival).then(|| Claim::of(row, &row.cells[reference], cell))
            })
            .collect();
        for (cell, claim) in row.cells.iter_mut().zip(claims) {
            cell.claim = claim;
        }
    }
}

impl Claim {
    fn of(row: &Row, reference: &Cell, rival: &Cell) -> Self {
        let paired = rival.paired.as_ref().filter(|_| !row.other_problem);
        let ahead = (reference.mean.zip(rival.mean)).map(|(reference, rival)| reference - rival);
        let naive = Answer::of(paired.map(|paired| &paired.naive));
        match (row.trainings, ahead) {
            // Of networks on another problem, or trained once, only the order says something.
            (Some(trainings), Some(ahead)) if row.other_problem || trainings == 1 => {
                let order = if ahead > 0.0 { Answer::SameOrder } else { Answer::OtherOrder };
                Self { naive: order, corrected: order }
            }
            // There is one test of trainings.
            (Some(_), _) => Self { naive, corrected: naive },
            (None, _) => {
                let corrected = paired.and_then(|paired| paired.corrected.as_ref());
                Self { naive, corrected: Answer::of(corrected) }
            }
        }
    }
}

/// How the claims stand under both tests, in two sentences at most.
pub(super) fn sentence(method: &str, table: &str, claims: &[&Claim]) -> Option<String> {
    if claims.is_empty() {
        return None;
    }
    let is_order = |claim: &&Claim| matches!(claim.naive, Answer::SameOrder | Answer::OtherOrder);
    let run = claims.iter().copied().filter(|claim| claim.naive != Answer::NotRun);
    let (order, tested): (Vec<&Claim>, Vec<&Claim>) = run.partition(is_order);
    let all = order.len() + tested.len();
    let mut text = format!(
        "Table {table} of the paper has {method} ahead of a rival in {}; {all} of them {} run here",
        counted(claims.len(), "cell"),
        if all == 1 { "was" } else { "were" }
    );
    text += if all == 0 { ", so nothing is said about the paper's claims." } else { "." };
    if !tested.is_empty() {
        text += &format!(
            " At level {LEVEL}, by the paper's test {}; by the corrected test {}.",
            answered(&tested, |claim| claim.naive),
            answered(&tested, |claim| claim.corrected)
        );
    }
    if !order.is_empty() {
        let same = order.iter().filter(|claim| claim.naive == Answer::SameOrder).count();
        text += &format!(
            " Not tested, but compared by order: {same} of {} as in the paper, {} not.",
            order.len(),
            order.len() - same
        );
    }
    Some(text)
}

/// `2 hold, 1 is open and 3 are contradicted`.
fn answered(claims: &[&Claim], answer: fn(&Claim) -> Answer) -> String {
    let words = [
        (Answer::Holds, "holds", "hold"),
        (Answer::Open, "is open", "are open"),
        (Answer::Contradicted, "is contradicted", "are contradicted"),
    ];
    listed(&words.map(|(kind, one, several)| {
        let count = claims.iter().filter(|claim| answer(claim) == kind).count();
        format!("{count} {}", if count == 1 { one } else { several })
    }))
}

/// What the answers mean where networks are trained on a single split.
pub const OF_TRAININGS: &str = " Several trainings on one split get one answer, by the paired t-test over \
    trainings. Where there is one training, or another problem than the paper's, only the order is compared.";

/// What the answers mean.
pub fn legend(method: &str) -> String {
    format!(
        "A claim is a cell of the paper's table with a lower mean than {method}'s. It holds if \
         {method} is better here too and significantly so at level {LEVEL}, is contradicted if the \
         rival is, and is open otherwise; first by the paper's paired t-test, then by the one \
         corrected for overlapping training sets."
    )
}
