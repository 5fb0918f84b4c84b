//! DTD: `images/<class>/<image>`, and the first of its ten splits in `labels/train1.txt` and
//! `labels/test1.txt`.

use std::path::{Path, PathBuf};

use super::Samples;
use super::content::{children, read};
use super::error::{DataError, Parsed, bad};
use super::images::{Images, images_in};

pub(crate) fn has_images(folder: &Path) -> bool {
    folder.join("images").is_dir() && folder.join("labels").is_dir()
}

pub(crate) fn images(paths: &[PathBuf]) -> Result<Samples, DataError> {
    let folder = &paths[0];
    for class in children(&folder.join("images"), Path::is_dir)? {
        images_in(&class)?;
    }
    let lists = folder.join("labels");
    let listed = |name: &str| read(&lists.join(name), |file| listed(file, folder));
    let mut all = listed("train1.txt")?;
    let train = all.len();
    all.extend(listed("test1.txt")?);
    let (labels, images): (Vec<String>, Vec<PathBuf>) = all.into_iter().unzip();
    let images = Images::files(images).map_err(|bad| bad.in_file(&lists))?;
    Ok(Samples { train: Some(train), ..Samples::of_images(images, labels) })
}

/// Class and file of every line of a list.
fn listed(file: &[u8], folder: &Path) -> Parsed<Vec<(String, PathBuf)>> {
    let is_name = |name: &str| !name.is_empty() && !name.contains(['/', '\\']) && name != "..";
    let text = String::from_utf8_lossy(file);
    let lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty());
    let entry = |(line, entry): (u64, &str)| {
        let (class, image) = entry.split_once('/').unwrap_or_default();
        let path = folder.join("images").join(class).join(image);
        if is_name(class) && is_name(image) && path.is_file() {
            return Ok((class.to_owned(), path));
        }
        let found = format!("`{entry}`, which is not an image under images/");
        Err(bad(format_args!(":{line}:1"), found, "lines such as banded/banded_0002.jpg"))
    };
    lines.map(entry).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(folder: &Path, name: &str, bytes: &[u8]) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn refused(folder: &Path) -> String {
        images(&[folder.to_path_buf()]).unwrap_err().to_string()
    }

    #[test]
    fn an_image_for_training_is_none_for_testing() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "images/banded/banded_0001.jpg", b"");
        for list in ["labels/train1.txt", "labels/test1.txt"] {
            write(folder.path(), list, b"banded/banded_0001.jpg");
        }
        let error = refused(folder.path());
        assert!(error.contains("found banded_0001.jpg twice"), "{error}");
    }

    #[test]
    fn a_class_with_other_files_only_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "images/banded/readme.txt", b"");
        let error = refused(folder.path());
        assert!(error.contains("banded: found no image"), "{error}");
    }

    #[test]
    fn a_list_that_names_no_image_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for line in ["banded/none.jpg", "../x/y.jpg", "plain"] {
            write(folder.path(), "images/banded/banded_0001.jpg", b"");
            write(folder.path(), "labels/train1.txt", line.as_bytes());
            write(folder.path(), "labels/test1.txt", b"");
            let error = refused(folder.path());
            assert!(error.contains("train1.txt:1:1: found `"), "{error}");
        }
    }
}
