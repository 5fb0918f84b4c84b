//! From elements to a variable: flags, shape, name, and values by class.

use super::element::{Element, MI_INT32, MI_MATRIX, MI_UTF8, Scan};
use super::{Matrix, Value};
use crate::data::error::DataError;
use crate::data::{MAX_VALUES, zeros};

/// Deepest nesting of cells accepted.
const MAX_DEPTH: usize = 8;

const MX_CELL: u8 = 1;
const MX_CHAR: u8 = 4;
const MX_SPARSE: u8 = 5;

/// The leading parts of a variable.
struct Preamble {
    class: u8,
    complex: bool,
    rows: usize,
    /// All dimensions but the first, multiplied.
    columns: usize,
    name: String,
    /// Offset of what follows.
    next: usize,
}

impl Scan<'_> {
    /// Name and value of a variable; values that are not wanted are not looked at.
    pub(super) fn variable(
        &self,
        element: &Element,
        wanted: &[&str],
    ) -> Result<(String, Option<Value>), DataError> {
        if element.kind != MI_MATRIX {
            let found = format!("an element of type {}", element.kind);
            return Err(self.fail(element.start, found, "a variable (type 14)"));
        }
        let name = self.preamble(element)?.name;
        let value = match wanted.contains(&name.as_str()) {
            true => Some(self.value(element, 0)?),
            false => None,
        };
        Ok((name, value))
    }

    fn value(&self, element: &Element, depth: usize) -> Result<Value, DataError> {
        if element.content.is_empty() {
            return Ok(Value::Numbers(Matrix { rows: 0, columns: 0, values: Vec::new() }));
        }
        let end = element.start + element.content.len();
        let preamble = self.preamble(element)?;
        let (rows, columns) = (preamble.rows, preamble.columns);
        let count =
            rows.checked_mul(columns).filter(|count| *count <= MAX_VALUES).ok_or_else(|| {
                let found = format!("a shape of {rows} x {columns}");
                self.fail(element.start, found, format!("at most {MAX_VALUES} values"))
            })?;
        if preamble.complex {
            return Err(self.fail(element.start, "complex numbers", "real numbers"));
        }
        Ok(match preamble.class {
            MX_CELL => {
                Value::Cells { rows, columns, cells: self.cells(preamble.next, end, count, depth)? }
            }
            MX_CHAR => Value::Text(self.text(preamble.next, end)?),
            MX_SPARSE => Value::Numbers(self.sparse(preamble.next, end, rows, columns)?),
            6..=15 => Value::Numbers(Matrix {
                rows,
                columns,
                values: self.numbers(preamble.next, end, count)?,
            }),
            class => {
                let found = format!("a variable of class {class}");
                let expected = "numbers, text, a sparse matrix or cells";
                return Err(self.fail(element.start, found, expected));
            }
        })
    }

    fn cells(
        &self,
        mut at: usize,
        end: usize,
        count: usize,
        depth: usize,
    ) -> Result<Vec<Value>, DataError> {
        if depth == MAX_DEPTH {
            let found = format!("cells nested more than {MAX_DEPTH} deep");
            return Err(self.fail(at, found, "flatter cells"));
        }
        let mut cells = Vec::new();
        for _ in 0..count {
            let cell = self.element(at, end)?;
            if cell.kind != MI_MATRIX {
                let found = format!("a cell of type {}", cell.kind);
                return Err(self.fail(at, found, "a matrix (type 14)"));
            }
            cells.push(self.value(&cell, depth + 1)?);
            at = cell.next;
        }
        Ok(cells)
    }

    fn numbers(&self, at: usize, end: usize, count: usize) -> Result<Vec<f64>, DataError> {
        let element = self.element(at, end)?;
        let values = self.decode(&element, at)?;
        if values.len() == count {
            return Ok(values);
        }
        let found = format!("{} values", values.len());
        Err(self.fail(at, found, format!("{count} as the shape tells")))
    }

    /// Characters, stored as UTF-8, UTF-16 or plain numbers.
    fn text(&self, at: usize, end: usize) -> Result<String, DataError> {
        let element = self.element(at, end)?;
        if element.kind == MI_UTF8 {
            return Ok(String::from_utf8_lossy(element.content).into_owned());
        }
        let units = self.decode(&element, at)?;
        Ok(char::decode_utf16(units.iter().map(|unit| *unit as u16))
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect())
    }

    /// Row of each value, end of each column, values.
    fn sparse(
        &self,
        at: usize,
        end: usize,
        rows: usize,
        columns: usize,
    ) -> Result<Matrix, DataError> {
        let row_numbers = self.element(at, end)?;
        let column_ends = self.element(row_numbers.next, end)?;
        let element = self.element(column_ends.next, end)?;
        let stored = self.decode(&element, column_ends.next)?;
        let (row_numbers, ends) = (self.integers(&row_numbers), self.integers(&column_ends));
        let last = ends.last().copied().unwrap_or_default();
        let sound = ends.len() == columns + 1
            && ends.is_sorted()
            && last <= stored.len()
            && last <= row_numbers.len()
            && row_numbers.iter().take(last).all(|row| *row < rows);
        if !sound {
            let found = format!(
                "a sparse matrix of {rows} x {columns} with {} row numbers, {} column ends and {} \
                 values",
                row_numbers.len(),
                ends.len(),
                stored.len()
            );
            return Err(self.fail(at, found, "parts that fit together"));
        }
        let full = zeros(columns, rows, self.path)?;
        let mut values = full.into_raw_vec_and_offset().0;
        for (column, bounds) in ends.windows(2).enumerate() {
            for entry in bounds[0]..bounds[1] {
                values[column * rows + row_numbers[entry]] = stored[entry];
            }
        }
        Ok(Matrix { rows, columns, values })
    }

    /// Flags, shape and name.
    fn preamble(&self, element: &Element) -> Result<Preamble, DataError> {
        let end = element.start + element.content.len();
        let flags = self.element(element.start, end)?;
        let dims = self.element(flags.next, end)?;
        let name = self.element(dims.next, end)?;
        let shape = self.integers(&dims);
        let columns = shape.iter().skip(1).try_fold(1usize, |product, &n| product.checked_mul(n));
        match (columns, &shape[..]) {
            (Some(columns), [rows, _, ..]) if flags.content.len() >= 4 && dims.kind == MI_INT32 => {
                let word = self.word(flags.content);
                Ok(Preamble {
                    class: (word & 0xff) as u8,
                    complex: word & 0x800 != 0,
                    rows: *rows,
                    columns,
                    name: String::from_utf8_lossy(name.content).into_owned(),
                    next: name.next,
                })
            }
            _ => {
                let found = "a variable without class and shape";
                Err(self.fail(element.start, found, "a MATLAB v5 variable"))
            }
        }
    }
}
