//! The paper's claims: its method is better than each rival, dataset by dataset.
//!
//! A claim is a cell of the paper's table in which its method has the higher mean. Our answer depends on the test, so
//! every claim has two answers.

use super::summary::{Cell, Column, Row, Summary};
use super::text::counted;
use crate::paper;
use crate::stats::{LEVEL, TTest};

/// The answer of a test to a claim.
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

/// Our answers to "the paper's method is better than this rival on this dataset".
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
/// There are claims only if our reference method is the one the table's marks refer to: then our tests are of the same
/// pairs.
pub(super) fn answer(rows: &mut [Row], columns: &[Column], table: &paper::Table, reference: usize) {
    let is_rival = |column: &Column| Some(&column.method) != table.against.as_ref();
    if is_rival(&columns[reference]) {
        return;
    }
    for row in rows {
        let printed = |cell: &Cell| cell.paper.as_ref().map(|paper| paper.printed.value);
        let ours = &row.cells[reference];
        let claims = row.cells.iter().zip(columns).map(|(cell, column)| {
            let (first, rival) = printed(ours).zip(printed(cell))?;
            (is_rival(column) && first > rival).then(|| Claim::of(row, ours, cell))
        });
        let claims: Vec<Option<Claim>> = claims.collect();
        for (cell, claim) in row.cells.iter_mut().zip(claims) {
            cell.claim = claim;
        }
    }
}

impl Claim {
    fn of(row: &Row, reference: &Cell, rival: &Cell) -> Self {
        let paired = rival.paired.as_ref().filter(|_| !row.other_problem);
        let naive = Answer::of(paired.map(|paired| &paired.naive));
        match (row.trainings, reference.mean.zip(rival.mean)) {
            // Of networks on another problem, or trained once, only the order means something.
            (Some(trainings), Some((ours, rival))) if row.other_problem || trainings == 1 => {
                let order = if ours > rival { Answer::SameOrder } else { Answer::OtherOrder };
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

/// How many claims hold under both tests, in a few sentences.
pub fn sentence(summary: &Summary) -> Option<String> {
    let claims: Vec<Claim> = summary.cells().filter_map(|cell| cell.claim).collect();
    let count = |answer: Answer, by: fn(&Claim) -> Answer| {
        claims.iter().filter(|claim| by(claim) == answer).count()
    };
    let answered = |by| {
        let tested = [Answer::Holds, Answer::Open, Answer::Contradicted];
        let [holding, open, contradicted] = tested.map(|answer| count(answer, by));
        let hold = if holding == 1 { "holds" } else { "hold" };
        format!("{holding} {hold}, {open} open, {contradicted} contradicted")
    };
    let naive = |claim: &Claim| claim.naive;
    let run = claims.len() - count(Answer::NotRun, naive);
    let [same, other] = [Answer::SameOrder, Answer::OtherOrder].map(|order| count(order, naive));
    let mut text = format!(
        "Table {} of the paper has {} ahead of a rival in {}; {run} of them ran here.",
        summary.paper?.table,
        summary.reference()?.label,
        counted(claims.len(), "cell")
    );
    if run > same + other {
        text += &format!(
            " Claims at level {LEVEL}, by the paper's test: {}; by the corrected test: {}.",
            answered(naive),
            answered(|claim| claim.corrected)
        );
    }
    if same + other > 0 {
        text += &format!(
            " Not tested: {same} of {} have the same order as in the paper, {other} do not.",
            same + other
        );
    }
    (!claims.is_empty()).then_some(text)
}

/// What the answers mean where networks are trained on a single split.
pub const OF_TRAININGS: &str = " Several trainings on one split get one answer, by the paired t-test over \
    trainings. Where there is one training, or the problem differs from the paper's, only the order is compared.";

/// What the answers mean.
pub fn legend(method: &str) -> String {
    format!(
        "A claim is a cell of the paper's table with a lower mean than {method}'s. It holds if \
         {method} is significantly better here too (level {LEVEL}), is contradicted if the rival is, and is open \
         otherwise. The first answer is by the paper's paired t-test, the second by the test corrected for \
         overlapping training sets."
    )
}
