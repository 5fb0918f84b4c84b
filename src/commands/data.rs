//! `data fetch|verify|path`.

use npsvcpp::Event;
use npsvcpp::data::{DataError, Progress, registry};
use npsvcpp::wording::counted;

use super::{Ending, Failure, store};
use crate::cli::{DataAction, DataNames};
use crate::output::show;
use crate::progress::Display;

pub fn data(action: &DataAction, quiet: bool) -> Result<Ending, Failure> {
    match action {
        DataAction::Fetch(names) => fetch(names, quiet),
        DataAction::Verify(names) => verify(names),
        DataAction::Path(names) => path(names),
    }
}

fn fetch(arguments: &DataNames, quiet: bool) -> Result<Ending, Failure> {
    let store = store(&arguments.data)?;
    let display = Display::new(quiet);
    let mut show = |progress: Progress<'_>| display.show(Event::Download(progress));
    let results = all(arguments, |name| {
        let (_, files) = store.fetch(name, &mut show)?;
        let is_embedded = registry::find(name)?.is_embedded();
        Ok(if is_embedded { None } else { Some(files) })
    });
    display.show(Event::Loaded);
    conclude(results, |downloaded| match downloaded {
        None => "part of the program".to_owned(),
        Some(0) => "already here, verified".to_owned(),
        Some(files) => format!("downloaded and verified {}", counted(files, "file")),
    })
}

fn verify(arguments: &DataNames) -> Result<Ending, Failure> {
    let store = store(&arguments.data)?;
    let mut results = all(arguments, |name| store.verify(name));
    if arguments.names.is_empty() {
        results.retain(|(_, result)| !result.as_ref().is_err_and(DataError::is_unavailable));
    }
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
    conclude(all(arguments, |name| store.path(name)), |location| match location {
        None => "part of the program".to_owned(),
        Some(paths) => {
            let paths = paths.iter().map(|path| path.display().to_string());
            paths.collect::<Vec<_>>().join(" ")
        }
    })
}

/// What `act` does with the named datasets, or with all. One failure does not keep the others from being
/// tried.
fn all<T>(
    arguments: &DataNames,
    act: impl FnMut(&str) -> Result<T, DataError>,
) -> Vec<(String, Result<T, DataError>)> {
    let names: Vec<String> = match &arguments.names[..] {
        [] => registry::names().map(str::to_owned).collect(),
        names => names.to_vec(),
    };
    let results: Vec<_> = names.iter().map(String::as_str).map(act).collect();
    names.into_iter().zip(results).collect()
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
