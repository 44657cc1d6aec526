//! Puts the pages of `docs/errors/` into the program, for `cycod explain`.

use std::{env, fs, path::Path};

#[expect(clippy::disallowed_methods, reason = "a build script is told everything by the environment")]
fn main() {
    let variable = |name| env::var(name).expect("cargo sets it");
    let pages = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    println!("cargo::rerun-if-changed={}", pages.display());
    let mut names: Vec<String> = fs::read_dir(&pages)
        .expect("the pages are part of the repository")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok()?.strip_suffix(".md").map(str::to_owned))
        .collect();
    names.sort_unstable();
    let entries = names.iter().map(|name| {
        let path = pages.join(format!("{name}.md"));
        println!("cargo::rerun-if-changed={}", path.display());
        format!("    ({name:?}, include_str!({path:?})),\n")
    });
    let table = format!("&[\n{}]\n", entries.collect::<String>());
    fs::write(Path::new(&variable("OUT_DIR")).join("pages.rs"), table).expect("cargo's directory can be written");
}
