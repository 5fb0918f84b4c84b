//! `.pth` files: what `torch.save` writes for a dictionary of tensors. That is a zip archive with a pickle
//! of the dictionary and one file for the bytes of each storage.
//!
//! A pickle is a program for a stack machine. This reader executes only the instructions that such
//! dictionaries need, and never calls anything. Values do not nest and share their contents, so the memory
//! a program takes is proportional to its length: a hostile file does no harm.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Cursor, Read};
use std::rc::Rc;

use zip::ZipArchive;

/// A tensor of a `.pth` file.
#[derive(Clone, Debug, PartialEq)]
pub struct PthTensor {
    pub precision: Precision,
    pub shape: Vec<i64>,
    /// The values, row by row, in the byte order of the file.
    pub bytes: Vec<u8>,
}

/// Floating-point types and their widths in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Half = 2,
    Single = 4,
    Double = 8,
}

/// Most bytes that are unpacked of one entry.
const LARGEST: u64 = 4 << 30;

/// What lies on the stack.
#[derive(Clone, Debug)]
enum Value {
    Mark,
    Number(i64),
    Text(Rc<str>),
    /// `module name`.
    Global(Rc<str>),
    /// A tuple of numbers.
    Numbers(Rc<[i64]>),
    /// Another tuple; what is nested in it is `Other`, unless it is of numbers.
    Tuple(Rc<[Value]>),
    /// Type and file of a storage.
    Storage(Rc<str>, Rc<str>),
    Tensor(Rc<Stored>),
    /// The tensors of a dictionary. It is never copied.
    Tensors(Vec<(Rc<str>, Rc<Stored>)>),
    /// What no tensor needs.
    Other,
}

/// Where the values of a tensor are.
#[derive(Debug)]
struct Stored {
    /// Type and file of the storage.
    kind: Rc<str>,
    file: Rc<str>,
    offset: usize,
    shape: Rc<[i64]>,
    stride: Rc<[i64]>,
}

/// The floating-point tensors of the archive in `bytes`, by name; or what was found instead of an
/// archive that `torch.save` wrote.
pub fn tensors(bytes: &[u8]) -> Result<BTreeMap<String, PthTensor>, String> {
    let mut archive =
        ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("no zip archive ({error})"))?;
    let folder = archive.file_names().find_map(|name| name.strip_suffix("data.pkl"));
    let folder = folder.filter(|name| name.ends_with('/')).ok_or("no data.pkl")?.to_owned();
    let program = unpack(&mut archive, &format!("{folder}data.pkl"))?;
    let Some(Value::Tensors(places)) = Machine::new(&program).run() else {
        return Err("a data.pkl that is not a dictionary of tensors".to_owned());
    };
    let mut storages: HashMap<Rc<str>, Vec<u8>> = HashMap::new();
    let mut found = BTreeMap::new();
    for (name, stored) in places {
        let precision = match &*stored.kind {
            "torch HalfStorage" => Precision::Half,
            "torch FloatStorage" => Precision::Single,
            "torch DoubleStorage" => Precision::Double,
            _ => continue,
        };
        if !storages.contains_key(&stored.file) {
            let bytes = unpack(&mut archive, &format!("{folder}data/{}", stored.file))?;
            storages.insert(stored.file.clone(), bytes);
        }
        let bytes = view(&storages[&stored.file], precision as usize, &stored)
            .ok_or_else(|| format!("too few values for tensor `{name}`"))?;
        let tensor = PthTensor { precision, shape: stored.shape.to_vec(), bytes: bytes.to_vec() };
        found.insert(name.to_string(), tensor);
    }
    Ok(found)
}

fn unpack(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let entry = archive.by_name(name).map_err(io::Error::from);
    let read = entry.and_then(|entry| entry.take(LARGEST).read_to_end(&mut bytes));
    read.map_err(|error| format!("no readable entry `{name}` ({error})"))?;
    Ok(bytes)
}

/// The contiguous part of a storage, of values of `width` bytes; `None` if it is too short or not contiguous.
fn view<'a>(bytes: &'a [u8], width: usize, tensor: &Stored) -> Option<&'a [u8]> {
    let Stored { offset, shape, stride, .. } = tensor;
    let mut step = 1_i64;
    for (size, stride) in shape.iter().zip(&**stride).rev() {
        if *size < 0 || (*size > 1 && *stride != step) {
            return None;
        }
        step = step.checked_mul(*size)?;
    }
    let start = offset.checked_mul(width)?;
    let end = start.checked_add(usize::try_from(step).ok()?.checked_mul(width)?)?;
    bytes.get(start..end).filter(|_| shape.len() == stride.len())
}

/// The stack machine.
struct Machine<'a> {
    /// What is left of it.
    program: &'a [u8],
    stack: Vec<Value>,
    memo: HashMap<u32, Value>,
}

impl<'a> Machine<'a> {
    fn new(program: &'a [u8]) -> Self {
        Self { program, stack: Vec::new(), memo: HashMap::new() }
    }

    /// What is left on the stack; `None` where an instruction is unknown or lacks its operands.
    fn run(mut self) -> Option<Value> {
        loop {
            let [instruction] = self.take()?;
            match instruction {
                b'.' => return self.stack.pop(),
                0x80 => {
                    self.bytes(1)?;
                }
                b'q' | b'r' => {
                    let slot = self.slot(instruction == b'r')?;
                    let value = match self.stack.last()? {
                        Value::Tensors(_) => Value::Other,
                        value => value.clone(),
                    };
                    self.memo.insert(slot, value);
                }
                b'h' | b'j' => {
                    let slot = self.slot(instruction == b'j')?;
                    self.stack.push(self.memo.get(&slot)?.clone());
                }
                // One item, or those since the mark, for a dictionary or a list.
                b's' | b'u' | b'e' => {
                    let is_one = instruction == b's';
                    let items = if is_one { self.last(2)? } else { self.since_mark()? };
                    self.extend(items)?;
                }
                // An item of a list, or attributes of a dictionary, such as versions of its modules.
                b'a' | b'b' => {
                    self.stack.pop()?;
                }
                _ => {
                    let value = self.value(instruction)?;
                    self.stack.push(value);
                }
            }
        }
    }

    /// What an instruction puts on the stack that makes a value.
    fn value(&mut self, instruction: u8) -> Option<Value> {
        Some(match instruction {
            b'(' => Value::Mark,
            b'N' | b']' | 0x88 | 0x89 => Value::Other,
            b'K' => Value::Number(self.take::<1>()?[0].into()),
            b'M' => Value::Number(u16::from_le_bytes(self.take()?).into()),
            b'J' => Value::Number(i32::from_le_bytes(self.take()?).into()),
            0x8a => {
                let [length] = self.take()?;
                let mut bytes = [0; 8];
                bytes.get_mut(..length.into())?.copy_from_slice(self.bytes(length.into())?);
                Value::Number(i64::from_le_bytes(bytes))
            }
            b'X' => {
                let length = u32::from_le_bytes(self.take()?);
                Value::Text(str::from_utf8(self.bytes(length as usize)?).ok()?.into())
            }
            b'c' => Value::Global(format!("{} {}", self.line()?, self.line()?).into()),
            b'}' => Value::Tensors(Vec::new()),
            b')' => Value::Numbers([].into()),
            0x85..=0x87 => tuple(self.last(usize::from(instruction - 0x84))?),
            b't' => tuple(self.since_mark()?),
            b'Q' => storage(self.stack.pop()?)?,
            b'R' => {
                let (arguments, function) = (self.stack.pop()?, self.stack.pop()?);
                call(&function, &arguments)?
            }
            _ => return None,
        })
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.program.split_at_checked(count)?;
        self.program = rest;
        Some(bytes)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn slot(&mut self, is_long: bool) -> Option<u32> {
        if is_long {
            self.take().map(u32::from_le_bytes)
        } else {
            self.take().map(|[slot]| slot.into())
        }
    }

    fn line(&mut self) -> Option<&'a str> {
        let length = self.program.iter().position(|&byte| byte == b'\n')?;
        let line = self.bytes(length + 1)?;
        str::from_utf8(&line[..length]).ok()
    }

    /// Takes the last values off the stack.
    fn last(&mut self, count: usize) -> Option<Vec<Value>> {
        Some(self.stack.split_off(self.stack.len().checked_sub(count)?))
    }

    fn since_mark(&mut self) -> Option<Vec<Value>> {
        let mark = self.stack.iter().rposition(|value| matches!(value, Value::Mark))?;
        let items = self.stack.split_off(mark + 1);
        self.stack.pop();
        Some(items)
    }

    /// Adds the tensors among `items`, keys and values in turns, to a dictionary.
    fn extend(&mut self, items: Vec<Value>) -> Option<()> {
        if let Value::Tensors(known) = self.stack.last_mut()? {
            known.extend(items.chunks_exact(2).filter_map(|pair| match pair {
                [Value::Text(name), Value::Tensor(stored)] => Some((name.clone(), stored.clone())),
                _ => None,
            }));
        }
        Some(())
    }
}

fn tuple(items: Vec<Value>) -> Value {
    let number = |item: &Value| match item {
        Value::Number(number) => Some(*number),
        _ => None,
    };
    if let Some(numbers) = items.iter().map(number).collect() {
        return Value::Numbers(numbers);
    }
    let flat = |item| match item {
        Value::Tuple(_) | Value::Tensors(_) => Value::Other,
        item => item,
    };
    Value::Tuple(items.into_iter().map(flat).collect())
}

/// `('storage', <type>, <file>, <device>, <count>)`.
fn storage(description: Value) -> Option<Value> {
    let Value::Tuple(items) = description else { return None };
    match &items[..] {
        [_, Value::Global(kind), Value::Text(file), ..] => {
            Some(Value::Storage(kind.clone(), file.clone()))
        }
        _ => None,
    }
}

/// A call: of the dictionary's type, which makes an empty one, or of what makes a tensor.
fn call(function: &Value, arguments: &Value) -> Option<Value> {
    let Value::Global(function) = function else { return None };
    let arguments = match arguments {
        Value::Tuple(arguments) => &arguments[..],
        Value::Numbers(_) => &[],
        _ => return None,
    };
    Some(match (&**function, arguments) {
        ("collections OrderedDict", _) => Value::Tensors(Vec::new()),
        (
            "torch._utils _rebuild_tensor_v2",
            [
                Value::Storage(kind, file),
                Value::Number(offset),
                Value::Numbers(shape),
                Value::Numbers(stride),
                ..,
            ],
        ) => Value::Tensor(Rc::new(Stored {
            kind: kind.clone(),
            file: file.clone(),
            offset: usize::try_from(*offset).ok()?,
            shape: shape.clone(),
            stride: stride.clone(),
        })),
        // A parameter is the tensor it wraps.
        ("torch._utils _rebuild_parameter", [tensor @ Value::Tensor(_), ..]) => tensor.clone(),
        _ => Value::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tensors of three types, two in one storage, in the form that torch.save gives them.
    const SMALL: &[u8] = include_bytes!("../../tests/corpus/weights/small.pth");

    #[test]
    fn tensors_come_with_names_shapes_and_values() {
        let found = tensors(SMALL).unwrap();
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        // Counters are left out, because no layer has them.
        assert_eq!(names, ["bn1.bias", "conv1.weight", "half"]);
        let single = |values: &[f32]| -> Vec<u8> {
            values.iter().flat_map(|value| value.to_le_bytes()).collect()
        };
        let weight = &found["conv1.weight"];
        assert_eq!((weight.precision, &weight.shape[..]), (Precision::Single, &[2, 3][..]));
        assert_eq!(weight.bytes, single(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        let bias = [-7.0_f64, 0.5];
        let bias = match found["bn1.bias"].precision {
            Precision::Double => bias.iter().flat_map(|value| value.to_le_bytes()).collect(),
            _ => single(&bias.map(|value| value as f32)),
        };
        assert_eq!(found["bn1.bias"].bytes, bias);
        // 0.25 and -2 in half precision.
        assert_eq!(found["half"].precision, Precision::Half);
        assert_eq!(found["half"].bytes, [0x00, 0x34, 0x00, 0xc0]);
    }

    /// Programs of a megabyte whose values would nest or be copied without end.
    #[test]
    fn programs_that_nest_or_copy_take_no_more_memory_than_their_length() {
        let nested = [b"K\0\x85)\x86".as_slice(), &[0x85; 1_000_000], b"."].concat();
        let Some(Value::Tuple(items)) = Machine::new(&nested).run() else { panic!() };
        assert!(matches!(items[..], [Value::Other]));
        let in_itself = [b"}q\0".as_slice(), &b"h\0h\0s".repeat(200_000), b"."].concat();
        let Some(Value::Tensors(items)) = Machine::new(&in_itself).run() else { panic!() };
        assert!(items.is_empty());
        let doubling = [b"Nq\0".as_slice(), &b"h\0h\0\x86q\0".repeat(200_000), b"."].concat();
        let Some(Value::Tuple(items)) = Machine::new(&doubling).run() else { panic!() };
        assert!(matches!(items[..], [Value::Other, Value::Other]));
        let text = [b"X\x00\x00\x10\x00".as_slice(), &[b'a'; 1 << 20], b"q\0"].concat();
        let copies = [text.as_slice(), &b"h\0".repeat(500_000), b"."].concat();
        let Some(Value::Text(copy)) = Machine::new(&copies).run() else { panic!() };
        assert_eq!(Rc::strong_count(&copy), 1);
    }

    #[test]
    fn a_shape_without_its_strides_is_refused() {
        let stored = |stride: &[i64]| Stored {
            kind: "torch FloatStorage".into(),
            file: "0".into(),
            offset: 0,
            shape: [2, 8].into(),
            stride: stride.into(),
        };
        assert!(view(&[0; 64], 4, &stored(&[1])).is_none());
        assert!(view(&[0; 64], 4, &stored(&[8, 1])).is_some());
    }

    #[test]
    fn a_damaged_archive_is_refused_and_never_panics() {
        for end in 0..SMALL.len() {
            assert!(tensors(&SMALL[..end]).is_err(), "the first {end} bytes");
        }
        for at in 0..SMALL.len() {
            let mut damaged = SMALL.to_vec();
            damaged[at] ^= 0x55;
            // Some bytes do not matter; what counts is that none of them is fatal.
            let _ = tensors(&damaged);
        }
    }
}
