//! `data fetch|verify|path`.

use npsvcpp::data::{Dataset, Progress, registry};
use npsvcpp::{Event, Exit};

use super::{Failure, store};
use crate::cli::DataAction;
use crate::output::show;
use crate::progress::Display;

/// Prints a line per named dataset, or per dataset if none is named. After a failure the others are still tried.
/// Unavailable datasets make the ending incomplete, bad ones are errors.
pub fn data(action: &DataAction, quiet: bool) -> Result<Exit, Failure> {
    let (DataAction::Fetch(wanted) | DataAction::Verify(wanted) | DataAction::Path(wanted)) =
        action;
    let store = store(&wanted.data)?;
    let display = Display::new(quiet);
    let mut progress = |progress: Progress<'_>| display.show(Event::Download(progress));
    let mut act = |name: &str| match action {
        DataAction::Fetch(_) => {
            let before = store.path(name);
            store.fetch(name, &mut progress)?;
            Ok(match before {
                Ok(None) => IN_PROGRAM.to_owned(),
                Ok(Some(_)) => "already here, verified".to_owned(),
                Err(_) => "downloaded and verified".to_owned(),
            })
        }
        DataAction::Verify(_) => store.verify(name).map(|dataset| verified(&dataset)),
        DataAction::Path(_) => store.path(name).map(|paths| match paths {
            None => IN_PROGRAM.to_owned(),
            Some(paths) => {
                let paths = paths.iter().map(|path| path.display().to_string());
                paths.collect::<Vec<_>>().join(" ")
            }
        }),
    };
    let names: Vec<&str> = match wanted.names.is_empty() {
        true => registry::names().collect(),
        false => wanted.names.iter().map(String::as_str).collect(),
    };
    let results: Vec<_> = names.into_iter().map(|name| (name, act(name))).collect();
    display.show(Event::Loaded);
    let verifies_all = wanted.names.is_empty() && matches!(action, DataAction::Verify(_));
    let (mut ending, mut first_error) = (Exit::Complete, None);
    for (name, result) in results {
        match result {
            Ok(found) => show!("{name:<10} {found}"),
            Err(error) if error.is_unavailable() && verifies_all => {}
            Err(error) => {
                show!("{name:<10} {error}");
                match error.is_unavailable() {
                    true => ending = Exit::Incomplete,
                    false => _ = first_error.get_or_insert(error),
                }
            }
        }
    }
    first_error.map_or(Ok(ending), |error| Err(error.into()))
}

const IN_PROGRAM: &str = "part of the program";

fn verified(dataset: &Dataset) -> String {
    let ((samples, dims), classes) = (dataset.x.dim(), dataset.classes.len());
    let shape = match &dataset.images {
        None => format!("{samples} samples x {dims} dims x {classes} classes"),
        Some(_) => format!("{samples} images x {classes} classes"),
    };
    let notes = dataset.notes.iter().map(|note| format!("\n{:<10} note: {note}", ""));
    format!("{shape}, sha256 of the values {}{}", dataset.hash, notes.collect::<String>())
}
