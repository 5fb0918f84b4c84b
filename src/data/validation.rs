//! The validation part of a dataset that has one, such as Flowers-102.
//!
//! It is not one of the dataset's samples and not part of its hash, unless an experiment asks for it:
//! `select: {on: validation}` chooses parameters on it, and `evaluate_on: validation` puts it in the place of the
//! test samples.

use std::path::Path;
use std::sync::Arc;

use ndarray::{Axis, concatenate};
use sha2::{Digest, Sha256};

use super::error::{DataError, bad};
use super::{Dataset, EvaluateOn, Samples, content_hash, hex};

/// The last samples of a dataset, which are neither for training nor for testing.
#[derive(Clone, Debug)]
pub struct Validation {
    pub samples: usize,
    /// SHA-256 over values and labels, or over images and labels.
    pub hash: String,
}

impl Dataset {
    /// The same with its validation samples, if accuracies are measured or parameters are chosen on them.
    pub(crate) fn use_validation(
        mut self,
        evaluate_on: EvaluateOn,
        is_chosen: bool,
    ) -> Result<Self, DataError> {
        let is_measured = evaluate_on == EvaluateOn::Validation;
        let problem = match (self.validation_part.take(), is_measured, is_chosen) {
            (_, false, false) => return Ok(self),
            (Some(part), true, false) => return self.evaluated_on(*part),
            (Some(part), false, true) => return self.with_validation(*part),
            (_, true, true) => {
                "`evaluate_on: validation` and `select: {on: validation}` exclude each other"
            }
            (None, ..) => {
                "it has no validation part; `flowers102` and `flowers102-resnet34` have one"
            }
        };
        Err(DataError::unfit(&self.name, "evaluate_on", problem))
    }

    /// How many samples are for training or testing.
    pub fn own_samples(&self) -> usize {
        self.y.len() - self.validation.as_ref().map_or(0, |part| part.samples)
    }

    /// The same with `part` behind the test samples.
    fn with_validation(mut self, part: Samples) -> Result<Self, DataError> {
        let class = |label: &String| {
            let known = self.classes.iter().position(|class| class == label);
            known.ok_or_else(|| {
                let found = format!("class `{label}` among the validation samples");
                bad("", found, "no class but those of the training samples")
                    .in_file(Path::new(&self.name))
            })
        };
        let y = part.labels.iter().map(class).collect::<Result<Vec<_>, _>>()?;
        let mut hash = Sha256::new();
        if let Some(images) = &part.images {
            hash.update(images.hash()?);
        }
        hash.update(content_hash(&part.x, &y, &self.classes));
        self.validation = Some(Validation { samples: y.len(), hash: hex(&hash.finalize()) });
        self.x = concatenate![Axis(0), self.x, part.x];
        if let (Some(images), Some(more)) = (&mut self.images, part.images) {
            Arc::make_mut(images).extend(more);
        }
        self.y.extend(y);
        Ok(self)
    }

    /// The training samples, with `part` in the place of the test samples.
    fn evaluated_on(self, part: Samples) -> Result<Self, DataError> {
        let (path, train) = (Path::new(&self.name), self.fixed_train.unwrap_or(0));
        let training = self.part(&(0..train).collect::<Vec<_>>());
        let mut samples = training.join(part).map_err(|bad| bad.in_file(path))?;
        samples.train = Some(train);
        let note = "accuracies are those on the validation samples; the test samples are not used";
        samples.notes.push(note.to_owned());
        Self::new(&self.name, samples, [path; 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Splits, splits};
    use ndarray::Array2;
    use npsvc::Seed;

    /// Four training and two test samples of two classes.
    fn dataset() -> Dataset {
        let x = Array2::from_shape_fn((6, 2), |(i, j)| (i * 3 + j) as f64);
        let labels = ["a", "b", "a", "b", "a", "b"].map(str::to_owned).to_vec();
        let samples = Samples { train: Some(4), ..Samples::new(x, labels) };
        Dataset::new("t", samples, [Path::new("t"); 2]).unwrap()
    }

    fn part(labels: &[&str]) -> Samples {
        let x = Array2::from_elem((labels.len(), 2), 7.0);
        Samples::new(x, labels.iter().map(|label| (*label).to_owned()).collect())
    }

    #[test]
    fn validation_samples_come_last_and_change_neither_hash_nor_split() {
        let plain = dataset();
        let data = dataset().with_validation(part(&["b", "a", "b"])).unwrap();
        assert_eq!(data.hash, plain.hash);
        assert_eq!((data.own_samples(), data.y.len()), (6, 9));
        assert_eq!(data.class_counts(), plain.class_counts());
        assert_eq!(data.y[6..], [1, 0, 1]);
        let split = |data: &Dataset| {
            let all = splits(data, &Splits::default(), &Seed::root(1)).unwrap();
            all.into_iter().next().unwrap()
        };
        let (before, after) = (split(&plain), split(&data));
        assert_eq!((before.hash, before.test), (after.hash, after.test));
        assert!(before.validation.is_empty());
        assert_eq!(after.validation, [6, 7, 8]);
        // Other samples have another hash.
        let other = dataset().with_validation(part(&["b", "b", "b"])).unwrap();
        let hash = |data: &Dataset| data.validation.as_ref().unwrap().hash.clone();
        assert_ne!(hash(&data), hash(&other));
    }

    #[test]
    fn validation_samples_can_take_the_place_of_test_samples() {
        let data = dataset().evaluated_on(part(&["b", "a", "b"])).unwrap();
        assert_eq!((data.fixed_train, data.y.len()), (Some(4), 7));
        assert_eq!(data.x.row(4).to_vec(), [7.0, 7.0]);
        assert_ne!(data.hash, dataset().hash);
        assert!(data.notes[0].contains("validation"), "{:?}", data.notes);
    }

    #[test]
    fn an_unknown_class_is_refused() {
        let error = dataset().with_validation(part(&["c"])).unwrap_err().to_string();
        assert!(error.contains("found class `c` among the validation samples"), "{error}");
        let error = dataset().evaluated_on(part(&["c"])).unwrap_err().to_string();
        assert!(error.contains("class `c`, of which there is no training sample"), "{error}");
    }
}
