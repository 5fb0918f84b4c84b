//! The scripts for `sbatch`, written for people to read.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Array, FOLDER};
use crate::spec::Slurm;

/// What all scripts of a submission have in common.
#[derive(Clone, Debug)]
pub struct Submission {
    pub experiment: String,
    /// This program, by its whole path.
    pub program: PathBuf,
    /// The folder that paths in the spec start at.
    pub folder: PathBuf,
    pub spec: PathBuf,
    pub out: PathBuf,
    pub data: Option<PathBuf>,
    pub slurm: Slurm,
    pub max_parallel: usize,
    pub retry_failed: bool,
    pub cell_timeout: Option<Duration>,
}

impl Submission {
    /// The script of an array. Slurm asks the program to end two minutes before the time is up; it then finishes the
    /// running cells and leaves the rest to the next submission. What Slurm grants is for the whole process, which
    /// needs memory for more than its matrices. A cell that dies because memory runs out must not end its shard.
    pub fn array(&self, array: &Array) -> String {
        let Self { experiment, max_parallel, .. } = self;
        let Array { shards, tasks, resources, memory, .. } = array;
        let limit = self.cell_timeout.map(|limit| humantime::format_duration(limit).to_string());
        let devices = resources.gpus.as_deref().and_then(devices);
        format!(
            "#!/bin/bash\n\
             # Shards of the experiment `{experiment}`: {count} of {shards}, at most {max_parallel} at a time.\n\
             # Each task runs one shard into its own ledger. A task that is requeued or\n\
             # submitted again continues where it stopped.\n\
             #SBATCH --job-name=npsvcpp-{experiment}\n\
             #SBATCH --array={list}%{max_parallel}\n\
             {common}\n\
             #SBATCH --requeue\n\
             #SBATCH --signal=B:TERM@120\n\
             #SBATCH --cpus-per-task={cpus}\n\
             #SBATCH --mem={memory}M{time}{gpus}{site}\n\
             exec {program} --quiet run {spec} \\\n    \
             --out {out} --offline --isolate{data} \\\n    \
             --shard \"$SLURM_ARRAY_TASK_ID/{shards}\"{only} \\\n    \
             --jobs {cpus} --threads 1 --memory {budget}MiB{devices}{retry_failed}{limit}\n",
            count = tasks.len(),
            list = array_list(tasks),
            common = self.common("%A_%a"),
            cpus = resources.cpus.unwrap_or(1),
            time = each("\n#SBATCH --time=", &resources.time),
            gpus = each("\n#SBATCH --gres=gpu:", &resources.gpus),
            site = self.site(),
            program = quoted(&self.program),
            spec = quoted(&self.spec),
            out = quoted(&self.out),
            data = each(" \\\n    --data ", self.data.as_ref().map(quoted)),
            only = each(" \\\n    --only ", array.only.iter().map(quoted)),
            budget = memory / 5 * 4,
            devices = each(" \\\n    --device ", devices),
            retry_failed = each(" \\\n    ", self.retry_failed.then_some("--retry-failed")),
            limit = each(" \\\n    --cell-timeout ", limit.map(|limit| limit.replace(' ', ""))),
        )
    }

    /// The script that joins the shards after the arrays have ended.
    pub fn merge(&self) -> String {
        format!(
            "#!/bin/bash\n\
             # Joins the ledgers of the shards of `{experiment}` and renders its tables.\n\
             #SBATCH --job-name=npsvcpp-{experiment}-merge\n\
             {common}\n\
             #SBATCH --mem=2G{site}\n\
             exec {program} --quiet merge {out}\n",
            experiment = self.experiment,
            common = self.common("%j-merge"),
            site = self.site(),
            program = quoted(&self.program),
            out = quoted(&self.out),
        )
    }

    fn common(&self, log: &str) -> String {
        let logs = self.out.join(FOLDER).display().to_string().replace('%', "%%");
        format!(
            "#SBATCH --chdir={}\n#SBATCH --output={}\n#SBATCH --open-mode=append\n#SBATCH --ntasks=1",
            directive_value(&self.folder.display().to_string()),
            directive_value(&format!("{logs}/{log}.log")),
        )
    }

    /// Options of the site, such as the partition. Then, below an empty line, modules and lines of shell.
    fn site(&self) -> String {
        let slurm = &self.slurm;
        let options = slurm.options.iter().map(|option| match option.split_once('=') {
            Some((name, value)) => format!("{name}={}", directive_value(value)),
            None => option.clone(),
        });
        [
            each("\n#SBATCH --partition=", &slurm.partition),
            each("\n#SBATCH --account=", &slurm.account),
            each("\n#SBATCH --qos=", &slurm.qos),
            each("\n#SBATCH ", options) + "\n",
            each("\nmodule load ", &slurm.modules),
            each("\n", &slurm.setup),
        ]
        .concat()
    }
}

/// Every value with the same text before it.
fn each(before: &str, values: impl IntoIterator<Item = impl Display>) -> String {
    values.into_iter().map(|value| format!("{before}{value}")).collect()
}

/// The devices of a task that is granted `gpus`, such as `2` or `a100:2`; none for `0`. Slurm shows a
/// task only what it granted, so they are numbered from 0 whichever they are.
fn devices(gpus: &str) -> Option<String> {
    let last = gpus.rsplit(':').next().unwrap_or(gpus);
    // A kind without a number is one of it.
    let count: usize = last.parse().unwrap_or(1);
    let names: Vec<String> = (0..count).map(|index| format!("cuda:{index}")).collect();
    (count > 0).then(|| names.join(","))
}

/// Task numbers as `--array` takes them: `1-3,7`.
pub fn array_list(tasks: &[usize]) -> String {
    let runs = tasks.chunk_by(|task, next| task + 1 == *next);
    let text = runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run[0].to_string(),
    });
    text.collect::<Vec<_>>().join(",")
}

/// A word for the shell, in quotes where it needs them.
pub fn quoted(word: impl AsRef<Path>) -> String {
    let word = word.as_ref().display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A value of an `#SBATCH` line: sbatch knows double quotes.
fn directive_value(value: &str) -> String {
    if value.contains([' ', '#']) && !value.starts_with('"') {
        return format!("\"{value}\"");
    }
    value.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_in_a_row_are_written_as_a_range() {
        assert_eq!(array_list(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(array_list(&[4]), "4");
    }

    #[test]
    fn a_task_uses_the_devices_it_is_granted() {
        assert_eq!(devices("1").as_deref(), Some("cuda:0"));
        assert_eq!(devices("a100:2").as_deref(), Some("cuda:0,cuda:1"));
        assert_eq!(devices("a100").as_deref(), Some("cuda:0"));
        assert_eq!(devices("0"), None);
    }

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        assert_eq!(quoted("a/b.yaml"), "a/b.yaml");
        assert_eq!(quoted("method=TWSVM (tuned)"), "'method=TWSVM (tuned)'");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
