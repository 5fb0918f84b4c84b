//! Models as files.
//!
//! All numbers are little-endian; a list is its length (u64) followed by its entries.
//!
//! | bytes | contents |
//! |---|---|
//! | 12 | `npsvc model\n` |
//! | 4 | version of the format, a u32; this is version 1 |
//! | .. | kernel: a tag (u8; 0 Gaussian, 1 linear, 2 polynomial) and its numbers (f64) |
//! | .. | samples that predictions need: columns (u64), then a list of f64, row by row |
//! | .. | rows of the training set they come from: a list of u64 |
//! | .. | rule: a tag (u8; 0 nearest, 1 farthest, 2 vote), classes (u64), a list of norms |
//! | .. | functions: a list of offsets, then a list of coefficients, function by function |
//! | .. | representation: a list of offsets, empty if there is none, then a list of frame values |
//! | .. | certificate: primal, dual, gap (f64), iterations (u64), termination (u8) |
//! | .. | trace: number of rows (u64); per row iteration (u64), primal, dual, gradient norm and manifold term (f64), and the lists of objectives, tau and tau* |
//! | 32 | SHA-256 of all bytes before |

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
/// By their tag.
const TERMINATIONS: [Termination; 6] = [
    Termination::Solved,
    Termination::AlmostSolved,
    Termination::EpochsDone,
    Termination::IterationLimit,
    Termination::Stalled,
    Termination::NumericalError,
];

/// Why a model could not be loaded.
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
        let mut out = Writer(MAGIC.to_vec());
        out.0.extend(VERSION.to_le_bytes());
        let needed: Vec<usize> = self.needed().collect();
        out.kernel(&self.expansion.kernel);
        let x = self.expansion.x.select(Axis(0), &needed);
        out.count(x.ncols());
        out.list(x.iter().copied());
        out.count(needed.len());
        needed
            .iter()
            .for_each(|&i| out.count(self.expansion.support[i]));
        out.rule(&self.machine.rule);
        out.functions(&self.machine.offsets, &self.machine.coefficients, &needed);
        match &self.representation {
            Some(Representation { frame, offsets }) => out.functions(offsets, frame, &needed),
            None => out.functions(&[], &Mat::new(), &[]),
        }
        out.certificate(&self.certificate);
        out.trace(&self.trace);
        let hash = Sha256::digest(&out.0);
        out.0.extend(hash);
        to.write_all(&out.0)
    }

    /// Reads a model that [`Self::save`] wrote. It predicts with one thread.
    pub fn load(mut from: impl Read) -> Result<Self, LoadError> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes)?;
        let rest = bytes.strip_prefix(MAGIC).ok_or(LoadError::NotAModel)?;
        let (version, _) = rest
            .split_first_chunk()
            .ok_or(LoadError::Damaged("it ends early"))?;
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
        Reader(&bytes[start..end]).model()
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn tag(&mut self, tag: u8) {
        self.0.push(tag);
    }

    fn count(&mut self, count: usize) {
        self.0.extend((count as u64).to_le_bytes());
    }

    fn number(&mut self, number: f64) {
        self.0.extend(number.to_le_bytes());
    }

    fn numbers<const N: usize>(&mut self, numbers: [f64; N]) {
        numbers.into_iter().for_each(|number| self.number(number));
    }

    fn list(&mut self, numbers: impl ExactSizeIterator<Item = f64>) {
        self.count(numbers.len());
        numbers.for_each(|number| self.number(number));
    }

    fn kernel(&mut self, kernel: &FittedKernel) {
        match *kernel {
            FittedKernel::Gaussian { width } => {
                self.tag(0);
                self.number(width);
            }
            FittedKernel::Linear => self.tag(1),
            FittedKernel::Polynomial {
                degree,
                offset,
                scale,
            } => {
                self.tag(2);
                self.numbers([f64::from(degree), offset, scale]);
            }
        }
    }

    fn rule(&mut self, rule: &Rule) {
        let (tag, norms) = match rule {
            Rule::Nearest { norms } => (0, norms.as_slice()),
            Rule::Farthest { norms } => (1, norms.as_slice()),
            Rule::Vote { .. } => (2, &[][..]),
        };
        self.tag(tag);
        self.count(rule.classes());
        self.list(norms.iter().copied());
    }

    fn functions(&mut self, offsets: &[f64], coefficients: &Mat<f64>, rows: &[usize]) {
        self.list(offsets.iter().copied());
        self.count(offsets.len() * rows.len());
        for l in 0..offsets.len() {
            rows.iter().for_each(|&i| self.number(coefficients[(i, l)]));
        }
    }

    fn certificate(&mut self, certificate: &Certificate) {
        let Certificate {
            primal,
            dual,
            gap,
            iterations,
            termination,
        } = *certificate;
        self.numbers([primal, dual, gap]);
        self.count(iterations);
        let tag = TERMINATIONS.iter().position(|&known| known == termination);
        self.tag(tag.unwrap_or_default() as u8);
    }

    fn trace(&mut self, trace: &[TraceRow]) {
        self.count(trace.len());
        for row in trace {
            self.count(row.iteration);
            self.numbers([row.primal, row.dual, row.gradient_norm, row.manifold]);
            for list in [&row.objectives, &row.tau, &row.tau_star] {
                self.list(list.iter().copied());
            }
        }
    }
}

/// What is left of the contents.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn model(mut self) -> Result<Model, LoadError> {
        let kernel = self.kernel()?;
        let columns = self.count()?;
        let x = self.list()?;
        let support = (0..self.length(8)?)
            .map(|_| self.count())
            .collect::<Result<Vec<_>, _>>()?;
        let n = support.len();
        let x = Array2::from_shape_vec((n, columns), x)
            .map_err(|_| LoadError::Damaged("the samples are not a table"))?;
        let (rule, functions) = self.rule()?;
        let (offsets, coefficients) = self.functions(n)?;
        require(
            offsets.len() == functions,
            "the rule does not fit the functions",
        )?;
        let (z_offsets, frame) = self.functions(n)?;
        let representation = (!z_offsets.is_empty()).then_some(Representation {
            frame,
            offsets: z_offsets,
        });
        let certificate = self.certificate()?;
        let trace = (0..self.length(40)?)
            .map(|_| self.row())
            .collect::<Result<Vec<_>, _>>()?;
        require(self.0.is_empty(), "it is longer than expected")?;
        Ok(Model {
            expansion: Arc::new(Expansion { kernel, x, support }),
            machine: KernelMachine {
                coefficients,
                offsets,
                rule,
            },
            representation,
            certificate,
            trace,
            par: Par::Seq,
        })
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], LoadError> {
        let (first, rest) = self
            .0
            .split_first_chunk()
            .ok_or(LoadError::Damaged("it ends early"))?;
        self.0 = rest;
        Ok(*first)
    }

    fn tag(&mut self) -> Result<u8, LoadError> {
        Ok(self.take::<1>()?[0])
    }

    fn count(&mut self) -> Result<usize, LoadError> {
        let count = u64::from_le_bytes(self.take()?);
        usize::try_from(count).map_err(|_| LoadError::Damaged("a count is too large"))
    }

    fn number(&mut self) -> Result<f64, LoadError> {
        Ok(f64::from_le_bytes(self.take()?))
    }

    /// The length of a list whose entries have at least `size` bytes, all of which must be there.
    fn length(&mut self, size: usize) -> Result<usize, LoadError> {
        let length = self.count()?;
        require(length <= self.0.len() / size, "a list ends early")?;
        Ok(length)
    }

    fn list(&mut self) -> Result<Vec<f64>, LoadError> {
        (0..self.length(8)?).map(|_| self.number()).collect()
    }

    fn kernel(&mut self) -> Result<FittedKernel, LoadError> {
        Ok(match self.tag()? {
            0 => FittedKernel::Gaussian {
                width: self.number()?,
            },
            1 => FittedKernel::Linear,
            2 => FittedKernel::Polynomial {
                degree: self.number()? as i32,
                offset: self.number()?,
                scale: self.number()?,
            },
            _ => return Err(LoadError::Damaged("the kernel is unknown")),
        })
    }

    /// The rule, and how many functions it takes.
    fn rule(&mut self) -> Result<(Rule, usize), LoadError> {
        let (tag, classes, norms) = (self.tag()?, self.count()?, self.list()?);
        require(classes > 0, "the rule has no classes")?;
        let functions = norms.len();
        let rule = match tag {
            0 if functions == classes => Rule::Nearest { norms },
            1 if functions == classes => Rule::Farthest { norms },
            2 if norms.is_empty() => {
                let pairs = classes.saturating_mul(classes.saturating_sub(1)) / 2;
                return Ok((Rule::Vote { classes }, pairs));
            }
            _ => return Err(LoadError::Damaged("the rule is unknown")),
        };
        Ok((rule, functions))
    }

    fn functions(&mut self, rows: usize) -> Result<(Vec<f64>, Mat<f64>), LoadError> {
        let (offsets, values) = (self.list()?, self.list()?);
        let is_table = offsets.len().checked_mul(rows) == Some(values.len());
        require(is_table, "the coefficients are not a table")?;
        let coefficients = Mat::from_fn(rows, offsets.len(), |i, l| values[l * rows + i]);
        Ok((offsets, coefficients))
    }

    fn certificate(&mut self) -> Result<Certificate, LoadError> {
        let [primal, dual, gap] = [self.number()?, self.number()?, self.number()?];
        let (iterations, tag) = (self.count()?, usize::from(self.tag()?));
        let termination = TERMINATIONS.get(tag).copied();
        Ok(Certificate {
            primal,
            dual,
            gap,
            iterations,
            termination: termination.ok_or(LoadError::Damaged("the termination is unknown"))?,
        })
    }

    fn row(&mut self) -> Result<TraceRow, LoadError> {
        Ok(TraceRow {
            iteration: self.count()?,
            primal: self.number()?,
            dual: self.number()?,
            gradient_norm: self.number()?,
            manifold: self.number()?,
            objectives: self.list()?,
            tau: self.list()?,
            tau_star: self.list()?,
        })
    }
}

fn require(holds: bool, what: &'static str) -> Result<(), LoadError> {
    match holds {
        true => Ok(()),
        false => Err(LoadError::Damaged(what)),
    }
}
