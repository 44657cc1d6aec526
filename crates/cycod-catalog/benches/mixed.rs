//! How long it takes to load 5,000 tools of all formats, beside parsing the same files and nothing more.
//!
//! Parsing is what nobody can do without: the file is read, its format told, its YAML and its blocks become a tree with
//! places. Loading is all of that with the meaning of every key, every check, a summary and an estimate of what the tool
//! costs, and nothing is remembered from before. Both use the same threads.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::{
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use cycod_catalog::{Catalog, Overrides, Scopes};
use cycod_definition::{Host, Platform, document};
use cycod_diagnostic::SourceFile;

const TOOLS: usize = 5_000;
const ROUNDS: usize = 9;

fn main() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let home = root.path().join("home");
    let files: Vec<PathBuf> = (0..TOOLS).map(|number| written(&home, number)).collect();
    let bytes: u64 = files.iter().map(|file| fs::metadata(file).expect("it is there").len()).sum();
    let host = Host {
        platform: Platform::Linux,
        working_directory: root.path().to_owned(),
        workspace: root.path().to_owned(),
        temp: root.path().to_owned(),
        environment: [("PATH".into(), "/usr/bin:/bin".into())].into(),
        now: SystemTime::UNIX_EPOCH,
        offered: cycod_definition::OfferedConfinement::nothing(),
        home,
    };
    let overrides = Overrides { user: None, added: None, global: Some(root.path().join("global")) };
    let scopes = || Scopes::discover(&host, &overrides);
    println!("{TOOLS} tools, {} KB", bytes / 1024);

    // In turns, so that whatever else the machine does meets both.
    let (mut parsing, mut loading) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        parsing.push(timed(|| parse(&files)));
        loading.push(timed(|| {
            let entries = Catalog::open_uncached(scopes(), &host).entries();
            assert!(entries.len() == TOOLS && entries.iter().all(|entry| entry.is_active()), "{}", entries.len());
            black_box(entries);
        }));
    }
    let (parse, load) = (told("parse", parsing), told("load", loading));
    println!("{:28} {:.2}", "load / parse", load.as_secs_f64() / parse.as_secs_f64());

    let open = || Catalog::open(scopes(), &host).entries();
    // Files just written are not settled: whatever changed them again in this moment could not be told apart.
    thread::sleep(Duration::from_millis(2_500));
    black_box(open());
    let warm = told("load, nothing has changed", (0..ROUNDS).map(|_| timed(|| drop(black_box(open())))).collect());
    println!("{:28} {:.2}", "that / parse", warm.as_secs_f64() / parse.as_secs_f64());
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Prints the median and returns it.
fn told(what: &str, mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let median = times[times.len() / 2];
    println!("{what:28} median {:7.1} ms   fastest {:7.1} ms", ms(median), ms(times[0]));
    median
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn parse(files: &[PathBuf]) {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(8);
    thread::scope(|scope| {
        for share in files.chunks(files.len().div_ceil(threads)) {
            scope.spawn(move || {
                for file in share {
                    let text = fs::read_to_string(file).expect("text");
                    black_box(document(&SourceFile::new(file.display().to_string(), text)));
                }
            });
        }
    });
}

/// Writes a tool of one of the three formats.
fn written(home: &Path, number: usize) -> PathBuf {
    let (directory, ending, text) = match number % 3 {
        0 => (".cycod/tools", "yaml", yaml(number)),
        1 => (".cassidy/tools", "md", markdown(number)),
        _ => (".mimir/tools", "yml", mimir(number)),
    };
    let directory = home.join(directory);
    fs::create_dir_all(&directory).expect("a directory");
    let file = directory.join(format!("tool-{number:04}.{ending}"));
    fs::write(&file, text).expect("a file");
    file
}

fn yaml(number: usize) -> String {
    // Few people write patterns, and compiling one takes as long as reading a file.
    let pattern = if number.is_multiple_of(10) { ", pattern: '^[a-z]+$'" } else { "" };
    format!(
        "name: tool-{number:04}
description: Look up what is known of thing {number}, by its name and the place where it was last seen.
version: 1.{number}.0
tags: [read, lookup]
timeout: 30000
parameters:
  NAME:
    type: string
    description: The name of the thing, as it is written in the book
    required: true
    validation: {{minLength: 2{pattern}}}
    examples: [cup, spoon]
  PLACE:
    type: string
    description: Where it was last seen
    default: kitchen
  LIMIT:
    type: integer
    description: How many to show
    default: 10
    validation: {{minimum: 1, maximum: 100}}
steps:
  - name: fetch
    bash: grep -F \"{{NAME}}\" book.txt | head -n {{LIMIT}}
    error-handling: {{retry: {{attempts: 2, delay: 100}}}}
  - name: count
    bash: wc -l
    input: \"{{fetch.output}}\"
    run-condition: \"{{fetch.exit-code}} == 0\"
tests:
  - name: a-cup
    parameters: {{NAME: cup}}
    expected: {{exit-code: 0}}
metadata:
  category: lookup
  tags: [book]
"
    )
}

fn markdown(number: usize) -> String {
    format!(
        "---
name: tool-{number:04}
title: Thing {number}
description: Describe thing {number} of a table, column by column.
group: data
risky: false
hints:
  read_only: true
parameters:
  - name: table
    type: character
    description: The table to describe
    required: true
  - name: rows
    type: integer
    description: How many rows to look at
    default: 100
---

# Thing {number}

Describes a table. It looks at the first rows only.

## Handler Function

```python
def handler(table, rows=100):
    lines = open(table).read().splitlines()[:rows]
    return {{'columns': lines[0].split(','), 'rows': len(lines) - 1}}
```
"
    )
}

fn mimir(number: usize) -> String {
    format!(
        "name: tool-{number:04}
description: Run the checks of part {number} and say which of them failed.
enabled: true
tokenCost: 450
schema:
  type: object
  properties:
    pattern:
      type: string
      description: Which checks to run, as a pattern of their names
    coverage:
      type: boolean
      description: Whether to say how much of the code was run
    depth:
      type: integer
      minimum: 1
      description: How deep to go
  required: [pattern]
runtime: typescript
permissions:
  allowlist: [\"make check*\"]
  riskLevel: medium
code: |
  interface Args {{ pattern: string; coverage?: boolean; depth?: number }}
  export async function execute(args: Args, context: any): Promise<string> {{
    const result = await context.platform.executor.execute({{ command: 'make', args: ['check', args.pattern] }});
    return result.exitCode === 0 ? 'all is well' : result.stderr;
  }}
"
    )
}
