//! The command line: what can be typed, and what it means.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};

use npsvcpp::run::{Filter, Shard};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Exit codes, said once for the help and the documentation.
const EXIT_CODES: &str = "\
Exit codes:
  0  all cells are done
  1  an error
  2  bad command line, spec or data, found before any compute
  3  finished, but some cells failed or could not run (each is listed with its reason)
  130  interrupted; run the same command to continue";

/// Reproduce, question and extend NPSVC++: from a YAML experiment to the paper's tables.
#[derive(Debug, Parser)]
#[command(name = "npsvcpp", version, styles = STYLES, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// Say nothing but errors and results.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Plan, run what the ledger lacks, render.
    Run(RunArgs),
    /// Write tables again from the ledger; nothing is fitted.
    Render {
        /// Results folders.
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
    },
    /// Validate a spec, print its plan and what it will cost.
    Check {
        /// Experiment specs.
        #[arg(required = true, value_name = "SPEC")]
        specs: Vec<PathBuf>,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Cells done, failed, missing; remaining time.
    Status {
        /// Results folder.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Hand an experiment to a cluster, as job arrays of shards; again, and only what is left is.
    Submit(Box<SubmitArgs>),
    /// Join the ledgers of results folders and of their shards, and render.
    Merge {
        /// Results folders of one experiment.
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
        /// Folder of the joined ledger [default: the first folder].
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// What there is, with parameters, defaults and shapes.
    List {
        what: Listed,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Download, check and locate datasets.
    Data {
        #[command(subcommand)]
        action: DataAction,
    },
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
    /// Results folder; with several specs, one folder per spec below it [default: results/<name>].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub data: DataArgs,
    /// Splits worked on side by side [default: as many as there are cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Threads per job [default: the cores divided by the jobs].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Memory all jobs may use together, such as 8GB [default: 4/5 of what is available].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Only a part of the plan: dataset=NAME, method=NAME or split=NUMBER; repeatable, the same key
    /// for alternatives.
    #[arg(long, value_name = "KEY=VALUE")]
    pub only: Vec<Filter>,
    /// Only the I-th of N parts of the plan; each has a ledger of its own in the results folder, which
    /// `merge` joins.
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
    /// new numbers with the former ones.
    #[arg(long, conflicts_with_all = ["only", "shard", "reuse"])]
    pub fresh: bool,
    /// Take cells over from the results of another experiment where they are the same; repeatable.
    #[arg(long, value_name = "DIR")]
    pub reuse: Vec<PathBuf>,
    /// Run cells in processes of their own: one that dies, as for want of memory, fails alone.
    #[arg(long)]
    pub isolate: bool,
    /// What networks are trained on, cpu or cuda:N; of several, each has a worker process of its own
    /// [default: cpu].
    #[arg(long, value_name = "DEVICE", value_delimiter = ',', value_parser = parse_device)]
    pub device: Vec<String>,
    /// Longest time a cell may take, such as 90s or 2h; one that takes longer fails. Implies --isolate.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub cell_timeout: Option<Duration>,
}

#[derive(Debug, Args)]
pub struct SubmitArgs {
    /// Experiment spec; its key `slurm` holds what the site wants.
    #[arg(value_name = "SPEC")]
    pub spec: PathBuf,
    /// To Slurm, by sbatch.
    #[arg(long, required = true)]
    pub slurm: bool,
    /// Results folder [default: results/<name>].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub data: DataArgs,
    /// Shards [default: as many as last time, else one per split of each dataset, at most 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub array: Option<u32>,
    /// Tasks of an array that run at the same time.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_parallel: u32,
    /// Longest time of a task, such as 4:00:00; the program is asked to end two minutes before.
    #[arg(long, value_name = "TIME", value_parser = parse_slurm_time)]
    pub time: Option<String>,
    /// Memory of a task, such as 8G [default: estimated].
    #[arg(long, value_name = "SIZE", value_parser = parse_slurm_size)]
    pub memory: Option<String>,
    /// Cores of a task [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// Graphics processors of a task, such as 1 or a100:2.
    #[arg(long, value_name = "GPUS", value_parser = parse_slurm_name)]
    pub gpus: Option<String>,
    #[arg(long, value_name = "NAME", value_parser = parse_slurm_name)]
    pub partition: Option<String>,
    #[arg(long, value_name = "NAME", value_parser = parse_slurm_name)]
    pub account: Option<String>,
    /// Submit shards with failed cells too, and run these again.
    #[arg(long)]
    pub retry_failed: bool,
    /// Longest time a cell may take, such as 90s or 2h.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub cell_timeout: Option<Duration>,
    /// Print the scripts and stop.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct DataArgs {
    /// Folder with datasets; looked at before NPSVCPP_DATA and the user's cache.
    #[arg(long = "data", value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Never download.
    #[arg(long)]
    pub offline: bool,
}

#[derive(Debug, Subcommand)]
pub enum DataAction {
    /// Download what is missing; a broken transfer goes on where it stopped.
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
        .ok_or_else(|| format!("`{text}` is no time, expected one such as 90s, 30m or 2h"))
}

fn parse_device(text: &str) -> Result<String, String> {
    let is_number = |n: &str| n.parse::<u8>().is_ok() && n.bytes().all(|b| b.is_ascii_digit());
    match text.strip_prefix("cuda:") {
        Some(number) if is_number(number) => Ok(text.to_owned()),
        None if text == "cpu" => Ok(text.to_owned()),
        _ => Err(format!("`{text}` is no device, expected cpu or cuda:N as in cuda:0")),
    }
}

fn parse_slurm_time(text: &str) -> Result<String, String> {
    let is_time = text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || "-:".contains(c));
    is_time.then(|| text.to_owned()).ok_or_else(|| {
        format!("`{text}` is no time as Slurm writes it, such as 30, 4:00:00 or 1-12")
    })
}

fn parse_slurm_size(text: &str) -> Result<String, String> {
    let digits = text.strip_suffix(['K', 'M', 'G', 'T']).unwrap_or(text);
    digits
        .parse::<u32>()
        .map(|_| text.to_owned())
        .map_err(|_| format!("`{text}` is no size as Slurm writes it, such as 500M or 8G"))
}

fn parse_slurm_name(text: &str) -> Result<String, String> {
    let is_name = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._:,-".contains(c));
    is_name
        .then(|| text.to_owned())
        .ok_or_else(|| format!("`{text}` is no name, expected letters, digits and . _ : , -"))
}

/// `8GB`, `500MB`, `2GiB` or plain bytes.
fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" | "k" => 1e3,
        "mb" | "m" => 1e6,
        "gb" | "g" => 1e9,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        other => {
            return Err(format!("unknown unit `{other}`, expected KB, MB, GB or GiB"));
        }
    };
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 && number * factor < 1e18 => Ok((number * factor) as u64),
        _ => Err(format!("`{number}` is no size, expected a number such as 8GB")),
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
