use std::fmt;

use big_code_analysis::Ast;

use crate::{
    FileMetrics, Finding, Language,
    ignores::Ignores,
    rules::{self, Subject},
    syntax::{self, Unparsed},
};

/// The largest file that is examined; what is larger was not written by hand.
pub const LARGEST: u64 = 2 << 20;

/// What is to be found out about a file.
#[derive(Clone, Copy, Debug)]
pub struct ExamineOptions {
    /// What it measures.
    pub metrics: bool,
    /// Whether it is dangerous.
    pub security: bool,
}

/// What was found out about a file.
#[derive(Clone, Default, PartialEq)]
pub struct Examined {
    /// Its language, where that is known.
    pub language: Option<Language>,
    /// What it measures.
    pub metrics: Option<FileMetrics>,
    /// What deserves a look, by place.
    pub findings: Vec<Finding>,
    /// How many findings a comment in the file says to leave alone.
    pub ignored: usize,
    /// Whether its syntax could not be looked at, and why.
    pub unparsed: Option<Unexamined>,
    /// What comments in it say to leave alone.
    pub(crate) ignores: Ignores,
    /// The secrets in it, which nobody is to be told.
    pub(crate) secrets: Vec<String>,
}

/// Why a file, or its syntax, was not examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unexamined {
    /// It is larger than [`LARGEST`].
    TooLarge,
    /// It holds a NUL byte: it is no text.
    Binary,
    /// Its syntax is such that a parser would be busy for long.
    TooMuchWork,
    /// It is not a file, or could not be read.
    Unreadable,
    /// The analysis was stopped.
    Stopped,
}

impl fmt::Debug for Examined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { language, metrics, findings, ignored, unparsed, .. } = self;
        f.debug_struct("Examined")
            .field("language", language)
            .field("metrics", metrics)
            .field("findings", findings)
            .field("ignored", ignored)
            .field("unparsed", unparsed)
            .finish_non_exhaustive()
    }
}

impl Unexamined {
    /// Every reason.
    pub const ALL: [Self; 5] = [Self::TooLarge, Self::Binary, Self::TooMuchWork, Self::Unreadable, Self::Stopped];

    /// What it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::TooLarge => "too large",
            Self::Binary => "binary",
            Self::TooMuchWork => "too much work to parse",
            Self::Unreadable => "unreadable",
            Self::Stopped => "stopped",
        }
    }
}

/// Examines one file, called `path` below the place that is analysed.
///
/// Depth does not matter and bytes that are no text are replaced; the parser asks `keep_going` now and then.
///
/// # Errors
/// Why the file is passed over.
pub fn examine(
    path: &str,
    bytes: &[u8],
    options: ExamineOptions,
    keep_going: &dyn Fn() -> bool,
) -> Result<Examined, Unexamined> {
    if bytes.len() as u64 > LARGEST {
        return Err(Unexamined::TooLarge);
    }
    if bytes.contains(&0) {
        return Err(Unexamined::Binary);
    }
    let source = String::from_utf8_lossy(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)).into_owned();
    let mut examined = Examined { language: Language::of(path, &source), ..Examined::default() };
    let mut subject = Subject { path, source: &source, found: Vec::new(), secrets: Vec::new() };
    if options.security {
        rules::secrets(&mut subject);
    }
    let parsed = examined.language.map(|language| (language, syntax::parse(language, &source, keep_going)));
    match parsed {
        Some((language, Ok(tree))) => {
            let comments =
                if options.security { rules::dangers(language, &tree, &mut subject) } else { rules::comments(&tree) };
            examined.ignores = Ignores::read(&source, Some(&|at| is_within(&comments, at)));
            if options.metrics {
                let ast = Ast::from_tree_sitter(language.grammar(), tree, source.clone().into_bytes(), None);
                examined.metrics = ast.ok().and_then(|ast| FileMetrics::measure(language, &ast));
                rules::measured(examined.metrics.as_ref(), &mut subject);
            }
        }
        Some((_, Err(why))) => {
            examined.unparsed = Some(match why {
                Unparsed::TooMuchWork => Unexamined::TooMuchWork,
                Unparsed::Stopped => Unexamined::Stopped,
            });
            examined.ignores = Ignores::read(&source, None);
        }
        None => examined.ignores = Ignores::read(&source, None),
    }
    let Subject { found, secrets, .. } = subject;
    let before = found.len();
    examined.findings = found.into_iter().filter(|finding| !examined.ignores.cover(finding)).collect();
    examined.ignored = before - examined.findings.len();
    examined.findings.sort_by(|one, other| one.order().cmp(&other.order()));
    examined.secrets = secrets;
    Ok(examined)
}

/// Whether a byte lies in one of some ranges, which are sorted.
fn is_within(ranges: &[std::ops::Range<usize>], at: usize) -> bool {
    let after = ranges.partition_point(|range| range.start <= at);
    after > 0 && ranges[after - 1].end > at
}
