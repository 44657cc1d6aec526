//! The file of a tool as a text that is edited, with everything that is found in it.

use cycod_app::{
    shown_path,
    validate::{Checked, Validator},
    views::tokens_of,
};
use cycod_engine::{
    Engine, TestOptions, TestVerdict,
    catalog::{DirectoryStyle, Entry, Scope, ScopeFilter},
    definition::Body,
    diagnostic::{Code, Diagnostic, Refusal, Severity, SourceFile},
    graph::Graph,
    trust::Mark,
};
use cycod_store::Digest;

/// The largest file that is edited on the page.
const LARGEST: usize = 256 << 10;
/// How many problems are shown.
const MOST: usize = 100;
/// A graph with more steps is not drawn: it could not be read.
const MOST_DRAWN: usize = 150;

/// The page on which a tool is edited.
pub(crate) struct EditPage {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) text: String,
    /// The digest of the file that the text was made from.
    pub(crate) opened: String,
    pub(crate) found: Found,
    pub(crate) tests: Vec<TestRow>,
    /// Whether the text was just saved.
    pub(crate) is_saved: bool,
    /// Why it was not saved, and what is in the file by now.
    pub(crate) conflict: Option<(String, Vec<(Mark, String)>)>,
}

/// What is found in a text.
pub(crate) struct Found {
    pub(crate) problems: Vec<Problem>,
    /// How many there are.
    pub(crate) all: usize,
    /// What models pay for the tool in the file, and for that of the text.
    pub(crate) before: Option<usize>,
    pub(crate) after: Option<usize>,
    /// The graph of its steps, drawn.
    pub(crate) graph: Option<String>,
}

/// Something that is wrong with a text.
pub(crate) struct Problem {
    pub(crate) severity: &'static str,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: Vec<String>,
    /// The number of the line, and its parts before, in and after the place.
    pub(crate) line: Option<(usize, [String; 3])>,
    /// What the fix does, and what names it.
    pub(crate) fix: Option<(String, String)>,
}

/// A test that the tool brings.
pub(crate) struct TestRow {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) outcome: Option<Outcome>,
}

/// What a test showed.
pub(crate) struct Outcome {
    pub(crate) class: &'static str,
    pub(crate) sign: &'static str,
    pub(crate) words: &'static str,
    pub(crate) why: Vec<String>,
    pub(crate) took: std::time::Duration,
}

impl EditPage {
    /// Of the file of a tool, with another text if there is one.
    ///
    /// # Errors
    /// When there is no such tool, or its file is not one that is edited here.
    pub(crate) fn of(engine: &Engine, name: &str, text: Option<String>) -> Result<Self, Refusal> {
        let (entry, source) = editable(engine, name)?;
        let text = text.map_or_else(|| source.text.to_string(), |text| normalized(&text, &source));
        let found = Found::of(engine, &entry, &text);
        let tests = entry.load().map(|opened| opened.tool.tests).unwrap_or_default();
        let row = |test: &cycod_engine::definition::TestCase| TestRow {
            name: test.name.clone(),
            description: test.description.clone(),
            outcome: None,
        };
        Ok(Self {
            path: shown_path(&entry.path, engine.host()),
            opened: digest(&source),
            name: entry.name,
            text,
            found,
            tests: tests.iter().map(row).collect(),
            is_saved: false,
            conflict: None,
        })
    }

    /// Runs the test of a name, or all of them, and remembers what they showed.
    ///
    /// # Errors
    /// When nothing can be started.
    pub(crate) fn test(&mut self, engine: &Engine, only: Option<&str>) -> Result<(), Refusal> {
        let failed = |why: String| Refusal::new(Code::NotStarted, why);
        let tool = engine.tool(&self.name).map_err(|error| failed(error.to_string()))?;
        let control =
            engine.control().map_err(|error| failed(format!("cannot prepare to start processes: {error}")))?;
        let options = TestOptions { only: only.map(str::to_owned), ..TestOptions::default() };
        for outcome in engine.test(&tool, &options, &control, &mut |_| {}).outcomes {
            let (class, sign, words, why) = match outcome.verdict {
                TestVerdict::Passed => ("ok", "●", "passed", Vec::new()),
                TestVerdict::Skipped(why) => ("none", "◌", "skipped", vec![why]),
                TestVerdict::Failed(why) => ("bad", "■", "failed", why.iter().map(ToString::to_string).collect()),
            };
            if let Some(row) = self.tests.iter_mut().find(|row| row.name == outcome.name) {
                row.outcome = Some(Outcome { class, sign, words, why, took: outcome.duration });
            }
        }
        Ok(())
    }
}

impl Found {
    /// In a text that is to be in the file of an entry.
    pub(crate) fn of(engine: &Engine, entry: &Entry, text: &str) -> Self {
        let checked = Validator::new(engine, false).check_text(entry, text);
        let diagnostics = &checked.report.diagnostics;
        let problem = |(at, diagnostic)| Problem::of(at, diagnostic, &checked.report.source);
        let tool = checked.looked_at.as_ref();
        let is_drawn = |tool: &&cycod_engine::definition::Tool| matches!(&tool.body, Body::Steps(steps) if (2..=MOST_DRAWN).contains(&steps.len()));
        Self {
            problems: diagnostics.iter().enumerate().take(MOST).map(problem).collect(),
            all: diagnostics.len(),
            before: entry.load().ok().map(|opened| tokens_of(engine, &opened.tool)),
            after: tool.map(|tool| tokens_of(engine, tool)),
            graph: tool.filter(is_drawn).map(|tool| Graph::of(tool).svg_in_page()),
        }
    }
}

impl Problem {
    fn of(at: usize, diagnostic: &Diagnostic, source: &SourceFile) -> Self {
        let help = diagnostic.notes.iter().chain(&diagnostic.help).cloned();
        let label = diagnostic.labels.first().map(|label| label.text.clone()).filter(|text| !text.is_empty());
        Self {
            severity: match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Hint => "hint",
            },
            code: diagnostic.code.name(),
            message: diagnostic.message.clone(),
            help: label.into_iter().chain(help).collect(),
            line: diagnostic.labels.first().map(|label| {
                let (start, end) = (label.span.start as usize, label.span.end as usize);
                (source.position(label.span.start).line, marked(&source.text, start, end))
            }),
            fix: diagnostic.fix.as_ref().map(|fix| (fix.title.clone(), fix_name(at, diagnostic))),
        }
    }
}

/// The line of a place: what is before the place, in it, and after it.
fn marked(text: &str, start: usize, end: usize) -> [String; 3] {
    let parts = || {
        let (before, rest) = text.split_at_checked(start.min(text.len()))?;
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let until = rest.find('\n').unwrap_or(rest.len());
        let (within, after) = rest[..until].split_at_checked(end.saturating_sub(start).min(until))?;
        Some([before[line..].to_owned(), within.to_owned(), after.to_owned()])
    };
    parts().unwrap_or_default()
}

/// What names a fix in a form: a text that has changed since has other problems at the same number.
fn fix_name(at: usize, diagnostic: &Diagnostic) -> String {
    format!("{at}:{}", diagnostic.code)
}

/// A text after one of its fixes; nothing when that fix is not one of its.
pub(crate) fn fixed(engine: &Engine, entry: &Entry, text: &str, name: &str) -> Option<String> {
    let checked: Checked = Validator::new(engine, false).check_text(entry, text);
    let (at, _) = name.split_once(':')?;
    let at: usize = at.parse().ok()?;
    let diagnostic = checked.report.diagnostics.get(at).filter(|one| fix_name(at, one) == name)?;
    diagnostic.fix.as_ref()?;
    Validator::fixed_text(&checked, at)
}

/// The entry of a tool whose file can be edited here, and the file.
///
/// # Errors
/// Why there is none.
pub(crate) fn editable(engine: &Engine, name: &str) -> Result<(Entry, SourceFile), Refusal> {
    let missing = |why: String| Refusal::new(Code::UnknownTool, why);
    let entry = engine.entry(name, ScopeFilter::Any).map_err(|error| missing(error.to_string()))?;
    if !is_editable(&entry) {
        return Err(missing(format!("`{}` is in no file that can be changed here", entry.name)));
    }
    let (source, _) = entry.diagnostics();
    if source.text.len() > LARGEST {
        return Err(missing(format!("the file is too large to be edited on a page: cycod tool edit {}", entry.name)));
    }
    Ok((entry, source))
}

/// Whether a tool can be edited on the page.
pub(crate) fn is_editable(entry: &Entry) -> bool {
    matches!(entry.scope, Scope::Local | Scope::User | Scope::Global) && entry.style == DirectoryStyle::Cycod
}

/// The digest of a file's text.
pub(crate) fn digest(source: &SourceFile) -> String {
    Digest::of(source.text.as_bytes()).to_string()
}

/// A text that came from a form, with the line ends of the file: browsers send their own.
pub(crate) fn normalized(text: &str, source: &SourceFile) -> String {
    if source.text.contains("\r\n") { text.to_owned() } else { text.replace("\r\n", "\n") }
}

/// Trusts what the user has just written over the file of a tool that was trusted, as `cycod tool edit` does.
///
/// # Errors
/// When the pins cannot be written.
pub(crate) fn trust_written(engine: &Engine, entry: &Entry, text: &str) -> Result<(), Refusal> {
    let checked = Validator::new(engine, false).check_text(entry, text);
    if let Some(tool) = checked.tool {
        engine.trust_written(tool, &entry.path, text)?;
    }
    Ok(())
}
