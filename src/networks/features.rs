//! Features of images by a frozen encoder, computed once and stored.
//!
//! On the CPU, each worker decodes and encodes some images on one thread of libtorch. So a feature does
//! not depend on the number of workers. Features are stored under the hash of everything that they
//! depend on.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ndarray::{Array2, Axis, concatenate};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use tch::{Device, Kind, Tensor};

use super::torch::{self, guarded};
use super::{EncoderError, ResNet};
use crate::data::{DataError, Dataset, Encoder, Images, hex};

/// Images that are encoded together.
const BATCH: usize = 16;

impl Encoder {
    /// The network in evaluation mode.
    pub fn network(&self, device: Device) -> Result<ResNet, EncoderError> {
        ResNet::new(self.spec.network, self.spec.conventions, &self.weights, device)
    }
}

/// Features of the `images` of a dataset, stored in the user's cache. `begin` is called with the number of images that
/// are about to be encoded.
pub fn dataset_features(
    dataset: &Dataset,
    images: &Images,
    encoder: &Encoder,
    device: &str,
    begin: &dyn Fn(usize),
) -> Result<Array2<f64>, DataError> {
    let cache = dirs::cache_dir().map(|cache| cache.join("npsvcpp").join("features"));
    let part = |part: Range<usize>| {
        let images = images.select(&part.collect::<Vec<usize>>());
        let begin = || begin(images.len());
        features(&images, encoder, device, cache.as_deref(), begin).map_err(|error| {
            DataError::Unencodable {
                dataset: dataset.name.clone(),
                problem: error.to_string(),
                path: error.path().map(Path::to_path_buf),
            }
        })
    };
    // Samples for validation separately, so that the name of the others does not depend on them.
    let own = dataset.own_samples();
    match own == images.len() {
        true => part(0..own),
        false => Ok(concatenate![Axis(0), part(0..own)?, part(own..images.len())?]),
    }
}

/// Features of `images`, one row each, computed on `device` (`cpu` or `cuda:N`). They are read from `cache` if they
/// are there, and stored there otherwise.
pub fn features(
    images: &Images,
    encoder: &Encoder,
    device: &str,
    cache: Option<&Path>,
    begin: impl FnOnce(),
) -> Result<Array2<f64>, EncoderError> {
    let dims = encoder.spec.network.dims();
    let key = hex(&Sha256::digest(format!("{} {}", encoder.hash, images.hash()?)));
    let path = cache.map(|cache| cache.join(format!("{key}.f32")));
    let stored = path.as_ref().and_then(|path| fs::read(path).ok());
    let wanted = 4 * dims * images.len();
    let bytes = match stored.and_then(|bytes| verified(bytes, wanted)) {
        Some(bytes) => bytes,
        None => {
            begin();
            let bytes = match torch::device(device)? {
                Device::Cpu => compute(images, encoder)?,
                device => guarded(device, || compute_on(images, encoder, device))?,
            };
            if let Some(path) = &path {
                // Features that cannot be stored are computed again next time.
                let _ = store(path, &bytes);
            }
            bytes
        }
    };
    let (numbers, _) = bytes.as_chunks();
    let values = numbers.iter().map(|&number| f64::from(f32::from_le_bytes(number))).collect();
    Ok(Array2::from_shape_vec((images.len(), dims), values).expect("the length was checked"))
}

/// The stored features, if they have the wanted length and agree with the hash behind them.
fn verified(mut bytes: Vec<u8>, wanted: usize) -> Option<Vec<u8>> {
    let checksum = bytes.get(wanted..)?.to_vec();
    bytes.truncate(wanted);
    (checksum == Sha256::digest(&bytes).as_slice()).then_some(bytes)
}

fn store(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut file, bytes)?;
    std::io::Write::write_all(&mut file, &Sha256::digest(bytes))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// One network on a device. It encodes a batch while the CPU decodes the next one.
fn compute_on(images: &Images, encoder: &Encoder, device: Device) -> Result<Vec<u8>, EncoderError> {
    const ON_DEVICE: usize = 128;
    let network = encoder.network(device)?;
    let mut bytes = Vec::new();
    prefetched(images, &in_order(images, ON_DEVICE), |_, pixels| {
        bytes.extend(encoded(&network, &pixels.to_device(device)));
        Ok::<(), EncoderError>(())
    })?;
    Ok(bytes)
}

/// The features of pixels in 0..255 as bytes.
fn encoded(network: &ResNet, pixels: &Tensor) -> Vec<u8> {
    let pixels = network.conventions().normalise(pixels);
    torch::bytes(&tch::no_grad(|| network.forward(&pixels, false)))
}

fn compute(images: &Images, encoder: &Encoder) -> Result<Vec<u8>, EncoderError> {
    let parts: Vec<Vec<u8>> = in_order(images, BATCH)
        .par_iter()
        .map_init(
            || None,
            |network, indices| {
                guarded(Device::Cpu, || {
                    tch::set_num_threads(1);
                    let network = match network {
                        Some(network) => network,
                        None => network.insert(encoder.network(Device::Cpu)?),
                    };
                    Ok(encoded(network, &batch(images, indices)?))
                })
            },
        )
        .collect::<Result<_, EncoderError>>()?;
    Ok(parts.concat())
}

/// All images in batches of `size`.
pub(super) fn in_order(images: &Images, size: usize) -> Vec<Vec<usize>> {
    let indices: Vec<usize> = (0..images.len()).collect();
    indices.chunks(size).map(<[usize]>::to_vec).collect()
}

/// Calls `work` with each batch as pixels in 0..255, while the next batch is decoded.
pub(super) fn prefetched<E: From<DataError>>(
    images: &Images,
    batches: &[Vec<usize>],
    mut work: impl FnMut(&[usize], Tensor) -> Result<(), E>,
) -> Result<(), E> {
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        scope.spawn(move || {
            for indices in batches {
                // The receiver is gone if it failed.
                if sender.send(batch(images, indices)).is_err() {
                    return;
                }
            }
        });
        for indices in batches {
            match receiver.recv() {
                Ok(pixels) => work(indices, pixels?)?,
                Err(_) => break,
            }
        }
        Ok(())
    })
}

/// The images at `indices` as pixels in 0..255, decoded in parallel.
fn batch(images: &Images, indices: &[usize]) -> Result<Tensor, DataError> {
    let planes: Vec<Arc<[u8]>> =
        indices.par_iter().map(|&i| images.planes_of(i)).collect::<Result<_, _>>()?;
    let side = i64::from(images.side());
    let planes: Vec<&[u8]> = planes.iter().map(AsRef::as_ref).collect();
    let pixels = Tensor::from_slice(&planes.concat());
    Ok(pixels.view([indices.len() as i64, 3, side, side]).to_kind(Kind::Float))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_gives_the_same_features_in_the_same_order() {
        use crate::data::EncoderSpec;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("weights.safetensors");
        let tensors: Vec<(String, Tensor)> = crate::networks::resnet::tests::untrained();
        Tensor::write_safetensors(&tensors, &path).expect("a file is written");
        let spec = EncoderSpec {
            network: crate::data::Backbone::Resnet18,
            size: 32,
            ..EncoderSpec::default()
        };
        let encoder = Encoder::new(spec, path).expect("weights are there");
        let bytes: Vec<u8> = (0..150 * 12).map(|at| (at * 7 % 251) as u8).collect();
        let images = Images::planes(bytes.chunks_exact(12)).resized(32);
        let whole = compute(&images, &encoder).expect("the CPU encodes");
        let on_device = compute_on(&images, &encoder, Device::Cpu).expect("a device encodes");
        let numbers = |bytes: &[u8]| -> Vec<f32> {
            let values = bytes.chunks_exact(4);
            values.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
        };
        let (whole, on_device) = (numbers(&whole), numbers(&on_device));
        assert_eq!(whole.len(), 150 * 512);
        let far = |(a, b): (&f32, &f32)| (a - b).abs() > 1e-3 * (1.0 + a.abs());
        assert!(!whole.iter().zip(&on_device).any(far));
    }

    #[test]
    fn stored_features_are_read_only_if_unchanged() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("features/some.f32");
        store(&path, &[1, 2, 3, 4]).expect("a file is written");
        let bytes = fs::read(&path).expect("it is there");
        assert_eq!(verified(bytes.clone(), 4), Some(vec![1, 2, 3, 4]));
        assert_eq!(verified(bytes.clone(), 3), None);
        assert_eq!(verified(bytes[..20].to_vec(), 4), None);
        let mut flipped = bytes;
        flipped[2] ^= 1;
        assert_eq!(verified(flipped, 4), None);
        assert_eq!(verified(Vec::new(), 4), None);
    }
}
