//! `.pth` files: what `torch.save` writes for a dictionary of tensors. That is a zip archive with a pickle
//! of the dictionary and one file for the bytes of each storage.
//!
//! A pickle is a program for a stack machine. This reader executes only the instructions that such
//! dictionaries need, and never calls anything. All values are in one list and contain each other by number,
//! so the memory a program takes is proportional to its length: a hostile file does no harm.

use std::collections::{BTreeMap, HashMap};

use safetensors::tensor::Dtype;

use super::content::{open_zip, zip_entry};
use super::error::{Parsed, bad};

/// A tensor of a `.pth` file.
#[derive(Clone, Debug, PartialEq)]
pub struct PthTensor {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    /// The values, row by row, in the byte order of the file.
    pub bytes: Vec<u8>,
}

const EXPECTED: &str = "an archive that torch.save wrote";

/// The floating-point tensors of the archive in `bytes`, by name.
pub(crate) fn tensors(bytes: &[u8]) -> Parsed<BTreeMap<String, PthTensor>> {
    let refuse = |found: String| bad("", found, EXPECTED);
    let mut archive = open_zip(bytes, EXPECTED)?;
    let folder = archive.file_names().find_map(|name| name.strip_suffix("data.pkl"));
    let folder = folder.filter(|name| name.ends_with('/'));
    let folder = folder.ok_or_else(|| refuse("no data.pkl".to_owned()))?.to_owned();
    let program = zip_entry(&mut archive, &format!("{folder}data.pkl"))?;
    let places = Machine::new(&program)
        .tensors()
        .ok_or_else(|| refuse("a data.pkl that is not a dictionary of tensors".to_owned()))?;
    let mut storages: HashMap<&str, Vec<u8>> = HashMap::new();
    let mut found = BTreeMap::new();
    for (name, stored) in places {
        let dtype = match stored.kind {
            "torch\nHalfStorage" => Dtype::F16,
            "torch\nFloatStorage" => Dtype::F32,
            "torch\nDoubleStorage" => Dtype::F64,
            _ => continue,
        };
        if !storages.contains_key(stored.file) {
            let bytes = zip_entry(&mut archive, &format!("{folder}data/{}", stored.file))?;
            storages.insert(stored.file, bytes);
        }
        let bytes = stored
            .view(&storages[stored.file], dtype.size())
            .ok_or_else(|| refuse(format!("too few values for tensor `{name}`")))?;
        let tensor = PthTensor { dtype, shape: stored.shape, bytes: bytes.to_vec() };
        found.insert(name.to_owned(), tensor);
    }
    Ok(found)
}

/// Where the values of a tensor are.
#[derive(Debug)]
struct Stored<'a> {
    /// Type and file of the storage.
    kind: &'a str,
    file: &'a str,
    offset: usize,
    shape: Vec<usize>,
    stride: Vec<usize>,
}

impl Stored<'_> {
    /// The tensor's part of its storage, of values of `width` bytes; `None` if that is too short or not
    /// contiguous.
    fn view<'b>(&self, storage: &'b [u8], width: usize) -> Option<&'b [u8]> {
        let mut count = 1_usize;
        for (&size, &stride) in self.shape.iter().zip(&self.stride).rev() {
            if size > 1 && stride != count {
                return None;
            }
            count = count.checked_mul(size)?;
        }
        let start = self.offset.checked_mul(width)?;
        let end = start.checked_add(count.checked_mul(width)?)?;
        storage.get(start..end).filter(|_| self.shape.len() == self.stride.len())
    }
}

/// The number of a value in [`Machine::values`].
type Id = usize;

#[derive(Debug)]
enum Value<'a> {
    Number(usize),
    /// A text, or the module and name of a function or type.
    Text(&'a str),
    /// A tuple or list; a dictionary, keys and values in turns; or a call, function and arguments.
    Items(Vec<Id>),
    /// What no tensor needs.
    Other,
}

/// The stack machine.
#[derive(Default)]
struct Machine<'a> {
    /// What is left of it.
    program: &'a [u8],
    values: Vec<Value<'a>>,
    stack: Vec<Id>,
    /// Heights of the stack.
    marks: Vec<usize>,
    memo: HashMap<usize, Id>,
}

impl<'a> Machine<'a> {
    fn new(program: &'a [u8]) -> Self {
        Self { program, ..Self::default() }
    }

    /// The tensors of the dictionary that the program makes; `None` where an instruction is unknown or lacks
    /// its operands.
    fn tensors(mut self) -> Option<Vec<(&'a str, Stored<'a>)>> {
        let dictionary = self.run()?;
        let pairs = self.items(dictionary)?.chunks_exact(2);
        Some(pairs.filter_map(|pair| Some((self.text(pair[0])?, self.tensor(pair[1])?))).collect())
    }

    /// The value that the program leaves on the stack.
    fn run(&mut self) -> Option<Id> {
        loop {
            let instruction = self.bytes(1)?[0];
            match instruction {
                b'.' => return self.stack.pop(),
                0x80 => _ = self.bytes(1)?,
                b'(' => self.marks.push(self.stack.len()),
                b'q' | b'r' => {
                    let slot = self.number(if instruction == b'q' { 1 } else { 4 })?;
                    self.memo.insert(slot, *self.stack.last()?);
                }
                b'h' | b'j' => {
                    let slot = self.number(if instruction == b'h' { 1 } else { 4 })?;
                    self.stack.push(*self.memo.get(&slot)?);
                }
                // Items of a list or a dictionary: one, or all since the mark.
                b'a' | b's' | b'u' | b'e' => {
                    let items = match instruction {
                        b'a' => self.last(1)?,
                        b's' => self.last(2)?,
                        _ => self.since_mark()?,
                    };
                    if let Value::Items(known) = &mut self.values[*self.stack.last()?] {
                        known.extend(items);
                    }
                }
                // Attributes of a dictionary, such as versions of its modules.
                b'b' => _ = self.stack.pop()?,
                // A storage is on the stack as the tuple that describes it.
                b'Q' => {}
                _ => {
                    let value = self.value(instruction)?;
                    self.stack.push(self.values.len());
                    self.values.push(value);
                }
            }
        }
    }

    /// The value that an instruction makes.
    fn value(&mut self, instruction: u8) -> Option<Value<'a>> {
        Some(match instruction {
            b'N' | 0x88 | 0x89 => Value::Other,
            b'K' => Value::Number(self.number(1)?),
            b'M' => Value::Number(self.number(2)?),
            b'J' => Value::Number(self.number(4)?),
            0x8a => {
                let width = self.number(1)?;
                Value::Number(self.number(width)?)
            }
            b'X' => {
                let length = self.number(4)?;
                Value::Text(str::from_utf8(self.bytes(length)?).ok()?)
            }
            b'c' => {
                let mut ends = (0..self.program.len()).filter(|&at| self.program[at] == b'\n');
                let lines = self.bytes(ends.nth(1)? + 1)?;
                Value::Text(str::from_utf8(lines).ok()?.trim_end())
            }
            b'}' | b']' | b')' => Value::Items(Vec::new()),
            0x85..=0x87 => Value::Items(self.last(usize::from(instruction - 0x84))?),
            b't' => Value::Items(self.since_mark()?),
            b'R' => Value::Items(self.last(2)?),
            _ => return None,
        })
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.program.split_at_checked(count)?;
        self.program = rest;
        Some(bytes)
    }

    /// The next `width` bytes. No number of a tensor is negative.
    fn number(&mut self, width: usize) -> Option<usize> {
        let mut number = [0; size_of::<usize>()];
        number.get_mut(..width)?.copy_from_slice(self.bytes(width)?);
        Some(usize::from_le_bytes(number))
    }

    /// Takes the last values off the stack.
    fn last(&mut self, count: usize) -> Option<Vec<Id>> {
        Some(self.stack.split_off(self.stack.len().checked_sub(count)?))
    }

    fn since_mark(&mut self) -> Option<Vec<Id>> {
        let count = self.stack.len().checked_sub(self.marks.pop()?)?;
        self.last(count)
    }

    fn items(&self, id: Id) -> Option<&[Id]> {
        if let Value::Items(items) = &self.values[id] { Some(items) } else { None }
    }

    fn text(&self, id: Id) -> Option<&'a str> {
        if let Value::Text(text) = self.values[id] { Some(text) } else { None }
    }

    fn size(&self, id: Id) -> Option<usize> {
        if let Value::Number(size) = self.values[id] { Some(size) } else { None }
    }

    fn sizes(&self, id: Id) -> Option<Vec<usize>> {
        self.items(id)?.iter().map(|&id| self.size(id)).collect()
    }

    /// The arguments of the call `id` of this function.
    fn arguments(&self, id: Id, function: &str) -> Option<&[Id]> {
        let [called, arguments] = *self.items(id)? else { return None };
        self.items(arguments).filter(|_| self.text(called) == Some(function))
    }

    fn tensor(&self, id: Id) -> Option<Stored<'a>> {
        // A parameter is the tensor it wraps.
        let wrapped = self.arguments(id, "torch._utils\n_rebuild_parameter");
        let id = wrapped.and_then(|arguments| arguments.first()).unwrap_or(&id);
        let arguments = self.arguments(*id, "torch._utils\n_rebuild_tensor_v2")?;
        let [storage, offset, shape, stride, ..] = *arguments else { return None };
        // `('storage', <type>, <file>, <device>, <count>)`.
        let [_, kind, file, ..] = *self.items(storage)? else { return None };
        Some(Stored {
            kind: self.text(kind)?,
            file: self.text(file)?,
            offset: self.size(offset)?,
            shape: self.sizes(shape)?,
            stride: self.sizes(stride)?,
        })
    }
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
        assert_eq!((weight.dtype, &weight.shape[..]), (Dtype::F32, &[2, 3][..]));
        assert_eq!(weight.bytes, single(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        let bias = [-7.0_f64, 0.5];
        let bias = match found["bn1.bias"].dtype {
            Dtype::F64 => bias.iter().flat_map(|value| value.to_le_bytes()).collect(),
            _ => single(&bias.map(|value| value as f32)),
        };
        assert_eq!(found["bn1.bias"].bytes, bias);
        // 0.25 and -2 in half precision.
        assert_eq!(found["half"].dtype, Dtype::F16);
        assert_eq!(found["half"].bytes, [0x00, 0x34, 0x00, 0xc0]);
    }

    /// Programs of a megabyte whose values would nest or be copied without end.
    #[test]
    fn programs_that_nest_or_copy_take_no_more_memory_than_their_length() {
        let nested = [b"K\0\x85)\x86".as_slice(), &[0x85; 1_000_000], b"."].concat();
        let in_itself = [b"}q\0".as_slice(), &b"h\0h\0s".repeat(200_000), b"."].concat();
        let doubling = [b"Nq\0".as_slice(), &b"h\0h\0\x86q\0".repeat(200_000), b"."].concat();
        let text = [b"X\x00\x00\x10\x00".as_slice(), &[b'a'; 1 << 20], b"q\0"].concat();
        let copies = [text.as_slice(), &b"h\0".repeat(500_000), b"."].concat();
        for program in [nested, in_itself, doubling, copies] {
            let mut machine = Machine::new(&program);
            assert!(machine.run().is_some());
            let items: usize =
                (0..machine.values.len()).filter_map(|id| machine.items(id)).map(<[Id]>::len).sum();
            let kept = [machine.values.len(), machine.stack.len(), items];
            assert!(kept.iter().all(|&count| count <= program.len()), "{kept:?}");
            // And looking for tensors in them ends.
            let _ = Machine::new(&program).tensors();
        }
    }

    #[test]
    fn a_shape_without_its_strides_is_refused() {
        let stored = |stride: &[usize]| Stored {
            kind: "torch\nFloatStorage",
            file: "0",
            offset: 0,
            shape: vec![2, 8],
            stride: stride.to_vec(),
        };
        assert!(stored(&[1]).view(&[0; 64], 4).is_none());
        assert!(stored(&[8, 1]).view(&[0; 64], 4).is_some());
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
