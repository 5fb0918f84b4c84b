//! Checkpoints, from which a killed training continues: everything that the next epoch depends on, in a safetensors
//! file that is replaced as a whole. Once the prior encoder is frozen, its last checkpoint stays, and the layers
//! behind it go to a second file, see [`head_path`], because encoders are large.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor, no_grad};

use super::torch::bytes;
use crate::methods::TraceRow;

/// Key of the other state in the file's metadata.
const STATE: &str = "state";

/// Why a checkpoint cannot be continued from.
pub(super) type Refusal = String;

/// The state beyond tensors.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct TrainingState {
    /// The cell that the training belongs to: the name of the file. Older files lack it.
    #[serde(default)]
    pub cell: String,
    /// Epochs done.
    pub epochs: usize,
    /// The state of the criterion.
    pub objective: Vec<f64>,
    pub trace: Vec<TraceRow>,
}

/// Where the layers behind a frozen encoder are stored, next to the checkpoint with the encoder.
pub(super) fn head_path(path: &Path) -> PathBuf {
    path.with_extension("head.safetensors")
}

/// Stores `state` and the tensors.
pub(super) fn save(
    path: &Path,
    state: &TrainingState,
    tensors: &[(String, Tensor)],
) -> io::Result<()> {
    let bytes: Vec<Vec<u8>> = tensors.iter().map(|(_, tensor)| bytes(tensor)).collect();
    let mut views = Vec::with_capacity(tensors.len());
    for ((name, tensor), bytes) in tensors.iter().zip(&bytes) {
        let shape = tensor.size().iter().map(|&n| n as usize).collect();
        let view = TensorView::new(Dtype::F32, shape, bytes).map_err(io::Error::other)?;
        views.push((name.as_str(), view));
    }
    let metadata = HashMap::from([(STATE.to_owned(), serde_json::to_string(state)?)]);
    let file = serialize(views, &Some(metadata)).map_err(io::Error::other)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // The file gets its name once it is complete and on the disk.
    let part = path.with_extension("part");
    let mut writer = fs::File::create(&part)?;
    writer.write_all(&file)?;
    writer.sync_all()?;
    fs::rename(&part, path)?;
    // The new name, too, must be on the disk.
    fs::File::open(folder)?.sync_all()?;
    // Tests end the program here.
    #[cfg(feature = "failpoints")]
    fail::fail_point!("checkpoint", |_| std::process::abort());
    Ok(())
}

/// The name of the cell whose checkpoint is at `path`.
pub(super) fn cell_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Copies the stored tensors into `tensors`; `None` if there is no checkpoint. A checkpoint that is
/// damaged or of another training is refused, because a training that silently starts over would hide
/// that hours are lost.
pub(super) fn load(
    path: &Path,
    tensors: &mut [(String, Tensor)],
) -> Result<Option<TrainingState>, Refusal> {
    let file = match fs::read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot be read ({error})")),
    };
    let torn = |error: safetensors::SafeTensorError| format!("is damaged ({error:?})");
    let (_, header) = SafeTensors::read_metadata(&file).map_err(torn)?;
    let metadata = header.metadata().as_ref();
    let text = metadata.and_then(|metadata| metadata.get(STATE));
    let text = text.ok_or("is not a checkpoint of this program")?;
    let state: TrainingState =
        serde_json::from_str(text).map_err(|error| format!("is damaged ({error})"))?;
    let other = || "belongs to a training of another spec".to_owned();
    if !state.cell.is_empty() && state.cell != cell_of(path) {
        return Err(other());
    }
    let stored = SafeTensors::deserialize(&file).map_err(torn)?;
    let mut found = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors.iter() {
        let view = stored.tensor(name).map_err(|_| other())?;
        let shape: Vec<i64> = view.shape().iter().map(|&n| n as i64).collect();
        if shape != tensor.size() || view.dtype() != Dtype::F32 {
            return Err(other());
        }
        found.push(Tensor::from_data_size(view.data(), &shape, Kind::Float));
    }
    no_grad(|| {
        for ((_, tensor), found) in tensors.iter_mut().zip(&found) {
            tensor.copy_(found);
        }
    });
    Ok(Some(state))
}
