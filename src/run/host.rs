//! Facts about the machine: name, memory, the commit this program was built from.

use std::process::Command;

/// Name of the machine.
pub fn name() -> String {
    gethostname::gethostname().to_string_lossy().into_owned()
}

/// Cores this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Bytes of memory that can be used without swapping, where the system tells.
pub fn available_memory() -> Option<u64> {
    kibibytes(
        &std::fs::read_to_string("/proc/meminfo").ok()?,
        "MemAvailable:",
    )
}

/// Largest resident memory of this process since [`reset_peak`], in bytes.
pub fn peak_memory() -> Option<u64> {
    kibibytes(
        &std::fs::read_to_string("/proc/self/status").ok()?,
        "VmHWM:",
    )
}

/// Starts a new measurement of the peak, where the system can.
pub fn reset_peak() {
    // Only the measurement suffers where this is not possible.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Model name of the processor.
pub fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The commit of the source tree, with `+` for uncommitted changes. Cargo tells a program that it
/// runs where the source is; elsewhere nothing is known.
pub fn commit() -> Option<String> {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR")?;
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(&folder)
            .args(arguments)
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&[
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        "src",
        "Cargo.toml",
    ])?;
    Some(if changes.is_empty() { hash } else { hash + "+" })
}

fn kibibytes(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}
