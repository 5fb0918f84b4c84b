//! Downloads over HTTP: into a `.part` file that a later call goes on with.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use ureq::Agent;
use ureq::http::{Response, StatusCode, header};

/// Largest download accepted.
const MAX_BYTES: u64 = 1 << 30;
/// How often a broken transfer is taken up again, as long as each try brings something.
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

/// Why a download ended without a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Nobody answers: other files of the same server need not be tried.
    #[error("{0}")]
    NoServer(String),
    #[error("{0}")]
    Other(String),
}

/// A client that tells a machine without network quickly.
pub(crate) fn agent() -> Agent {
    Agent::config_builder()
        .timeout_resolve(Some(Duration::from_secs(10)))
        .timeout_connect(Some(Duration::from_secs(10)))
        .timeout_recv_response(Some(Duration::from_secs(30)))
        .timeout_per_read(Some(Duration::from_secs(30)))
        .http_status_as_error(false)
        // A range counts bytes as stored, so they must be sent as stored.
        .accept_encoding("identity")
        .user_agent(concat!("npsvcpp/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent()
}

/// Completes `part` from `url`; whether bytes of an earlier call were used.
pub(crate) fn complete(
    agent: &Agent,
    url: &str,
    part: &Path,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<bool, Failure> {
    let had = length(part);
    let mut tries = 0;
    loop {
        let before = length(part);
        match attempt(agent, url, part, before, progress) {
            Ok(()) => return Ok(had > 0),
            Err(Broken::Final(failure)) => return Err(failure),
            Err(Broken::Midway(reason)) => {
                tries += 1;
                if tries == TRIES || length(part) <= before {
                    let kept = length(part);
                    let reason = format!("{reason}; {kept} bytes are kept for the next try");
                    return Err(Failure::Other(reason));
                }
            }
        }
    }
}

fn length(part: &Path) -> u64 {
    part.metadata().map_or(0, |metadata| metadata.len())
}

enum Broken {
    /// Trying again would not help.
    Final(Failure),
    /// The transfer broke off.
    Midway(String),
}

impl Broken {
    fn other(reason: impl Into<String>) -> Self {
        Self::Final(Failure::Other(reason.into()))
    }

    fn disk(part: &Path, error: io::Error) -> Self {
        Self::other(format!("failed to write {}: {error}", part.display()))
    }
}

/// One request, from byte `start` if the server agrees.
fn attempt(
    agent: &Agent,
    url: &str,
    part: &Path,
    start: u64,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<(), Broken> {
    let mut request = agent.get(url);
    if start > 0 {
        request = request.header(header::RANGE, format!("bytes={start}-"));
    }
    let response = request.call().map_err(|error| Broken::Final(refused(url, &error)))?;
    let (start, total) = match response.status() {
        StatusCode::PARTIAL_CONTENT => match content_range(&response) {
            Some((Some(from), total)) if from == start => (start, total),
            _ => {
                let _ = std::fs::remove_file(part);
                return Err(Broken::other(format!("{url} sent another part than asked for")));
            }
        },
        StatusCode::OK => (0, response.body().content_length()),
        // Nothing lies beyond what is there: it is complete, or not from this file at all.
        StatusCode::RANGE_NOT_SATISFIABLE if start > 0 => {
            if content_range(&response) == Some((None, Some(start))) {
                return Ok(());
            }
            std::fs::remove_file(part).map_err(|error| Broken::disk(part, error))?;
            return attempt(agent, url, part, 0, progress);
        }
        status => return Err(Broken::other(format!("{url} answered {status}"))),
    };
    if total.is_some_and(|total| total > MAX_BYTES) {
        return Err(Broken::other(format!("{url} is larger than {MAX_BYTES} bytes")));
    }
    let file = OpenOptions::new()
        .create(true)
        .write(true)
        .append(start > 0)
        .truncate(start == 0)
        .open(part)
        .map_err(|error| Broken::disk(part, error))?;
    copy(response, file, part, start, total, progress)
}

fn copy(
    response: Response<ureq::Body>,
    mut file: File,
    part: &Path,
    start: u64,
    total: Option<u64>,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<(), Broken> {
    let mut body = response.into_body().into_reader();
    let mut buffer = vec![0; 1 << 16];
    let mut done = start;
    loop {
        progress(done, total);
        let read = match body.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) => return Err(Broken::Midway(format!("the transfer broke off ({error})"))),
        };
        file.write_all(&buffer[..read]).map_err(|error| Broken::disk(part, error))?;
        done += read as u64;
        if done > MAX_BYTES {
            return Err(Broken::other(format!("more than {MAX_BYTES} bytes were sent")));
        }
    }
    if total.is_some_and(|total| done < total) {
        return Err(Broken::Midway(format!("the transfer ended after {done} bytes")));
    }
    file.sync_all().map_err(|error| Broken::disk(part, error))
}

/// First byte (absent for `*`) and total length of a `Content-Range` header.
fn content_range(response: &Response<ureq::Body>) -> Option<(Option<u64>, Option<u64>)> {
    let value = response.headers().get(header::CONTENT_RANGE)?.to_str().ok()?;
    let (range, total) = value.strip_prefix("bytes ")?.split_once('/')?;
    let from = match range {
        "*" => None,
        _ => Some(range.split_once('-')?.0.parse().ok()?),
    };
    Some((from, total.parse().ok()))
}

fn refused(url: &str, error: &ureq::Error) -> Failure {
    let reason = format!("{} cannot be reached ({error})", server_of(url));
    match error {
        ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Timeout(_)
        | ureq::Error::Io(_) => Failure::NoServer(reason),
        _ => Failure::Other(reason),
    }
}

/// Scheme and host of an address.
pub(crate) fn server_of(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find('/').map_or(url.len(), |at| start + at);
    &url[..end]
}
