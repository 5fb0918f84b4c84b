//! Every method against the reference, split by split: the tests and their marks.

use super::summary::{Cell, Row};
use crate::ledger::Plan;
use crate::paper::Mark;
use crate::spec::Test;
use crate::stats::{self, CONFIDENCE, TTest};

/// Appended to a mark where the other method is better than the reference.
const BETTER: &str = "↑";

/// What methods are tested against, and how results are marked.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Column of the reference method.
    pub reference: usize,
    pub tests: Vec<Test>,
    /// Levels from the strictest on, each with its symbol.
    pub levels: Vec<(f64, String)>,
}

/// A method and the reference on the splits both have.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    /// Reference minus method, by split.
    pub differences: Vec<f64>,
    /// The paper's test.
    pub naive: TTest,
    /// Nadeau and Bengio's; `None` where the sizes of the split are not known, and for trainings on one split.
    pub corrected: Option<TTest>,
    /// The confidence interval of the corrected test. It is kept, because quantiles take time.
    pub interval: Option<(f64, f64)>,
    /// p of the exact signed-rank test.
    pub signed_rank: f64,
    /// Cohen's d_z.
    pub effect: f64,
    /// p of the three tests after Holm's adjustment for all comparisons of the table.
    pub holm: Adjusted,
}

/// p-values adjusted for the number of comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Adjusted {
    pub naive: f64,
    pub corrected: Option<f64>,
    pub signed_rank: f64,
}

impl Paired {
    /// `None` for fewer than two common splits.
    fn new(differences: Vec<f64>, test_to_train: Option<f64>) -> Option<Self> {
        let naive = stats::paired_t(&differences)?;
        let corrected = test_to_train.and_then(|q| stats::corrected_t(&differences, q));
        Some(Self {
            naive,
            corrected,
            interval: corrected.and_then(|test| test.interval(CONFIDENCE)),
            signed_rank: stats::signed_rank(&differences)?.p,
            effect: stats::cohens_dz(&differences)?,
            holm: Adjusted::default(),
            differences,
        })
    }
}

/// Tests every method against the reference on the splits both have, and adjusts the tests for their number.
pub(super) fn test(rows: &mut [Row], reference: usize) {
    for row in rows.iter_mut() {
        let values = row.cells[reference].values().collect();
        // The correction is for training sets that overlap. Trainings on one split have the same.
        let shape = row.shape.filter(|_| row.trainings.is_none());
        let test_to_train = shape.map(|shape| shape.n_test as f64 / shape.n_train as f64);
        for (_, cell) in row.cells.iter_mut().enumerate().filter(|(index, _)| *index != reference) {
            let differences = stats::common_differences(&values, &cell.values().collect());
            cell.paired = Paired::new(differences, test_to_train);
        }
    }
    adjust(rows.iter_mut().flat_map(|row| &mut row.cells).filter_map(|cell| cell.paired.as_mut()));
}

/// Holm's adjustment of every test over all comparisons of the table.
fn adjust<'a>(all: impl Iterator<Item = &'a mut Paired>) {
    let mut all: Vec<&mut Paired> = all.collect();
    let holm = |p: fn(&Paired) -> f64| {
        stats::holm(&all.iter().map(|paired| p(paired)).collect::<Vec<f64>>())
    };
    let naive = holm(|paired| paired.naive.p);
    let signed_rank = holm(|paired| paired.signed_rank);
    // A comparison that cannot be corrected counts all the same: NaN sorts last.
    let corrected = holm(|paired| paired.corrected.map_or(f64::NAN, |test| test.p));
    for (index, paired) in all.iter_mut().enumerate() {
        let corrected = Some(corrected[index]).filter(|p| !p.is_nan());
        paired.holm = Adjusted { naive: naive[index], corrected, signed_rank: signed_rank[index] };
    }
}

impl Comparison {
    /// The comparison an experiment asks for, if the method to compare with is one of its methods.
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        let compare = plan.experiment.compare.as_ref()?;
        let by_label = plan.methods.iter().position(|method| method.label == compare.against);
        let named = || plan.methods.iter().position(|method| method.method == compare.against);
        let reference = by_label.or_else(named)?;
        Some(Self { reference, tests: compare.test.clone(), levels: symbols(&compare.levels) })
    }

    /// The tests of a cell that the experiment asks for: the paper's and the corrected one.
    pub fn tests(&self, cell: &Cell) -> [Option<TTest>; 2] {
        let paired = cell.paired.as_ref();
        let naive = paired.map(|paired| paired.naive);
        let corrected = paired.and_then(|paired| paired.corrected);
        [
            naive.filter(|_| self.tests.contains(&Test::PairedT)),
            corrected.filter(|_| self.tests.contains(&Test::NadeauBengio)),
        ]
    }

    /// The symbol of the strictest level that p is below, with an arrow if the method is better than the reference;
    /// empty if there is no significant difference.
    pub fn mark(&self, test: &TTest) -> String {
        let reached = self.levels.iter().find(|(level, _)| test.p < *level);
        let better = if test.mean_difference < 0.0 { BETTER } else { "" };
        reached.map_or(String::new(), |(_, symbol)| format!("{symbol}{better}"))
    }

    /// The marks of both tests.
    pub fn both_marks(&self, cell: &Cell) -> [String; 2] {
        self.tests(cell).map(|test| test.map_or(String::new(), |test| self.mark(&test)))
    }

    /// The marks of both tests: the paper's, and in parentheses the corrected one.
    pub(super) fn marks(&self, cell: &Cell) -> String {
        let [naive, corrected] = self.both_marks(cell);
        match corrected.as_str() {
            "" if naive.is_empty() || self.tests(cell)[1].is_none() => naive,
            "" => format!("{naive}(–)"),
            corrected => format!("{naive}({corrected})"),
        }
    }

    /// What the marks mean; `None` if nothing is marked.
    pub(super) fn legend(&self, reference: &str) -> Option<String> {
        let levels = Vec::from_iter(
            self.levels.iter().map(|(level, symbol)| format!("{symbol} p < {level}")),
        );
        let corrected = "in parentheses, by a t-test corrected for overlapping training sets (– if not significant)";
        let tests =
            [(Test::PairedT, "by the paper's paired t-test"), (Test::NadeauBengio, corrected)];
        let tests = tests.iter().filter(|(test, _)| self.tests.contains(test));
        let tests: Vec<&str> = tests.map(|(_, words)| *words).collect();
        (!levels.is_empty() && !tests.is_empty()).then(|| {
            format!(
                "{}: differs from {reference} {}. {BETTER}: the other method is better; otherwise {reference} is. \
                 Two-sided, over the splits both methods have, not adjusted for the number of \
                 comparisons.",
                levels.join(", "),
                tests.join(" and, ")
            )
        })
    }
}

/// Gives each level a symbol. 0.05 and 0.1 always have the paper's.
fn symbols(levels: &[f64]) -> Vec<(f64, String)> {
    const PAPER: [Mark; 2] = [Mark::DoubleDagger, Mark::Dagger];
    const OTHERS: [&str; 4] = ["§", "¶", "‖", "#"];
    let mut levels = levels.to_vec();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let mut others = (1..).flat_map(|times| OTHERS.map(|symbol| symbol.repeat(times)));
    let symbol = |level: f64| match PAPER.iter().find(|mark| mark.level() == level) {
        Some(mark) => Some((level, mark.symbol().to_owned())),
        None => Some((level, others.next()?)),
    };
    levels.into_iter().filter_map(symbol).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(levels: &[f64]) -> Comparison {
        Comparison { reference: 0, tests: vec![Test::PairedT], levels: symbols(levels) }
    }

    fn test(mean_difference: f64, p: f64) -> TTest {
        TTest { mean_difference, standard_error: 1.0, freedom: 9.0, t: mean_difference, p }
    }

    #[test]
    fn the_papers_marks_in_any_order_of_levels() {
        let comparison = comparison(&[0.1, 0.05]);
        let mark = |difference, p| comparison.mark(&test(difference, p));
        assert_eq!(mark(1.0, 0.049), "‡");
        assert_eq!(mark(1.0, 0.05), "†");
        assert_eq!(mark(1.0, 0.1), "");
        assert_eq!(mark(-1.0, 0.01), "‡↑");
        assert_eq!(mark(-1.0, 0.07), "†↑");
        assert_eq!(mark(-1.0, 0.5), "");
    }

    #[test]
    fn other_levels_take_other_symbols() {
        let levels = comparison(&[0.1, 0.01, 0.001, 0.05, 0.01]).levels;
        let symbols: Vec<&str> = levels.iter().map(|(_, symbol)| symbol.as_str()).collect();
        assert_eq!(symbols, ["§", "¶", "‡", "†"]);
    }

    #[test]
    fn more_levels_than_symbols_double_them() {
        let levels = comparison(&[0.001, 0.002, 0.003, 0.004, 0.005]).levels;
        assert_eq!(levels[4].1, "§§");
    }
}
