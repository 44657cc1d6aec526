//! Puts the pages of `docs/errors/` and `docs/guide/` into the program for `cycod explain` and `cycod help`.

use std::{env, fs, path::Path};

#[expect(clippy::disallowed_methods, reason = "the environment tells a build script everything")]
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn main() {
    write_pages();
    write_guides();
}

fn write_pages() {
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

/// Writes the table of the guides, in the order of `docs/README.md`, with what it says about each.
fn write_guides() {
    let docs = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../../docs");
    let index = docs.join("README.md");
    println!("cargo::rerun-if-changed={}", index.display());
    println!("cargo::rerun-if-changed={}", docs.join("guide").display());
    let text = fs::read_to_string(&index).expect("the index is part of the repository");
    let (mut table, mut seen) = (String::new(), 0);
    for item in text.split("\n- ").skip(1) {
        let item = item.split("\n\n").next().unwrap_or_default();
        let Some((_, link)) = item.split_once("](guide/") else { continue };
        let (name, about) = link.split_once(".md): ").expect("a guide has a line that says what it is about");
        let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
        let path = docs.join(format!("guide/{name}.md"));
        println!("cargo::rerun-if-changed={}", path.display());
        table += &format!("    ({name:?}, {:?}, include_str!({path:?})),\n", about.trim_end_matches('.'));
        seen += 1;
    }
    let there = fs::read_dir(docs.join("guide")).expect("the guides are part of the repository").count();
    assert_eq!(seen, there, "docs/README.md names every guide");
    fs::write(Path::new(&variable("OUT_DIR")).join("guides.rs"), format!("&[\n{table}]\n"))
        .expect("cargo's directory can be written");
}
