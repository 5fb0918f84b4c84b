//! The crate has none of the dependencies that only a program needs.

use std::process::Command;

#[test]
fn no_feature_needs_what_only_a_program_needs() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal", "--all-features"])
        .args(["--prefix", "none", "--format", "{p}"])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names: Vec<&str> =
        (tree.lines()).filter_map(|line| line.split_whitespace().next()).collect();
    for expected in ["npsvc", "faer", "linfa", "schemars"] {
        assert!(names.contains(&expected), "{expected} is not in\n{tree}");
    }
    for unwanted in [
        "clap",
        "ureq",
        "plotters",
        "image",
        "polars",
        "serde-saphyr",
        "miette",
        "indicatif",
        "regex",
        "tch",
    ] {
        assert!(!names.contains(&unwanted), "{unwanted} is in\n{tree}");
    }
}
