//! Downloads over HTTP, into a `.part` file that a later call resumes.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use ureq::Agent;
use ureq::http::{Response, StatusCode, header};

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

/// Called with the bytes so far and, if the server tells, the bytes in all.
pub(crate) type Report<'a> = &'a mut dyn FnMut(u64, Option<u64>);

/// Why a download ended without a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Nobody answers: other files of the same server need not be tried.
    #[error("{0}")]
    NoServer(String),
    #[error("{0}")]
    Other(String),
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

/// Completes `part` from `url`. A transfer that breaks off is resumed.
pub(crate) fn complete(
    agent: &Agent,
    url: &str,
    part: &Path,
    report: Report<'_>,
) -> Result<(), Failure> {
    let length = || part.metadata().map_or(0, |metadata| metadata.len());
    let mut tries = 0;
    loop {
        let before = length();
        tries += 1;
        let outcome = request(agent, url, part, before, report);
        if outcome.is_ok() || tries == TRIES || length() <= before {
            return outcome;
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
    let (from, total) = content_range(&response);
    match response.status() {
        StatusCode::OK => {
            let total = response.body().content_length();
            save(response, part, 0, total, report)
        }
        StatusCode::PARTIAL_CONTENT if from == Some(start) => {
            save(response, part, start, total, report)
        }
        // Nothing lies beyond what is there: it is complete.
        StatusCode::RANGE_NOT_SATISFIABLE if total == Some(start) => Ok(()),
        // What is there is not from this file.
        StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE if start > 0 => {
            fs::remove_file(part).map_err(|error| unwritable(part, &error))?;
            self::request(agent, url, part, 0, report)
        }
        status => Err(Failure::Other(format!("{url} answered {status}"))),
    }
}

/// Writes what is sent into `part`, from byte `start`.
fn save(
    response: Response<ureq::Body>,
    part: &Path,
    start: u64,
    total: Option<u64>,
    report: Report<'_>,
) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.create(true).write(true).append(start > 0).truncate(start == 0);
    let mut file = options.open(part).map_err(|error| unwritable(part, &error))?;
    let mut body = response.into_body().into_reader();
    let mut buffer = vec![0; 1 << 16];
    let mut done = start;
    loop {
        report(done, total);
        if total.max(Some(done)) > Some(MAX_BYTES) {
            return Err(Failure::Other(format!("the file is larger than {MAX_BYTES} bytes")));
        }
        let reason = match body.read(&mut buffer) {
            Ok(0) if total.is_none_or(|total| done >= total) => break,
            Ok(0) => "too few bytes were sent".to_owned(),
            Ok(read) => {
                file.write_all(&buffer[..read]).map_err(|error| unwritable(part, &error))?;
                done += read as u64;
                continue;
            }
            Err(error) => error.to_string(),
        };
        let kept = format!("{done} bytes are kept for the next attempt");
        return Err(Failure::Other(format!("the transfer broke off ({reason}); {kept}")));
    }
    file.sync_all().map_err(|error| unwritable(part, &error))
}

/// First byte and total length in a `Content-Range` header, where it has them.
fn content_range(response: &Response<ureq::Body>) -> (Option<u64>, Option<u64>) {
    let value = response.headers().get(header::CONTENT_RANGE).and_then(|value| value.to_str().ok());
    let range = value.and_then(|value| value.strip_prefix("bytes ")?.split_once('/'));
    let (range, total) = range.unwrap_or_default();
    let from = range.split('-').next().and_then(|from| from.parse().ok());
    (from, total.parse().ok())
}

fn unwritable(part: &Path, error: &io::Error) -> Failure {
    Failure::Other(format!("failed to write {}: {error}", part.display()))
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
pub(crate) fn server_of(url: &str) -> String {
    url.split('/').take(3).collect::<Vec<_>>().join("/")
}
