//! Hashes of what a table is made from.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::ledger::Plan;

/// Hashes named parts, one after the other.
#[derive(Default)]
pub(super) struct Hash(Sha256);

impl Hash {
    /// Adds a part; its length keeps it apart from the next.
    pub(super) fn add(&mut self, name: &str, bytes: &[u8]) {
        for part in [name.as_bytes(), bytes] {
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
    }

    /// Adds a plan. Another version of the program plans the same.
    pub(super) fn add_plan(&mut self, plan: &Plan) {
        let Plan { version: _, experiment, datasets, methods, cells, remembered: _ } = plan;
        self.add_json("plan", &(experiment, datasets, methods, cells));
    }

    /// Adds a value as JSON.
    pub(super) fn add_json(&mut self, name: &str, value: &impl Serialize) {
        // What cannot be JSON counts as empty; plans and specs can.
        self.add(name, &serde_json::to_vec(value).unwrap_or_default());
    }

    pub(super) fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
