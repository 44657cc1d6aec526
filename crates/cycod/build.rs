//! Puts the pages of `docs/errors/` and `docs/guide/` into the program for `cycod explain` and `cycod help`.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

#[expect(clippy::disallowed_methods, reason = "the environment tells a build script everything")]
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn main() {
    write_pages();
    write_guides();
    order_functions();
}

/// Puts the functions that every command runs beside each other, so that the system reads less of the program when it starts.
/// `cargo xtask order` writes the order.
///
/// Only lld knows such orders. The toolchains of the Rust project link with it where they bring it along, unless they are told
/// to link in another way.
fn order_functions() {
    let order = Path::new(&variable("CARGO_MANIFEST_DIR")).join("link-order.txt");
    println!("cargo::rerun-if-changed={}", order.display());
    println!("cargo::rerun-if-env-changed=CYCOD_LINK_MAP");
    let is_told = ["linker", "link-arg", "link-self-contained", "-fuse-ld"];
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    if variable("PROFILE") != "release"
        || variable("TARGET") != "x86_64-unknown-linux-gnu"
        || is_told.iter().any(|told| flags.contains(told))
        || !variable("RUSTC_LINKER").is_empty()
        || !brings_lld()
    {
        return;
    }
    let text = fs::read_to_string(&order).expect("the order is readable");
    let (sections, symbols): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with(".text."));
    let sections: String = sections.iter().map(|section| format!("    *({section})\n")).collect();
    let script = format!("SECTIONS\n{{\n  .text.ordered :\n  {{\n{sections}  }}\n}}\nINSERT BEFORE .text;\n");
    let out = PathBuf::from(variable("OUT_DIR"));
    for (name, text, option) in
        [("order.ld", script, "--script"), ("order.txt", symbols.join("\n"), "--symbol-ordering-file")]
    {
        let file = out.join(name);
        fs::write(&file, text).expect("the order is writable");
        println!("cargo::rustc-link-arg-bins=-Wl,{option}={}", file.display());
    }
    println!("cargo::rustc-link-arg-bins=-Wl,--no-warn-symbol-ordering");
    let map = variable("CYCOD_LINK_MAP");
    if !map.is_empty() {
        println!("cargo::rustc-link-arg-bins=-Wl,-Map={map},--no-demangle");
    }
}

/// Whether the compiler brings the linker that it uses for this target by itself.
#[expect(clippy::disallowed_methods, reason = "a build script asks the compiler that started it")]
fn brings_lld() -> bool {
    let output = Command::new(variable("RUSTC")).args(["--print", "sysroot"]).output();
    let sysroot = output.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    let target = PathBuf::from(sysroot.trim()).join("lib/rustlib").join(variable("TARGET"));
    target.join("bin/gcc-ld/ld.lld").exists()
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
