//! Gives the program the commit that it is built from. With the feature `deep`, also links the folder of libtorch into the
//! program, so that it starts without environment variables, and reports a missing libtorch.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    for source in ["build.rs", "src", "crates", "Cargo.toml", "Cargo.lock"] {
        println!("cargo:rerun-if-changed={source}");
    }
    if let Some(commit) = commit() {
        println!("cargo:rustc-env=NPSVCPP_COMMIT={commit}");
    }
    // The documentation is built without libtorch.
    if env::var_os("CARGO_FEATURE_DEEP").is_some() && env::var_os("DOCS_RS").is_none() {
        link_libtorch();
    }
}

/// The commit of the sources, with `+` for uncommitted changes.
fn commit() -> Option<String> {
    let git = |arguments: &str| {
        let output = Command::new("git").args(arguments.split(' ')).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // A source tree without its own repository may be inside another repository.
    if !git("rev-parse --show-prefix")?.is_empty() {
        return None;
    }
    let hash = git("rev-parse --short=12 HEAD")?;
    let changes = git("status --porcelain --untracked-files=no -- src crates Cargo.toml")?;
    if changes.is_empty() {
        return Some(hash);
    }
    // A commit of these changes leaves the files as they are, so only its log shows it.
    let log = git("rev-parse --git-path logs/HEAD").filter(|log| Path::new(log).exists());
    if let Some(log) = log {
        println!("cargo:rerun-if-changed={log}");
    }
    Some(hash + "+")
}

fn link_libtorch() {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    let folder = env::var_os("LIBTORCH").unwrap_or_default();
    let library = Path::new(&folder).join("lib").join("libtorch_cpu.so");
    println!("cargo:rerun-if-changed={}", library.display());
    let Ok(found) = library.canonicalize() else {
        println!(
            "cargo:warning=the feature `deep` needs libtorch, and {} is missing: run \
             scripts/setup-libtorch, then build again",
            library.display()
        );
        std::process::exit(1);
    };
    if let Some(lib) = found.parent() {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
        // This library registers itself when it is loaded. The program uses none of its symbols, so it is linked by name.
        if lib.join("libtorch_cuda.so").exists() {
            println!("cargo:rustc-link-arg=-Wl,--no-as-needed");
            println!("cargo:rustc-link-arg=-L{}", lib.display());
            println!("cargo:rustc-link-arg=-ltorch_cuda");
        }
    }
}
