use cycod_definition::Runtime;

/// A program that reads the code of a handler, which it gets as its input, and says what is wrong with it. It runs nothing of
/// that code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checker {
    /// The interpreter, looked up in the search path.
    pub program: &'static str,
    /// Its arguments.
    pub arguments: &'static [&'static str],
    /// Variables that it needs, beside those of its caller.
    pub variables: &'static [(&'static str, &'static str)],
    /// To a multiple of how many columns it counts a tab.
    pub tab: usize,
}

/// Something that a [`Checker`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckerFinding {
    /// Whether the code cannot work; otherwise it probably does not.
    pub is_error: bool,
    /// The line of the code, counted from 1.
    pub line: usize,
    /// The column in the line, counted from 1, as the language counts.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// Returns what checks code for an interpreter; `None` where another way is known.
pub fn checker(runtime: Runtime) -> Option<Checker> {
    let program = runtime.program()?;
    match runtime {
        Runtime::Python => Some(Checker {
            program,
            // Neither variables, nor the user's modules, nor those of the site, nor the working directory.
            arguments: &["-I", "-S", "-B", "-W", "ignore", "-c", include_str!("preludes/check.py")],
            variables: &[],
            tab: 1,
        }),
        Runtime::R => Some(Checker {
            program,
            arguments: &["--vanilla", "--default-packages=NULL", "-e", include_str!("preludes/check.R")],
            variables: &[("LC_ALL", "C.UTF-8"), ("LANGUAGE", "en")],
            tab: 8,
        }),
        Runtime::Node | Runtime::Engine => None,
    }
}

impl Checker {
    /// The byte of `code` at a line and column of a finding.
    pub fn byte_at(&self, code: &str, line: usize, column: usize) -> usize {
        let start: usize = code.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        let text = code.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
        let mut counted = 0;
        let reached = text.char_indices().find(|(_, character)| {
            counted = if *character == '\t' { (counted / self.tab + 1) * self.tab } else { counted + 1 };
            counted >= column
        });
        start + reached.map_or(text.len(), |(at, _)| at)
    }

    /// Reads what it said; `None` when it did not come to its end.
    pub fn findings(&self, output: &[u8]) -> Option<Vec<CheckerFinding>> {
        let text = String::from_utf8_lossy(output);
        let mut findings = Vec::new();
        for line in text.lines() {
            if line == "done" {
                return Some(findings);
            }
            let mut parts = line.splitn(4, '\t');
            let is_error = parts.next()? == "error";
            let (line, column) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            findings.push(CheckerFinding { is_error, line, column, message: parts.next()?.to_owned() });
        }
        None
    }
}
