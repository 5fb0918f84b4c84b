//! Facts about the machine: a pseudonym, cores, the commit this program was built from.

use sha2::{Digest, Sha256};

use crate::data::hex;

/// A pseudonym of the machine. It distinguishes machines in records that may be published, without naming them.
pub fn pseudonym() -> String {
    let name = gethostname::gethostname();
    hex(&Sha256::digest(name.as_encoded_bytes())[..4])
}

/// Cores this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Model name of the processor.
pub fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The commit this program was built from, with `+` for uncommitted changes; see `build.rs`.
pub fn commit() -> Option<String> {
    option_env!("NPSVCPP_COMMIT").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pseudonym_stays_the_same_and_is_not_the_name() {
        let pseudonym = pseudonym();
        assert_eq!(pseudonym, super::pseudonym());
        assert_eq!(pseudonym.len(), 8);
        assert!(pseudonym.bytes().all(|digit| digit.is_ascii_hexdigit()));
        assert_ne!(*pseudonym, *gethostname::gethostname());
    }
}
