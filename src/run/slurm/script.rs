//! The scripts that are handed to `sbatch`, written to be read.

use std::fmt::Write;
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
    /// The script of an array.
    pub fn array(&self, array: &Array) -> String {
        let Array { shards, tasks, .. } = array;
        let mut text = format!(
            "#!/bin/bash\n\
             # Shards of the experiment `{}`: {} of {shards}, at most {} at a time.\n\
             # Each task runs one shard into a ledger of its own. A task that is requeued, or\n\
             # submitted again, goes on where it stopped.\n",
            self.experiment,
            tasks.len(),
            self.max_parallel,
        );
        let list = array_list(tasks);
        let resources = &array.resources;
        let directive = |text: &mut String, option: &str, value: &str| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "#SBATCH --{option}={value}");
        };
        directive(&mut text, "job-name", &format!("npsvcpp-{}", self.experiment));
        directive(&mut text, "array", &format!("{list}%{}", self.max_parallel));
        self.common(&mut text, "%A_%a");
        text += "#SBATCH --requeue\n";
        // Two minutes before the time is up the program is asked to end; it finishes the cells in
        // flight and leaves the rest to the next submission.
        directive(&mut text, "signal", "B:TERM@120");
        directive(&mut text, "cpus-per-task", &resources.cpus.unwrap_or(1).to_string());
        directive(&mut text, "mem", &format!("{}M", array.memory));
        if let Some(time) = &resources.time {
            directive(&mut text, "time", time);
        }
        if let Some(gpus) = &resources.gpus {
            directive(&mut text, "gres", &format!("gpu:{gpus}"));
        }
        self.site(&mut text);
        text + &self.command(array)
    }

    /// The script that joins the shards once the arrays have ended.
    pub fn merge(&self) -> String {
        let mut text = format!(
            "#!/bin/bash\n# Joins the ledgers of the shards of `{}` and renders its tables.\n",
            self.experiment
        );
        let _ = writeln!(text, "#SBATCH --job-name=npsvcpp-{}-merge", self.experiment);
        self.common(&mut text, "%j-merge");
        text += "#SBATCH --mem=2G\n";
        self.site(&mut text);
        let (program, out) = (quoted(&self.program), quoted(&self.out));
        let _ = writeln!(text, "exec {program} --quiet merge {out}");
        text
    }

    fn common(&self, text: &mut String, log: &str) {
        let log = self.out.join(FOLDER).display().to_string().replace('%', "%%") + "/" + log;
        let folder = &self.folder.display().to_string();
        let _ = writeln!(text, "#SBATCH --chdir={}", directive_value(folder));
        let _ = writeln!(text, "#SBATCH --output={}.log", directive_value(&log));
        *text += "#SBATCH --open-mode=append\n#SBATCH --ntasks=1\n";
    }

    /// What the site wants: partition and the like, then modules and lines of shell.
    fn site(&self, text: &mut String) {
        let slurm = &self.slurm;
        let named =
            [("partition", &slurm.partition), ("account", &slurm.account), ("qos", &slurm.qos)];
        for (option, value) in named {
            if let Some(value) = value {
                let _ = writeln!(text, "#SBATCH --{option}={value}");
            }
        }
        for option in &slurm.options {
            let _ = match option.split_once('=') {
                Some((name, value)) => {
                    writeln!(text, "#SBATCH {name}={}", directive_value(value))
                }
                None => writeln!(text, "#SBATCH {option}"),
            };
        }
        text.push('\n');
        for module in &slurm.modules {
            let _ = writeln!(text, "module load {module}");
        }
        for line in &slurm.setup {
            let _ = writeln!(text, "{line}");
        }
    }

    fn command(&self, array: &Array) -> String {
        let mut words = vec![
            format!("exec {} --quiet run {}", quoted(&self.program), quoted(&self.spec)),
            // A cell that dies for want of memory must not take the rest of its shard along.
            format!("--out {} --offline --isolate", quoted(&self.out)),
        ];
        if let Some(data) = &self.data {
            words.push(format!("--data {}", quoted(data)));
        }
        words.push(format!("--shard \"$SLURM_ARRAY_TASK_ID/{}\"", array.shards));
        let only = array.only.iter();
        words.extend(only.map(|filter| format!("--only {}", quoted(filter.to_string()))));
        // What Slurm grants is for the whole process, which needs some beside its matrices.
        let memory = array.memory / 5 * 4;
        let jobs = array.resources.cpus.unwrap_or(1);
        words.push(format!("--jobs {jobs} --threads 1 --memory {memory}MiB"));
        if let Some(devices) = array.resources.gpus.as_deref().and_then(devices) {
            words.push(format!("--device {devices}"));
        }
        if self.retry_failed {
            words.push("--retry-failed".into());
        }
        if let Some(limit) = self.cell_timeout {
            let limit = humantime::format_duration(limit).to_string();
            words.push(format!("--cell-timeout {}", quoted(limit.replace(' ', ""))));
        }
        words.join(" \\\n    ") + "\n"
    }
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
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &task in tasks {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == task => *last = task,
            _ => runs.push((task, task)),
        }
    }
    let text = runs.iter().map(|&(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
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
