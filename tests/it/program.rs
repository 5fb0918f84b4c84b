//! The program as a user meets it: a folder, arguments, an exit code and two texts.

use std::fs;
use std::path::PathBuf;

use assert_cmd::Command;
use npsvcpp::ledger::{FILE, Record};
use tempfile::TempDir;

/// A working folder without network, data or cache but what a test puts there.
pub struct Folder(TempDir);

/// How the program ended.
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Folder {
    /// An empty folder.
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// The path of `name` in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes the file `name`, and the folders that contain it.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    /// The records in the ledger of the results folder `out`, one per line.
    pub fn records(&self, out: &str) -> Vec<Record> {
        self.lines_of(&format!("{out}/{FILE}"))
    }

    /// The records of a ledger, one per line, without their checksums: those that no longer count, too, but no other lines.
    pub fn lines_of(&self, ledger: &str) -> Vec<Record> {
        let text = fs::read(self.path(ledger)).unwrap_or_default();
        let lines = text.split(|&byte| byte == b'\n');
        let mut records: Vec<Record> =
            lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        records.iter_mut().for_each(|record| drop(record.extra.shift_remove("crc")));
        records
    }

    /// Runs the program here with the words of `arguments`. However it ends, it never panics.
    pub fn run(&self, arguments: &str) -> Ended {
        let output = Command::from(self.command(arguments)).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let ended = Ended {
            code: output.status.code().expect("no signal ends the program"),
            out: text(output.stdout),
            err: text(output.stderr),
        };
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
        ended
    }

    /// Runs the program here; passing the fail point `point` ends it as `how` says, after `passes` times and from then on.
    #[cfg(feature = "failpoints")]
    pub fn run_failing(
        &self,
        arguments: &str,
        point: &str,
        passes: usize,
        how: &str,
    ) -> std::process::Output {
        let mut command = self.command(arguments);
        command.env("FAILPOINTS", format!("{point}={passes}*off->return({how})"));
        command.stdin(std::process::Stdio::null()).output().unwrap()
    }

    /// The program, ready to be started here with the words of `arguments`.
    pub fn command(&self, arguments: &str) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_npsvcpp"));
        command
            .current_dir(self.0.path())
            .args(arguments.split_whitespace())
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env_remove("NPSVCPP_DATA")
            .env_remove("CARGO_MANIFEST_DIR");
        command
    }
}
