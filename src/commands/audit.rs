//! `audit FOLDER...`: computes cells again and checks that tables, figures and report follow from the ledger.

use npsvcpp::audit::{self, Options};
use npsvcpp::ledger::Plan;
use npsvcpp::run::Isolation;
use npsvcpp::{Event, Exit};

use super::render::results;
use super::{Failure, store, this_program};
use crate::cli::AuditArgs;
use crate::output::show;
use crate::progress::Display;

pub fn audit(arguments: &AuditArgs, quiet: bool) -> Result<Exit, Failure> {
    let folders = results(&arguments.folders);
    // A mistyped folder is reported before anything is computed.
    for folder in &folders {
        Plan::read(folder).map_err(audit::unreadable)?;
    }
    let store = store(&arguments.data)?.for_plan();
    let options = Options {
        sample: (!arguments.all).then_some(arguments.sample),
        threads: arguments.threads.map(usize::from),
        seed: arguments.seed,
        isolation: Isolation {
            program: this_program()?,
            data: arguments.data.folder.clone(),
            timeout: None,
            loading: Isolation::LOADING,
        },
    };
    let mut ending = Exit::Complete;
    for folder in folders {
        let display = Display::new(quiet);
        let audit =
            audit::audit(folder, &store, &options, &|event: Event<'_>| display.show(event))?;
        show!("{audit}");
        ending = match (ending, audit.exit()) {
            (Exit::Failed, _) => Exit::Failed,
            (Exit::Incomplete, Exit::Complete) => Exit::Incomplete,
            (_, exit) => exit,
        };
    }
    Ok(ending)
}
