//! What `torch.save` writes of a dictionary of tensors: a zip archive with a pickle of the dictionary
//! and the bytes of each storage in its own file.
//!
//! A pickle is a program for a stack machine. Only the instructions that such dictionaries need are
//! carried out; nothing is ever called, and how deep values nest and how much is copied is bounded, so a hostile
//! file can do no more than be refused.

use std::collections::{BTreeMap, HashMap};
use std::io::{Cursor, Read};
use std::path::Path;

use tch::{Kind, Tensor};
use zip::ZipArchive;

use super::EncoderError;

/// Most bytes that are unpacked of one entry.
const LARGEST: u64 = 4 << 30;

/// Deepest nesting of values; dictionaries of tensors need 3.
const DEEPEST: usize = 16;
/// Most values, and pieces of text, that are made and copied in all.
const MOST: usize = 1 << 24;

/// What lies on the stack.
#[derive(Clone, Debug)]
enum Value {
    Mark,
    None,
    Number(i64),
    Text(String),
    /// `module name`.
    Global(String),
    Tuple(Vec<Value>),
    /// A list, or a dictionary as its keys and values in turns.
    Items(Vec<Value>),
    /// Type and file of a storage.
    Storage(String, String),
    Tensor {
        kind: String,
        file: String,
        offset: usize,
        shape: Vec<i64>,
        stride: Vec<i64>,
    },
}

/// The tensors of the archive in `bytes`, by name.
pub(super) fn tensors(bytes: &[u8], path: &Path) -> Result<BTreeMap<String, Tensor>, EncoderError> {
    let refuse =
        |found: String| EncoderError::content(path, found, "an archive that torch.save wrote");
    let mut archive = ZipArchive::new(Cursor::new(bytes))
        .map_err(|error| refuse(format!("no zip archive ({error})")))?;
    let pickle = archive
        .file_names()
        .find(|name| name.ends_with("/data.pkl"))
        .map(str::to_owned)
        .ok_or_else(|| refuse("no data.pkl".to_owned()))?;
    let folder = pickle.trim_end_matches("data.pkl").to_owned();
    let program = unpack(&mut archive, &pickle).map_err(refuse)?;
    let top = Machine::new(&program)
        .run()
        .ok_or_else(|| refuse("a data.pkl that is not a dictionary of tensors".to_owned()))?;
    let Value::Items(items) = top else {
        return Err(refuse(
            "a data.pkl that is not a dictionary of tensors".to_owned(),
        ));
    };
    let mut storages: HashMap<String, Vec<u8>> = HashMap::new();
    let mut found = BTreeMap::new();
    for pair in items.chunks_exact(2) {
        let [
            Value::Text(name),
            Value::Tensor {
                kind,
                file,
                offset,
                shape,
                stride,
            },
        ] = pair
        else {
            continue;
        };
        let Some(kind) = kind_of(kind) else {
            continue;
        };
        if !storages.contains_key(file) {
            let bytes = unpack(&mut archive, &format!("{folder}data/{file}")).map_err(refuse)?;
            storages.insert(file.clone(), bytes);
        }
        let tensor = view(&storages[file], kind, *offset, shape, stride)
            .ok_or_else(|| refuse(format!("too few values for tensor `{name}`")))?;
        found.insert(name.clone(), tensor);
    }
    Ok(found)
}

fn unpack(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Result<Vec<u8>, String> {
    let entry = archive
        .by_name(name)
        .map_err(|error| format!("no readable entry `{name}` ({error})"))?;
    let mut bytes = Vec::new();
    entry
        .take(LARGEST)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("a damaged entry `{name}` ({error})"))?;
    Ok(bytes)
}

fn kind_of(storage: &str) -> Option<Kind> {
    match storage {
        "torch HalfStorage" => Some(Kind::Half),
        "torch FloatStorage" => Some(Kind::Float),
        "torch DoubleStorage" => Some(Kind::Double),
        _ => None,
    }
}

/// The contiguous part of a storage; `None` where it is too short or not contiguous.
fn view(bytes: &[u8], kind: Kind, offset: usize, shape: &[i64], stride: &[i64]) -> Option<Tensor> {
    if shape.len() != stride.len() {
        return None;
    }
    let mut step = 1_i64;
    for (size, stride) in shape.iter().zip(stride).rev() {
        if *size < 0 || (*size > 1 && *stride != step) {
            return None;
        }
        step = step.checked_mul(*size)?;
    }
    let width = kind.elt_size_in_bytes();
    let start = offset.checked_mul(width)?;
    let end = start.checked_add(usize::try_from(step).ok()?.checked_mul(width)?)?;
    let tensor = Tensor::f_from_data_size(bytes.get(start..end)?, shape, kind).ok()?;
    Some(tensor.to_kind(Kind::Float))
}

/// The stack machine.
struct Machine<'a> {
    program: &'a [u8],
    at: usize,
    stack: Vec<Value>,
    memo: HashMap<u32, Value>,
    /// What may still be made and copied.
    left: usize,
}

/// How many values there are in one, text counted by its length; `None` where they nest too deeply.
fn weight(value: &Value, deepest: usize) -> Option<usize> {
    match value {
        Value::Tuple(items) | Value::Items(items) => {
            let deepest = deepest.checked_sub(1)?;
            items
                .iter()
                .try_fold(1, |sum, item| Some(sum + weight(item, deepest)?))
        }
        Value::Text(text) | Value::Global(text) => Some(1 + text.len() / 16),
        Value::Storage(kind, file) => Some(1 + (kind.len() + file.len()) / 16),
        Value::Tensor {
            kind, file, shape, ..
        } => Some(1 + (kind.len() + file.len()) / 16 + shape.len()),
        Value::Mark | Value::None | Value::Number(_) => Some(1),
    }
}

impl<'a> Machine<'a> {
    fn new(program: &'a [u8]) -> Self {
        Self {
            program,
            at: 0,
            stack: Vec::new(),
            memo: HashMap::new(),
            left: MOST,
        }
    }

    /// Takes the weight of a value from what may be made.
    fn charge(&mut self, value: &Value) -> Option<()> {
        self.left = self.left.checked_sub(weight(value, DEEPEST)?)?;
        Some(())
    }

    fn push(&mut self, value: Value) -> Option<()> {
        self.charge(&value)?;
        self.stack.push(value);
        Some(())
    }

    fn remember(&mut self, slot: u32) -> Option<()> {
        let value = self.stack.last()?.clone();
        self.charge(&value)?;
        self.memo.insert(slot, value);
        Some(())
    }

    fn recall(&mut self, slot: u32) -> Option<()> {
        let value = self.memo.get(&slot)?.clone();
        self.push(value)
    }

    /// What is left on the stack; `None` where an instruction is unknown or lacks its operands.
    fn run(mut self) -> Option<Value> {
        loop {
            let [instruction] = self.take()?;
            match instruction {
                b'.' => return self.stack.pop(),
                0x80 => {
                    let [_version] = self.take()?;
                }
                b'q' => {
                    let [slot] = self.take()?;
                    self.remember(slot.into())?;
                }
                b'r' => {
                    let slot = u32::from_le_bytes(self.take()?);
                    self.remember(slot)?;
                }
                b'h' => {
                    let [slot] = self.take()?;
                    self.recall(slot.into())?;
                }
                b'j' => {
                    let slot = u32::from_le_bytes(self.take()?);
                    self.recall(slot)?;
                }
                b'Q' => self.storage()?,
                b'R' => self.reduce()?,
                b's' | b'a' => {
                    let items = self.last(if instruction == b's' { 2 } else { 1 })?;
                    self.extend(items)?;
                }
                b'u' | b'e' => {
                    let items = self.since_mark()?;
                    self.extend(items)?;
                }
                // Attributes of a dictionary, such as versions of its modules.
                b'b' => {
                    self.stack.pop()?;
                }
                _ => {
                    let value = self.literal(instruction)?;
                    self.push(value)?;
                }
            }
        }
    }

    /// What an instruction puts on the stack that makes a value.
    fn literal(&mut self, instruction: u8) -> Option<Value> {
        Some(match instruction {
            b'(' => Value::Mark,
            b'N' => Value::None,
            0x88 => Value::Number(1),
            0x89 => Value::Number(0),
            b'K' => Value::Number(self.take::<1>()?[0].into()),
            b'M' => Value::Number(u16::from_le_bytes(self.take()?).into()),
            b'J' => Value::Number(i32::from_le_bytes(self.take()?).into()),
            0x8a => self.long()?,
            b'X' => {
                let length = u32::from_le_bytes(self.take()?) as usize;
                let text = self.program.get(self.at..self.at.checked_add(length)?)?;
                self.at += length;
                Value::Text(String::from_utf8(text.to_vec()).ok()?)
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                Value::Global(format!("{module} {name}"))
            }
            b'}' | b']' => Value::Items(Vec::new()),
            b')' => Value::Tuple(Vec::new()),
            0x85..=0x87 => Value::Tuple(self.last(usize::from(instruction - 0x84))?),
            b't' => Value::Tuple(self.since_mark()?),
            _ => return None,
        })
    }

    /// Takes the last values off the stack.
    fn last(&mut self, count: usize) -> Option<Vec<Value>> {
        Some(self.stack.split_off(self.stack.len().checked_sub(count)?))
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.program.get(self.at..self.at + N)?;
        self.at += N;
        bytes.try_into().ok()
    }

    fn line(&mut self) -> Option<String> {
        let rest = self.program.get(self.at..)?;
        let length = rest.iter().position(|&byte| byte == b'\n')?;
        self.at += length + 1;
        String::from_utf8(rest[..length].to_vec()).ok()
    }

    fn long(&mut self) -> Option<Value> {
        let [length] = self.take()?;
        let mut bytes = [0; 8];
        let length = usize::from(length);
        let digits = self.program.get(self.at..self.at + length)?;
        bytes.get_mut(..length)?.copy_from_slice(digits);
        self.at += length;
        Some(Value::Number(i64::from_le_bytes(bytes)))
    }

    fn since_mark(&mut self) -> Option<Vec<Value>> {
        let mark = self
            .stack
            .iter()
            .rposition(|value| matches!(value, Value::Mark))?;
        let items = self.stack.split_off(mark + 1);
        self.stack.pop();
        Some(items)
    }

    fn extend(&mut self, items: Vec<Value>) -> Option<()> {
        if let Value::Items(known) = self.stack.last_mut()? {
            known.extend(items);
        }
        // Values may come to nest deeper by this; charged, so that it cannot be asked for without end.
        self.left = (self.left).checked_sub(weight(self.stack.last()?, DEEPEST)?)?;
        Some(())
    }

    /// `('storage', <type>, <file>, <device>, <count>)`.
    fn storage(&mut self) -> Option<()> {
        let Value::Tuple(items) = self.stack.pop()? else {
            return None;
        };
        let [_, Value::Global(kind), Value::Text(file), ..] = &items[..] else {
            return None;
        };
        self.push(Value::Storage(kind.clone(), file.clone()))
    }

    /// A call: of the dictionary's type, which is an empty one, or of the one that makes tensors.
    fn reduce(&mut self) -> Option<()> {
        let (arguments, function) = (self.stack.pop()?, self.stack.pop()?);
        let (Value::Tuple(arguments), Value::Global(function)) = (arguments, function) else {
            return None;
        };
        let made = match (function.as_str(), &arguments[..]) {
            ("collections OrderedDict", _) => Value::Items(Vec::new()),
            (
                "torch._utils _rebuild_tensor_v2",
                [
                    Value::Storage(kind, file),
                    Value::Number(offset),
                    Value::Tuple(shape),
                    Value::Tuple(stride),
                    ..,
                ],
            ) => Value::Tensor {
                kind: kind.clone(),
                file: file.clone(),
                offset: usize::try_from(*offset).ok()?,
                shape: numbers(shape)?,
                stride: numbers(stride)?,
            },
            // A parameter is the tensor it wraps.
            ("torch._utils _rebuild_parameter", [tensor @ Value::Tensor { .. }, ..]) => {
                tensor.clone()
            }
            _ => Value::None,
        };
        self.push(made)
    }
}

fn numbers(values: &[Value]) -> Option<Vec<i64>> {
    values
        .iter()
        .map(|value| match value {
            Value::Number(n) => Some(*n),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tensors of three types, two in one storage, in the form that torch.save gives them.
    const SMALL: &[u8] = include_bytes!("../../tests/corpus/weights/small.pth");

    fn read(bytes: &[u8]) -> Result<BTreeMap<String, Tensor>, EncoderError> {
        tensors(bytes, Path::new("small.pth"))
    }

    #[test]
    fn tensors_come_with_names_shapes_and_values() {
        let found = read(SMALL).unwrap();
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        // Counters are left out: no layer has them.
        assert_eq!(names, ["bn1.bias", "conv1.weight", "half"]);
        let values = |name: &str| Vec::<f32>::try_from(found[name].reshape([-1])).unwrap();
        assert_eq!(found["conv1.weight"].size(), [2, 3]);
        assert_eq!(values("conv1.weight"), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(values("bn1.bias"), [-7.0, 0.5]);
        assert_eq!(values("half"), [0.25, -2.0]);
    }

    #[test]
    fn programs_that_nest_or_copy_without_end_are_refused() {
        let nested = [b")".as_slice(), &[0x85; 500_000], b"."].concat();
        assert!(Machine::new(&nested).run().is_none());
        let in_itself = [b"]q\0".as_slice(), &b"h\0a".repeat(500_000), b"."].concat();
        assert!(Machine::new(&in_itself).run().is_none());
        let doubling = [b")q\0".as_slice(), &b"h\0h\0\x86q\0".repeat(60), b"."].concat();
        assert!(Machine::new(&doubling).run().is_none());
        let text = [b"X\x00\x00\x10\x00".as_slice(), &[b'a'; 1 << 20], b"q\0"].concat();
        let copies = [text.as_slice(), &b"h\0".repeat(100_000), b"."].concat();
        assert!(Machine::new(&copies).run().is_none());
    }

    #[test]
    fn a_shape_without_its_strides_is_refused() {
        assert!(view(&[0; 64], Kind::Float, 0, &[2, 8], &[1]).is_none());
        assert!(view(&[0; 64], Kind::Float, 0, &[2, 8], &[8, 1]).is_some());
    }

    #[test]
    fn a_damaged_archive_is_refused_and_never_panics() {
        for end in 0..SMALL.len() {
            assert!(read(&SMALL[..end]).is_err(), "the first {end} bytes");
        }
        for at in 0..SMALL.len() {
            let mut damaged = SMALL.to_vec();
            damaged[at] ^= 0x55;
            // Some bytes do not matter; what counts is that none of them is fatal.
            let _ = read(&damaged);
        }
    }
}
