//! `submit SPEC --slurm`: writes job arrays, submits them with sbatch, and returns at once.

use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use npsvcpp::ledger::{self, Ledger};
use npsvcpp::methods::criteria::NEEDS_DEEP;
use npsvcpp::plan::{Former, Part, Prepared, group_count};
use npsvcpp::run;
use npsvcpp::run::slurm::{self, Array, Job, Jobs, Left, Queue, Submission, array_list, quoted};
use npsvcpp::spec::{self, Slurm};
use npsvcpp::{Error, Exit};

use super::{Failure, check, results_folder, store};
use crate::cli::SubmitArgs;
use crate::output::{note, show};

/// Shards of a first submission, at most: a task that starts costs the cluster more than a cell.
const MOST_SHARDS: usize = 100;

pub fn submit(arguments: &SubmitArgs, quiet: bool) -> Result<Exit, Failure> {
    let loaded = spec::load(&arguments.spec)?;
    let out = arguments.out.clone().unwrap_or_else(|| results_folder(&loaded));
    // What can be downloaded is downloaded here: nodes of a cluster often have no network.
    let formers = [Former::read(&out)];
    let store = store(&arguments.data)?;
    let prepared = check::prepare(&loaded, &store, &formers, &Part::default(), false, quiet)?;
    let absent = prepared.sources.iter().filter_map(|source| source.as_ref().err());
    for error in absent.filter(|_| !quiet) {
        note!("not on this machine: {error}");
    }
    let slurm = settings(arguments, loaded.experiment.slurm.clone().unwrap_or_default());
    let jobs = Jobs::read(&out)?.unwrap_or_default();
    let shards = shards(arguments, &jobs, &prepared);
    let left = Left {
        plan: &prepared.plan,
        known: &Ledger::read(&out)?,
        jobs: &jobs,
        queue: &queue(&jobs, shards, arguments.dry_run)?,
        retry_failed: arguments.retry_failed,
        can_run: prepared.sources.iter().map(Result::is_ok).collect(),
    };
    let mut arrays = slurm::arrays(&prepared, &slurm, shards);
    for array in &mut arrays {
        array.tasks = left.shards(&array.only, shards).into_iter().collect();
    }
    arrays.retain(|array| !array.tasks.is_empty());
    let submission = submission(arguments, &out, &loaded.experiment.name, slurm)?;
    if arguments.dry_run {
        for array in &arrays {
            show!("{}", submission.array(array));
        }
        show!("{}", submission.merge());
        return Ok(Exit::Complete);
    }
    if arrays.is_empty() {
        show!("nothing to submit: every shard is done, waiting or running");
        return Ok(Exit::Complete);
    }
    refuse_idle_gpus(&arrays)?;
    run::write_plan(&out, &prepared)?;
    hand_over(&submission, &arrays, Jobs { command: command(arguments), ..jobs })?;
    if !quiet {
        show!("to see its progress: npsvcpp status {}", quoted(&out));
    }
    Ok(Exit::Complete)
}

/// The spec's settings where the command line has none.
fn settings(arguments: &SubmitArgs, spec: Slurm) -> Slurm {
    Slurm {
        partition: arguments.partition.clone().or(spec.partition),
        account: arguments.account.clone().or(spec.account),
        task: arguments.task.or(&spec.task),
        ..spec
    }
}

/// As many as asked for, else as last time, else one per split, within limits.
fn shards(arguments: &SubmitArgs, jobs: &Jobs, prepared: &Prepared) -> usize {
    let last = jobs.jobs.last().map(|job| job.shards);
    let groups = group_count(&prepared.plan).max(1);
    // Shards beyond the groups would have nothing to do.
    let asked = arguments.array.map(|shards| groups.min(shards as usize));
    asked.or(last).unwrap_or_else(|| groups.min(MOST_SHARDS))
}

/// The queue, in which no task may work on another number of shards.
fn queue(jobs: &Jobs, shards: usize, dry_run: bool) -> Result<Queue, Error> {
    let queue = match Queue::now() {
        // Scripts can be looked at on any machine.
        Err(_) if dry_run => return Ok(Queue::default()),
        queue => queue.map_err(|error| {
            Error::input(format!(
                "cannot ask Slurm for its queue: squeue: {error}; submit where Slurm is installed, \
                 or look at the scripts with --dry-run"
            ))
        })?,
    };
    let mut others = jobs.jobs.iter().filter(|job| job.shards != shards);
    match others.find(|job| queue.has(&job.job)) {
        None => Ok(queue),
        Some(Job { job, shards: theirs, .. }) => Err(Error::input(format!(
            "job {job} is still queued with {theirs} shards, and {shards} shards would compute its cells twice; \
             wait for it, cancel it, or give --array {theirs}"
        ))),
    }
}

/// A build without networks has no use for graphics processors, and its tasks would refuse them.
fn refuse_idle_gpus(arrays: &[Array]) -> Result<(), Error> {
    match arrays.iter().find_map(|array| array.resources.gpus.as_deref()) {
        Some(gpus) if !cfg!(feature = "deep") => {
            Err(Error::input(format!("a task with {gpus} as `gpus` {NEEDS_DEEP}")))
        }
        _ => Ok(()),
    }
}

fn submission(
    arguments: &SubmitArgs,
    out: &Path,
    experiment: &str,
    slurm: Slurm,
) -> Result<Submission, Error> {
    Ok(Submission {
        experiment: experiment.to_owned(),
        program: super::this_program()?,
        folder: std::env::current_dir().map_err(Error::cannot("find", Path::new(".")))?,
        spec: arguments.spec.clone(),
        out: out.to_path_buf(),
        data: arguments.data.folder.clone(),
        slurm,
        max_parallel: arguments.max_parallel as usize,
        retry_failed: arguments.retry_failed,
        cell_timeout: arguments.cell_timeout,
    })
}

/// Submits the arrays, and the job that merges their shards.
fn hand_over(submission: &Submission, arrays: &[Array], mut jobs: Jobs) -> Result<(), Error> {
    let out = &submission.out;
    let mut after = "--dependency=afterany".to_owned();
    for array in arrays {
        let number = sbatch(out, &script_name(array), &submission.array(array), None)?;
        let Array { only, shards, tasks, .. } = array;
        show!(
            "job {number}: shards {} of {shards}, at most {} at a time",
            array_list(tasks),
            submission.max_parallel
        );
        after = format!("{after}:{number}");
        jobs.jobs.push(Job {
            job: number,
            shards: *shards,
            tasks: tasks.clone(),
            only: only.clone(),
            submitted: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        });
        // Written after each, so that no job is forgotten if the next is refused.
        jobs.write(out)?;
    }
    let merge = sbatch(out, "merge.sbatch", &submission.merge(), Some(&after))?;
    show!("job {merge}: merges the shards after they end, and renders");
    Ok(())
}

/// One script per set of methods.
fn script_name(array: &Array) -> String {
    let slug = |only: &String| only.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let first = array.only.first().map(slug);
    first.map_or("array.sbatch".into(), |slug| format!("array-{slug}.sbatch"))
}

/// Writes a script and submits it; returns Slurm's number of the job.
fn sbatch(out: &Path, name: &str, script: &str, option: Option<&str>) -> Result<String, Error> {
    let path = out.join(slurm::FOLDER).join(name);
    ledger::replace(&path, script.as_bytes())?;
    let refused = |why: &str| Error::failed(format!("sbatch rejected {}: {why}", path.display()));
    let output = Command::new("sbatch")
        .arg("--parsable")
        .args(option)
        .arg(&path)
        .output()
        .map_err(|error| refused(&error.to_string()))?;
    if !output.status.success() {
        return Err(refused(String::from_utf8_lossy(&output.stderr).trim()));
    }
    // `number` or `number;cluster`
    let answer = String::from_utf8_lossy(&output.stdout);
    let number = answer.trim().split(';').next().unwrap_or_default();
    if number.is_empty() || !number.bytes().all(|digit| digit.is_ascii_digit()) {
        let answer = answer.trim();
        return Err(refused(&format!("it answered `{answer}`, expected a job's number")));
    }
    Ok(number.to_owned())
}

/// The command that submits what is left: this one, with the failed cells.
fn command(arguments: &SubmitArgs) -> String {
    let typed = std::env::args_os().skip(1).map(quoted);
    let again = (!arguments.retry_failed).then(|| "--retry-failed".to_owned());
    let words: Vec<String> = typed.chain(again).collect();
    format!("npsvcpp {}", words.join(" "))
}
