//! Tables beyond the main one, as plain text that every exporter sets in its own way: differences
//! with their tests, the paper's claims, pairs of methods over all datasets, times, and the methods
//! with their losses.

use super::claims::{self, Answer, Claim};
use super::compare::{CONFIDENCE, Paired};
use super::summary::{Cell, Row, Summary};
use super::text::{p_value, signed};
use crate::methods;
use crate::paper::{self, Mark, Unit};

/// A table of words and numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TextTable {
    /// Short and unique: part of labels and addresses.
    pub(super) name: &'static str,
    pub(super) caption: String,
    /// Columns of words before those of numbers.
    pub(super) words: usize,
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
    pub(super) note: String,
}

/// Those that have anything in them. Times are left out: they differ from run to run, and the files
/// of these tables do not.
pub(super) fn all(summary: &Summary) -> Vec<TextTable> {
    let tables = [paper_claims(summary), differences(summary), pairs(summary), methods(summary)];
    tables.into_iter().flatten().collect()
}

fn owned<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

/// Every method against the reference, by all tests.
pub(super) fn differences(summary: &Summary) -> Option<TextTable> {
    let reference = summary.comparison.as_ref()?.reference;
    let label = &summary.columns.get(reference)?.label;
    let mut rows = Vec::new();
    for row in &summary.rows {
        for (cell, column) in row.cells.iter().zip(&summary.columns) {
            let mut fields = vec![row.dataset.clone(), column.label.clone()];
            if let Some(paired) = &cell.paired {
                fields.extend(difference(paired));
                rows.push(fields);
            } else if let Some(difference) = untested(row, reference, cell) {
                fields.extend([signed(difference), "one training, not tested".to_owned()]);
                fields.resize(9, "–".to_owned());
                rows.push(fields);
            }
        }
    }
    if rows.is_empty() {
        return None;
    }
    let percent = (CONFIDENCE * 100.0).round();
    let is_repeated = |row: &Row| row.trainings.is_some_and(|trainings| trainings > 1);
    let trainings = match summary.rows.iter().any(is_repeated) {
        true => {
            " Tests of several trainings on one split are of variation of training, not of data, and need \
             no correction."
        }
        false => "",
    };
    Some(TextTable {
        name: "differences",
        caption: format!("{label} minus each other method, in points"),
        words: 2,
        header: owned([
            "Dataset",
            "Method",
            "Difference",
            "Interval",
            "d_z",
            "p paired t",
            "p corrected t",
            "p Wilcoxon",
            "p corrected, Holm",
        ]),
        rows,
        note: format!(
            "Interval: {percent} % confidence with the corrected standard error. d_z: Cohen's, mean over \
             standard deviation of the differences. Corrected: Nadeau and Bengio's t-test for \
             overlapping training sets. Wilcoxon: exact signed-rank test, which also takes splits for \
             independent. Holm: adjusted for all comparisons of this table.{trainings}"
        ),
    })
}

/// How far the reference is ahead where there is one training of each network, so that nothing is tested.
pub(super) fn untested(row: &Row, reference: usize, cell: &Cell) -> Option<f64> {
    let reference = row.cells.get(reference)?;
    let is_itself = std::ptr::eq(reference, cell);
    let means = reference.mean.zip(cell.mean);
    let (ahead, rival) = means.filter(|_| row.trainings == Some(1) && !is_itself)?;
    Some(ahead - rival)
}

fn difference(paired: &Paired) -> [String; 7] {
    let optional = |p: Option<f64>| p.map_or("–".to_owned(), p_value);
    let interval = paired
        .interval()
        .map_or("–".to_owned(), |(low, high)| format!("{} to {}", signed(low), signed(high)));
    let effect = if paired.effect.is_finite() { signed(paired.effect) } else { "–".to_owned() };
    [
        signed(paired.naive.mean_difference),
        interval,
        effect,
        p_value(paired.naive.p),
        optional(paired.corrected.map(|test| test.p)),
        p_value(paired.signed_rank),
        optional(paired.holm.corrected),
    ]
}

/// The paper's claims, datasets in rows and rivals in columns.
pub(super) fn paper_claims(summary: &Summary) -> Option<TextTable> {
    let table = summary.paper?;
    let reference = summary.comparison.as_ref()?.reference;
    let label = &summary.columns.get(reference)?.label;
    if summary.claims.is_empty() {
        return None;
    }
    let has_trainings = summary.rows.iter().any(|row| row.trainings.is_some());
    let trainings = if has_trainings { claims::OF_TRAININGS } else { "" };
    let mut columns: Vec<usize> = summary.claims.iter().map(|claim| claim.column).collect();
    columns.sort_unstable();
    columns.dedup();
    let mut header = vec!["Dataset".to_owned()];
    header.extend(columns.iter().map(|&index| summary.columns[index].label.clone()));
    let mut rows = Vec::new();
    for (index, row) in summary.rows.iter().enumerate() {
        let of = |column: &usize| {
            let mut claims = summary.claims.iter();
            claims.find(|claim| claim.row == index && claim.column == *column)
        };
        let claims: Vec<Option<&Claim>> = columns.iter().map(of).collect();
        if claims.iter().any(Option::is_some) {
            let other = if row.other_problem { " ≠" } else { "" };
            let mut fields = vec![format!("{}{other}", row.dataset)];
            fields.extend(claims.into_iter().map(|claim| claim.map_or("–".to_owned(), answers)));
            rows.push(fields);
        }
    }
    Some(TextTable {
        name: "claims",
        caption: format!("The claims of the paper's Table {}: {label} is better", table.table),
        words: 1,
        header,
        rows,
        note: format!(
            "{}{trainings} The paper's mark comes first; – where the paper claims nothing.",
            claims::legend(label)
        ),
    })
}

/// `‡ holds, open`: the paper's mark, by its test, by the corrected one.
fn answers(claim: &Claim) -> String {
    let mark = claim.mark.map_or(String::new(), |mark: Mark| format!("{} ", mark.symbol()));
    match (claim.naive, claim.corrected) {
        (Answer::NotRun, _) => format!("{mark}not run"),
        (naive, corrected) if naive == corrected => format!("{mark}{}", naive.word()),
        (naive, corrected) => format!("{mark}{}, {}", naive.word(), corrected.word()),
    }
}

/// Pairs of methods over all datasets.
pub(super) fn pairs(summary: &Summary) -> Option<TextTable> {
    /// Enough for fourteen methods; larger tables say nothing to a reader.
    const MOST: usize = 100;
    let ranks = summary.ranks.as_ref()?;
    if ranks.pairs.is_empty() || ranks.pairs.len() > MOST {
        return None;
    }
    let critical = ranks.critical.as_ref()?;
    let label = |index: usize| summary.columns.get(index).map(|column| column.label.clone());
    let rows = ranks
        .pairs
        .iter()
        .filter_map(|pair| {
            let apart = ranks.average.get(pair.second)? - ranks.average.get(pair.first)?;
            let beyond = if apart.abs() > critical.difference { "yes" } else { "no" };
            Some(vec![
                label(pair.first)?,
                label(pair.second)?,
                signed(apart),
                beyond.to_owned(),
                p_value(pair.p),
                p_value(pair.adjusted),
            ])
        })
        .collect();
    Some(TextTable {
        name: "pairs",
        caption: format!("Pairs of methods over {} datasets", ranks.datasets),
        words: 2,
        header: owned([
            "Method",
            "Other",
            "Ranks ahead",
            "Beyond critical difference",
            "p Wilcoxon",
            "p Holm",
        ]),
        rows,
        note: ranks.power().unwrap_or_default(),
    })
}

/// Mean times of a fit, with the paper's where it prints one.
pub(super) fn times(summary: &Summary) -> Option<TextTable> {
    let timed = |row: &&super::Row| row.cells.iter().any(|cell| cell.fit_seconds.is_some());
    let printed = |dataset: &str, method: &str| {
        let mut tables = paper::tables().iter().filter(|table| table.unit == Unit::Seconds);
        tables.find_map(|table| table.cell(dataset, method))
    };
    let rows: Vec<Vec<String>> = summary
        .rows
        .iter()
        .filter(timed)
        .map(|row| {
            let cells = row.cells.iter().zip(&summary.columns).map(|(cell, column)| {
                let ours = cell.fit_seconds.map_or(cell.word().to_owned(), seconds);
                match printed(&row.dataset, &column.method).filter(|_| !row.other_problem) {
                    Some(paper) => {
                        let theirs = paper.printed.clone().unwrap_or_else(|| seconds(paper.value));
                        format!("{ours} (paper {theirs})")
                    }
                    None => ours,
                }
            });
            std::iter::once(row.dataset.clone()).chain(cells).collect()
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let labels = summary.columns.iter().map(|column| column.label.clone());
    Some(TextTable {
        name: "times",
        caption: "Seconds per fit, mean over splits".to_owned(),
        words: 1,
        header: std::iter::once("Dataset".to_owned()).chain(labels).collect(),
        rows,
        note: "Without the kernel matrix, which all methods share, and without the choice of parameters; on the \
               machines that ran the cells, so not to be compared with other machines' times."
            .to_owned(),
    })
}

/// Three digits.
fn seconds(value: f64) -> String {
    let decimals = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        v if v >= 0.1 => 3,
        v if v >= 0.01 => 4,
        _ => 5,
    };
    format!("{value:.decimals$}")
}

/// The methods of the experiment with their losses, after the paper's Table 1.
pub(super) fn methods(summary: &Summary) -> Option<TextTable> {
    let mut seen: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for column in &summary.columns {
        let Some(entry) =
            methods::find(&column.method).filter(|entry| !seen.contains(&entry.info.name))
        else {
            continue;
        };
        seen.push(entry.info.name);
        let [similar, dissimilar] = entry.info.losses;
        rows.push(owned([entry.info.title, similar, dissimilar, entry.info.about]));
    }
    if rows.is_empty() {
        return None;
    }
    Some(TextTable {
        name: "methods",
        caption: "Methods and their losses, after the paper's Table 1".to_owned(),
        words: 4,
        header: owned(["Method", "Similarity loss", "Dissimilarity loss", "What it is"]),
        rows,
        note: "a is the value of a hyperplane's function at a sample it is close to (similarity) or far from \
               (dissimilarity), s the margin: 1, or a parameter of networks; ε, τ and γ are parameters. [x]₊ is x or 0, whichever is larger."
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let shown = [0.001234, 0.01234, 1.5, 12.34, 1234.5].map(seconds);
        assert_eq!(shown, ["0.00123", "0.0123", "1.50", "12.3", "1234"]);
    }

    #[test]
    fn the_losses_are_those_of_the_papers_table_1() {
        let of = |name: &str| methods::find(name).map(|entry| entry.info.losses);
        assert_eq!(of("twsvm"), Some(["a²/2", "[s − a]₊"]));
        assert_eq!(of("lstwsvm"), Some(["a²/2", "(s − a)²/2"]));
        assert_eq!(of("npsvm"), Some(["[|a| − ε]₊", "[s − a]₊"]));
        assert_eq!(of("ctwsvm"), Some(["1 − exp(−γ|a|)", "[s − a]₊"]));
        assert_eq!(of("rmtbsvm"), Some(["min(|a|, ε)", "[s − a]₊"]));
    }
}
