//! What Slurm knows of submitted jobs: `slurm/jobs.json`, `squeue`, and `sacct` where there is one.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::FOLDER;
use crate::ledger::replace_json;
use crate::run::Filter;

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
    pub fn read(dir: &Path) -> io::Result<Option<Self>> {
        match std::fs::read(Self::path(dir)) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn write(&self, dir: &Path) -> io::Result<()> {
        replace_json(&Self::path(dir), self)
    }
}

impl Job {
    /// The methods of the array.
    pub fn filters(&self) -> Vec<Filter> {
        self.only.iter().filter_map(|only| only.parse().ok()).collect()
    }
}

/// State of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// In Slurm's words, such as `RUNNING` or `TIMEOUT`.
    pub state: String,
    /// Why it waits, in Slurm's words.
    pub reason: String,
}

/// Tasks by job and number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue(BTreeMap<(String, usize), State>);

impl Queue {
    /// The tasks that wait or run now.
    pub fn now() -> io::Result<Self> {
        let format = "--format=%F|%K|%T|%r";
        let arguments = ["--me", "--array", "--noheader", format];
        Ok(Self::of_squeue(&output("squeue", &arguments)?))
    }

    /// How tasks of `jobs` ended, as far as there is accounting; nothing where there is none.
    pub fn ended(jobs: &[Job]) -> Self {
        let numbers: Vec<&str> = jobs.iter().map(|job| job.job.as_str()).collect();
        let arguments = [
            "--noheader",
            "--parsable2",
            "--allocations",
            "--format=JobID,State",
            &format!("--jobs={}", numbers.join(",")),
        ];
        // Clusters without an accounting database are common, and ledgers tell what matters.
        output("sacct", &arguments).map_or_else(|_| Self::default(), |text| Self::of_sacct(&text))
    }

    pub fn task(&self, job: &str, task: usize) -> Option<&State> {
        self.0.get(&(job.to_owned(), task))
    }

    /// Tasks of `job`.
    pub fn of(&self, job: &str) -> impl Iterator<Item = (usize, &State)> {
        let tasks = self.0.iter().filter(move |((of, _), _)| of == job);
        tasks.map(|((_, task), state)| (*task, state))
    }

    fn of_squeue(text: &str) -> Self {
        let task = |line: &str| {
            let mut fields = line.trim().splitn(4, '|');
            let job = fields.next()?.to_owned();
            let task = fields.next()?.parse().ok()?;
            let state = fields.next()?.to_owned();
            let reason = fields.next().unwrap_or_default().to_owned();
            Some(((job, task), State { state, reason }))
        };
        Self(text.lines().filter_map(task).collect())
    }

    fn of_sacct(text: &str) -> Self {
        let task = |line: &str| {
            let (id, state) = line.trim().split_once('|')?;
            let (job, task) = id.split_once('_')?;
            // `CANCELLED by 1000`
            let state = state.split_whitespace().next()?.to_owned();
            let reason = String::new();
            Some(((job.to_owned(), task.parse().ok()?), State { state, reason }))
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
    fn squeue_is_read_line_by_line() {
        let text =
            "12|3|RUNNING|None\n12|4|PENDING|JobArrayTaskLimit\n77|N/A|RUNNING|None\n\nbroken\n";
        let queue = Queue::of_squeue(text);
        assert_eq!(queue.task("12", 3).unwrap().state, "RUNNING");
        assert_eq!(queue.task("12", 4).unwrap().reason, "JobArrayTaskLimit");
        assert_eq!(queue.of("12").count(), 2);
        assert_eq!(queue.0.len(), 2);
    }

    #[test]
    fn sacct_is_read_as_far_as_it_speaks_of_single_tasks() {
        let text = "12_1|COMPLETED\n12_2|CANCELLED by 1000\n12_[3-9%4]|PENDING\n13|FAILED\n";
        let ended = Queue::of_sacct(text);
        assert_eq!(ended.task("12", 2).unwrap().state, "CANCELLED");
        assert_eq!(ended.0.len(), 2);
    }
}
