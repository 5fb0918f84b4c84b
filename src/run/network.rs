//! Networks in a run: the devices they are trained on, and one training from samples to classes.

#[cfg(feature = "deep")]
use std::time::Instant;

use super::evaluate::{Evaluation, FitContext, Fold};
use crate::error::Error;
use crate::methods::criteria::Criterion;
#[cfg(not(feature = "deep"))]
use crate::methods::criteria::NEEDS_DEEP;
#[cfg(feature = "deep")]
use crate::{
    data::Dataset,
    event::Epochs,
    methods::TraceRow,
    networks::{self, NetworkFit, Samples, TrainError, TrainOptions, TrainedNetwork, TrainingData},
    spec::Recording,
};

/// Checks that this build and this machine can train networks on `name`, `cpu` or `cuda:N`.
pub fn require_device(name: &str) -> Result<(), Error> {
    if name == "cpu" {
        return Ok(());
    }
    #[cfg(not(feature = "deep"))]
    return Err(Error::input(format!("--device {name} {NEEDS_DEEP}")));
    #[cfg(feature = "deep")]
    networks::find_device(name).map_err(|reason| {
        Error::input(format!("--device {name}: {reason}, expected cpu or a device it finds"))
    })
}

/// Measures the epochs of a training. Those in which the encoder learns take much longer than the others.
#[cfg(feature = "deep")]
struct Stopwatch {
    /// Epochs in which the encoder learns.
    slow: usize,
    all: usize,
    /// Number and seconds of the epochs so far: slow ones and others.
    measured: [(usize, f64); 2],
}

#[cfg(feature = "deep")]
impl Stopwatch {
    fn new(slow: usize, all: usize) -> Self {
        Self { slow: slow.min(all), all, measured: [(0, 0.0); 2] }
    }

    /// The epoch number `epoch`, counted from 0, has ended.
    fn end(&mut self, epoch: usize, seconds: f64) -> Epochs {
        let (count, sum) = &mut self.measured[usize::from(epoch >= self.slow)];
        *count += 1;
        *sum += seconds;
        let done = epoch + 1;
        let left = [self.slow.saturating_sub(done), self.all - done.max(self.slow)];
        let times = left.iter().zip(&self.measured);
        let times = times.map(|(&left, &(count, sum))| left as f64 * sum / count.max(1) as f64);
        let seconds = self.measured.iter().map(|(_, sum)| sum).sum();
        Epochs { done, all: self.all, seconds, seconds_left: times.sum() }
    }
}

/// Trains a network on the training samples of a fold and predicts its test samples.
#[cfg(feature = "deep")]
pub(super) fn fit(
    criterion: &Criterion,
    fold: &Fold<'_>,
    context: FitContext<'_>,
) -> Result<Evaluation, String> {
    // A class is called what the data calls it.
    let explain = |error| match error {
        TrainError::EmptyClass { class } => fold.source.empty_class(class),
        other => other.to_string(),
    };
    let dataset = &fold.source.dataset;
    let (samples, test) = (samples(dataset, fold.train), samples(dataset, fold.test));
    let encoder = dataset.encoder.as_ref();
    let data = TrainingData { samples: &samples, classes: dataset.classes.len(), encoder };
    let training = &criterion.training;
    let slow = encoder.map_or(0, |_| training.fine_tune);
    let mut stopwatch = Stopwatch::new(slow, training.epochs);
    let on_epoch = |network: &TrainedNetwork, row: &mut TraceRow| {
        if context.recordings.contains(&Recording::Evolution) {
            row.accuracy = Some(test.accuracy(&network.predict(&test)?));
        }
        (context.on_epoch)(stopwatch.end(row.iteration, row.seconds.unwrap_or_default()));
        Ok(())
    };
    let options = TrainOptions {
        device: context.device,
        checkpoint: context.checkpoint,
        on_epoch: Some(Box::new(on_epoch)),
    };
    let fit = networks::train(criterion, &data, context.seed, options).map_err(explain)?;
    let NetworkFit { network, certificate, trace } = fit;
    let begun = Instant::now();
    let predicted = network.predict(&test).map_err(explain)?;
    let predict_seconds = begun.elapsed().as_secs_f64();
    let representation = match context.recordings.contains(&Recording::Embedding) {
        true => network.represent(&test).map_err(explain)?,
        false => None,
    };
    // Of all epochs, whichever run made them, without what was monitored.
    let fit_seconds = trace.iter().filter_map(|row| row.seconds).sum();
    Ok(Evaluation { predicted, certificate, trace, representation, fit_seconds, predict_seconds })
}

#[cfg(not(feature = "deep"))]
pub(super) fn fit(_: &Criterion, _: &Fold<'_>, _: FitContext<'_>) -> Result<Evaluation, String> {
    Err(format!("a network {NEEDS_DEEP}"))
}

#[cfg(feature = "deep")]
fn samples(dataset: &Dataset, indices: &[usize]) -> Samples {
    let images = dataset.images.as_ref();
    Samples {
        x: dataset.x.select(ndarray::Axis(0), indices),
        y: indices.iter().map(|&i| dataset.y[i]).collect(),
        images: images.map(|images| images.select(indices)),
    }
}

#[cfg(all(test, feature = "deep"))]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_distinguishes_slow_and_fast_epochs() {
        let mut stopwatch = Stopwatch::new(2, 5);
        let left = |epochs: Epochs| (epochs.done, epochs.all, epochs.seconds_left);
        assert_eq!(left(stopwatch.end(0, 10.0)), (1, 5, 10.0));
        assert_eq!(left(stopwatch.end(1, 14.0)), (2, 5, 0.0));
        assert_eq!(left(stopwatch.end(2, 3.0)), (3, 5, 6.0));
        assert_eq!(left(stopwatch.end(3, 1.0)), (4, 5, 2.0));
        assert_eq!(left(stopwatch.end(4, 1.0)), (5, 5, 0.0));
        // One that continues after its encoder was frozen.
        let mut stopwatch = Stopwatch::new(2, 5);
        assert_eq!(left(stopwatch.end(3, 2.0)), (4, 5, 2.0));
    }
}
