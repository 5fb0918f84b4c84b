//! The tables of an experiment as data. Every format writes the same ones: it only turns fields into its own markup.

use crate::analyse::text::{number, p_value, signed};
use crate::analyse::{
    Answer, CONFIDENCE, Claim, Entry, OF_TRAININGS, Paired, Place, Row, Summary, Versus,
    claims_legend, printed_seconds, shape, untested,
};

/// A table with its caption and notes, all as plain text.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// Short and unique: part of labels and addresses.
    pub(super) id: &'static str,
    pub(super) caption: String,
    pub(super) head: Vec<Head>,
    pub(super) rows: Vec<Vec<Field>>,
    /// A last row that is not sorted with the others.
    pub(super) foot: Vec<Field>,
    pub(super) notes: Vec<String>,
}

/// The head of a column.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    /// Words that may be wrapped.
    Prose,
    Number,
}

/// A field of a table: a text and what belongs to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Field {
    pub(super) text: String,
    pub(super) place: Place,
    /// Standard deviation.
    pub(super) deviation: Option<f64>,
    /// Marks of significance.
    pub(super) marks: String,
    /// `9/10`, where only some of the splits succeeded.
    pub(super) share: Option<String>,
    /// Letters of footnotes.
    pub(super) notes: String,
    /// What a number is sorted by.
    pub(super) value: Option<f64>,
    /// Row and column of the cell whose details it opens.
    pub(super) cell: Option<(usize, usize)>,
    /// Whether it is a verdict, which has a colour.
    pub(super) is_verdict: bool,
    /// Address that it leads to.
    pub(super) link: Option<String>,
}

impl Field {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A number as it is shown; `–` if there is none.
    pub(super) fn number(value: Option<f64>, show: fn(f64) -> String) -> Self {
        let value = value.filter(|value| value.is_finite());
        Self { value, ..Self::text(value.map_or("–".to_owned(), show)) }
    }

    pub(super) fn count(count: usize) -> Self {
        Self::number(Some(count as f64), |count| count.to_string())
    }

    pub(super) fn verdict(word: &str) -> Self {
        Self { is_verdict: true, ..Self::text(word) }
    }

    /// Our number.
    pub(super) fn ours(summary: &Summary, entry: Entry<'_>) -> Self {
        let cell = entry.cell;
        let shared = Self {
            notes: summary.letters(&cell.footnotes),
            cell: Some((entry.row.index, entry.column.index)),
            ..Self::default()
        };
        match cell.mean {
            None => Self { text: cell.word().to_owned(), ..shared },
            Some(mean) => Self {
                text: number(mean),
                place: cell.place,
                deviation: cell.deviation,
                marks: summary.marks(cell),
                share: cell.share(),
                value: Some(mean),
                ..shared
            },
        }
    }

    /// The paper's number.
    pub(super) fn printed(versus: &Versus) -> Self {
        let printed = versus.printed;
        Self {
            deviation: printed.deviation,
            marks: printed.mark.map_or(String::new(), |mark| mark.symbol().to_owned()),
            ..Self::number(Some(printed.value), number)
        }
    }

    /// The dataset of a row, with its footnotes.
    pub(super) fn dataset(summary: &Summary, row: &Row) -> Self {
        Self { notes: summary.letters(&row.footnotes), ..Self::text(row.name()) }
    }
}

/// Heads of words, then heads of numbers.
pub(super) fn heads<T: Into<String>>(
    words: impl IntoIterator<Item = T>,
    numbers: impl IntoIterator<Item = T>,
) -> Vec<Head> {
    let words = words.into_iter().map(|name| Head { name: name.into(), kind: Kind::Word });
    let numbers = numbers.into_iter().map(|name| Head { name: name.into(), kind: Kind::Number });
    words.chain(numbers).collect()
}

/// The tables that have anything in them. Times are left out: they differ from run to run, and the files of these tables
/// do not.
pub(super) fn all(summary: &Summary) -> Vec<Table> {
    let others =
        [beside(summary), claims(summary), differences(summary), pairs(summary), methods(summary)];
    std::iter::once(accuracy(summary)).chain(others.into_iter().flatten()).collect()
}

/// Our accuracies, datasets in rows and methods in columns.
pub(super) fn accuracy(summary: &Summary) -> Table {
    let labels = summary.columns.iter().map(|column| column.label.as_str());
    let rows = summary.rows.iter().map(|row| {
        let size = row.shape.map_or("–".to_owned(), shape);
        let cells = summary.entries_of(row).map(|entry| Field::ours(summary, entry));
        [Field::dataset(summary, row), Field::text(size)].into_iter().chain(cells).collect()
    });
    let ranks = summary.columns.iter().filter_map(|column| column.rank);
    let ranks: Vec<Field> = ranks.map(|rank| Field::number(Some(rank), number)).collect();
    let foot = match ranks.is_empty() {
        true => Vec::new(),
        false => [Field::text("Average rank"), Field::text("")].into_iter().chain(ranks).collect(),
    };
    let mut notes = vec!["Bold: best of a row; italic: second best.".to_owned()];
    notes.extend(summary.legend());
    Table {
        id: "accuracy",
        caption: format!(
            "Test accuracy in percent, mean ± standard deviation over {}",
            summary.repeats()
        ),
        head: heads(["Dataset", "(n_tr, n_te, m, K)"], labels),
        rows: rows.collect(),
        foot,
        notes,
    }
}

/// Every number of the paper, ours, and the verdict.
pub(super) fn beside(summary: &Summary) -> Option<Table> {
    let table = summary.paper?;
    let rows = summary.entries().filter_map(|entry| {
        let versus = entry.cell.paper.as_ref()?;
        Some(vec![
            Field::text(entry.row.name()),
            Field::text(&entry.column.label),
            Field::printed(versus),
            Field::ours(summary, entry),
            Field::number(versus.difference, signed),
            Field::number(versus.test.map(|test| test.p), p_value),
            Field::number(versus.smallest_seen(), number),
            Field::verdict(versus.word()),
        ])
    });
    let numbers = ["Paper", "Ours", "Difference", "Welch's p", "Seen from"];
    let mut head = heads(["Dataset", "Method"], numbers);
    head.extend(heads(["Verdict"], []));
    let other = match summary.rows.iter().any(|row| row.other_problem) {
        true => " ≠: not the problem of the paper's row, see the warnings.",
        false => "",
    };
    let note = format!(
        "Difference: ours minus the paper's, in points, taken before rounding. Seen from: the smallest \
         difference in points that would have been called higher or lower.{other}"
    );
    Some(Table {
        id: "paper",
        caption: format!("Beside the paper's Table {}: {}", table.table, table.caption),
        head,
        rows: rows.collect(),
        foot: Vec::new(),
        notes: vec![note],
    })
}

/// Every method against the reference, by all tests.
pub(super) fn differences(summary: &Summary) -> Option<Table> {
    let label = &summary.reference()?.label;
    let mut rows = Vec::new();
    for entry in summary.entries() {
        let mut fields = vec![Field::text(&entry.row.dataset), Field::text(&entry.column.label)];
        if let Some(paired) = &entry.cell.paired {
            fields.extend(difference(paired));
            rows.push(fields);
        } else if let Some(difference) = untested(summary, entry) {
            fields.push(Field::number(Some(difference), signed));
            fields.push(Field::text("one training, not tested"));
            fields.resize(9, Field::text("–"));
            rows.push(fields);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let percent = (CONFIDENCE * 100.0).round();
    let trainings = match summary.rows.iter().any(Row::is_repeated) {
        true => {
            " Tests of several trainings on one split are of variation of training, not of data, and need \
             no correction."
        }
        false => "",
    };
    let numbers = [
        "Difference",
        "Interval",
        "d_z",
        "p paired t",
        "p corrected t",
        "p Wilcoxon",
        "p corrected, Holm",
    ];
    Some(Table {
        id: "differences",
        caption: format!("{label} minus each other method, in points"),
        head: heads(["Dataset", "Method"], numbers),
        rows,
        foot: Vec::new(),
        notes: vec![format!(
            "Interval: {percent} % confidence with the corrected standard error. d_z: Cohen's, mean over \
             standard deviation of the differences. Corrected: Nadeau and Bengio's t-test for \
             overlapping training sets. Wilcoxon: exact signed-rank test, which also takes splits for \
             independent. Holm: adjusted for all comparisons of this table.{trainings}"
        )],
    })
}

fn difference(paired: &Paired) -> [Field; 7] {
    let interval = paired.interval.map_or(Field::text("–"), |(low, high)| Field {
        value: Some(low),
        ..Field::text(format!("{} to {}", signed(low), signed(high)))
    });
    let p = |p: Option<f64>| Field::number(p, p_value);
    [
        Field::number(Some(paired.naive.mean_difference), signed),
        interval,
        Field::number(Some(paired.effect), signed),
        p(Some(paired.naive.p)),
        p(paired.corrected.map(|test| test.p)),
        p(Some(paired.signed_rank)),
        p(paired.holm.corrected),
    ]
}

/// The paper's claims, datasets in rows and rivals in columns.
pub(super) fn claims(summary: &Summary) -> Option<Table> {
    let table = summary.paper?;
    let label = &summary.reference()?.label;
    let is_rival = |index: usize| summary.rows.iter().any(|row| row.cells[index].claim.is_some());
    let rivals: Vec<_> = summary.columns.iter().filter(|column| is_rival(column.index)).collect();
    let rows = summary.rows.iter().filter(|row| row.cells.iter().any(|c| c.claim.is_some()));
    let rows: Vec<Vec<Field>> = rows
        .map(|row| {
            let answers = rivals.iter().map(|column| {
                let cell = &row.cells[column.index];
                let answer = cell.claim.zip(cell.paper.as_ref());
                Field::text(answer.map_or("–".to_owned(), |(claim, versus)| answers(claim, versus)))
            });
            std::iter::once(Field::text(row.name())).chain(answers).collect()
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let has_trainings = summary.rows.iter().any(|row| row.trainings.is_some());
    let trainings = if has_trainings { OF_TRAININGS } else { "" };
    let labels = rivals.iter().map(|column| column.label.as_str());
    Some(Table {
        id: "claims",
        caption: format!("The claims of the paper's Table {}: {label} is better", table.table),
        head: heads(std::iter::once("Dataset").chain(labels), []),
        rows,
        foot: Vec::new(),
        notes: vec![format!(
            "{}{trainings} The paper's mark comes first; – where the paper claims nothing.",
            claims_legend(label)
        )],
    })
}

/// `‡ holds, open`: the paper's mark, by its test, by the corrected one.
fn answers(claim: Claim, versus: &Versus) -> String {
    let mark = versus.printed.mark.map_or(String::new(), |mark| format!("{} ", mark.symbol()));
    match (claim.naive, claim.corrected) {
        (Answer::NotRun, _) => format!("{mark}not run"),
        (naive, corrected) if naive == corrected => format!("{mark}{}", naive.word()),
        (naive, corrected) => format!("{mark}{}, {}", naive.word(), corrected.word()),
    }
}

/// Pairs of methods over all datasets.
pub(super) fn pairs(summary: &Summary) -> Option<Table> {
    /// Enough for fourteen methods; larger tables say nothing to a reader.
    const MOST: usize = 100;
    let ranks = summary.ranks.as_ref()?;
    if ranks.pairs.is_empty() || ranks.pairs.len() > MOST {
        return None;
    }
    let critical = ranks.critical.as_ref()?;
    let rows = ranks.pairs.iter().filter_map(|pair| {
        let (first, second) = (summary.columns.get(pair.first)?, summary.columns.get(pair.second)?);
        let apart = second.rank? - first.rank?;
        Some(vec![
            Field::text(&first.label),
            Field::text(&second.label),
            Field::number(Some(apart), signed),
            Field::text(if apart.abs() > critical.difference { "yes" } else { "no" }),
            Field::number(Some(pair.p), p_value),
            Field::number(Some(pair.adjusted), p_value),
        ])
    });
    let numbers = ["Ranks ahead", "Beyond critical difference", "p Wilcoxon", "p Holm"];
    Some(Table {
        id: "pairs",
        caption: format!("Pairs of methods over {} datasets", ranks.datasets),
        head: heads(["Method", "Other"], numbers),
        rows: rows.collect(),
        foot: Vec::new(),
        notes: ranks.power().into_iter().collect(),
    })
}

/// Wins, ties and losses of the reference.
pub(super) fn wins(summary: &Summary) -> Option<Table> {
    let label = &summary.reference()?.label;
    let rows = summary.columns.iter().filter_map(|column| {
        let wins = column.wins?;
        let counts = [wins.means, wins.naive, wins.corrected];
        let counts = counts.map(|counts| Field::text(counts.to_string()));
        Some(std::iter::once(Field::text(&column.label)).chain(counts).collect())
    });
    let rows: Vec<Vec<Field>> = rows.collect();
    let numbers = ["by means", "by the paper's test", "by the corrected test"];
    (!rows.is_empty()).then(|| Table {
        id: "wins",
        caption: format!("{label} wins/ties/losses over datasets"),
        head: heads(["Against"], numbers),
        rows,
        ..Table::default()
    })
}

/// Mean times of a fit, with the paper's where it prints one.
pub(super) fn times(summary: &Summary) -> Option<Table> {
    let timed = |row: &&Row| row.cells.iter().any(|cell| cell.fit_seconds.is_some());
    let field = |Entry { row, column, cell }: Entry<'_>| {
        let ours = cell.fit_seconds.map_or(cell.word().to_owned(), seconds);
        let printed = printed_seconds(&row.dataset, &column.method);
        let text = match printed.filter(|_| !row.other_problem) {
            Some(paper) => {
                let theirs = paper.printed.clone().unwrap_or_else(|| seconds(paper.value));
                format!("{ours} (paper {theirs})")
            }
            None => ours,
        };
        Field { value: cell.fit_seconds, ..Field::text(text) }
    };
    let rows = summary.rows.iter().filter(timed).map(|row| {
        let cells = summary.entries_of(row).map(field);
        std::iter::once(Field::text(&row.dataset)).chain(cells).collect()
    });
    let rows: Vec<Vec<Field>> = rows.collect();
    let labels = summary.columns.iter().map(|column| column.label.as_str());
    (!rows.is_empty()).then(|| Table {
        id: "times",
        caption: "Seconds per fit, mean over splits".to_owned(),
        head: heads(["Dataset"], labels),
        rows,
        foot: Vec::new(),
        notes: vec![
            "Without the kernel matrix, which all methods share, and without the choice of parameters; on the \
             machines that ran the cells, so not to be compared with other machines' times."
                .to_owned(),
        ],
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
pub(super) fn methods(summary: &Summary) -> Option<Table> {
    let mut seen: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for info in summary.columns.iter().filter_map(|column| column.info) {
        if !seen.contains(&info.name) {
            seen.push(info.name);
            let [similar, dissimilar] = info.losses;
            rows.push([info.title, similar, dissimilar, info.about].map(Field::text).to_vec());
        }
    }
    let words = ["Method", "Similarity loss", "Dissimilarity loss", "What it is"];
    (!rows.is_empty()).then(|| Table {
        id: "methods",
        caption: "Methods and their losses, after the paper's Table 1".to_owned(),
        head: heads(words, []),
        rows,
        foot: Vec::new(),
        notes: vec![
            "a is the value of a hyperplane's function at a sample it is close to (similarity) or far from \
             (dissimilarity), s the margin: 1, or a parameter of networks; ε, τ and γ are parameters. [x]₊ is x or 0, whichever is larger."
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods;

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
