//! Downloads over HTTP, into a `.part` file that a later call resumes.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use ureq::Agent;
use ureq::http::{Response, StatusCode, header};

/// Largest download accepted.
const MAX_BYTES: u64 = 1 << 30;
/// How often a broken transfer is resumed, as long as each try brings something.
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

/// Called with the bytes so far and, if the server tells, the bytes in all.
pub(crate) type Report<'a> = &'a mut dyn FnMut(u64, Option<u64>);

/// Why a download ended without a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Nobody answers: other files of the same server need not be tried.
    #[error("{0}")]
    NoServer(String),
    /// The transfer broke off.
    #[error("{0}")]
    Interrupted(String),
    /// Trying again would not help.
    #[error("{0}")]
    Final(String),
}

impl Failure {
    fn disk(part: &Path, error: io::Error) -> Self {
        Self::Final(format!("failed to write {}: {error}", part.display()))
    }
}

/// A client that finds out quickly that a machine has no network.
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
    report: Report<'_>,
) -> Result<bool, Failure> {
    let length = || part.metadata().map_or(0, |metadata| metadata.len());
    let first = length();
    let mut tries = 0;
    loop {
        let before = length();
        tries += 1;
        match request(agent, url, part, before, report) {
            Err(Failure::Interrupted(reason)) if tries == TRIES || length() <= before => {
                let kept = format!("{} bytes are kept for the next attempt", length());
                return Err(Failure::Final(format!("{reason}; {kept}")));
            }
            Err(Failure::Interrupted(_)) => {}
            outcome => return outcome.map(|()| first > 0),
        }
    }
}

/// One request, from byte `start` if the server agrees.
fn request(
    agent: &Agent,
    url: &str,
    part: &Path,
    start: u64,
    report: Report<'_>,
) -> Result<(), Failure> {
    let mut request = agent.get(url);
    if start > 0 {
        request = request.header(header::RANGE, format!("bytes={start}-"));
    }
    let response = request.call().map_err(|error| refused(url, &error))?;
    let (start, total) = match (response.status(), content_range(&response)) {
        (StatusCode::OK, _) => (0, response.body().content_length()),
        (StatusCode::PARTIAL_CONTENT, Some((Some(from), total))) if from == start => (start, total),
        // Nothing lies beyond what is there: it is complete.
        (StatusCode::RANGE_NOT_SATISFIABLE, Some((None, Some(total)))) if total == start => {
            return Ok(());
        }
        // What is there is not from this file.
        (StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE, _) if start > 0 => {
            fs::remove_file(part).map_err(|error| Failure::disk(part, error))?;
            return self::request(agent, url, part, 0, report);
        }
        (status, _) => return Err(Failure::Final(format!("{url} answered {status}"))),
    };
    if total.is_some_and(|total| total > MAX_BYTES) {
        return Err(Failure::Final(format!("{url} is larger than {MAX_BYTES} bytes")));
    }
    save(response, part, start, total, report)
}

/// Writes what is sent into `part`, from byte `start`.
fn save(
    response: Response<ureq::Body>,
    part: &Path,
    start: u64,
    total: Option<u64>,
    report: Report<'_>,
) -> Result<(), Failure> {
    let disk = |error| Failure::disk(part, error);
    let mut options = OpenOptions::new();
    options.create(true).write(true).append(start > 0).truncate(start == 0);
    let mut file = options.open(part).map_err(disk)?;
    let mut body = response.into_body().into_reader();
    let mut buffer = vec![0; 1 << 16];
    let mut done = start;
    loop {
        report(done, total);
        let read = body
            .read(&mut buffer)
            .map_err(|error| Failure::Interrupted(format!("the transfer broke off ({error})")))?;
        if read == 0 {
            break;
        }
        file.write_all(&buffer[..read]).map_err(disk)?;
        done += read as u64;
        if done > MAX_BYTES {
            return Err(Failure::Final(format!("more than {MAX_BYTES} bytes were sent")));
        }
    }
    if total.is_some_and(|total| done < total) {
        return Err(Failure::Interrupted(format!("the transfer ended after {done} bytes")));
    }
    file.sync_all().map_err(disk)
}

/// First byte (absent for `*`) and total length of a `Content-Range` header.
fn content_range(response: &Response<ureq::Body>) -> Option<(Option<u64>, Option<u64>)> {
    let value = response.headers().get(header::CONTENT_RANGE)?.to_str().ok()?;
    let (range, total) = value.strip_prefix("bytes ")?.split_once('/')?;
    let from = range.split_once('-').map(|(from, _)| from.parse()).transpose().ok()?;
    Some((from, total.parse().ok()))
}

fn refused(url: &str, error: &ureq::Error) -> Failure {
    let reason = format!("{} cannot be reached ({error})", server_of(url));
    match error {
        ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Timeout(_)
        | ureq::Error::Io(_) => Failure::NoServer(reason),
        _ => Failure::Final(reason),
    }
}

/// Scheme and host of an address.
pub(crate) fn server_of(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find('/').map_or(url.len(), |at| start + at);
    &url[..end]
}
