//! Files of weights: safetensors, or a dictionary of tensors that `torch.save` wrote.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use tch::{Kind, Tensor};

use super::EncoderError;
use crate::data::pth::{self, Precision};

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

/// Reads the weights in `path`. The first bytes tell the format.
pub(super) fn load(path: &Path) -> Result<WeightsFile, EncoderError> {
    let bytes =
        fs::read(path).map_err(|source| EncoderError::Read { path: path.to_path_buf(), source })?;
    let tensors = match bytes.starts_with(b"PK") {
        true => from_pth(&bytes, path)?,
        false => from_safetensors(&bytes, path)?,
    };
    Ok(WeightsFile { tensors, path: path.to_path_buf() })
}

fn from_pth(bytes: &[u8], path: &Path) -> Result<BTreeMap<String, Tensor>, EncoderError> {
    let refuse =
        |found: String| EncoderError::content(path, found, "an archive that torch.save wrote");
    let tensor = |(name, tensor): (String, pth::PthTensor)| {
        let kind = match tensor.precision {
            Precision::Half => Kind::Half,
            Precision::Single => Kind::Float,
            Precision::Double => Kind::Double,
        };
        let values = Tensor::f_from_data_size(&tensor.bytes, &tensor.shape, kind);
        let values = values.map_err(|error| refuse(error.to_string()))?;
        Ok((name, values.to_kind(Kind::Float)))
    };
    pth::tensors(bytes).map_err(refuse)?.into_iter().map(tensor).collect()
}

fn from_safetensors(bytes: &[u8], path: &Path) -> Result<BTreeMap<String, Tensor>, EncoderError> {
    let refuse = |error: safetensors::SafeTensorError| {
        let found = format!("no whole safetensors file ({error:?})");
        EncoderError::content(path, found, "a safetensors file, or a zip archive of torch.save")
    };
    let file = SafeTensors::deserialize(bytes).map_err(refuse)?;
    let mut tensors = BTreeMap::new();
    for (name, view) in file.tensors() {
        let kind = match view.dtype() {
            Dtype::F16 => Kind::Half,
            Dtype::BF16 => Kind::BFloat16,
            Dtype::F32 => Kind::Float,
            Dtype::F64 => Kind::Double,
            // Counters, which no layer uses.
            _ => continue,
        };
        let shape: Vec<i64> = view.shape().iter().map(|&n| n as i64).collect();
        let tensor = Tensor::from_data_size(view.data(), &shape, kind);
        tensors.insert(name, tensor.to_kind(Kind::Float));
    }
    Ok(tensors)
}
