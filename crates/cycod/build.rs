//! Puts the pages of `docs/errors/` and `docs/guide/` into the program, for `cycod explain` and `cycod help`, and links it so that it starts sooner.

use std::{env, fs, path::Path, process::Command};

/// The first glibc that starts a static program with packed relocations.
const PACKED_SINCE: (u32, u32) = (2, 36);

#[expect(clippy::disallowed_methods, reason = "the environment tells a build script everything")]
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn main() {
    write_pages();
    write_guides();
    pack_relocations();
}

/// Before a static position-independent program begins, it corrects a hundred thousand addresses in its own tables. Packed, the
/// list of them takes a twentieth of the room.
fn pack_relocations() {
    let is_static = variable("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "crt-static");
    let is_native = variable("TARGET") == variable("HOST") && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    if is_static && is_native && glibc().is_some_and(|version| version >= PACKED_SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of the C library of this machine.
#[expect(
    clippy::disallowed_methods,
    reason = "a build script runs on the machine of the build, and is not part of the program"
)]
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
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
