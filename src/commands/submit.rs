//! `submit SPEC --slurm`: writes job arrays, hands them to sbatch, and returns at once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use npsvcpp::ledger::{self, Contents};
use npsvcpp::methods::criteria::NEEDS_DEEP;
use npsvcpp::render;
use npsvcpp::run::slurm::{self, Array, Job, Jobs, Queue, Submission, array_list, quoted};
use npsvcpp::run::{self, Former, Part, Prepared, group_count};
use npsvcpp::spec::{Resources, Slurm};

use super::{Ending, Failure, load, plan, store, submitted};
use crate::cli::SubmitArgs;
use crate::output::{note, show};

/// Shards of a first submission, at most: a task that starts costs the cluster more than a cell.
const MOST_SHARDS: usize = 100;

pub fn submit(arguments: &SubmitArgs, quiet: bool) -> Result<Ending, Failure> {
    let loaded = load(&arguments.spec)?;
    let name = &loaded.experiment.name;
    let default = || PathBuf::from("results").join(name);
    let out = arguments.out.clone().unwrap_or_else(default);
    // What can be downloaded is downloaded here: nodes of a cluster often have no network.
    let formers = [Former::read(&out)];
    let store = store(&arguments.data)?;
    let prepared = plan::prepare(&loaded, &store, &formers, &Part::default(), quiet)?;
    for (_, error) in prepared.missing.iter().filter(|_| !quiet) {
        note!("not on this machine: {error}");
    }
    let slurm = settings(arguments, loaded.experiment.slurm.clone().unwrap_or_default());
    let mut jobs = submitted(&out)?.unwrap_or_default();
    let shards = shards(arguments, &jobs, &prepared);
    let known = render::records(&out)?;
    let mut arrays = slurm::arrays(&prepared, &slurm, shards);
    let waiting = waiting(&jobs, shards, arguments.dry_run)?;
    for array in &mut arrays {
        keep_what_is_left(array, &prepared, &known, &waiting, arguments.retry_failed);
    }
    arrays.retain(|array| !array.tasks.is_empty());
    let submission = submission(arguments, &out, name, slurm)?;
    if arguments.dry_run {
        for array in &arrays {
            show!("{}", submission.array(array));
        }
        show!("{}", submission.merge());
        return Ok(Ending::Complete);
    }
    if arrays.is_empty() {
        show!("nothing to submit: every shard is done, waits or runs");
        return Ok(Ending::Complete);
    }
    refuse_idle_gpus(&arrays)?;
    write_folder(&prepared, &out)?;
    jobs.command = command(arguments, shards, &out);
    let mut numbers = Vec::new();
    for array in &arrays {
        let number = hand_over(&out, &script_name(array), &submission.array(array), &[])?;
        show!(
            "job {number}: shards {} of {shards}, at most {} at a time",
            array_list(&array.tasks),
            arguments.max_parallel
        );
        jobs.jobs.push(job(array, &number));
        numbers.push(number);
        // Written after each, so that no job is forgotten if the next is refused.
        jobs.write(&out)
            .map_err(|error| Failure::Other(format!("cannot write {}: {error}", out.display())))?;
    }
    let after = format!("--dependency=afterany:{}", numbers.join(":"));
    let merge = hand_over(&out, "merge.sbatch", &submission.merge(), &[&after])?;
    show!("job {merge}: joins the shards when they have ended, and renders");
    if !quiet {
        show!("how far it is: npsvcpp status {}", quoted(&out));
    }
    Ok(Ending::Complete)
}

/// The spec's settings, where the command line says nothing else.
fn settings(arguments: &SubmitArgs, spec: Slurm) -> Slurm {
    let asked = Resources {
        time: arguments.time.clone(),
        memory: arguments.memory.clone(),
        cpus: arguments.cpus,
        gpus: arguments.gpus.clone(),
    };
    Slurm {
        partition: arguments.partition.clone().or(spec.partition),
        account: arguments.account.clone().or(spec.account),
        task: asked.or(&spec.task),
        ..spec
    }
}

/// As many as asked for, else as last time, else one per split, but not too many.
fn shards(arguments: &SubmitArgs, jobs: &Jobs, prepared: &Prepared) -> usize {
    let last = jobs.jobs.last().map(|job| job.shards);
    let asked = arguments.array.map(|shards| shards as usize);
    let groups = group_count(&prepared.plan).max(1);
    // Shards beyond the groups would have nothing to do.
    let asked = asked.map(|shards| shards.min(groups));
    asked.or(last).unwrap_or_else(|| groups.min(MOST_SHARDS))
}

/// Shards that wait or run, with the methods of their array.
type Waiting = BTreeSet<(Vec<String>, usize)>;

fn waiting(jobs: &Jobs, shards: usize, dry_run: bool) -> Result<Waiting, Failure> {
    let queue = match Queue::now() {
        Ok(queue) => queue,
        // Scripts can be looked at on any machine.
        Err(_) if dry_run => return Ok(Waiting::new()),
        Err(error) => {
            return Err(Failure::input(format!(
                "cannot ask Slurm for its queue: squeue: {error}; submit where Slurm is installed, \
                 or look at the scripts with --dry-run"
            )));
        }
    };
    let mut waiting = Waiting::new();
    for job in &jobs.jobs {
        for (task, _) in queue.of(&job.job) {
            if job.shards != shards {
                return Err(Failure::input(format!(
                    "job {} still works on {} shards, so {shards} shards would do its work twice; \
                     wait for it, cancel it, or give --array {}",
                    job.job, job.shards, job.shards
                )));
            }
            waiting.insert((job.only.clone(), task));
        }
    }
    Ok(waiting)
}

fn keep_what_is_left(
    array: &mut Array,
    prepared: &Prepared,
    known: &Contents,
    waiting: &Waiting,
    retry_failed: bool,
) {
    let only = names(array);
    let left = slurm::unfinished(
        &prepared.plan,
        known,
        &array.only,
        array.shards,
        retry_failed,
        |dataset| prepared.sources[dataset].is_some(),
    );
    array.tasks.retain(|task| left.contains(task) && !waiting.contains(&(only.clone(), *task)));
}

/// A build without networks has no use for graphics processors, and its tasks would refuse them.
fn refuse_idle_gpus(arrays: &[Array]) -> Result<(), Failure> {
    let asked = (arrays.iter()).find_map(|array| array.resources.gpus.as_deref());
    match asked {
        Some(gpus) if matches!(run::require_device("cuda:0"), Err(run::NoDevice::NotBuilt)) => {
            let message = format!("a task with {gpus} as `gpus` {}", NEEDS_DEEP);
            Err(Failure::input(message))
        }
        _ => Ok(()),
    }
}

fn names(array: &Array) -> Vec<String> {
    array.only.iter().map(ToString::to_string).collect()
}

fn submission(
    arguments: &SubmitArgs,
    out: &Path,
    experiment: &str,
    slurm: Slurm,
) -> Result<Submission, Failure> {
    let unknown = |error| Failure::Other(format!("cannot tell where this program is: {error}"));
    Ok(Submission {
        experiment: experiment.to_owned(),
        program: std::env::current_exe().map_err(unknown)?,
        folder: std::env::current_dir().map_err(unknown)?,
        spec: arguments.spec.clone(),
        out: out.to_path_buf(),
        data: arguments.data.folder.clone(),
        slurm,
        max_parallel: arguments.max_parallel as usize,
        retry_failed: arguments.retry_failed,
        cell_timeout: arguments.cell_timeout,
    })
}

/// Plan and spec, so that `status` can tell what is planned before the first task starts.
fn write_folder(prepared: &Prepared, out: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(out.join(slurm::FOLDER))
        .and_then(|()| run::write_plan(out, prepared))
        .map_err(|error| Failure::Other(format!("cannot write to {}: {error}", out.display())))
}

/// One script per set of methods.
fn script_name(array: &Array) -> String {
    match array.only.first() {
        None => "array.sbatch".into(),
        Some(first) => {
            let slug: String = (first.to_string().chars())
                .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
                .collect();
            format!("array-{slug}.sbatch")
        }
    }
}

/// Writes a script and submits it; gives Slurm's number of the job.
fn hand_over(out: &Path, name: &str, script: &str, options: &[&str]) -> Result<String, Failure> {
    let path = out.join(slurm::FOLDER).join(name);
    ledger::replace(&path, script.as_bytes())
        .map_err(|error| Failure::Other(format!("cannot write {}: {error}", path.display())))?;
    let refused =
        |why: String| Failure::Other(format!("sbatch did not take {}: {why}", path.display()));
    let output = Command::new("sbatch")
        .arg("--parsable")
        .args(options)
        .arg(&path)
        .output()
        .map_err(|error| refused(error.to_string()))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !output.status.success() {
        return Err(refused(said(&output.stderr)));
    }
    // `number` or `number;cluster`
    let said = said(&output.stdout);
    let number = said.split(';').next().unwrap_or_default();
    if number.is_empty() || !number.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(refused(format!("it answered `{said}`, expected a job's number")));
    }
    Ok(number.to_owned())
}

fn job(array: &Array, number: &str) -> Job {
    Job {
        job: number.to_owned(),
        shards: array.shards,
        tasks: array.tasks.clone(),
        only: names(array),
        submitted: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
    }
}

/// The command that submits what is left, with the options that matter for it.
fn command(arguments: &SubmitArgs, shards: usize, out: &Path) -> String {
    let mut words = vec![
        format!("npsvcpp submit {} --slurm", quoted(&arguments.spec)),
        format!("--out {} --array {shards}", quoted(out)),
        format!("--max-parallel {}", arguments.max_parallel),
    ];
    if let Some(data) = &arguments.data.folder {
        words.push(format!("--data {}", quoted(data)));
    }
    if arguments.data.offline {
        words.push("--offline".into());
    }
    let options = [
        ("time", arguments.time.clone()),
        ("memory", arguments.memory.clone()),
        ("cpus", arguments.cpus.map(|cpus| cpus.to_string())),
        ("gpus", arguments.gpus.clone()),
        ("partition", arguments.partition.clone()),
        ("account", arguments.account.clone()),
    ];
    for (option, value) in options {
        words.extend(value.map(|value| format!("--{option} {value}")));
    }
    if let Some(limit) = arguments.cell_timeout {
        words.push(format!("--cell-timeout {}", limit.as_secs_f64()));
    }
    words.push("--retry-failed".into());
    words.join(" ")
}
