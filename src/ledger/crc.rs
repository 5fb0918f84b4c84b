//! `crc`, the last key of a line: the CRC-32 in hexadecimal of the line without this key.
//!
//! It shows that a line was damaged or edited. Lines of version 0.1 do not have it.

use std::io::Write;

/// The name of the key.
pub const KEY: &str = "crc";
/// What is between the other keys and the value.
const BEGIN: &[u8] = b",\"crc\":\"";
/// What is after the value.
const END: &[u8] = b"\"}";

/// Makes a JSON object, which is not empty, a line of a ledger.
pub fn add(mut object: Vec<u8>) -> Vec<u8> {
    let crc = crc32fast::hash(&object);
    object.pop();
    object.extend(BEGIN);
    write!(object, "{crc:08x}").expect("memory can be written");
    object.extend(END);
    object.push(b'\n');
    object
}

/// Checks a line that has the key.
pub fn check(line: &[u8]) -> Result<(), String> {
    let Some((rest, found)) = split(line) else {
        return Err(format!("a record whose `{KEY}` is not the last key of its line"));
    };
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(rest);
    hasher.update(b"}");
    let expected = format!("{:08x}", hasher.finalize());
    if found == expected.as_bytes() {
        return Ok(());
    }
    Err(format!(
        "a record whose `{KEY}` is {}, expected {expected}: the line was damaged or edited",
        String::from_utf8_lossy(found)
    ))
}

/// What is before the key, and its value.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.strip_suffix(END)?;
    let value = line.len().checked_sub(8)?;
    let (rest, value) = line.split_at(value);
    Some((rest.strip_suffix(BEGIN)?, value))
}
