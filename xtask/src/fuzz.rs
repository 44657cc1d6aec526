use std::{
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// How long one input may take, in seconds: a parser that needs longer hangs.
const ONE_INPUT: u32 = 10;

/// From how many seconds on a run begins with another seed each time, and is worth a build that is optimised. To libFuzzer, the
/// seed 0 means any.
const LONG: u32 = 60;

/// How much memory a target may take, in MiB.
const MEMORY: u32 = 4096;

/// How much of what a target said is shown when it found something.
const LAST_LINES: usize = 40;

/// Builds the fuzz targets, and runs each for a number of seconds, as many at once as there are processors. Without names, all.
/// For 0 seconds, it only builds them.
pub(crate) fn fuzz(root: &Path, seconds: u32, names: &[&str]) -> Result<String, Vec<String>> {
    let known = built(root, seconds >= LONG).map_err(|problem| vec![problem])?;
    let unknown = names.iter().filter(|name| known.iter().all(|known| known.name != **name));
    let unknown: Vec<String> = unknown.map(|name| format!("there is no fuzz target `{name}`")).collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let targets: Vec<&Target> =
        known.iter().filter(|target| names.is_empty() || names.contains(&target.name.as_str())).collect();
    if seconds == 0 {
        return Ok(format!("{} fuzz targets are built", targets.len()));
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut problems = Vec::new();
        while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            problems.extend(run(root, target, seconds).err());
        }
        problems
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(targets.len());
    let problems: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    if problems.is_empty() {
        Ok(format!("{} fuzz targets ran {seconds} s each without a finding", targets.len()))
    } else {
        Err(problems)
    }
}

/// A fuzz target, and the program that it was built to.
struct Target {
    name: String,
    program: String,
}

/// Builds all fuzz targets: as a part of the workspace, so that what the project depends on is built once for them and for the tests.
fn built(root: &Path, is_long: bool) -> Result<Vec<Target>, String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--workspace", "--locked", "--no-run", "--message-format", "json-render-diagnostics"]);
    cargo.args(["--test", "fuzz_*", "--profile", if is_long { "fuzz" } else { "test" }]);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", root.join("fuzz/rustc")).current_dir(root);
    let built = cargo.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        return Err(format!("the fuzz targets cannot be built:\n{}", last_lines(&said)));
    }
    let messages = String::from_utf8_lossy(&built.stdout);
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let target = |message: serde_json::Value| {
        let name = message["target"]["name"].as_str()?.strip_prefix("fuzz_")?.to_owned();
        Some(Target { name, program: message["executable"].as_str()?.to_owned() })
    };
    Ok(messages.filter_map(target).collect())
}

fn run(root: &Path, target: &Target, seconds: u32) -> Result<(), String> {
    let name = &target.name;
    // What is found goes into the first directory; the last one holds what to begin with.
    let [corpus, artifacts, seeds] =
        ["corpus", "artifacts", "seeds"].map(|directory| root.join("fuzz").join(directory).join(name));
    for directory in [&corpus, &artifacts] {
        fs::create_dir_all(directory).map_err(|error| format!("cannot make `{}`: {error}", directory.display()))?;
    }
    let mut program = Command::new(&target.program);
    program.args([
        format!("-max_total_time={seconds}"),
        format!("-timeout={ONE_INPUT}"),
        format!("-rss_limit_mb={MEMORY}"),
        "-print_final_stats=1".to_owned(),
        // A short run tries the same each time; a long one looks for what nobody has seen.
        format!("-seed={}", u32::from(seconds < LONG)),
        format!("-artifact_prefix={}/", artifacts.display()),
    ]);
    program.arg(corpus).args(Some(seeds).filter(|seeds| seeds.is_dir())).current_dir(root);
    let ran = program.output().map_err(|error| format!("cannot run the fuzz target `{name}`: {error}"))?;
    if ran.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    Err(format!("fuzz target `{name}` found something; see fuzz/artifacts/{name}:\n{}", last_lines(&said)))
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}
