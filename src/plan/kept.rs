//! What a results folder still shows although it would be computed in another way now: numbers of data that changed, and
//! numbers of methods whose version was raised. They stay until new numbers can take their place.

use std::collections::{BTreeMap, HashSet};

use super::identity::earlier_versions;
use super::{Former, Plan, PlannedCell, PlannedDataset, Prepared};

/// Versions of methods, by the places of a dataset and of the method in a plan.
pub type Versions = BTreeMap<(usize, usize), u32>;

/// What a results folder keeps of its former plan.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Rows that still show the former data of a dataset that changed, by their place in the plan.
    pub rows: BTreeMap<usize, PlannedDataset>,
    /// Former versions of methods, where the table still shows their numbers.
    pub versions: Versions,
}

impl Kept {
    /// Makes room for the first number of a new cell. Whether the table shows other cells now.
    pub fn give_way_to(&mut self, cell: &PlannedCell) -> bool {
        let has_other_data = self.rows.remove(&cell.dataset).is_some();
        if has_other_data {
            self.versions.retain(|(dataset, _), _| *dataset != cell.dataset);
        }
        let has_other_version = self.versions.remove(&(cell.dataset, cell.method)).is_some();
        has_other_data || has_other_version
    }

    /// Keeps only what `plan`, the folder's plan by now, still shows.
    pub fn retain_shown(&mut self, plan: &Plan, prepared: &Prepared) {
        let rows = &plan.datasets;
        self.rows.retain(|_, row| rows.iter().any(|r| r.name == row.name && r.hash == row.hash));
        if self.versions.is_empty() {
            return;
        }
        let names: HashSet<&str> = plan.cells.iter().map(|cell| cell.cell.as_str()).collect();
        let cells = prepared.plan_with(self).cells;
        let shown = cells.iter().filter(|cell| names.contains(cell.cell.as_str()));
        let shown: HashSet<_> = shown.map(|cell| (cell.dataset, cell.method)).collect();
        self.versions.retain(|pair, _| shown.contains(pair));
    }
}

impl Prepared {
    /// The plan of a results folder that still shows `kept` in place of what is to be run.
    pub fn plan_with(&self, kept: &Kept) -> Plan {
        let mut plan = self.plan.clone();
        plan.datasets = self.rows_with(kept);
        plan.cells = self.cells(&plan.datasets, &kept.versions);
        plan
    }

    fn rows_with(&self, kept: &Kept) -> Vec<PlannedDataset> {
        let rows = self.plan.datasets.iter().enumerate();
        rows.map(|(index, row)| kept.rows.get(&index).unwrap_or(row).clone()).collect()
    }

    /// The versions of methods of which the results folder shows finished cells and that are not the present ones.
    pub(super) fn former_versions(&self, former: &Former) -> Versions {
        let cells = former.plan.iter().flat_map(|plan| &plan.cells);
        let shown = cells.map(|cell| cell.cell.as_str()).filter(|cell| former.is_finished(cell));
        let shown: HashSet<&str> = shown.collect();
        let rows = self.rows_with(&self.changed);
        let mut found = Versions::new();
        for versions in earlier_versions(rows.len(), &self.candidates) {
            let cells = self.cells(&rows, &versions);
            let cells = cells.iter().filter(|cell| shown.contains(cell.cell.as_str()));
            let pairs = cells.map(|cell| (cell.dataset, cell.method));
            found.extend(pairs.filter_map(|pair| Some((pair, *versions.get(&pair)?))));
        }
        found
    }
}
