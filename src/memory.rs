//! Memory of the machine and of this process, if the system reports it.

use std::fs;

/// Bytes that can be used without swapping.
pub(crate) fn available() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// Largest resident memory of this process since [`reset_peak`], in bytes.
pub(crate) fn peak() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Starts a new measurement of the peak. Gives whether the system can do that.
pub(crate) fn reset_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// The memory to plan with: four fifths of what is available, if that is known.
pub(crate) fn budget() -> Option<u64> {
    available().map(|bytes| bytes / 5 * 4)
}

fn kibibytes(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_unit() {
        let text = "MemTotal:  9 kB\nMemAvailable:   12 kB\nOdd: 3 MB\n";
        assert_eq!(kibibytes(text, "MemAvailable:"), Some(12 * 1024));
        assert_eq!(kibibytes(text, "Odd:"), None);
        assert_eq!(kibibytes(text, "None:"), None);
    }
}
