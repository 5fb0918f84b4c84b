//! Files of weights: safetensors, or a dictionary of tensors that `torch.save` wrote.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use tch::{Kind, Tensor};

use super::EncoderError;
use crate::data::{DataError, pth};

/// Tensors by name, in single precision.
pub(super) struct WeightsFile {
    tensors: BTreeMap<String, Tensor>,
    path: PathBuf,
}

impl WeightsFile {
    /// Takes the tensor `name`, which must have this shape.
    pub fn take(&mut self, name: &str, shape: &[i64]) -> Result<Tensor, EncoderError> {
        let tensor = self.tensors.remove(name).ok_or_else(|| {
            let found = format!("no tensor `{name}`");
            EncoderError::content(&self.path, found, format!("one of shape {shape:?}"))
        })?;
        if tensor.size() != shape {
            let found = format!("tensor `{name}` of shape {:?}", tensor.size());
            return Err(EncoderError::content(&self.path, found, format!("shape {shape:?}")));
        }
        Ok(tensor)
    }
}

/// Reads the weights in `path`. The first bytes show the format.
pub(super) fn load(path: &Path) -> Result<WeightsFile, EncoderError> {
    let bytes = fs::read(path).map_err(|source| DataError::read(path, source))?;
    let mut tensors = BTreeMap::new();
    let mut add = |name, dtype, shape: &[usize], bytes: &[u8]| {
        let tensor = tensor(dtype, shape, bytes, path)?;
        tensors.extend(tensor.map(|tensor| (name, tensor)));
        Ok::<(), EncoderError>(())
    };
    if bytes.starts_with(b"PK") {
        for (name, found) in pth::tensors(&bytes).map_err(|bad| bad.in_file(path))? {
            add(name, found.dtype, &found.shape, &found.bytes)?;
        }
    } else {
        let file = SafeTensors::deserialize(&bytes).map_err(|error| {
            let found = format!("an incomplete or damaged safetensors file ({error:?})");
            EncoderError::content(path, found, "a safetensors file, or a zip archive of torch.save")
        })?;
        for (name, view) in file.tensors() {
            add(name, view.dtype(), view.shape(), view.data())?;
        }
    }
    Ok(WeightsFile { tensors, path: path.to_path_buf() })
}

/// A tensor in single precision; none for counters, which no layer uses.
fn tensor(
    dtype: Dtype,
    shape: &[usize],
    bytes: &[u8],
    path: &Path,
) -> Result<Option<Tensor>, EncoderError> {
    let kind = match dtype {
        Dtype::F16 => Kind::Half,
        Dtype::BF16 => Kind::BFloat16,
        Dtype::F32 => Kind::Float,
        Dtype::F64 => Kind::Double,
        _ => return Ok(None),
    };
    let shape: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
    let tensor = Tensor::f_from_data_size(bytes, &shape, kind);
    let refuse = |error: tch::TchError| {
        EncoderError::content(path, error.to_string(), "tensors that libtorch takes")
    };
    Ok(Some(tensor.map_err(refuse)?.to_kind(Kind::Float)))
}
