//! With the feature `deep`: says what to do where libtorch is missing, and writes its place into
//! what is linked, so that programs start without environment variables.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_DEEP").is_none() {
        return;
    }
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    // The documentation is built without libtorch.
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    let folder = env::var_os("LIBTORCH").unwrap_or_default();
    let library = Path::new(&folder).join("lib").join("libtorch_cpu.so");
    println!("cargo:rerun-if-changed={}", library.display());
    match library.canonicalize() {
        Ok(found) => {
            if let Some(lib) = found.parent() {
                println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
                // It registers itself when it is loaded; no symbol of it is asked for.
                if lib.join("libtorch_cuda.so").exists() {
                    println!("cargo:rustc-link-arg=-Wl,--no-as-needed");
                    println!("cargo:rustc-link-arg=-L{}", lib.display());
                    println!("cargo:rustc-link-arg=-ltorch_cuda");
                }
            }
        }
        Err(_) => {
            println!(
                "cargo:warning=the feature `deep` needs libtorch, and {} is missing: run \
                 scripts/setup-libtorch, then build again",
                library.display()
            );
            std::process::exit(1);
        }
    }
}
