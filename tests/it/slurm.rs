//! Promise: `submit --slurm` writes a script that can be read, hands it over once and returns; `status`
//! shows its state; submitting again submits what is left. Slurm's programs are played by
//! shell scripts here; `scripts/test-slurm` does the same with a real Slurm.

use crate::tiny;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::program::{Ended, Folder};
use crate::tiny::{records, tables};
use npsvcpp::run::slurm::{Array, Submission};
use npsvcpp::spec::{Resources, Slurm};

fn array(tasks: Vec<usize>) -> Array {
    Array { only: Vec::new(), resources: Resources::default(), memory: 1000, shards: 8, tasks }
}

fn submission(slurm: Slurm) -> Submission {
    Submission {
        experiment: "table2".into(),
        program: "/opt/bin/npsvcpp".into(),
        folder: "/home/me/work".into(),
        spec: "experiments/table2.yaml".into(),
        out: "results/table2".into(),
        data: None,
        slurm,
        max_parallel: 4,
        retry_failed: false,
        cell_timeout: None,
    }
}

#[test]
fn the_script_of_a_plain_submission() {
    let script = submission(Slurm::default()).array(&array((1..=8).collect()));
    insta::assert_snapshot!(script);
}

#[test]
fn the_script_of_a_submission_with_everything() {
    let slurm = Slurm {
        partition: Some("gpu".into()),
        account: Some("lab".into()),
        qos: Some("long".into()),
        modules: vec!["gcc/13".into()],
        setup: vec!["export LC_ALL=C".into()],
        options: vec!["--constraint=avx512 & big".into(), "--exclusive".into()],
        task: Resources::default(),
        methods: BTreeMap::new(),
    };
    let mut array = array(vec![2, 3, 4, 7]);
    array.only = vec!["method=TWSVM (tuned)".parse().unwrap()];
    array.resources = Resources {
        time: Some("1-12".into()),
        memory: Some("1000M".into()),
        cpus: Some(4),
        gpus: Some("a100:1".into()),
    };
    let submission = Submission {
        folder: "/home/me/my work".into(),
        data: Some(PathBuf::from("/data/it's here")),
        retry_failed: true,
        cell_timeout: Some(Duration::from_secs(5400)),
        ..submission(slurm)
    };
    insta::assert_snapshot!(submission.array(&array));
}

#[test]
fn the_script_that_joins_the_shards() {
    insta::assert_snapshot!(submission(Slurm::default()).merge());
}

/// A folder in whose `bin` shell scripts play Slurm: `sbatch` counts and keeps what it is given, the
/// others print the files `queue` and `accounting`.
struct Cluster(Folder);

impl Cluster {
    fn new() -> Self {
        let cluster = Self(tiny::folder(2));
        cluster.play(
            "sbatch",
            "n=$(($(cat count 2>/dev/null || echo 40) + 1)); echo $n >count\n\
             for script; do :; done\ncp \"$script\" job-$n.sbatch; echo \"$*\" >job-$n.words\necho $n",
        );
        cluster.play("squeue", "cat queue 2>/dev/null || true");
        cluster.play("sacct", "cat accounting");
        cluster
    }

    fn play(&self, name: &str, lines: &str) {
        let path = format!("bin/{name}");
        self.0.write(&path, format!("#!/bin/sh\n{lines}\n"));
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.0.path(&path), executable).unwrap();
    }

    fn run(&self, arguments: &str) -> Ended {
        let path = format!("{}:/usr/bin:/bin", self.0.path("bin").display());
        let output = self.0.command(arguments).env("PATH", path).output().unwrap();
        Ended {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path(name)).unwrap()
    }

    /// Runs the shards that job `number` was given, as Slurm would.
    fn work(&self, number: usize, tasks: &[usize]) {
        for task in tasks {
            let ended = std::process::Command::new("bash")
                .arg(self.0.path(&format!("job-{number}.sbatch")))
                .current_dir(self.0.path(""))
                .env("SLURM_ARRAY_TASK_ID", task.to_string())
                .env_remove("CARGO_MANIFEST_DIR")
                .output()
                .unwrap();
            assert!(ended.status.success(), "{ended:?}");
        }
    }
}

#[test]
fn a_submission_is_noted_watched_and_completed() {
    let cluster = Cluster::new();
    let submitted = cluster.run("submit tiny.yaml --slurm --offline --array 3 --out out");
    assert_eq!(submitted.code, 0, "{}", submitted.err);
    let said = "job 41: shards 1-3 of 3, at most 20 at a time\njob 42: merges the shards";
    assert!(submitted.out.starts_with(said), "{}", submitted.out);
    assert!(cluster.read("job-42.words").contains("--dependency=afterany:41"));

    cluster.0.write("queue", "41_2|RUNNING|None\n41_3|PENDING|Priority\n7_1|RUNNING|None\n");
    let again = cluster.run("submit tiny.yaml --slurm --offline --out out");
    assert_eq!(again.code, 0, "{}", again.err);
    // Shard 1 is out of the queue without having done anything.
    assert!(again.out.starts_with("job 43: shards 1 of 3"), "{}", again.out);

    cluster.work(41, &[2]);
    cluster.0.write("queue", "41_3|PENDING|Priority\n");
    cluster.0.write("accounting", "41_2|COMPLETED\n43_1|OUT_OF_MEMORY\n");
    let status = cluster.run("status out");
    assert_eq!(status.code, 3);
    for line in [
        "slurm: 1 pending (Priority)\n",
        "  shards of job 43 that ended unfinished: 1 (out_of_memory)\n",
        "  submit them again: npsvcpp submit tiny.yaml --slurm --offline --out out --retry-failed\n",
    ] {
        assert!(status.out.contains(line), "{line}{}", status.out);
    }
    assert!(!status.out.contains("job 41 that ended"), "{}", status.out);

    // Without accounting, only the cause is unknown.
    cluster.play("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1");
    let status = cluster.run("status out");
    let line = "  shards of job 43 that ended unfinished: 1\n";
    assert!(status.out.contains(line), "{}", status.out);

    cluster.work(43, &[1]);
    cluster.work(41, &[3]);
    cluster.0.write("queue", "");
    assert_eq!(cluster.run("status out").code, 0);
    assert_eq!(cluster.run("merge out").code, 0);
    let alone = cluster.0.run("run tiny.yaml --offline --out alone");
    assert_eq!(alone.code, 0, "{}", alone.err);
    assert_eq!(tables(&cluster.0, "out"), tables(&cluster.0, "alone"));
    let done = cluster.run("submit tiny.yaml --slurm --offline --out out");
    assert_eq!(done.code, 0);
    assert!(done.out.contains("nothing to submit"), "{}", done.out);
}

#[test]
fn shards_in_the_queue_are_not_divided_otherwise() {
    let cluster = Cluster::new();
    assert_eq!(cluster.run("submit tiny.yaml --slurm --offline --array 3 --out out").code, 0);
    cluster.0.write("queue", "41_3|PENDING|Priority\n");
    let other = cluster.run("submit tiny.yaml --slurm --offline --array 2 --out out");
    assert_eq!(other.code, 2);
    let said = "job 41 is still queued with 3 shards, and 2 shards would compute its cells twice";
    assert!(other.err.contains(said), "{}", other.err);
}

#[test]
fn methods_with_other_resources_are_submitted_separately() {
    let cluster = Cluster::new();
    let slurm = "slurm: {partition: short, task: {cpus: 2}, methods: {gepsvm: {memory: 2G}}}\n";
    cluster.0.write("tiny.yaml", tiny::spec(2) + slurm);
    let submitted = cluster.run("submit tiny.yaml --slurm --offline --out out");
    assert_eq!(submitted.code, 0, "{}", submitted.err);
    let (one, two) = (cluster.read("job-41.sbatch"), cluster.read("job-42.sbatch"));
    let (gepsvm, rest) = if one.contains("GEPSVM") { (one, two) } else { (two, one) };
    assert!(gepsvm.contains("--mem=2048M") && gepsvm.contains("--only method=GEPSVM"));
    assert!(rest.contains("--only method=LSTWSVM") && !rest.contains("--mem=2048M"));
    assert!(gepsvm.contains("--cpus-per-task=2") && rest.contains("--cpus-per-task=2"));
    // Both arrays have a first shard; their ledgers are not the same.
    cluster.work(41, &[1, 2, 3, 4]);
    cluster.work(42, &[1, 2, 3, 4]);
    assert_eq!(cluster.run("merge out").code, 0);
    assert_eq!(records(&cluster.0, "out/ledger.jsonl").len(), 8);
}

#[test]
fn a_task_gets_the_devices_that_slurm_grants_it() {
    let cluster = Cluster::new();
    let shown = cluster.run("submit tiny.yaml --slurm --offline --gpus a100:2 --dry-run");
    assert_eq!(shown.code, 0, "{}", shown.err);
    for line in ["#SBATCH --gres=gpu:a100:2\n", "--device cuda:0,cuda:1\n"] {
        assert!(shown.out.contains(line), "{line}{}", shown.out);
    }
    let without = cluster.run("submit tiny.yaml --slurm --offline --dry-run");
    assert!(!without.out.contains("--device"), "{}", without.out);
}

/// Its tasks would start, refuse `--device`, and end.
#[test]
#[cfg(not(feature = "deep"))]
fn a_build_without_networks_submits_no_task_with_graphics_processors() {
    let cluster = Cluster::new();
    let refused = cluster.run("submit tiny.yaml --slurm --offline --gpus 1 --out out");
    assert_eq!(refused.code, 2);
    let said = "a task with 1 as `gpus` needs";
    assert!(refused.err.contains(said), "{}", refused.err);
    assert!(!cluster.0.path("count").exists());
}

#[test]
fn the_reason_of_sbatch_is_shown() {
    let cluster = Cluster::new();
    cluster.play("sbatch", "echo 'sbatch: error: invalid partition specified: x' >&2; exit 1");
    let refused = cluster.run("submit tiny.yaml --slurm --offline --partition x --out out");
    assert_eq!(refused.code, 1);
    let said =
        "sbatch rejected out/slurm/array.sbatch: sbatch: error: invalid partition specified: x";
    assert!(refused.err.contains(said), "{}", refused.err);
    assert!(!cluster.0.path("out/slurm/jobs.json").exists());
}

#[test]
fn without_slurm_scripts_can_still_be_looked_at() {
    let folder = tiny::folder(2);
    let nowhere = |arguments: &str| folder.command(arguments).env("PATH", "").output().unwrap();
    let shown = nowhere("submit tiny.yaml --slurm --offline --dry-run");
    assert!(shown.status.success());
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.contains("#SBATCH --array=1-4%20"), "{text}");
    assert!(!folder.path("results").exists(), "nothing is written");
    let refused = nowhere("submit tiny.yaml --slurm --offline");
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("submit where Slurm is installed"), "{said}");
}

#[test]
fn a_mistake_in_the_spec_is_found_before_anything_is_submitted() {
    let cluster = Cluster::new();
    let slurm = "slurm:\n  partition: a b\n  task: {memory: lots, time: soon}\n  methods: {gepsvn: {cpus: 0}}\n";
    cluster.0.write("tiny.yaml", tiny::spec(2) + slurm);
    let bad = cluster.run("submit tiny.yaml --slurm --offline --out out");
    assert_eq!(bad.code, 2);
    for said in [
        "`slurm.partition` is the string \"a b\"",
        "expected a size as Slurm writes it, such as `500M` or `8G`",
        "expected a time as Slurm writes it",
        "`slurm.methods` names `gepsvn`, which is not a method of this experiment",
        "did you mean `gepsvm`?",
    ] {
        assert!(bad.err.contains(said), "{said}\n{}", bad.err);
    }
    assert!(!cluster.0.path("count").exists());
}
