use std::{path::Path, process::Command};

/// Builds and runs every fuzz target for a number of seconds each.
pub(crate) fn fuzz(root: &Path, seconds: u32) -> Result<String, Vec<String>> {
    let list = Command::new("cargo")
        .args(["+nightly", "fuzz", "list"])
        .current_dir(root)
        .output()
        .map_err(|error| vec![format!("cannot run cargo fuzz: {error}")])?;
    if !list.status.success() {
        return Err(vec!["cargo fuzz is not there; install it with `cargo install cargo-fuzz --locked`".to_owned()]);
    }
    let targets = String::from_utf8_lossy(&list.stdout).lines().map(str::to_owned).collect::<Vec<_>>();
    for target in &targets {
        let limit = format!("-max_total_time={seconds}");
        let status = Command::new("cargo")
            .args(["+nightly", "fuzz", "run", target, "--", &limit, "-rss_limit_mb=4096", "-timeout=10"])
            .current_dir(root)
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(_) => return Err(vec![format!("fuzz target `{target}` found something; see fuzz/artifacts/{target}")]),
            Err(error) => return Err(vec![format!("cannot run fuzz target `{target}`: {error}")]),
        }
    }
    Ok(format!("{} fuzz targets ran {seconds} s each without a finding", targets.len()))
}
