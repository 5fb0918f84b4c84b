//! Downloads over HTTP, into a `.part` file that a later call resumes.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ureq::http::{Response, StatusCode, header};
use ureq::{Agent, Body};

/// Largest download accepted.
const MAX_BYTES: u64 = 1 << 30;
/// How often a transfer is begun or resumed, as long as each try brings something.
const TRIES: usize = 5;

/// How far a download is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    pub dataset: &'a str,
    pub file: &'a str,
    /// Bytes so far, those of an earlier call included.
    pub done: u64,
    /// Bytes in all, if the server tells.
    pub total: Option<u64>,
}

/// Makes requests, and finds out quickly that a machine has no network.
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

    /// Why there is no response.
    fn refused(&self, url: &str, error: &ureq::Error) -> String {
        use ureq::Error::{ConnectionFailed, HostNotFound, Io, Timeout};
        let server = server_of(url);
        let reason = format!("{server} cannot be reached ({error})");
        if matches!(error, HostNotFound | ConnectionFailed | Timeout(_) | Io(_)) {
            self.unreachable().insert(server, reason.clone());
        }
        reason
    }
}

/// A file to be downloaded. Its methods return the reason where they fail.
pub(crate) struct Download<'a> {
    pub client: &'a Client,
    pub url: &'a str,
    pub part: &'a Path,
    /// Called with the bytes so far and, if the server tells, the bytes in all.
    pub report: &'a mut dyn FnMut(u64, Option<u64>),
}

impl Download<'_> {
    /// Completes the part. A transfer that breaks off is resumed.
    pub fn complete(mut self) -> Result<(), String> {
        if let Some(reason) = self.client.unreachable().get(&server_of(self.url)) {
            return Err(reason.clone());
        }
        let part = self.part;
        let length = || part.metadata().map_or(0, |metadata| metadata.len());
        let mut tries = 0;
        loop {
            let before = length();
            tries += 1;
            let outcome = self.request(before);
            if outcome.is_ok() || tries == TRIES || length() <= before {
                return outcome;
            }
        }
    }

    /// One request, from byte `start` if the server agrees.
    fn request(&mut self, start: u64) -> Result<(), String> {
        let Self { client, url, part, .. } = *self;
        let mut request = client.agent.get(url);
        if start > 0 {
            request = request.header(header::RANGE, format!("bytes={start}-"));
        }
        let response = request.call().map_err(|error| client.refused(url, &error))?;
        let (from, total) = content_range(&response);
        match response.status() {
            StatusCode::OK => {
                let total = response.body().content_length();
                self.save(response.into_body(), 0, total)
            }
            StatusCode::PARTIAL_CONTENT if from == Some(start) => {
                self.save(response.into_body(), start, total)
            }
            // Nothing lies beyond what is there: it is complete.
            StatusCode::RANGE_NOT_SATISFIABLE if total == Some(start) => Ok(()),
            // What is there is not from this file.
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE if start > 0 => {
                fs::remove_file(part).map_err(|error| unwritable(part, &error))?;
                self.request(0)
            }
            status => Err(format!("{url} answered {status}")),
        }
    }

    /// Writes what is sent into the part, from byte `start`.
    fn save(&mut self, body: Body, start: u64, total: Option<u64>) -> Result<(), String> {
        let unwritable = |error| unwritable(self.part, &error);
        let mut options = OpenOptions::new();
        options.create(true).write(true).append(start > 0).truncate(start == 0);
        let mut file = options.open(self.part).map_err(unwritable)?;
        let mut body = body.into_reader();
        let mut buffer = vec![0; 1 << 16];
        let mut done = start;
        loop {
            (self.report)(done, total);
            if total.max(Some(done)) > Some(MAX_BYTES) {
                return Err(format!("the file is larger than {MAX_BYTES} bytes"));
            }
            let reason = match body.read(&mut buffer) {
                Ok(0) if total.is_none_or(|total| done >= total) => break,
                Ok(0) => "too few bytes were sent".to_owned(),
                Ok(read) => {
                    file.write_all(&buffer[..read]).map_err(unwritable)?;
                    done += read as u64;
                    continue;
                }
                Err(error) => error.to_string(),
            };
            let kept = format!("{done} bytes are kept for the next attempt");
            return Err(format!("the transfer broke off ({reason}); {kept}"));
        }
        file.sync_all().map_err(unwritable)
    }
}

/// First byte and total length in a `Content-Range` header, where it has them.
fn content_range(response: &Response<Body>) -> (Option<u64>, Option<u64>) {
    let value = response.headers().get(header::CONTENT_RANGE).and_then(|value| value.to_str().ok());
    let range = value.and_then(|value| value.strip_prefix("bytes ")?.split_once('/'));
    let (range, total) = range.unwrap_or_default();
    let from = range.split('-').next().and_then(|from| from.parse().ok());
    (from, total.parse().ok())
}

/// Scheme and host of an address.
fn server_of(url: &str) -> String {
    url.split('/').take(3).collect::<Vec<_>>().join("/")
}

/// What to say of a file or folder that cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be written ({error})", path.display())
}
