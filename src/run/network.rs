//! Networks in a run: the devices they are trained on, and one training from a dataset's samples to classes.

use std::path::PathBuf;

use ndarray::Array2;

use super::prepare::Source;
use crate::methods::TraceRow;
use crate::methods::criteria::Criterion;
#[cfg(not(feature = "deep"))]
use crate::methods::criteria::NEEDS_DEEP;
#[cfg(feature = "deep")]
use crate::networks::{
    self, NetworkFit, Samples, TrainError, TrainOptions, TrainedNetwork, TrainingData,
};
use npsvc::Certificate;
use npsvc::Seed;

/// Why networks cannot be trained on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoDevice {
    /// This build trains no networks.
    NotBuilt,
    /// There is no such device, for this reason.
    NotFound(String),
}

/// Checks that networks can be trained on `name`, `cpu` or `cuda:N`.
pub fn require_device(name: &str) -> Result<(), NoDevice> {
    if name == "cpu" {
        return Ok(());
    }
    #[cfg(not(feature = "deep"))]
    return Err(NoDevice::NotBuilt);
    #[cfg(feature = "deep")]
    networks::find_device(name).map_err(NoDevice::NotFound)
}

/// A network to train and samples to classify with it.
#[cfg_attr(
    not(feature = "deep"),
    expect(dead_code, reason = "only a build that trains networks reads it")
)]
pub(super) struct Task<'a> {
    pub source: &'a Source,
    pub criterion: &'a Criterion,
    /// Indices of the samples.
    pub train: &'a [usize],
    pub test: &'a [usize],
    pub seed: &'a Seed,
    pub device: &'a str,
    /// Where to keep what a killed training continues from.
    pub checkpoint: Option<PathBuf>,
    /// Whether the accuracy on the test samples is recorded after every epoch.
    pub has_monitor: bool,
    /// Whether the representation `z` of the test samples is asked for.
    pub has_representation: bool,
}

/// A trained network's answers.
pub(super) struct Answers {
    pub certificate: Certificate,
    pub trace: Vec<TraceRow>,
    /// The class of each test sample.
    pub predicted: Vec<usize>,
    pub predict_seconds: f64,
    pub representation: Option<Array2<f64>>,
}

impl Task<'_> {
    #[cfg(not(feature = "deep"))]
    pub fn run(self) -> Result<Answers, String> {
        Err(format!("a network {NEEDS_DEEP}"))
    }

    /// Trains the network and classifies the test samples.
    #[cfg(feature = "deep")]
    pub fn run(self) -> Result<Answers, String> {
        let explain = |error| explain(self.source, &error);
        let dataset = &self.source.dataset;
        let (samples, test) = (
            samples(self.source, self.train),
            samples(self.source, self.test),
        );
        let data = TrainingData {
            samples: &samples,
            classes: dataset.classes.len(),
            encoder: dataset.encoder.as_ref(),
        };
        let on_epoch = |network: &TrainedNetwork, row: &mut TraceRow| {
            if self.has_monitor {
                row.accuracy = Some(test.accuracy(&network.predict(&test)?));
            }
            Ok(())
        };
        let options = TrainOptions {
            device: self.device,
            checkpoint: self.checkpoint,
            on_epoch: Some(Box::new(on_epoch)),
        };
        let fit = networks::train(self.criterion, &data, self.seed, options).map_err(explain)?;
        let NetworkFit {
            network,
            certificate,
            trace,
        } = fit;
        let begun = std::time::Instant::now();
        let predicted = network.predict(&test).map_err(explain)?;
        let predict_seconds = begun.elapsed().as_secs_f64();
        let representation = match self.has_representation {
            true => network.represent(&test).map_err(explain)?,
            false => None,
        };
        Ok(Answers {
            certificate,
            trace,
            predicted,
            predict_seconds,
            representation,
        })
    }
}

#[cfg(feature = "deep")]
fn samples(source: &Source, indices: &[usize]) -> Samples {
    let dataset = &source.dataset;
    let images = dataset.images.as_ref();
    Samples {
        x: dataset.x.select(ndarray::Axis(0), indices),
        y: indices.iter().map(|&i| dataset.y[i]).collect(),
        images: images.map(|images| images.select(indices)),
    }
}

/// Why a training failed, with the class called what the data calls it.
#[cfg(feature = "deep")]
fn explain(source: &Source, error: &TrainError) -> String {
    match error {
        TrainError::EmptyClass { class } => source.empty_class(*class),
        other => other.to_string(),
    }
}
