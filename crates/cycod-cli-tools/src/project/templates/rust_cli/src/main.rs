use std::{
    fs::File,
    io::{self, BufReader, Write},
    path::PathBuf,
    process::ExitCode,
};

use @@snake@@::Tally;

const USAGE: &str = "\
Usage: @@kebab@@ [--top COUNT] [FILE]...

Counts how often each line comes in the files, or in what it reads, the most
frequent first.

Options:
  --top COUNT   How many lines to show (default: 10)
  --help        Show this
";

/// What was typed.
#[derive(Debug, PartialEq)]
enum Command {
    Help,
    Count { top: usize, files: Vec<PathBuf> },
}

fn main() -> ExitCode {
    let command = match parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(problem) => {
            eprintln!("error: {problem}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(command) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough.
        Err(problem) if problem.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> Result<Command, String> {
    let (mut top, mut files) = (10, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--top") => {
                let count = arguments.next().ok_or("`--top` needs a number")?;
                let number = count.to_str().and_then(|count| count.parse().ok());
                top = number
                    .ok_or_else(|| format!("`{}` is not a number of lines", count.display()))?;
            }
            Some("--") => files.extend(arguments.by_ref().map(PathBuf::from)),
            Some(option) if option.starts_with("--") => {
                return Err(format!("there is no option `{option}`"));
            }
            _ => files.push(argument.into()),
        }
    }
    Ok(Command::Count { top, files })
}

fn run(command: Command) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let Command::Count { top, files } = command else {
        return out.write_all(USAGE.as_bytes());
    };
    let mut tally = Tally::default();
    if files.is_empty() {
        tally.read(io::stdin().lock())?;
    }
    for file in files {
        let read = File::open(&file).and_then(|open| tally.read(BufReader::new(open)));
        read.map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("cannot read {}: {error}", file.display()),
            )
        })?;
    }
    for (line, count) in tally.top(top) {
        write!(out, "{count}\t")?;
        out.write_all(line)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let check = |arguments: &[&str], expected: Result<Command, &str>| {
            assert_eq!(
                parse(arguments.iter().map(Into::into)),
                expected.map_err(str::to_owned)
            );
        };
        check(
            &[],
            Ok(Command::Count {
                top: 10,
                files: vec![],
            }),
        );
        check(
            &["--top", "3", "a", "--", "--b"],
            Ok(Command::Count {
                top: 3,
                files: vec!["a".into(), "--b".into()],
            }),
        );
        check(&["a", "--help"], Ok(Command::Help));
        check(&["--top"], Err("`--top` needs a number"));
        check(&["--top", "many"], Err("`many` is not a number of lines"));
        check(&["--tpo"], Err("there is no option `--tpo`"));
    }
}
