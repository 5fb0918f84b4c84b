//! What is known of submitted jobs: `slurm/jobs.json`, `squeue`, and `sacct` if the cluster keeps accounts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::FOLDER;
use crate::error::Error;
use crate::ledger::{read_present, replace_json};

/// `slurm/jobs.json`: every array that was submitted for a results folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jobs {
    /// Submits what is left.
    pub command: String,
    pub jobs: Vec<Job>,
}

/// An array that was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Slurm's number of the array.
    pub job: String,
    /// Into how many shards the experiment was divided.
    pub shards: usize,
    /// Numbers of the shards that were submitted.
    pub tasks: Vec<usize>,
    /// Methods of the array, as `--only` takes them; empty for all.
    pub only: Vec<String>,
    pub submitted: String,
}

impl Jobs {
    /// Where the jobs of the results folder `dir` are noted.
    pub fn path(dir: &Path) -> PathBuf {
        dir.join(FOLDER).join("jobs.json")
    }

    /// The jobs of the results folder `dir`; none if nothing was ever submitted.
    pub fn read(dir: &Path) -> Result<Option<Self>, Error> {
        let path = Self::path(dir);
        let jobs = read_present(&path)?.map(|text| serde_json::from_slice(&text)).transpose();
        jobs.map_err(|error| Error::cannot("read", &path)(error.into()))
    }

    pub fn write(&self, dir: &Path) -> Result<(), Error> {
        replace_json(&Self::path(dir), self)
    }
}

/// The state of tasks by job and number, in Slurm's words: `running`, `pending (Priority)`, `timeout`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue(BTreeMap<(String, usize), String>);

impl Queue {
    /// The tasks that wait or run now.
    pub fn now() -> io::Result<Self> {
        let text = output("squeue", &["--me", "--array", "--noheader", "--format=%F_%K|%T|%r"])?;
        Ok(Self::parse(&text))
    }

    /// How tasks of `jobs` ended; nothing on a cluster without an accounting database. Such clusters are common, and
    /// the ledgers contain what matters.
    pub fn ended(jobs: &[Job]) -> Self {
        let numbers: Vec<&str> = jobs.iter().map(|job| job.job.as_str()).collect();
        let jobs = format!("--jobs={}", numbers.join(","));
        let form = ["--noheader", "--parsable2", "--allocations", "--format=JobID,State", &jobs];
        output("sacct", &form).map_or_else(|_| Self::default(), |text| Self::parse(&text))
    }

    pub fn state(&self, job: &str, task: usize) -> Option<&str> {
        self.0.get(&(job.to_owned(), task)).map(String::as_str)
    }

    /// Whether a task of `job` waits or runs.
    pub fn has(&self, job: &str) -> bool {
        self.0.keys().any(|(of, _)| of == job)
    }

    /// How many tasks of `jobs` are in each state.
    pub fn states(&self, jobs: &[Job]) -> BTreeMap<&str, usize> {
        let mut states = BTreeMap::new();
        for ((of, _), state) in &self.0 {
            if jobs.iter().any(|job| job.job == *of) {
                *states.entry(state.as_str()).or_default() += 1;
            }
        }
        states
    }

    /// Lines `JOB_TASK|STATE` or `JOB_TASK|STATE|REASON`; others are not about single tasks.
    fn parse(text: &str) -> Self {
        let task = |line: &str| {
            let mut fields = line.trim().splitn(3, '|');
            let (job, task) = fields.next()?.split_once('_')?;
            // `CANCELLED by 1000`
            let state = fields.next()?.split_whitespace().next()?.to_lowercase();
            let state = match fields.next() {
                None | Some("" | "None") => state,
                Some(reason) => format!("{state} ({reason})"),
            };
            Some(((job.to_owned(), task.parse().ok()?), state))
        };
        Self(text.lines().filter_map(task).collect())
    }
}

/// What `program` prints; an error if it cannot be started or fails.
fn output(program: &str, arguments: &[&str]) -> io::Result<String> {
    let output = Command::new(program).args(arguments).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(said.trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_squeue_become_states_with_reasons() {
        let text =
            "12_3|RUNNING|None\n12_4|PENDING|JobArrayTaskLimit\n77_N/A|RUNNING|None\n\nbroken\n";
        let queue = Queue::parse(text);
        assert_eq!(queue.state("12", 3), Some("running"));
        assert_eq!(queue.state("12", 4), Some("pending (JobArrayTaskLimit)"));
        assert_eq!(queue.0.len(), 2);
        assert!(queue.has("12") && !queue.has("77"));
    }

    #[test]
    fn lines_of_sacct_about_single_tasks_become_states() {
        let text = "12_1|COMPLETED\n12_2|CANCELLED by 1000\n12_[3-9%4]|PENDING\n13|FAILED\n";
        let ended = Queue::parse(text);
        assert_eq!(ended.state("12", 2), Some("cancelled"));
        assert_eq!(ended.0.len(), 2);
    }
}
