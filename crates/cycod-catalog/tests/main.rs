//! Tests of the catalog over real directories.

mod entries;
#[cfg(target_os = "linux")]
mod hostile;
mod place;
mod scopes;
mod writing;

/// Every module of this directory is named above.
#[test]
fn no_module_is_forgotten() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let main = std::fs::read_to_string(here.join("main.rs")).expect("this file");
    for entry in std::fs::read_dir(here).expect("this directory") {
        let name = entry.expect("an entry").file_name();
        let Some(module) = name.to_str().and_then(|name| name.strip_suffix(".rs")) else { continue };
        if !["main", "concurrent", "growth"].contains(&module) {
            assert!(main.contains(&format!("mod {module};")), "{module}");
        }
    }
}
