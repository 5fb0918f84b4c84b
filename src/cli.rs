//! The command line: what can be typed, and what it means.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};

use npsvcpp::plan::{Filter, Shard};
use npsvcpp::spec::{Resources, slurm_option};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Exit codes, for the help and the documentation.
const EXIT_CODES: &str = "\
Exit codes:
  0  all cells are done
  1  an error
  2  bad command line, spec or data, found before any computing
  3  finished, but some cells failed or could not run (each is listed with its reason)
  130  interrupted; run the same command to continue";

/// Run the experiments of the NPSVC++ paper and your own: from a YAML spec to tables, figures and a report.
#[derive(Debug, Parser)]
#[command(name = "npsvcpp", version, styles = STYLES, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// Print only errors and results.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an experiment and write its tables, figures and report.
    ///
    /// Finished cells are not run again.
    Run(RunArgs),
    /// Rewrite tables, figures and report from the ledger, without fitting anything.
    Render {
        /// Results folders.
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
    },
    /// Validate a spec, show its plan and estimate its cost.
    Check {
        /// Experiment specs.
        #[arg(required = true, value_name = "SPEC")]
        specs: Vec<PathBuf>,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Show which cells are done, failed or missing, and the time left.
    Status {
        /// Results folder.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Recompute cells and check that the results follow from them.
    ///
    /// Writes nothing. Exit codes: 0 if all agrees, 1 if something disagrees, 3 if something could not be checked.
    Audit(AuditArgs),
    /// Submit an experiment to Slurm as job arrays.
    ///
    /// Run it again to submit only the unfinished shards.
    Submit(Box<SubmitArgs>),
    /// Merge the ledgers of results folders and of their shards, and render.
    Merge {
        /// Results folders of one experiment.
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
        /// Write the merged ledger to this folder [default: the first folder].
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// List available methods, datasets or experiments, with parameters, defaults and shapes.
    List {
        what: Listed,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Download, verify or locate datasets.
    Data {
        #[command(subcommand)]
        action: DataAction,
    },
    /// Export the splits of an experiment for other tools.
    ///
    /// Writes index.json and, for every split, a CSV file with the part (train, valid or test) of each row.
    Splits(SplitsArgs),
    /// Print the JSON schema of a spec.
    Schema,
    /// Run cells for the process that started this one.
    #[command(hide = true)]
    Worker,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Experiment specs.
    #[arg(required = true, value_name = "SPEC")]
    pub specs: Vec<PathBuf>,
    /// Write results to this folder; with several specs, to one folder per spec below it [default: results/<name>].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub data: DataArgs,
    /// Work on this many splits in parallel [default: the number of cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Use this many threads per job [default: the cores divided by the jobs].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Limit the memory of all jobs together, such as 8GB [default: 4/5 of what is available].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Run only matching cells: dataset=NAME, method=NAME, split=NUMBER or seed=NUMBER. Repeat a key for
    /// alternatives, such as two methods.
    #[arg(long, value_name = "KEY=VALUE")]
    pub only: Vec<Filter>,
    /// Run only the I-th of N parts of the plan; each has its own ledger in the results folder, and
    /// `merge` joins them.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Print the plan and stop.
    #[arg(long)]
    pub dry_run: bool,
    /// Run cells again that failed before.
    #[arg(long)]
    pub retry_failed: bool,
    /// Stop at the first failed cell.
    #[arg(long)]
    pub fail_fast: bool,
    /// Start over: rename the results folder to <folder>.old-1 (then -2, ...), compute everything, and compare the
    /// new numbers with the old ones.
    #[arg(long, conflicts_with_all = ["only", "shard", "reuse"])]
    pub fresh: bool,
    /// Reuse cells from the results of another experiment if they are the same; repeatable.
    #[arg(long, value_name = "DIR")]
    pub reuse: Vec<PathBuf>,
    /// Run cells in child processes: if one dies, for example because memory runs out, only its cell fails.
    #[arg(long)]
    pub isolate: bool,
    /// Train networks on cpu or cuda:N; each of several devices has its own worker process.
    #[arg(long, value_name = "DEVICE", value_delimiter = ',', value_parser = parse_device, default_value = "cpu")]
    pub device: Vec<String>,
    /// Limit the time of a cell, such as 90s or 2h; one that takes longer fails. Implies --isolate.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub cell_timeout: Option<Duration>,
}

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Results folders.
    #[arg(required = true, value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
    /// Finished cells to draw at random and compute again.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub sample: usize,
    /// Compute all finished cells again, however long it takes.
    #[arg(long, conflicts_with_all = ["sample", "seed"])]
    pub all: bool,
    #[command(flatten)]
    pub data: DataArgs,
    /// Threads of each fit [default: 2 if the record says 1, else 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Draw other cells.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Debug, Args)]
pub struct SubmitArgs {
    /// Experiment spec; its key `slurm` holds the options of the cluster.
    #[arg(value_name = "SPEC")]
    pub spec: PathBuf,
    /// Submit to Slurm with sbatch.
    #[arg(long, required = true)]
    pub slurm: bool,
    /// Write results to this folder [default: results/<name>].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub data: DataArgs,
    /// Divide the plan into this many shards [default: as in the last submission, otherwise one per split of each
    /// dataset, at most 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub array: Option<u32>,
    /// Run at most this many tasks of an array at the same time.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_parallel: u32,
    #[command(flatten)]
    pub task: Resources,
    /// Submit to this partition [default: the spec's or the cluster's].
    #[arg(long, value_name = "NAME", value_parser = |text: &str| slurm_option("partition", text))]
    pub partition: Option<String>,
    /// Charge this account [default: the spec's or the cluster's].
    #[arg(long, value_name = "NAME", value_parser = |text: &str| slurm_option("account", text))]
    pub account: Option<String>,
    /// Submit shards with failed cells, too, and run these cells again.
    #[arg(long)]
    pub retry_failed: bool,
    /// Limit the time of a cell, such as 90s or 2h.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub cell_timeout: Option<Duration>,
    /// Print the scripts and stop.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct SplitsArgs {
    /// Experiment spec or results folder.
    #[arg(value_name = "SPEC|FOLDER")]
    pub source: PathBuf,
    /// Write the splits to this folder.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Also write the samples as x.npy and the class numbers as y.npy.
    #[arg(long)]
    pub with_data: bool,
    #[command(flatten)]
    pub data: DataArgs,
}

#[derive(Debug, Args)]
pub struct DataArgs {
    /// Look for datasets in this folder, before NPSVCPP_DATA and the user's cache.
    #[arg(long = "data", value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Never download.
    #[arg(long)]
    pub offline: bool,
}

#[derive(Debug, Subcommand)]
pub enum DataAction {
    /// Download missing datasets; a broken transfer continues where it stopped.
    Fetch(DataNames),
    /// Read datasets and compare them with their manifests.
    Verify(DataNames),
    /// Print where datasets are.
    Path(DataNames),
}

#[derive(Debug, Args)]
pub struct DataNames {
    /// Datasets; all if none is named.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub data: DataArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Listed {
    Methods,
    Datasets,
    Experiments,
}

/// `90s`, `30m`, `2h 30m`, or plain seconds.
fn parse_time(text: &str) -> Result<Duration, String> {
    let time = match text.trim().parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => humantime::parse_duration(text.trim()).ok(),
    };
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| format!("`{text}` is not a time, expected one such as 90s, 30m or 2h"))
}

fn parse_device(text: &str) -> Result<String, String> {
    let is_number = |n: &str| n.parse::<u8>().is_ok() && n.bytes().all(|b| b.is_ascii_digit());
    match text.strip_prefix("cuda:") {
        Some(number) if is_number(number) => Ok(text.to_owned()),
        None if text == "cpu" => Ok(text.to_owned()),
        _ => Err(format!("`{text}` is not a device, expected cpu or cuda:N as in cuda:0")),
    }
}

/// `8GB`, `500MB`, `2GiB` or plain bytes.
fn parse_size(text: &str) -> Result<u64, String> {
    const UNITS: [&str; 7] = ["", "k", "m", "g", "ki", "mi", "gi"];
    const BYTES: [f64; 7] = [1.0, 1e3, 1e6, 1e9, 1024.0, 1_048_576.0, 1_073_741_824.0];
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..digits], text[digits..].trim());
    let lower = unit.to_ascii_lowercase();
    let unit = UNITS
        .iter()
        .position(|known| *known == lower.trim_end_matches('b'))
        .ok_or_else(|| format!("unknown unit `{unit}`, expected KB, MB, GB or GiB"))?;
    match number.parse::<f64>().map(|number| number * BYTES[unit]) {
        Ok(bytes) if (1.0..1e18).contains(&bytes) => Ok(bytes as u64),
        _ => Err(format!("`{number}` is not a size, expected a number such as 8GB")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times() {
        assert_eq!(parse_time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("2h 30m"), Ok(Duration::from_secs(9000)));
        for bad in ["0", "-1", "soon", "", "1e400", "nan"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn devices() {
        for good in ["cpu", "cuda:0", "cuda:12"] {
            assert_eq!(parse_device(good).as_deref(), Ok(good));
        }
        for bad in ["gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda:999", "CPU", ""] {
            assert!(parse_device(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_size("8GB"), Ok(8_000_000_000));
        assert_eq!(parse_size("1.5gib"), Ok(1_610_612_736));
        assert_eq!(parse_size("100"), Ok(100));
        assert!(parse_size("8 parsecs").unwrap_err().contains("unknown unit"));
        assert!(parse_size("").is_err());
    }
}
