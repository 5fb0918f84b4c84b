//! Weights of encoders: a file of one's own, or torchvision's, whose names end in the beginning of
//! their SHA-256.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::Store;
use crate::data::download;
use crate::data::error::DataError;
use crate::data::hex;
use crate::spec::{Backbone, EncoderSpec};

/// Where torchvision's weights are.
const ADDRESS: &str = "https://download.pytorch.org/models";

/// torchvision's file of a network trained on ImageNet.
fn published(network: Backbone) -> &'static str {
    match network {
        Backbone::Resnet18 => "resnet18-f37072fd.pth",
        Backbone::Resnet34 => "resnet34-b627a593.pth",
        Backbone::Resnet50 => "resnet50-0676ba61.pth",
    }
}

impl Store {
    /// The file of the weights of `encoder`, downloaded if need be.
    pub fn weights(&self, dataset: &str, encoder: &EncoderSpec) -> Result<PathBuf, DataError> {
        let own = encoder.weights.as_deref();
        let name = own.unwrap_or(Path::new(published(encoder.network)));
        if own.is_some_and(Path::is_file) {
            return Ok(name.to_path_buf());
        }
        let mut folders = self.folders.iter();
        let found = folders.find_map(|folder| {
            let path = folder.join("weights").join(name);
            path.is_file().then_some(path)
        });
        match (found, own) {
            (Some(path), _) => Ok(path),
            (None, Some(own)) => Err(DataError::Encoder {
                dataset: dataset.to_owned(),
                problem: format!(
                    "there is no file {} of weights, neither as a path nor in the folder `weights` of \
                     a data folder",
                    own.display()
                ),
            }),
            (None, None) => self.fetch_weights(dataset, published(encoder.network)),
        }
    }

    fn fetch_weights(&self, dataset: &str, name: &str) -> Result<PathBuf, DataError> {
        let url = format!("{ADDRESS}/{name}");
        let target = self.target.as_deref().unwrap_or(Path::new("<data folder>"));
        let folder = target.join("weights");
        let place = folder.join(name);
        let failed = |why: String| DataError::Unavailable {
            dataset: dataset.to_owned(),
            reason: format!("no weights `weights/{name}` of its encoder in any data folder{why}"),
            remedy: format!("get {url} and put it at {}", place.display()),
            address: url.clone(),
        };
        if self.offline || self.target.is_none() {
            return Err(failed(", and nothing may be downloaded".to_owned()));
        }
        let part = folder.join(format!("{name}.part"));
        fs::create_dir_all(&folder).map_err(|error| failed(format!(" ({error})")))?;
        download::complete(&self.agent, &url, &part, &mut |_, _| ())
            .map_err(|failure| failed(format!(", and the download failed: {failure}")))?;
        let bytes = fs::read(&part).map_err(|error| DataError::read(&part, error))?;
        let hash = hex(&Sha256::digest(&bytes));
        let wanted = name.rsplit('-').next().unwrap_or_default();
        let wanted = wanted.trim_end_matches(".pth");
        if !hash.starts_with(wanted) {
            let _ = fs::remove_file(&part);
            return Err(failed(format!(
                ", and what was sent has SHA-256 {hash}, expected {wanted}..."
            )));
        }
        fs::rename(&part, &place).map_err(|error| failed(format!(" ({error})")))?;
        Ok(place)
    }
}
