//! The order in which the functions of the program lie in its file: those that every command runs stand together.
//!
//! The system reads a program in pieces of 64 KB, each when something in it is first needed. Ordered, a command needs a fifth
//! of the pieces. The names of functions change with the compiler, the dependencies and the version of the program. Names that
//! are no longer there do no harm, so the order only gets less useful until it is written again; `cargo xtask dist` does that for
//! each release.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Command, Stdio},
    thread,
};

/// Where the build script of the program looks for the order.
const ORDER: &str = "crates/cycod/link-order.txt";

/// The only target for which there is an order.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

// One instruction at a time, a run takes longer than tools may by default.
const TOOL: &str = "\
name: echo
description: Says a word
tags: [read]
timeout: 600000
parameters:
  WORD: {description: A word, required: true}
bash: echo hello \"{WORD}\"
";

const STEPS: &str = "\
name: steps
description: Says two words
tags: [read]
timeout: 600000
steps:
  - {name: one, bash: echo one}
  - {name: two, run: 'echo {one.output}'}
";

/// What is run to learn the order: what people and models do all day.
const RUNS: [Run; 5] = [
    Run::command(&["tool", "run", "echo", "WORD=hello"]),
    Run::command(&["--version"]),
    Run::command(&["tool", "run", "steps"]),
    Run::command(&["list"]),
    Run { arguments: &["mcp", "serve"], requests: &REQUESTS },
];

/// A session of an agent. The numbers of the requests count up from 1.
const REQUESTS: [&str; 5] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"order","version":"1"}}}"#,
    concat!(
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#
    ),
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"WORD":"hello"}}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"steps","arguments":{}}}"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"WORD":"again"}}}"#,
];

struct Run {
    arguments: &'static [&'static str],
    /// Lines for its input, each written once the one before is answered.
    requests: &'static [&'static str],
}

impl Run {
    const fn command(arguments: &'static [&'static str]) -> Self {
        Self { arguments, requests: &[] }
    }
}

type Step<T> = Result<T, String>;

/// Builds the program, watches it run, and writes the order of its functions.
pub(crate) fn order(root: &Path) -> Result<String, Vec<String>> {
    write_order(root).map_err(|problem| vec![problem])
}

fn write_order(root: &Path) -> Step<String> {
    let work = root.join("target/order");
    let project = work.join("project");
    _ = fs::remove_dir_all(&work);
    for (name, text) in [("echo", TOOL), ("steps", STEPS)] {
        let file = project.join(format!(".cycod/tools/{name}.yaml"));
        fs::create_dir_all(file.parent().unwrap_or(&project)).map_err(|error| error.to_string())?;
        fs::write(&file, text).map_err(|error| error.to_string())?;
    }
    let map = work.join("link.map");
    let build = ["build", "--release", "--locked", "-p", "cycod", "--bin", "cycod", "--target", TARGET];
    done(Command::new("cargo").args(build).current_dir(root).env("CYCOD_LINK_MAP", &map))?;
    let steps = work.join("steps");
    done(Command::new("cc").args(["-O2", "-o"]).arg(&steps).arg(root.join("xtask/src/order/steps.c")))?;
    let text = fs::read_to_string(&map).map_err(|error| format!("{}: {error}", map.display()))?;
    let functions = functions(&text);
    let (Some((lowest, _)), Some((highest, _))) = (functions.first_key_value(), functions.last_key_value()) else {
        return Err(format!("`{}` names no functions: the program was not linked by lld", map.display()));
    };
    let (mut order, mut seen) = (Vec::new(), HashSet::new());
    for run in RUNS {
        let mut command = Command::new(&steps);
        command.args([format!("{lowest:x}"), format!("{highest:x}")]);
        command.arg(root.join("target").join(TARGET).join("release/cycod")).args(run.arguments).current_dir(&project);
        command.env("HOME", work.join("home")).env("CYCOD_TRUSTED_DIRECTORIES", &project);
        let addresses = watched(command, run.requests)
            .map_err(|problem| format!("`cycod {}`: {problem}", run.arguments.join(" ")))?;
        for line in addresses.lines() {
            let at = u64::from_str_radix(line, 16).map_err(|error| format!("`{line}`: {error}"))?;
            let (_, name) = functions.range(..=at).next_back().ok_or("an address lies before all functions")?;
            if seen.insert(*name) {
                order.push(*name);
            }
        }
    }
    fs::write(root.join(ORDER), order.join("\n") + "\n").map_err(|error| error.to_string())?;
    Ok(format!("{ORDER}: {} functions", order.len()))
}

/// What `steps` prints about a run, to whose program it gives the requests.
fn watched(mut command: Command, requests: &[&str]) -> Step<String> {
    let text = |error: io::Error| error.to_string();
    let mut steps =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(text)?;
    let (Some(mut input), Some(mut addresses), Some(output)) =
        (steps.stdin.take(), steps.stdout.take(), steps.stderr.take())
    else {
        return Err("`steps` has no pipes".to_owned());
    };
    let mut output = BufReader::new(output);
    let (addresses, said) = thread::scope(|scope| {
        let addresses = scope.spawn(move || io::read_to_string(&mut addresses));
        let mut said = String::new();
        for (request, number) in requests.iter().zip(1..) {
            // A program that has ended reads no more; its exit code and what it said tell why.
            let mut at = said.len();
            let mut is_over = writeln!(input, "{request}").is_err();
            while !is_over && !said[at..].contains(&format!("\"id\":{number},")) {
                at = said.len();
                is_over = output.read_line(&mut said).map_err(text)? == 0;
            }
        }
        drop(input);
        output.read_to_string(&mut said).map_err(text)?;
        let addresses = addresses.join().map_err(|_| "the thread that reads `steps` ended early".to_owned())?;
        Ok::<_, String>((addresses.map_err(text)?, said))
    })?;
    if steps.wait().map_err(text)?.success() { Ok(addresses) } else { Err(said) }
}

/// The functions of a map that lld wrote, by their addresses.
fn functions(map: &str) -> BTreeMap<u64, &str> {
    /// An address, another, a size and an alignment, each with a space behind it.
    const NUMBERS: usize = 49;
    let mut functions = BTreeMap::new();
    let mut is_text = false;
    for line in map.lines().skip(1) {
        let (Some(numbers), Some(what)) = (line.get(..NUMBERS), line.get(NUMBERS..)) else { continue };
        if !what.starts_with(' ') {
            is_text = what == ".text";
        }
        let address = numbers.split_whitespace().next().and_then(|address| u64::from_str_radix(address, 16).ok());
        // A section of the program has no indent, one of an object eight spaces, a symbol sixteen.
        if let (true, Some(name), Some(address)) = (is_text, what.strip_prefix(&" ".repeat(16)), address) {
            functions.entry(address).or_insert(name.trim());
        }
    }
    functions
}

fn done(command: &mut Command) -> Step<()> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("cannot start {command:?}: {error}")),
    }
}
