//! Wins, ties and losses of one method against another over many datasets.

/// How often one method was better than another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WinTieLoss {
    pub wins: usize,
    pub ties: usize,
    pub losses: usize,
}

impl WinTieLoss {
    /// Counts differences `ours - theirs`; those of at most `margin` are ties.
    pub fn of(differences: impl IntoIterator<Item = f64>, margin: f64) -> Self {
        let mut tally = Self::default();
        for difference in differences {
            match difference {
                d if d > margin => tally.wins += 1,
                d if d < -margin => tally.losses += 1,
                _ => tally.ties += 1,
            }
        }
        tally
    }
}

impl std::fmt::Display for WinTieLoss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.wins, self.ties, self.losses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_makes_ties() {
        let differences = [0.3, -0.2, 0.0, -0.05, 1.0];
        assert_eq!(WinTieLoss::of(differences, 0.0).to_string(), "2/1/2");
        assert_eq!(WinTieLoss::of(differences, 0.1).to_string(), "2/2/1");
        assert_eq!(WinTieLoss::of([], 0.0), WinTieLoss::default());
    }
}
