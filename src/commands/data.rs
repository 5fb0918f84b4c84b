//! `data fetch|verify|path`.

use npsvcpp::data::{self, DataError, Fetched};

use super::{Ending, Failure, store};
use crate::cli::{DataAction, DataNames};
use crate::output::show;
use crate::progress::Download;

pub fn data(action: &DataAction, quiet: bool) -> Result<Ending, Failure> {
    match action {
        DataAction::Fetch(names) => fetch(names, quiet),
        DataAction::Verify(names) => verify(names),
        DataAction::Path(names) => path(names),
    }
}

fn fetch(arguments: &DataNames, quiet: bool) -> Result<Ending, Failure> {
    let store = store(&arguments.data)?;
    let mut bar = Download::new(quiet);
    let results = data::fetch(&store, &names(arguments), &mut |progress| bar.update(progress));
    bar.finish();
    conclude(results, |fetched| match fetched {
        Fetched::Embedded => "part of the program".to_owned(),
        Fetched::Present(_) => "already here, verified".to_owned(),
        Fetched::Downloaded(paths) => format!("downloaded {} files, verified", paths.len()),
    })
}

fn verify(arguments: &DataNames) -> Result<Ending, Failure> {
    let results = data::verify(&store(&arguments.data)?, &names(arguments));
    conclude(results, |dataset| {
        let (samples, dims) = dataset.x.dim();
        let classes = dataset.classes.len();
        let mut text = match &dataset.images {
            None => format!("{samples} samples x {dims} dims x {classes} classes"),
            Some(_) => {
                format!("{samples} images x {classes} classes")
            }
        };
        text += &format!(", sha256 of the values {}", dataset.hash);
        for note in &dataset.notes {
            text += &format!("\n{:<10} note: {note}", "");
        }
        text
    })
}

fn path(arguments: &DataNames) -> Result<Ending, Failure> {
    let store = store(&arguments.data)?;
    let mut names = names(arguments);
    if names.is_empty() {
        names = data::registry::names().collect();
    }
    let results = names.iter().map(|&name| (name.to_owned(), data::path(&store, name))).collect();
    conclude(results, |location| match location {
        None => "part of the program".to_owned(),
        Some(paths) => {
            let paths = paths.iter().map(|path| path.display().to_string());
            paths.collect::<Vec<_>>().join(" ")
        }
    })
}

fn names(arguments: &DataNames) -> Vec<&str> {
    arguments.names.iter().map(String::as_str).collect()
}

/// One line per dataset; unavailable ones make the ending incomplete, bad ones are errors.
fn conclude<T>(
    results: Vec<(String, Result<T, DataError>)>,
    describe: impl Fn(T) -> String,
) -> Result<Ending, Failure> {
    let mut ending = Ending::Complete;
    let mut first_error = None;
    for (name, result) in results {
        match result {
            Ok(found) => show!("{name:<10} {}", describe(found)),
            Err(error) if error.is_unavailable() => {
                show!("{name:<10} {error}");
                ending = Ending::Incomplete;
            }
            Err(error) => {
                show!("{name:<10} {error}");
                first_error.get_or_insert(error);
            }
        }
    }
    match first_error {
        Some(error) => Err(error.into()),
        None => Ok(ending),
    }
}
