//! The certificate of a fit, as a ledger records it.

use npsvc::{Certificate, Termination};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// [`npsvc::Certificate`] as text. Records of version 0.1 have no `termination`, and a later version may
/// know other ones; both are kept as they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedCertificate {
    pub primal: f64,
    pub dual: f64,
    pub gap: f64,
    pub iterations: usize,
    /// Whether the stopping rule was met.
    pub converged: bool,
    /// Why the solver stopped, such as `solved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination: Option<String>,
    /// What other versions write.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl RecordedCertificate {
    /// Whether a solver stopped before it met its stopping rule. Networks have no such rule.
    pub fn is_unconverged(&self) -> bool {
        let epochs_done = Termination::EpochsDone.to_string();
        !self.converged && self.termination != Some(epochs_done)
    }
}

impl From<Certificate> for RecordedCertificate {
    fn from(certificate: Certificate) -> Self {
        let Certificate { primal, dual, gap, iterations, termination } = certificate;
        let converged = certificate.converged();
        let termination = Some(termination.to_string());
        Self { primal, dual, gap, iterations, converged, termination, extra: Map::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_other_versions_keep_their_text() {
        let numbers = r#""primal":1.5,"dual":1.0,"gap":0.5,"iterations":3"#;
        for rest in [r#""converged":true"#, r#""converged":false,"termination":"time-limit""#] {
            let text = format!("{{{numbers},{rest}}}");
            let read: RecordedCertificate = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
    }

    #[test]
    fn a_network_is_not_unconverged() {
        let ended = |termination| Certificate { termination, ..Certificate::default() }.into();
        let network: RecordedCertificate = ended(Termination::EpochsDone);
        assert_eq!(network.termination.as_deref(), Some("epochs-done"));
        assert!(!network.converged && !network.is_unconverged());
        let limited: RecordedCertificate = ended(Termination::IterationLimit);
        assert!(limited.is_unconverged());
    }
}
