//! Facts about the machine: a pseudonym, cores, the commit this program was built from.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

/// A pseudonym of the machine: tells machines apart in records that may be published, without naming
/// them.
pub fn pseudonym() -> String {
    let name = gethostname::gethostname();
    let digest = Sha256::digest(name.as_encoded_bytes());
    let digits = digest.iter().take(4).map(|byte| format!("{byte:02x}"));
    digits.collect()
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

/// The commit of the source tree, with `+` for uncommitted changes. Known only while Cargo runs the
/// program: it then has just been built from the tree it came from.
pub fn commit() -> Option<String> {
    commit_of(&source_folder(std::env::var_os("CARGO_MANIFEST_DIR")?)?)
}

/// The folder that Cargo `told` of, if this program was built there. Run by another package's build
/// or test, it would else take that package's commit for its own.
fn source_folder(told: OsString) -> Option<PathBuf> {
    (told == env!("CARGO_MANIFEST_DIR")).then(|| told.into())
}

fn commit_of(folder: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // A source tree without a repository of its own may lie in somebody else's.
    let is_root = git(&["rev-parse", "--show-prefix"])?.is_empty();
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes =
        git(&["status", "--porcelain", "--untracked-files=no", "--", "src", "Cargo.toml"])?;
    is_root.then_some(if changes.is_empty() { hash } else { hash + "+" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_folder_of_the_build_is_asked_for_a_commit() {
        let here = env!("CARGO_MANIFEST_DIR");
        assert_eq!(source_folder(here.into()), Some(here.into()));
        assert_eq!(source_folder("/elsewhere".into()), None);
        assert_eq!(source_folder("".into()), None);
    }

    #[test]
    fn a_folder_within_a_repository_has_no_commit_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let git = |arguments: &str| {
            let mut command = Command::new("git");
            command.current_dir(&folder).args(arguments.split(' '));
            command.output().is_ok_and(|output| output.status.success())
        };
        let commit = "-c user.name=t -c user.email=t@t commit -q --allow-empty -m t";
        if !git("init -q") || !git(commit) {
            println!("not checked: there is no git here");
            return;
        }
        assert_eq!(commit_of(folder.path()).map(|hash| hash.len()), Some(12));
        let inner = folder.path().join("src");
        std::fs::create_dir(&inner).unwrap();
        assert_eq!(commit_of(&inner), None);
    }

    #[test]
    fn a_pseudonym_is_lasting_and_no_name() {
        let pseudonym = pseudonym();
        assert_eq!(pseudonym, super::pseudonym());
        assert_eq!(pseudonym.len(), 8);
        assert!(pseudonym.bytes().all(|digit| digit.is_ascii_hexdigit()));
        assert_ne!(*pseudonym, *gethostname::gethostname());
    }
}
