//! The tables of an experiment as data. Every format writes the same ones: it only turns fields into its own markup.

use Kind::{Number, Prose, Word};
use indexmap::IndexMap;
use npsvc::MethodInfo;

use crate::analyse::text::{number, p_value, signed};
use crate::analyse::{
    Answer, CONFIDENCE, Cell, Claim, Column, Entry, OF_TRAININGS, Paired, Place, Row, Summary,
    Versus, claims_legend, printed_seconds, protocol, untested,
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

/// Name of a column, what it holds, and its field for an item.
type ColumnOf<'a, T> = (&'a str, Kind, &'a dyn Fn(&T) -> Field);

impl Table {
    /// A row per item.
    pub(super) fn of<T>(items: impl IntoIterator<Item = T>, columns: &[ColumnOf<'_, T>]) -> Self {
        let head = columns.iter().map(|(name, kind, _)| Head::new(*name, *kind));
        let row = |item| columns.iter().map(|(.., field)| field(&item)).collect();
        let rows = items.into_iter().map(row);
        Self { head: head.collect(), rows: rows.collect(), ..Self::default() }
    }

    /// The table with its caption and notes, if it has a row.
    fn titled(
        self,
        id: &'static str,
        caption: impl Into<String>,
        notes: impl IntoIterator<Item = String>,
    ) -> Option<Self> {
        let (caption, notes) = (caption.into(), notes.into_iter().collect());
        (!self.rows.is_empty()).then_some(Self { id, caption, notes, ..self })
    }
}

impl Head {
    pub(super) fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind }
    }
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
    /// Whether it is less important than the rest of the row.
    pub(super) is_aside: bool,
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

    fn p(p: Option<f64>) -> Self {
        Self::number(p, p_value)
    }

    pub(super) fn count(count: usize) -> Self {
        Self::number(Some(count as f64), |count| count.to_string())
    }

    pub(super) fn verdict(word: &str) -> Self {
        Self { is_verdict: true, ..Self::text(word) }
    }

    /// Our number.
    fn ours(summary: &Summary, entry: Entry<'_>) -> Self {
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
    fn printed(versus: &Versus) -> Self {
        let printed = versus.printed;
        Self {
            deviation: printed.deviation,
            marks: printed.mark.map_or(String::new(), |mark| mark.symbol().to_owned()),
            is_aside: true,
            ..Self::number(Some(printed.value), number)
        }
    }

    /// Our number minus the paper's.
    fn difference(versus: &Versus) -> Self {
        Self { is_aside: true, ..Self::number(versus.difference, signed) }
    }

    /// The dataset of a row, with its footnotes.
    fn dataset(summary: &Summary, row: &Row) -> Self {
        Self { notes: summary.letters(&row.footnotes), ..Self::text(row.name()) }
    }
}

/// The tables that have anything in them. Times are left out: they differ from run to run, and the files of these tables
/// do not.
pub(super) fn all(summary: &Summary) -> Vec<Table> {
    let others = [
        comparison(summary),
        claims(summary),
        differences(summary),
        pairs(summary),
        losses(summary),
    ];
    std::iter::once(accuracy(summary)).chain(others.into_iter().flatten()).collect()
}

/// Datasets in rows and methods in columns, after some other columns.
fn by_method<'a>(
    rows: impl Iterator<Item = &'a Row> + Clone,
    columns: impl Iterator<Item = &'a Column> + Clone,
    first: &[ColumnOf<'_, &'a Row>],
    (kind, field): (Kind, impl Fn(Entry<'a>) -> Field),
) -> Table {
    let mut table = Table::of(rows.clone(), first);
    table.head.extend(columns.clone().map(|column| Head::new(&column.label, kind)));
    for (row, fields) in rows.zip(&mut table.rows) {
        let entry = |column: &'a Column| Entry { row, column, cell: &row.cells[column.index] };
        fields.extend(columns.clone().map(|column| field(entry(column))));
    }
    table
}

/// Our accuracies.
pub(super) fn accuracy(summary: &Summary) -> Table {
    let table = by_method(
        summary.rows.iter(),
        summary.columns.iter(),
        &[
            ("Dataset", Word, &|row| Field::dataset(summary, row)),
            ("(n_tr, n_te, m, K)", Word, &|row| {
                Field::text(row.shape.map_or("–".to_owned(), |shape| shape.to_string()))
            }),
        ],
        (Number, |entry| Field::ours(summary, entry)),
    );
    let ranks = summary.columns.iter().map(|column| Field::number(column.rank, number));
    let ranks = [Field::text("Average rank"), Field::default()].into_iter().chain(ranks);
    let notes = ["Bold: best of a row; italic: second best.".to_owned()];
    Table {
        id: "accuracy",
        caption: format!(
            "Test accuracy in percent, mean ± standard deviation over {}",
            summary.repeats()
        ),
        foot: if summary.ranks.is_some() { ranks.collect() } else { Vec::new() },
        notes: notes.into_iter().chain(summary.legend()).collect(),
        ..table
    }
}

/// A field about the paper's number.
type Aside = fn(&Versus) -> Field;

/// A field about the paper's number, if there is one.
fn aside(cell: &Cell, field: Aside) -> Field {
    cell.paper.as_ref().map_or(Field::default(), field)
}

/// The accuracies with the paper's below ours, for wide screens.
pub(super) fn wide(summary: &Summary) -> Table {
    let mut table = accuracy(summary);
    let ours = std::mem::take(&mut table.rows);
    for (row, fields) in summary.rows.iter().zip(ours) {
        table.rows.push(fields);
        for (name, field) in [("paper", Field::printed as Aside), ("difference", Field::difference)]
        {
            let name = Field { is_aside: true, ..Field::text(name) };
            let fields = row.cells.iter().map(|cell| aside(cell, field));
            let fields: Vec<Field> = [Field::default(), name].into_iter().chain(fields).collect();
            table.rows.extend(fields.iter().any(|field| field.value.is_some()).then_some(fields));
        }
    }
    table
}

/// The same with a line per dataset and method, for narrow screens.
pub(super) fn long(summary: &Summary) -> Table {
    // A name is left out if the line above has it.
    let first =
        |column: &Column, name: Field| if column.index == 0 { name } else { Field::default() };
    let columns: [ColumnOf<'_, Entry<'_>>; 5] = [
        ("Dataset", Word, &|entry| first(entry.column, Field::dataset(summary, entry.row))),
        ("Method", Word, &|entry| Field::text(&entry.column.label)),
        ("Ours", Number, &|entry| Field::ours(summary, *entry)),
        ("Paper", Number, &|entry| aside(entry.cell, Field::printed)),
        ("Difference", Number, &|entry| aside(entry.cell, Field::difference)),
    ];
    let shown = if summary.paper.is_some() { 5 } else { 3 };
    let mut table = Table::of(summary.entries(), &columns[..shown]);
    for column in &summary.columns {
        let name = first(column, Field::text("Average rank"));
        let rank = Field::number(column.rank, number);
        let mut fields = vec![name, Field::text(&column.label), rank];
        fields.resize(shown, Field::default());
        table.rows.extend(column.rank.map(|_| fields));
    }
    table
}

/// Every number of the paper, ours, and the verdict.
pub(super) fn comparison(summary: &Summary) -> Option<Table> {
    let table = summary.paper?;
    let compared = summary.entries().filter_map(|entry| Some((entry, entry.cell.paper.as_ref()?)));
    let rows = Table::of(
        compared,
        &[
            ("Dataset", Word, &|(entry, _)| Field::text(entry.row.name())),
            ("Method", Word, &|(entry, _)| Field::text(&entry.column.label)),
            ("Paper", Number, &|(_, versus)| Field::printed(versus)),
            ("Ours", Number, &|(entry, _)| Field::ours(summary, *entry)),
            ("Difference", Number, &|(_, versus)| Field::difference(versus)),
            ("Welch's p", Number, &|(_, versus)| Field::p(versus.test.map(|test| test.p))),
            ("Detectable from", Number, &|(_, versus)| {
                Field::number(versus.smallest_seen(), number)
            }),
            ("Verdict", Word, &|(_, versus)| Field::verdict(versus.verdict.word())),
        ],
    );
    let caption = format!("Comparison with the paper's Table {}: {}", table.table, table.caption);
    let note = "Difference: ours minus the paper's, in points, computed before rounding. Detectable from: the smallest \
                difference in points that would count as higher or lower.";
    let notes = [note.to_owned()].into_iter().chain(summary.other_problem());
    rows.titled("paper", caption, notes)
}

/// Every method against the reference, by all tests.
pub(super) fn differences(summary: &Summary) -> Option<Table> {
    let label = &summary.reference()?.label;
    let compared = summary.entries().filter_map(|entry| {
        let test = entry.cell.paired.as_ref();
        let ahead = test.map(|test| test.naive.mean_difference);
        Some((entry, ahead.or_else(|| untested(summary, entry))?, test))
    });
    let rows = Table::of(
        compared,
        &[
            ("Dataset", Word, &|(entry, ..)| Field::text(&entry.row.dataset)),
            ("Method", Word, &|(entry, ..)| Field::text(&entry.column.label)),
            ("Difference", Number, &|(_, ahead, _)| Field::number(Some(*ahead), signed)),
            ("Interval", Number, &|(.., test)| interval(*test)),
            ("d_z", Number, &|(.., test)| Field::number(test.map(|test| test.effect), signed)),
            ("p paired t", Number, &|(.., test)| Field::p(test.map(|test| test.naive.p))),
            ("p corrected t", Number, &|(.., test)| {
                Field::p(test.and_then(|test| test.corrected).map(|test| test.p))
            }),
            ("p Wilcoxon", Number, &|(.., test)| Field::p(test.map(|test| test.signed_rank))),
            ("p corrected, Holm", Number, &|(.., test)| {
                Field::p(test.and_then(|test| test.holm.corrected))
            }),
        ],
    );
    let note = format!(
        "Interval: {:.0} % confidence with the corrected standard error. d_z: Cohen's, mean over standard deviation of \
         the differences. Corrected: Nadeau and Bengio's t-test for overlapping training sets. Wilcoxon: exact \
         signed-rank test, which also treats splits as independent. Holm: adjusted for all comparisons of this table.",
        CONFIDENCE * 100.0
    );
    rows.titled("differences", format!("{label} minus each other method, in points"), [note])
}

fn interval(test: Option<&Paired>) -> Field {
    match test.map(|test| test.interval) {
        None => Field::text("one training, not tested"),
        Some(None) => Field::text("–"),
        Some(Some((low, high))) => Field {
            value: Some(low),
            ..Field::text(format!("{} to {}", signed(low), signed(high)))
        },
    }
}

/// The paper's claims, datasets in rows and rivals in columns.
pub(super) fn claims(summary: &Summary) -> Option<Table> {
    let (paper, label) = (summary.paper?, &summary.reference()?.label);
    let is_claimed = |row: &&Row| row.cells.iter().any(|cell| cell.claim.is_some());
    let rows = summary.rows.iter().filter(is_claimed);
    let is_rival =
        |column: &&Column| rows.clone().any(|row| row.cells[column.index].claim.is_some());
    let table = by_method(
        rows.clone(),
        summary.columns.iter().filter(is_rival),
        &[("Dataset", Word, &|row| Field::text(row.name()))],
        (Word, |entry| Field::text(answers(entry.cell).unwrap_or("–".to_owned()))),
    );
    let has_trainings = summary.rows.iter().any(|row| row.trainings.is_some());
    let trainings = if has_trainings { OF_TRAININGS } else { "" };
    let legend = claims_legend(label);
    let note =
        format!("{legend}{trainings} The paper's mark comes first. –: no claim in the paper.");
    let caption = format!("The claims of the paper's Table {}: {label} is better", paper.table);
    table.titled("claims", caption, [note])
}

/// `‡ holds, open`: the paper's mark, by its test, by the corrected one.
fn answers(cell: &Cell) -> Option<String> {
    let Claim { naive, corrected } = cell.claim?;
    let mark = cell.paper.as_ref()?.printed.mark;
    let mark = mark.map_or(String::new(), |mark| format!("{} ", mark.symbol()));
    Some(match naive == corrected || naive == Answer::NotRun {
        true => format!("{mark}{}", naive.word()),
        false => format!("{mark}{}, {}", naive.word(), corrected.word()),
    })
}

/// Pairs of methods over all datasets.
pub(super) fn pairs(summary: &Summary) -> Option<Table> {
    /// Enough for fourteen methods; nobody reads larger tables.
    const MOST: usize = 100;
    let ranks = summary.ranks.as_ref().filter(|ranks| ranks.pairs.len() <= MOST)?;
    let critical = ranks.critical.as_ref()?;
    let pairs = ranks.pairs.iter().filter_map(|pair| {
        let [first, second] = [pair.first, pair.second].map(|index| &summary.columns[index]);
        Some((first, second, second.rank? - first.rank?, pair))
    });
    let is_beyond = |apart: f64| if apart.abs() > critical.difference { "yes" } else { "no" };
    let rows = Table::of(
        pairs,
        &[
            ("Method", Word, &|(first, ..)| Field::text(&first.label)),
            ("Other", Word, &|(_, second, ..)| Field::text(&second.label)),
            ("Rank difference", Number, &|(.., apart, _)| Field::number(Some(*apart), signed)),
            ("Beyond critical difference", Number, &|(.., apart, _)| {
                Field::text(is_beyond(*apart))
            }),
            ("p Wilcoxon", Number, &|(.., pair)| Field::p(Some(pair.p))),
            ("p Holm", Number, &|(.., pair)| Field::p(Some(pair.adjusted))),
        ],
    );
    let caption = format!("Pairs of methods over {} datasets", ranks.datasets);
    rows.titled("pairs", caption, ranks.power())
}

/// Wins, ties and losses of the reference.
pub(super) fn wins(summary: &Summary) -> Option<Table> {
    let label = &summary.reference()?.label;
    let rows = Table::of(
        summary.columns.iter().filter_map(|column| Some((column, column.wins?))),
        &[
            ("Against", Word, &|(column, _)| Field::text(&column.label)),
            ("by means", Number, &|(_, wins)| Field::text(wins.means.to_string())),
            ("by the paper's test", Number, &|(_, wins)| Field::text(wins.naive.to_string())),
            ("by the corrected test", Number, &|(_, wins)| Field::text(wins.corrected.to_string())),
        ],
    );
    rows.titled("wins", format!("{label} wins/ties/losses over datasets"), [])
}

/// Mean times of a fit, with the paper's where it prints one.
pub(super) fn times(summary: &Summary) -> Option<Table> {
    let field = |Entry { row, column, cell }: Entry<'_>| {
        let ours = cell.fit_seconds.map_or(cell.word().to_owned(), seconds);
        let printed = printed_seconds(&row.dataset, &column.method).filter(|_| !row.other_problem);
        let theirs = printed.map_or(String::new(), |paper| {
            let printed = paper.printed.clone().unwrap_or_else(|| seconds(paper.value));
            format!(" (paper {printed})")
        });
        Field { value: cell.fit_seconds, ..Field::text(ours + &theirs) }
    };
    let is_timed = |row: &&Row| row.cells.iter().any(|cell| cell.fit_seconds.is_some());
    let table = by_method(
        summary.rows.iter().filter(is_timed),
        summary.columns.iter(),
        &[("Dataset", Word, &|row| Field::text(&row.dataset))],
        (Number, field),
    );
    let note = "Times exclude the kernel matrix, which all methods share, and the choice of parameters. Do not compare \
                times of different machines.";
    table.titled("times", "Seconds per fit, mean over splits", [note.to_owned()])
}

/// Three digits, but at most five decimals.
fn seconds(value: f64) -> String {
    let decimals = (2.0 - value.log10().floor()).clamp(0.0, 5.0) as usize;
    format!("{value:.decimals$}")
}

/// The methods of the experiment with their losses, in the form of the paper's Table 1.
pub(super) fn losses(summary: &Summary) -> Option<Table> {
    let infos = summary.columns.iter().filter_map(|column| column.info);
    let infos: IndexMap<&str, &MethodInfo> = infos.map(|info| (info.name, info)).collect();
    let rows = Table::of(
        infos.into_values(),
        &[
            ("Method", Word, &|info| Field::text(info.title)),
            ("Similarity loss", Word, &|info| Field::text(info.losses[0])),
            ("Dissimilarity loss", Word, &|info| Field::text(info.losses[1])),
            ("What it is", Word, &|info| Field::text(info.about)),
        ],
    );
    let note = "a is the value of a hyperplane's function at a sample it is close to (similarity) or far from \
                (dissimilarity), s the margin: 1, or a parameter of networks; ε, τ and γ are parameters. [x]₊ is x or \
                0, whichever is larger.";
    let caption = "Methods and their losses, in the form of the paper's Table 1";
    rows.titled("methods", caption, [note.to_owned()])
}

/// Every entry with its parameters.
pub(super) fn methods(summary: &Summary) -> Table {
    let used = |column: &Column| match summary.parameters(column.index).map(protocol::parameters) {
        None => "not run yet".to_owned(),
        Some(used) if column.points > 1 => format!("e.g. {used}"),
        Some(used) => used,
    };
    Table::of(
        &summary.columns,
        &[
            ("Label", Word, &|column| Field::text(&column.label)),
            ("Method", Word, &|column| Field::text(&column.method)),
            ("Scheme", Word, &|column| Field::text(column.scheme.as_deref().unwrap_or("–"))),
            ("Points tried", Number, &|column| Field::count(column.points)),
            ("Parameters as used", Prose, &|column| Field::text(used(column))),
        ],
    )
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
