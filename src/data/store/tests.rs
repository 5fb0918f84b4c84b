//! Folders, downloads from a server inside the test, and the errors for missing data.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use sha2::{Digest, Sha256};

use super::*;
use crate::data::registry::each;
use crate::data::{hex, libsvm};

const TEXT: &str = "1 1:1 2:1\n2 1:2 2:2\n1 1:3 2:3\n2 1:4 2:4\n";

/// How the server answers one request.
#[derive(Clone, Copy)]
enum Answer {
    /// Everything, for every request.
    Whole(&'static str),
    /// The first this many bytes of everything, then the connection ends.
    Cut(usize),
    /// What the range asks for.
    Range,
    /// Nothing beyond this length.
    NoMore(u64),
    Status(&'static str),
}

/// A server that gives these answers, one request each, and returns the ranges asked for.
fn serve(answers: Vec<Answer>) -> (String, JoinHandle<Vec<Option<u64>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let handle = std::thread::spawn(move || {
        let respond = |answer| {
            let (mut stream, _) = listener.accept().unwrap();
            let range = BufReader::new(&stream)
                .lines()
                .map(Result::unwrap)
                .take_while(|line| !line.is_empty())
                .filter_map(|line| {
                    let line = line.to_lowercase();
                    let from = line.strip_prefix("range: bytes=")?.strip_suffix('-')?;
                    from.parse().ok()
                })
                .last();
            stream.write_all(&reply(answer, range)).unwrap();
            range
        };
        answers.into_iter().map(respond).collect()
    });
    (address, handle)
}

fn reply(answer: Answer, range: Option<u64>) -> Vec<u8> {
    let with = |status: &str, extra: String, length: usize, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{extra}\r\n{body}"
        )
        .into_bytes()
    };
    match answer {
        Answer::Whole(text) => with("200 OK", String::new(), text.len(), text),
        Answer::Cut(at) => with("200 OK", String::new(), TEXT.len(), &TEXT[..at]),
        Answer::Range => {
            let from = range.expect("the client asks for a range") as usize;
            let extra =
                format!("Content-Range: bytes {from}-{}/{}\r\n", TEXT.len() - 1, TEXT.len());
            with("206 Partial Content", extra, TEXT.len() - from, &TEXT[from..])
        }
        Answer::NoMore(length) => {
            let extra = format!("Content-Range: bytes */{length}\r\n");
            with("416 Range Not Satisfiable", extra, 0, "")
        }
        Answer::Status(status) => with(status, String::new(), 0, ""),
    }
}

fn entry(server: &str, only: Option<&str>) -> Entry {
    let hashes = only.map_or_else(String::new, |sha256| {
        format!("    only-these: true\n    copies: {{{sha256}: the original}}\n")
    });
    let manifest = format!(
        "name: tiny\ntitle: Tiny\nhomepage: h\nlicence: l\ncitation: c\nfiles:\n  - name: tiny.txt\n    \
         url: {server}/tiny.txt\n{hashes}samples: 4\ndims: 2\nclass-counts: [2, 2]\n"
    );
    Entry::new(&manifest, |paths| each(paths, libsvm::parse))
}

/// A store that connects to the server inside the test even if a proxy is configured.
fn store(folder: &Path, offline: bool) -> Store {
    let mut store = Store::in_folder(folder.to_path_buf(), offline);
    store.client.agent =
        ureq::Agent::config_builder().proxy(None).http_status_as_error(false).build().new_agent();
    store
}

fn load(store: &Store, entry: &Entry) -> Result<Dataset, DataError> {
    store.load_entry(entry, &|| true, &mut |_| {})
}

struct Outcome {
    result: Result<Dataset, DataError>,
    ranges: Vec<Option<u64>>,
    progress: Vec<(u64, Option<u64>)>,
}

/// Fetches into `folder` from a server that gives `answers`.
fn fetch_from(folder: &Path, answers: Vec<Answer>, only: Option<&str>) -> Outcome {
    let (server, handle) = serve(answers);
    let mut progress = Vec::new();
    let mut report = |p: Progress<'_>| progress.push((p.done, p.total));
    let result = store(folder, false).load_entry(&entry(&server, only), &|| true, &mut report);
    Outcome { result, ranges: handle.join().unwrap(), progress }
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder.join("tiny"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name != ".lock")
        .collect();
    names.sort();
    names
}

#[test]
fn downloads_verifies_and_names() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = fetch_from(folder.path(), vec![Answer::Whole(TEXT)], None);
    let dataset = outcome.result.unwrap();
    let path = folder.path().join("tiny").join("tiny.txt");
    assert_eq!(dataset.x.dim(), (4, 2));
    assert_eq!(fs::read_to_string(path).unwrap(), TEXT);
    assert_eq!(files(folder.path()), ["tiny.txt"]);
    let length = TEXT.len() as u64;
    assert_eq!(outcome.progress.last(), Some(&(length, Some(length))));
}

#[test]
fn a_broken_transfer_continues_where_it_broke() {
    let folder = tempfile::tempdir().unwrap();
    let answers = vec![Answer::Cut(13), Answer::Range];
    let outcome = fetch_from(folder.path(), answers, None);
    assert!(outcome.result.is_ok(), "{:?}", outcome.result.err());
    assert_eq!(outcome.ranges, [None, Some(13)]);
}

#[test]
fn a_later_call_continues_the_part() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("tiny")).unwrap();
    let part = folder.path().join("tiny/tiny.txt.part");
    fs::write(&part, &TEXT[..20]).unwrap();
    let outcome = fetch_from(folder.path(), vec![Answer::Range], None);
    assert!(outcome.result.is_ok(), "{:?}", outcome.result.err());
    assert_eq!(outcome.ranges, [Some(20)]);
    assert_eq!(outcome.progress[0], (20, Some(TEXT.len() as u64)));
    assert_eq!(files(folder.path()), ["tiny.txt"]);
}

#[test]
fn a_server_without_ranges_sends_everything_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("tiny")).unwrap();
    fs::write(folder.path().join("tiny/tiny.txt.part"), "x").unwrap();
    let outcome = fetch_from(folder.path(), vec![Answer::Whole(TEXT)], None);
    assert!(outcome.result.is_ok(), "{:?}", outcome.result.err());
}

#[test]
fn a_part_that_was_complete_is_downloaded_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("tiny")).unwrap();
    fs::write(folder.path().join("tiny/tiny.txt.part"), TEXT).unwrap();
    let length = TEXT.len() as u64;
    let outcome =
        fetch_from(folder.path(), vec![Answer::NoMore(length), Answer::Whole(TEXT)], None);
    assert!(outcome.result.is_ok(), "{:?}", outcome.result.err());
}

#[test]
fn a_part_of_another_file_is_dropped() {
    for (part, answers) in [
        // Longer than the file, and as long as a beginning of it.
        ("y".repeat(99), vec![Answer::NoMore(48), Answer::Whole(TEXT)]),
        ("y".repeat(20), vec![Answer::Range, Answer::Whole(TEXT)]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tiny")).unwrap();
        fs::write(folder.path().join("tiny/tiny.txt.part"), part).unwrap();
        let outcome = fetch_from(folder.path(), answers, None);
        assert!(outcome.result.is_ok(), "{:?}", outcome.result.err());
        assert_eq!(outcome.ranges[1], None);
    }
}

#[test]
fn a_wrong_file_leaves_nothing_and_names_both_hashes() {
    let folder = tempfile::tempdir().unwrap();
    let other = "1 1:1 2:1\n2 1:2 2:2\n1 1:3 2:3\n2 1:4 2:5\n";
    let hash = "ab".repeat(32);
    let outcome = fetch_from(folder.path(), vec![Answer::Whole(other)], Some(&hash));
    let error = outcome.result.unwrap_err();
    assert!(error.is_unavailable());
    let text = error.to_string();
    let found = hex(&Sha256::digest(other));
    assert!(
        text.contains(&format!("found the file with SHA-256 {found}, expected {hash}")),
        "{text}"
    );
    assert!(files(folder.path()).is_empty());
}

#[test]
fn a_local_file_with_another_hash_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("tiny")).unwrap();
    fs::write(folder.path().join("tiny/tiny.txt"), TEXT).unwrap();
    let load_only =
        |only: &str| load(&store(folder.path(), true), &entry("http://127.0.0.1:1", Some(only)));
    let right = hex(&Sha256::digest(TEXT));
    assert_eq!(load_only(&right).unwrap().notes, ["tiny.txt is the original"]);
    let error = load_only(&"ab".repeat(32)).unwrap_err();
    assert!(error.to_string().contains(&format!("found the file with SHA-256 {right}")), "{error}");
    assert!(!error.is_unavailable());
}

#[test]
fn a_refusal_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = fetch_from(folder.path(), vec![Answer::Status("404 Not Found")], None);
    let error = outcome.result.unwrap_err();
    let text = error.to_string();
    let place = folder.path().join("tiny/tiny.txt");
    assert!(text.contains("tiny.txt answered 404 Not Found"), "{text}");
    assert!(text.ends_with(&format!("and put it at {}", place.display())), "{text}");
    let record = error.for_the_record();
    let start = "no copy of `tiny` on this machine; get it from http://127.0.0.1:";
    assert!(record.starts_with(start) && record.ends_with("/tiny.txt"), "{record}");
}

#[test]
fn a_silent_server_is_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    // Bound, then closed again: nobody listens there.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let entry = entry(&format!("http://{address}"), None);
    let store = store(folder.path(), false);
    let first = load(&store, &entry).unwrap_err();
    assert!(first.is_unavailable());
    assert_eq!(store.client.unreachable().len(), 1);
    assert_eq!(load(&store, &entry).unwrap_err().to_string(), first.to_string());
}

#[test]
fn an_unwritable_cache_is_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tiny"), "a file where a folder should be").unwrap();
    let error = load(&store(folder.path(), false), &entry("http://127.0.0.1:1", None)).unwrap_err();
    assert!(error.is_unavailable());
    assert!(error.to_string().contains("cannot be written"), "{error}");
}

#[test]
fn embedded_data_needs_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(folder.path().to_path_buf(), true);
    assert_eq!(store.fetch("pendigits", &mut |_| {}).unwrap().x.dim(), (10992, 16));
    assert_eq!(store.fetch("optdigits", &mut |_| {}).unwrap().x.dim(), (1797, 64));
    assert_eq!(store.path("optdigits").unwrap(), None);
}

#[test]
fn the_first_folder_wins() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folders = vec![first.path().to_path_buf(), second.path().to_path_buf()];
    let store = Store { folders, target: None, ..Store::new(None, true) };
    let entry = entry("http://127.0.0.1:1", None);
    assert_eq!(store.find_files(&entry), None);
    for folder in [&second, &first] {
        fs::create_dir(folder.path().join("tiny")).unwrap();
        let path = folder.path().join("tiny/tiny.txt");
        fs::write(&path, TEXT).unwrap();
        assert_eq!(store.find_files(&entry), Some(vec![path]));
    }
}
