//! The order in which the functions of the program lie in its file: those that every command runs stand together.
//!
//! The system maps a program in pieces of 64 KB, each when something in it is first needed. Ordered, a command needs a fifth
//! of the pieces. A line of the order is the section of one function, in which `*` stands for all that changes with the compiler,
//! the dependencies and the lines around the function; or the name of a function of C whose section has no name of its own.
//! Lines for functions that are no longer there do no harm. `cargo xtask dist` writes the order again for each release.

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
            let (_, function) = functions.range(..=at).next_back().ok_or("an address lies before all functions")?;
            if seen.insert(function) {
                order.push(function.as_str());
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

/// The lines of the functions of a map that lld wrote, by their addresses.
fn functions(map: &str) -> BTreeMap<u64, String> {
    /// An address, another, a size and an alignment, each with a space behind it.
    const NUMBERS: usize = 49;
    let mut functions = BTreeMap::new();
    let mut is_text = false;
    let mut section = "";
    for line in map.lines().skip(1) {
        let (Some(numbers), Some(what)) = (line.get(..NUMBERS), line.get(NUMBERS..)) else { continue };
        let address = numbers.split_whitespace().next().and_then(|address| u64::from_str_radix(address, 16).ok());
        // A section of the program has no indent, one of an object eight spaces, a symbol sixteen.
        match (what.len() - what.trim_start().len(), address) {
            (0, _) => is_text = what.starts_with(".text"),
            (8, _) => section = what.rsplit_once(":(").map_or("", |(_, section)| section.trim_end_matches(')')),
            (16, Some(address)) if is_text => {
                functions.entry(address).or_insert_with(|| {
                    if section.starts_with(".text.") { pattern(section) } else { what.trim().to_owned() }
                });
            }
            _ => {}
        }
    }
    functions
}

/// The name of a section with `*` for the parts of a function's name that change although the function does not: the numbers of
/// crates, of closures and of blocks of methods, references to earlier parts, and what the optimiser appends.
///
/// The grammar of the names is in the rustc book, "v0 Symbol Format".
fn pattern(section: &str) -> String {
    let old = section.find("17h").filter(|at| section.contains("_ZN") && section.len() >= at + 19);
    if let Some(hash) = old {
        return format!("{}*", &section[..hash]);
    }
    let Some(start) = section.find("._R").map(|at| at + ".".len()) else { return section.to_owned() };
    let (before, name) = section.split_at(start);
    let mut pattern = before.to_owned();
    let mut rest = name.split(['.', '$']).next().unwrap_or_default();
    while let Some(tag) = rest.chars().next() {
        let length = match tag {
            '0'..='9' => identifier(rest),
            's' | 'B' | 'L' | 'G' => number(rest, char::is_alphanumeric),
            // A constant argument: its type, and its value.
            'K' if !rest[1..].starts_with(['B', 'p']) => number(rest, char::is_alphanumeric),
            // The length of an array.
            'j' => number(rest, |character| character.is_ascii_hexdigit()),
            _ => tag.len_utf8(),
        };
        let (part, after) = rest.split_at(length);
        if matches!(tag, 's' | 'B') && part.ends_with('_') {
            push_any(&mut pattern);
        } else {
            pattern.push_str(part);
        }
        rest = after;
    }
    push_any(&mut pattern);
    pattern
}

fn push_any(pattern: &mut String) {
    if !pattern.ends_with('*') {
        pattern.push('*');
    }
}

/// The length of an identifier: that of its bytes, which it begins with, and of the bytes.
fn identifier(rest: &str) -> usize {
    let digits = rest.len() - rest.trim_start_matches(|character: char| character.is_ascii_digit()).len();
    let length: usize = rest[..digits].parse().unwrap_or(0);
    let separator = usize::from(rest[digits..].starts_with('_'));
    (digits + separator + length).min(rest.len())
}

/// The length of a tag with the number behind it, which ends in `_`; that of the tag where there is no number.
fn number(rest: &str, is_digit: impl Fn(char) -> bool) -> usize {
    match rest[1..].find(|character| !is_digit(character)) {
        Some(digits) if rest[1 + digits..].starts_with('_') => digits + 2,
        _ => 1,
    }
}

fn done(command: &mut Command) -> Step<()> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("cannot start {command:?}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{functions, pattern};

    #[test]
    fn a_pattern_names_the_function_and_not_the_build() {
        let patterns = [
            ("._RNvNtCs9ltgdHTiPiY_4core3fmt5write", "._RNvNtC*4core3fmt5write*"),
            (
                "._RNvMs2_NtCsaXNRxk3h_5cycod4lookNtB5_4Look11found_plain",
                "._RNvM*NtC*5cycod4lookNt*4Look11found_plain*",
            ),
            ("._RNCNvCs1_5cycod4main0B3_.llvm.12345", "._RNCNvC*5cycod4main0*"),
            (
                "._RINvNtCs1_4core3ptr13drop_in_placeAhj10_ECs2_5cycod",
                "._RINvNtC*4core3ptr13drop_in_placeAhj10_EC*5cycod*",
            ),
            ("._RINvCs1_1a1bKj10_ECs2_1a", "._RINvC*1a1bKj10_EC*1a*"),
            ("._RNvCs1_1a6_8bytes", "._RNvC*1a6_8bytes*"),
            ("._ZN3std2fs4File4open17hb47dc5ea9492f5b6E", "._ZN3std2fs4File4open*"),
            ("unlikely._RNvCs1_1a1b", "unlikely._RNvC*1a1b*"),
            (".JS_CallInternal", ".JS_CallInternal"),
        ];
        for (section, expected) in patterns {
            assert_eq!(pattern(&format!(".text{section}")), format!(".text{expected}"));
        }
    }

    #[test]
    fn a_map_tells_sections_of_functions_and_names_of_others() {
        let map = "\
             VMA              LMA     Size Align Out     In      Symbol
         17eae00          17eae00  1fb1e78    64 .text
         17eae00          17eae00       31    16         /lib/crt1.o:(.text)
         17eae00          17eae00       22     1                 _start
         17eae40          17eae40       20    16         a.o:(.text._RNvCs1_1a1b)
         17eae40          17eae40       20     1                 _RNvCs1_1a1b
         27eae40          27eae40       20    16 .data
         27eae40          27eae40       20     1                 data
";
        let functions: Vec<_> = functions(map).into_iter().collect();
        let expected = [(0x17e_ae00, "_start".to_owned()), (0x17e_ae40, ".text._RNvC*1a1b*".to_owned())];
        assert_eq!(functions, expected);
    }
}
