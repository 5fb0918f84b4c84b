//! Downloads over HTTP, into a `.part` file that a later call resumes.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ureq::http::{StatusCode, header};
use ureq::{Agent, Body};

/// Largest download accepted.
const MAX_BYTES: u64 = 1 << 30;
/// How often a transfer is begun or resumed, while each try brings something.
const TRIES: usize = 5;

/// How far a download is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    pub dataset: &'a str,
    pub file: &'a str,
    /// Bytes so far, those of an earlier call included.
    pub done: u64,
    /// Bytes in all, if the server reports them.
    pub total: Option<u64>,
}

/// Gets the bytes so far and, if the server reports them, the bytes in all.
type Report<'a> = &'a mut dyn FnMut(u64, Option<u64>);

/// Makes requests. Its methods return the reason if they fail.
pub(crate) struct Client {
    pub agent: Agent,
    /// Servers that did not answer, with the reason: they are not asked again.
    unreachable: Mutex<BTreeMap<String, String>>,
}

impl Client {
    pub fn new() -> Self {
        let agent = Agent::config_builder()
            .timeout_resolve(Some(Duration::from_secs(10)))
            .timeout_connect(Some(Duration::from_secs(10)))
            .timeout_recv_response(Some(Duration::from_secs(30)))
            .timeout_per_read(Some(Duration::from_secs(30)))
            .http_status_as_error(false)
            // A range counts bytes as stored, so they must be sent as stored.
            .accept_encoding("identity")
            .user_agent(concat!("npsvcpp/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Self { agent, unreachable: Mutex::default() }
    }

    pub fn unreachable(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        // The map is whole after every operation, so a panic elsewhere does not spoil it.
        self.unreachable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes the file `part`. An interrupted transfer is resumed.
    pub fn download(&self, url: &str, part: &Path, report: Report<'_>) -> Result<(), String> {
        // Scheme and host.
        let server = url.split('/').take(3).collect::<Vec<_>>().join("/");
        if let Some(reason) = self.unreachable().get(&server) {
            return Err(reason.clone());
        }
        let length = || part.metadata().map_or(0, |metadata| metadata.len());
        let mut outcome = Ok(());
        for _ in 0..TRIES {
            let before = length();
            outcome = self.request(&server, url, part, before, report);
            if outcome.is_ok() || length() <= before {
                break;
            }
        }
        outcome
    }

    /// One request, from byte `start` if the server agrees.
    fn request(
        &self,
        server: &str,
        url: &str,
        part: &Path,
        start: u64,
        report: Report<'_>,
    ) -> Result<(), String> {
        use ureq::Error::{ConnectionFailed, HostNotFound, Io, Timeout};
        let mut request = self.agent.get(url);
        if start > 0 {
            request = request.header(header::RANGE, format!("bytes={start}-"));
        }
        let response = request.call().map_err(|error| {
            let reason = format!("{server} cannot be reached ({error})");
            if matches!(error, HostNotFound | ConnectionFailed | Timeout(_) | Io(_)) {
                self.unreachable().insert(server.to_owned(), reason.clone());
            }
            reason
        })?;
        match response.status() {
            StatusCode::OK => save(response.into_body(), part, 0, report),
            StatusCode::PARTIAL_CONTENT => save(response.into_body(), part, start, report),
            // The part is complete, or of another file: once more from the start.
            StatusCode::RANGE_NOT_SATISFIABLE if start > 0 => {
                fs::remove_file(part).map_err(|error| unwritable(part, &error))?;
                self.request(server, url, part, 0, report)
            }
            status => Err(format!("{url} answered {status}")),
        }
    }
}

/// Writes what is sent into `part`, from byte `start`.
fn save(body: Body, part: &Path, start: u64, report: Report<'_>) -> Result<(), String> {
    let unwritable = |error| unwritable(part, &error);
    let mut options = OpenOptions::new();
    options.create(true).write(true).append(start > 0).truncate(start == 0);
    let mut file = options.open(part).map_err(unwritable)?;
    let total = body.content_length().map(|length| start + length);
    let (mut body, mut buffer, mut done) = (body.into_reader(), vec![0; 1 << 16], start);
    loop {
        report(done, total);
        if total.max(Some(done)) > Some(MAX_BYTES) {
            return Err(format!("the file is larger than {MAX_BYTES} bytes"));
        }
        let read = body.read(&mut buffer).map_err(|error| {
            format!(
                "the transfer was interrupted ({error}); {done} bytes are kept for the next attempt"
            )
        })?;
        if read == 0 {
            return file.sync_all().map_err(unwritable);
        }
        file.write_all(&buffer[..read]).map_err(unwritable)?;
        done += read as u64;
    }
}

/// The sentence about a file or folder that cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be written ({error})", path.display())
}
