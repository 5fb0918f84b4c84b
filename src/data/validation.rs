//! The validation part of a dataset that has one, such as Flowers-102.
//!
//! It is not part of a dataset or of its hash, unless an experiment asks for it: `select: {on: validation}`
//! chooses parameters on it, and `evaluate_on: validation` puts it in the place of the test samples.

use std::path::{Path, PathBuf};

use ndarray::{Array2, Axis, concatenate};
use sha2::{Digest, Sha256};

use super::error::{DataError, Place};
use super::image_sets::ImageSet;
use super::manifest::Manifest;
use super::{Dataset, Images, Samples, Store, content_hash, hex};
use crate::spec::{DatasetSpec, EvaluateOn, Experiment};

/// Reads the validation part from the files of a manifest, given in its order.
pub(crate) type ValidationLoader = fn(&Manifest, &[PathBuf]) -> Result<Part, DataError>;

/// Samples for validation: vectors, or images, of which `x` has no columns yet.
#[derive(Default)]
pub(crate) struct Part {
    pub x: Array2<f64>,
    pub images: Option<Images>,
    pub labels: Vec<String>,
}

impl Store {
    /// The dataset with its validation samples, where the experiment asks for them.
    pub(crate) fn with_validation(
        &self,
        dataset: Dataset,
        spec: &DatasetSpec,
        experiment: &Experiment,
    ) -> Result<Dataset, DataError> {
        let is_chosen = experiment.chooses_on_validation();
        let refuse = |dataset: Dataset, problem: &str| DataError::Split {
            dataset: dataset.name,
            problem: problem.to_owned(),
        };
        match spec {
            DatasetSpec::Files(_) if is_chosen => {
                let problem = "files have no validation part; choose on training samples";
                Err(refuse(dataset, problem))
            }
            DatasetSpec::Files(_) => Ok(dataset),
            DatasetSpec::Registered { name, options } => {
                match (options.evaluate_on == EvaluateOn::Validation, is_chosen) {
                    (true, true) => {
                        let problem = "`evaluate_on: validation` and `select: {on: validation}` \
                                       exclude each other";
                        Err(refuse(dataset, problem))
                    }
                    (true, false) => dataset.evaluated_on(self.load_validation(name)?),
                    (false, true) => dataset.with_validation(self.load_validation(name)?),
                    (false, false) => Ok(dataset),
                }
            }
        }
    }
}

/// The last samples of a dataset, which are neither for training nor for testing.
#[derive(Clone, Debug)]
pub struct Validation {
    pub samples: usize,
    /// SHA-256 over values and labels, or over images and labels.
    pub hash: String,
}

impl Dataset {
    /// How many samples are for training or testing.
    pub fn own_samples(&self) -> usize {
        let validation = self.validation.as_ref();
        self.y.len() - validation.map_or(0, |part| part.samples)
    }

    /// The same with `part` behind the test samples.
    pub(crate) fn with_validation(mut self, part: Part) -> Result<Self, DataError> {
        let y = self.numbered(&part.labels)?;
        let mut hash = Sha256::new();
        if let Some(images) = &part.images {
            hash.update(images.hash()?);
        }
        hash.update(content_hash(&part.x, &y, &self.classes));
        self.validation = Some(Validation { samples: y.len(), hash: hex(&hash.finalize()) });
        self.x = joined(&self.x, &part.x, &self.name)?;
        if let (Some(images), Some(more)) = (&mut self.images, part.images) {
            std::sync::Arc::make_mut(images).extend(more);
        }
        self.y.extend(y);
        Ok(self)
    }

    /// The training samples, with `part` in the place of the test samples.
    pub(crate) fn evaluated_on(self, part: Part) -> Result<Self, DataError> {
        self.numbered(&part.labels)?;
        let (path, train) = (PathBuf::from(&self.name), self.fixed_train.unwrap_or(0));
        let samples: Vec<usize> = (0..train).collect();
        let mut labels: Vec<String> =
            (self.y[..train].iter()).map(|&l| self.classes[l].clone()).collect();
        labels.extend(part.labels);
        let mut dataset = match (&self.images, part.images) {
            (Some(images), Some(more)) => {
                let mut images = images.select(&samples);
                images.extend(more);
                let notes = self.notes;
                let set = ImageSet { images, labels, train, notes };
                Self::of_images(&self.name, set, &path)?
            }
            _ => {
                let x = joined(&self.x.select(Axis(0), &samples), &part.x, &self.name)?;
                let samples = Samples { x, labels };
                let notes = self.notes;
                let dataset = Self::new(&self.name, samples, Some(train), &path)?;
                Self { notes, ..dataset }
            }
        };
        let note = "accuracies are those on the validation samples; the test samples are not used";
        dataset.notes.push(note.to_owned());
        Ok(dataset)
    }

    /// The classes of these labels, which must be known.
    fn numbered(&self, labels: &[String]) -> Result<Vec<usize>, DataError> {
        let number = |label: &String| {
            let known = self.classes.iter().position(|class| class == label);
            known.ok_or_else(|| {
                let found = format!("class `{label}` among the validation samples");
                let expected = "no class but those of the training samples";
                DataError::content(Path::new(&self.name), Place::File, found, expected)
            })
        };
        labels.iter().map(number).collect()
    }
}

fn joined(first: &Array2<f64>, second: &Array2<f64>, name: &str) -> Result<Array2<f64>, DataError> {
    concatenate(Axis(0), &[first.view(), second.view()]).map_err(|_| {
        let found = format!("validation samples of {} features", second.ncols());
        let expected = format!("{}, as the others", first.ncols());
        DataError::content(Path::new(name), Place::File, found, expected)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::splits;
    use crate::spec::Splits;
    use npsvc::Seed;

    /// Four training and two test samples of two classes.
    fn dataset() -> Dataset {
        let x = Array2::from_shape_fn((6, 2), |(i, j)| (i * 3 + j) as f64);
        let labels = ["a", "b", "a", "b", "a", "b"].map(str::to_owned).to_vec();
        Dataset::new("t", Samples { x, labels }, Some(4), Path::new("t")).unwrap()
    }

    fn part(labels: &[&str], columns: usize) -> Part {
        Part {
            x: Array2::from_elem((labels.len(), columns), 7.0),
            images: None,
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        }
    }

    #[test]
    fn validation_samples_come_last_and_change_neither_hash_nor_split() {
        let plain = dataset();
        let data = dataset().with_validation(part(&["b", "a", "b"], 2)).unwrap();
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
        let other = dataset().with_validation(part(&["b", "b", "b"], 2)).unwrap();
        let hash = |data: &Dataset| data.validation.as_ref().unwrap().hash.clone();
        assert_ne!(hash(&data), hash(&other));
    }

    #[test]
    fn validation_samples_can_take_the_place_of_test_samples() {
        let data = dataset().evaluated_on(part(&["b", "a", "b"], 2)).unwrap();
        assert_eq!((data.fixed_train, data.y.len()), (Some(4), 7));
        assert_eq!(data.x.row(4).to_vec(), [7.0, 7.0]);
        assert_ne!(data.hash, dataset().hash);
        assert!(data.notes[0].contains("validation"), "{:?}", data.notes);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |part| dataset().with_validation(part).unwrap_err().to_string();
        let error = refused(part(&["c"], 2));
        assert!(error.contains("found class `c` among the validation samples"), "{error}");
        let error = refused(part(&["a"], 3));
        assert!(error.contains("validation samples of 3 features, expected 2"), "{error}");
    }
}
