//! Models as files.
//!
//! All numbers are little-endian: a count is a u64, a number an f64, and a list is a count followed by
//! its entries.
//!
//! | part | contents |
//! |---|---|
//! | 12 bytes | `npsvc model\n` |
//! | 4 bytes | version of the format, a u32; this is version 1 |
//! | kernel | a count (0 Gaussian, 1 linear, 2 polynomial), then its list of numbers |
//! | samples | number of columns, a list of values row by row, a list of the rows of the training set they come from |
//! | rule | a count (0 nearest, 1 farthest, 2 vote), the number of classes, a list of norms |
//! | functions | a list of offsets, a list of coefficients, function by function |
//! | representation | offsets and coefficients of `z`; both lists are empty if there is no representation |
//! | certificate | a list with primal, dual and gap; the number of iterations; a count for the termination |
//! | trace | a list of rows: iteration, primal, dual, gradient norm, manifold term, then the lists of objectives, tau and tau* |
//! | 32 bytes | SHA-256 of all bytes before |
//!
//! Only samples with a coefficient other than zero are stored.

use std::io::{self, Read, Write};
use std::sync::Arc;

use faer::{Mat, Par};
use ndarray::{Array2, Axis};
use sha2::{Digest, Sha256};

use super::{Expansion, KernelMachine, Model, Representation, Rule};
use crate::kernel::FittedKernel;
use crate::{Certificate, Termination, TraceRow};

const MAGIC: &[u8; 12] = b"npsvc model\n";
const VERSION: u32 = 1;
const HASH_BYTES: usize = 32;
/// By the number they have in a file.
const TERMINATIONS: [Termination; 6] = [
    Termination::Solved,
    Termination::AlmostSolved,
    Termination::EpochsDone,
    Termination::IterationLimit,
    Termination::Stalled,
    Termination::NumericalError,
];

/// Why a model could not be loaded.
///
/// ```
/// use npsvc::{LoadError, Model};
///
/// let error = Model::load(&b"some text"[..]).unwrap_err();
/// assert!(matches!(error, LoadError::NotAModel));
/// assert_eq!(error.to_string(), "this is not a model of npsvc");
/// ```
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file could not be read.
    #[error("failed to read the model: {0}")]
    Read(#[from] io::Error),
    /// The file does not begin as a model does.
    #[error("this is not a model of npsvc")]
    NotAModel,
    /// The file was written by a newer version of this crate.
    #[error(
        "the model has format version {found}, but this build reads versions up to {VERSION}; update npsvc"
    )]
    Newer {
        /// Version of the file.
        found: u32,
    },
    /// The contents do not agree with their checksum or with each other.
    #[error("the model file is damaged: {0}")]
    Damaged(&'static str),
}

impl Model {
    /// Writes the model. Samples that predictions do not need are left out.
    pub fn save(&self, mut to: impl Write) -> io::Result<()> {
        let mut fields = Fields::Write([MAGIC.as_slice(), &VERSION.to_le_bytes()].concat());
        Contents::of(self).visit(&mut fields).map_err(io::Error::other)?;
        let Fields::Write(mut bytes) = fields else {
            return Ok(());
        };
        let hash = Sha256::digest(&bytes);
        bytes.extend(hash);
        to.write_all(&bytes)
    }

    /// Reads a model that [`Self::save`] wrote. It predicts with one thread.
    pub fn load(mut from: impl Read) -> Result<Self, LoadError> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes)?;
        let rest = bytes.strip_prefix(MAGIC).ok_or(LoadError::NotAModel)?;
        let (version, _) = rest.split_first_chunk().ok_or(LoadError::Damaged("it ends early"))?;
        let found = u32::from_le_bytes(*version);
        if found > VERSION {
            return Err(LoadError::Newer { found });
        }
        require(found > 0, "its version is 0")?;
        let end = bytes.len().saturating_sub(HASH_BYTES);
        let start = MAGIC.len() + version.len();
        if end < start || Sha256::digest(&bytes[..end])[..] != bytes[end..] {
            return Err(LoadError::Damaged("its checksum differs"));
        }
        let (mut contents, mut fields) = (Contents::default(), Fields::Read(&bytes[start..end]));
        contents.visit(&mut fields)?;
        require(matches!(fields, Fields::Read([])), "it is longer than expected")?;
        contents.into_model()
    }
}

/// What a file contains, between its head and its checksum.
#[derive(Default)]
struct Contents {
    kernel: (usize, Vec<f64>),
    columns: usize,
    x: Vec<f64>,
    support: Vec<usize>,
    rule: (usize, usize, Vec<f64>),
    functions: Functions,
    representation: Functions,
    certificate: (Vec<f64>, usize, usize),
    trace: Vec<TraceRow>,
}

/// Offsets, and coefficients function by function.
type Functions = (Vec<f64>, Vec<f64>);

impl Contents {
    fn of(model: &Model) -> Self {
        let Model { expansion, machine, representation, certificate, trace, .. } = model;
        let needed: Vec<usize> = model.needed().collect();
        let functions = |offsets: &[f64], m: &Mat<f64>| -> Functions {
            let column = |l: usize| needed.iter().map(move |&i| m[(i, l)]);
            (offsets.to_vec(), (0..m.ncols()).flat_map(column).collect())
        };
        let x = expansion.x.select(Axis(0), &needed);
        let termination = TERMINATIONS.iter().position(|&known| known == certificate.termination);
        Self {
            kernel: match expansion.kernel {
                FittedKernel::Gaussian { width } => (0, vec![width]),
                FittedKernel::Linear => (1, Vec::new()),
                FittedKernel::Polynomial { degree, offset, scale } => {
                    (2, vec![f64::from(degree), offset, scale])
                }
            },
            columns: x.ncols(),
            x: x.iter().copied().collect(),
            support: needed.iter().map(|&i| expansion.support[i]).collect(),
            rule: match &machine.rule {
                Rule::Nearest { norms } => (0, norms.len(), norms.clone()),
                Rule::Farthest { norms } => (1, norms.len(), norms.clone()),
                Rule::Vote { classes } => (2, *classes, Vec::new()),
            },
            functions: functions(&machine.offsets, &machine.coefficients),
            representation: (representation.as_ref())
                .map_or_else(Default::default, |z| functions(&z.offsets, &z.frame)),
            certificate: (
                vec![certificate.primal, certificate.dual, certificate.gap],
                certificate.iterations,
                termination.unwrap_or_default(),
            ),
            trace: trace.clone(),
        }
    }

    /// Reads or writes all fields, in their order.
    fn visit(&mut self, fields: &mut Fields<'_>) -> Result<(), LoadError> {
        fields.count(&mut self.kernel.0)?;
        fields.numbers(&mut self.kernel.1)?;
        fields.count(&mut self.columns)?;
        fields.numbers(&mut self.x)?;
        fields.list(&mut self.support, Fields::count)?;
        fields.count(&mut self.rule.0)?;
        fields.count(&mut self.rule.1)?;
        fields.numbers(&mut self.rule.2)?;
        for (offsets, coefficients) in [&mut self.functions, &mut self.representation] {
            fields.numbers(offsets)?;
            fields.numbers(coefficients)?;
        }
        fields.numbers(&mut self.certificate.0)?;
        fields.count(&mut self.certificate.1)?;
        fields.count(&mut self.certificate.2)?;
        fields.list(&mut self.trace, Fields::row)
    }

    fn into_model(self) -> Result<Model, LoadError> {
        let n = self.support.len();
        let kernel = match (self.kernel.0, &self.kernel.1[..]) {
            (0, &[width]) => FittedKernel::Gaussian { width },
            (1, []) => FittedKernel::Linear,
            (2, &[degree, offset, scale]) => {
                FittedKernel::Polynomial { degree: degree as i32, offset, scale }
            }
            _ => return Err(LoadError::Damaged("the kernel is unknown")),
        };
        let x = Array2::from_shape_vec((n, self.columns), self.x)
            .map_err(|_| LoadError::Damaged("the samples are not a table"))?;
        let (rule, count) = match self.rule {
            (0, classes, norms) if norms.len() == classes => (Rule::Nearest { norms }, classes),
            (1, classes, norms) if norms.len() == classes => (Rule::Farthest { norms }, classes),
            (2, classes, norms) if norms.is_empty() => {
                let pairs = classes.saturating_mul(classes.saturating_sub(1)) / 2;
                (Rule::Vote { classes }, pairs)
            }
            _ => return Err(LoadError::Damaged("the rule is unknown")),
        };
        require(rule.classes() > 0, "the rule has no classes")?;
        let (offsets, coefficients) = functions(self.functions, n)?;
        require(offsets.len() == count, "the rule does not fit the functions")?;
        let (z, frame) = functions(self.representation, n)?;
        let (&[primal, dual, gap], iterations, termination) =
            (&self.certificate.0[..], self.certificate.1, TERMINATIONS.get(self.certificate.2))
        else {
            return Err(LoadError::Damaged("the certificate is not complete"));
        };
        let termination = *termination.ok_or(LoadError::Damaged("the termination is unknown"))?;
        Ok(Model {
            expansion: Arc::new(Expansion { kernel, x, support: self.support }),
            machine: KernelMachine { coefficients, offsets, rule },
            representation: (!z.is_empty()).then_some(Representation { frame, offsets: z }),
            certificate: Certificate { primal, dual, gap, iterations, termination },
            trace: self.trace,
            par: Par::Seq,
        })
    }
}

/// Offsets, and coefficients as a table with this number of rows.
fn functions((offsets, values): Functions, rows: usize) -> Result<(Vec<f64>, Mat<f64>), LoadError> {
    let is_table = offsets.len().checked_mul(rows) == Some(values.len());
    require(is_table, "the coefficients are not a table")?;
    let table = Mat::from_fn(rows, offsets.len(), |i, l| values[l * rows + i]);
    Ok((offsets, table))
}

/// Reads fields from what is left of a file, or writes them. The same code does both.
enum Fields<'a> {
    Read(&'a [u8]),
    Write(Vec<u8>),
}

impl Fields<'_> {
    fn bytes<const N: usize>(&mut self, value: &mut [u8; N]) -> Result<(), LoadError> {
        match self {
            Self::Write(bytes) => bytes.extend(value.as_slice()),
            Self::Read(rest) => {
                let first = rest.split_first_chunk().ok_or(LoadError::Damaged("it ends early"))?;
                (*value, *rest) = (*first.0, first.1);
            }
        }
        Ok(())
    }

    fn count(&mut self, value: &mut usize) -> Result<(), LoadError> {
        let mut bytes = (*value as u64).to_le_bytes();
        self.bytes(&mut bytes)?;
        let count = usize::try_from(u64::from_le_bytes(bytes));
        *value = count.map_err(|_| LoadError::Damaged("a count is too large"))?;
        Ok(())
    }

    fn number(&mut self, value: &mut f64) -> Result<(), LoadError> {
        let mut bytes = value.to_le_bytes();
        self.bytes(&mut bytes)?;
        *value = f64::from_le_bytes(bytes);
        Ok(())
    }

    fn numbers(&mut self, list: &mut Vec<f64>) -> Result<(), LoadError> {
        self.list(list, Self::number)
    }

    fn list<T: Default>(
        &mut self,
        list: &mut Vec<T>,
        visit: impl Fn(&mut Self, &mut T) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let mut length = list.len();
        self.count(&mut length)?;
        if let Self::Read(rest) = self {
            // Entries take at least 8 bytes in a file, rows of a trace 64. So a wrong length does not
            // allocate much more than the file has.
            require(length <= rest.len() / size_of::<T>().min(64), "a list ends early")?;
            list.resize_with(length, T::default);
        }
        list.iter_mut().try_for_each(|entry| visit(self, entry))
    }

    fn row(&mut self, row: &mut TraceRow) -> Result<(), LoadError> {
        self.count(&mut row.iteration)?;
        for number in [&mut row.primal, &mut row.dual, &mut row.gradient_norm, &mut row.manifold] {
            self.number(number)?;
        }
        for list in [&mut row.objectives, &mut row.tau, &mut row.tau_star] {
            self.numbers(list)?;
        }
        Ok(())
    }
}

fn require(holds: bool, what: &'static str) -> Result<(), LoadError> {
    match holds {
        true => Ok(()),
        false => Err(LoadError::Damaged(what)),
    }
}
