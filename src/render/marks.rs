//! Marks of significance: the paper's symbols, with a direction the paper does not show.

use super::summary::Column;
use super::text::{clean, listed};
use crate::ledger::Plan;
use crate::paper::Mark as PaperMark;
use crate::spec::Test;
use crate::stats::TTest;

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

/// The outcome of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// On how many common splits.
    pub n: usize,
    pub p: f64,
    /// Symbol of the strictest level that p is below.
    pub symbol: Option<String>,
    /// Whether the method's mean is above the reference's.
    pub better: bool,
}

impl Verdict {
    /// The symbol, with an arrow if the method is better than the reference; empty if there is no
    /// significant difference.
    pub fn mark(&self) -> String {
        match &self.symbol {
            Some(symbol) if self.better => format!("{symbol}{BETTER}"),
            Some(symbol) => symbol.clone(),
            None => String::new(),
        }
    }
}

impl Comparison {
    /// The comparison an experiment asks for, or a warning why there is none.
    pub(super) fn of(plan: &Plan, columns: &[Column]) -> (Option<Self>, Option<String>) {
        let Some(compare) = &plan.experiment.compare else {
            return (None, None);
        };
        let by_label = plan.methods.iter().position(|m| m.label == compare.against);
        let named = || plan.methods.iter().position(|m| m.method == compare.against);
        let Some(reference) = by_label.or_else(named) else {
            let labels: Vec<&str> = columns.iter().map(|c| c.label.as_str()).collect();
            let warning = format!(
                "nothing is tested: the method to compare with, {}, is not among {}",
                clean(&compare.against),
                listed(&labels)
            );
            return (None, Some(warning));
        };
        let comparison =
            Self { reference, tests: compare.test.clone(), levels: symbols(&compare.levels) };
        (Some(comparison), None)
    }

    /// Marks a test of `reference - method`.
    pub(super) fn judge(&self, test: TTest) -> Verdict {
        let reached = self.levels.iter().find(|(level, _)| test.p < *level);
        Verdict {
            n: test.n,
            p: test.p,
            symbol: reached.map(|(_, symbol)| symbol.clone()),
            better: test.mean_difference < 0.0,
        }
    }

    /// What the marks mean; `None` if nothing is marked.
    pub(super) fn legend(&self, reference: &str) -> Option<String> {
        let levels: Vec<String> =
            self.levels.iter().map(|(level, symbol)| format!("{symbol} p < {level}")).collect();
        let has = |test| self.tests.contains(&test);
        let tests = match (has(Test::PairedT), has(Test::NadeauBengio)) {
            _ if levels.is_empty() => return None,
            (false, false) => return None,
            (true, false) => "by the paper's paired t-test",
            (false, true) => "in parentheses, by a t-test corrected for overlapping training sets",
            (true, true) => {
                "by the paper's paired t-test and, in parentheses, by one corrected for \
                 overlapping training sets (– if not significant)"
            }
        };
        Some(format!(
            "{}: differs from {reference} {tests}. {reference} is the better one, except where \
             {BETTER} says that the other method is. Two-sided, over the splits both methods have, \
             not adjusted for the number of comparisons.",
            levels.join(", ")
        ))
    }
}

/// Gives each level a symbol. 0.05 and 0.1 keep the paper's, whatever other levels there are.
fn symbols(levels: &[f64]) -> Vec<(f64, String)> {
    const OTHERS: [&str; 4] = ["§", "¶", "‖", "#"];
    let mut levels: Vec<f64> = levels.iter().copied().filter(|l| l.is_finite()).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let mut used = 0;
    let mut symbol = |level: f64| {
        let paper = [PaperMark::DoubleDagger, PaperMark::Dagger];
        if let Some(mark) = paper.iter().find(|mark| mark.level() == level) {
            return mark.symbol().to_owned();
        }
        used += 1;
        OTHERS[(used - 1) % OTHERS.len()].repeat(1 + (used - 1) / OTHERS.len())
    };
    levels.into_iter().map(|l| (l, symbol(l))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(levels: &[f64]) -> Comparison {
        Comparison { reference: 0, tests: vec![Test::PairedT], levels: symbols(levels) }
    }

    fn test(mean_difference: f64, p: f64) -> TTest {
        TTest { n: 10, mean_difference, standard_error: 1.0, t: mean_difference, p }
    }

    #[test]
    fn the_papers_marks_in_any_order_of_levels() {
        let comparison = comparison(&[0.1, 0.05]);
        let mark = |difference, p| comparison.judge(test(difference, p)).mark();
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
