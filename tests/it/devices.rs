//! Every place of the sources that creates a tensor passes the chosen device. A machine without a graphics
//! processor cannot run such code there, but it can read it.

use std::fs;
use std::path::Path;

/// What creates a tensor from nothing.
const CREATORS: [&str; 12] = [
    "Tensor::from_slice",
    "Tensor::from_data_size",
    "Tensor::f_from_data_size",
    "Tensor::zeros(",
    "Tensor::ones(",
    "Tensor::full(",
    "Tensor::empty(",
    "Tensor::arange(",
    "Tensor::rand(",
    "Tensor::randn(",
    "Tensor::eye(",
    "Tensor::from(",
];

/// Places that create a tensor in the memory of the CPU, and who moves it.
const MOVED: [(&str, &str, &str); 3] = [
    (
        "src/networks/features.rs",
        "Tensor::from_slice(&planes.concat())",
        "`FineTunedEncoder::phi`, pixels of a batch",
    ),
    (
        "src/networks/weights_file.rs",
        "Tensor::f_from_data_size",
        "`ResNet::new`, weights of a file",
    ),
    (
        "src/networks/checkpoint.rs",
        "Tensor::from_data_size",
        "`copy_` into the tensors of the training",
    ),
];

/// The sources of a folder without their tests, by path.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let end = text.find("#[cfg(test)]").unwrap_or(text.len());
        let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap();
        found.push((name.to_string_lossy().into_owned(), text[..end].to_owned()));
    }
}

/// The statement around `at`, from the end of the one before to its own.
fn statement(text: &str, at: usize) -> &str {
    let is_end = |c: char| c == ';' || c == '{' || c == '}';
    let begin = text[..at].rfind(is_end).map_or(0, |end| end + 1);
    let end = text[at..].find(is_end).map_or(text.len(), |end| at + end);
    &text[begin..end]
}

#[test]
fn every_tensor_is_created_on_the_chosen_device() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src/networks"), &mut files);
    let mut used = vec![false; MOVED.len()];
    let mut places = 0;
    for (file, text) in &files {
        for creator in CREATORS {
            for (at, _) in text.match_indices(creator) {
                places += 1;
                let statement = statement(text, at);
                let is_moved = MOVED
                    .iter()
                    .position(|(place, code, _)| file == place && statement.contains(code));
                if let Some(index) = is_moved {
                    used[index] = true;
                    continue;
                }
                let passes = ["device", "options"];
                assert!(
                    passes.iter().any(|word| statement.contains(word)),
                    "{file} creates a tensor without the chosen device: {statement}"
                );
            }
        }
    }
    assert!(places >= 10, "only {places} places were found");
    for ((file, code, _), used) in MOVED.iter().zip(used) {
        assert!(used, "{file} has no `{code}` any more: remove it from the list");
    }
}
