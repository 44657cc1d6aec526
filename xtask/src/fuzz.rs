use std::{
    fs,
    path::Path,
    process::{Command, Output},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// How long one input may take, in seconds: a parser that needs longer hangs.
const ONE_INPUT: u32 = 10;

/// From how many seconds on a run begins with another seed each time. To libFuzzer, 0 means any.
const LONG: u32 = 60;

/// How much memory a target may take, in MiB.
const MEMORY: u32 = 4096;

/// Safe code needs no sanitizer of addresses, and a build that is optimised a little is quick enough.
const BUILD: &[&str] = &["--dev", "--sanitizer", "none"];

/// How much of what a target said is shown when it found something.
const LAST_LINES: usize = 40;

/// Builds the fuzz targets, and runs each for a number of seconds, as many at once as there are processors. Without names, all.
/// For 0 seconds, it only builds them.
pub(crate) fn fuzz(root: &Path, seconds: u32, names: &[&str]) -> Result<String, Vec<String>> {
    let list = cargo_fuzz(root, &["list"]).map_err(|problem| vec![problem])?;
    if !list.status.success() {
        return Err(vec!["cargo fuzz is not there; install it with `cargo install cargo-fuzz --locked`".to_owned()]);
    }
    let known: Vec<String> = String::from_utf8_lossy(&list.stdout).lines().map(str::to_owned).collect();
    let unknown = names.iter().filter(|name| known.iter().all(|known| known != *name));
    let unknown: Vec<String> = unknown.map(|name| format!("there is no fuzz target `{name}`")).collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let targets: Vec<&String> =
        known.iter().filter(|name| names.is_empty() || names.contains(&name.as_str())).collect();
    let built = cargo_fuzz(root, &[&["build"], BUILD].concat()).map_err(|problem| vec![problem])?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        return Err(vec![format!("the fuzz targets cannot be built:\n{}", last_lines(&said))]);
    }
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

fn run(root: &Path, target: &str, seconds: u32) -> Result<(), String> {
    let limits = [
        format!("-max_total_time={seconds}"),
        format!("-timeout={ONE_INPUT}"),
        format!("-rss_limit_mb={MEMORY}"),
        "-print_final_stats=1".to_owned(),
        // A short run tries the same each time; a long one looks for what nobody has seen.
        format!("-seed={}", u32::from(seconds < LONG)),
    ];
    // What is found goes into the first directory; the second holds what to begin with.
    let [corpus, seeds] = ["corpus", "seeds"].map(|directory| format!("fuzz/{directory}/{target}"));
    let mut words = [&["run"], BUILD, &[target]].concat();
    if root.join(&seeds).is_dir() {
        fs::create_dir_all(root.join(&corpus)).map_err(|error| format!("cannot make `{corpus}`: {error}"))?;
        words.extend([corpus.as_str(), seeds.as_str()]);
    }
    words.push("--");
    words.extend(limits.iter().map(String::as_str));
    let ran = cargo_fuzz(root, &words)?;
    if ran.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    Err(format!("fuzz target `{target}` found something; see fuzz/artifacts/{target}:\n{}", last_lines(&said)))
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// The targets are built with the compiler of everything else, which has to be told that it may instrument them.
fn cargo_fuzz(root: &Path, words: &[&str]) -> Result<Output, String> {
    let mut cargo = Command::new("cargo");
    let ran = cargo.arg("fuzz").args(words).env("RUSTC_BOOTSTRAP", "1").current_dir(root).output();
    ran.map_err(|error| format!("cannot run cargo fuzz: {error}"))
}
