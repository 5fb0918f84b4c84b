//! The classification datasets of the LIBSVM site: one list, `datasets/libsvm.yaml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::manifest::{DataFile, Manifest, Official, Part};

const SITE: &str = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets";

/// An entry of the list.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Listed {
    name: String,
    title: String,
    list: List,
    /// Where the site has the data from.
    source: String,
    licence: Option<String>,
    file: String,
    sha256: Vec<String>,
    copy: CopyKind,
    scaled: Option<String>,
    #[serde(default)]
    same_unit: bool,
    samples: usize,
    dims: usize,
    class_counts: Vec<usize>,
    part: Option<Part>,
    data_sha256: Option<String>,
    test: Option<Test>,
    no_official_split: Option<String>,
    #[serde(default)]
    notes: Vec<String>,
}

/// The test file; shape and hash are those of both files together.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Test {
    file: String,
    sha256: Vec<String>,
    copy: CopyKind,
    dims: usize,
    class_counts: Vec<usize>,
    data_sha256: Option<String>,
}

/// The page of the site that lists the dataset.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum List {
    Binary,
    Multiclass,
}

/// What the known copies of a file are.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CopyKind {
    Original,
    Cut,
    Converted,
    Sample,
}

impl List {
    fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Multiclass => "multiclass",
        }
    }

    fn file(self, name: &str, sha256: &[String], copy: CopyKind) -> DataFile {
        let copies = sha256.iter().map(|hash| (hash.clone(), copy.about().to_owned()));
        DataFile {
            name: name.to_owned(),
            url: format!("{SITE}/{}/{name}", self.name()),
            copies: copies.collect::<BTreeMap<_, _>>(),
            ..DataFile::default()
        }
    }
}

impl CopyKind {
    fn about(self) -> &'static str {
        match self {
            Self::Original => {
                "a copy carried by a public repository, not compared with the publisher's"
            }
            Self::Cut => {
                "a copy whose lines a public repository carries in another file, not compared with the publisher's"
            }
            Self::Converted => {
                "a conversion of the same data from another form, not compared with the publisher's file"
            }
            Self::Sample => {
                "a sample of the rows in another form, not compared with the publisher's file"
            }
        }
    }
}

impl Listed {
    fn manifest(self) -> Manifest {
        let list = self.list;
        let mut notes = self.notes;
        if let Some(scaled) = &self.scaled {
            let file = &self.file;
            notes.push(format!("the publisher scaled the values {scaled} over all rows of {file}"));
        }
        let official = self.test.map(|test| Official {
            test: Some(list.file(&test.file, &test.sha256, test.copy)),
            train: self.samples,
            dims: test.dims,
            class_counts: test.class_counts,
            data_sha256: test.data_sha256,
        });
        Manifest {
            homepage: format!("{SITE}/{}.html#{}", list.name(), self.name),
            licence: self.licence.unwrap_or_else(|| "not stated by the publisher".to_owned()),
            citation: format!(
                "{}; C.-C. Chang and C.-J. Lin, LIBSVM: a library for support vector machines, ACM Transactions on \
                 Intelligent Systems and Technology 2(3), 2011",
                self.source
            ),
            files: vec![list.file(&self.file, &self.sha256, self.copy)],
            name: self.name,
            title: self.title,
            samples: self.samples,
            dims: self.dims,
            class_counts: self.class_counts,
            data_sha256: self.data_sha256,
            part: self.part,
            official,
            no_official_split: self.no_official_split,
            mixed_units: !self.same_unit,
            notes,
            ..Manifest::default()
        }
    }
}

/// The manifests of all entries.
pub(crate) fn manifests() -> impl Iterator<Item = Manifest> {
    let listed: Vec<Listed> = serde_saphyr::from_str(include_str!("../../datasets/libsvm.yaml"))
        .expect("the list is part of the program and a test reads it");
    listed.into_iter().map(Listed::manifest)
}
