use std::sync::Arc;

use cycod_diagnostic::{Code, Diagnostic, Severity, SourceFile, Span, most_important, visible};
use cycod_shell::{Nature, Project, ScriptPath, SharedPrograms, is_described};
use cycod_syntax::yaml::{self, MappingEntry, NodeKind, Resolved};

use crate::{
    lower::{Sink, shape},
    table::PROGRAMS,
};

/// What a `programs.yaml` says about programs, for all tools beside it.
///
/// A file with an error says nothing: what it says of one program cannot be told from what it would have said. Tools that give values
/// to a program that it may be about are refused.
#[derive(Clone, Debug)]
pub struct ProgramsFile {
    /// Where it is, as people are shown it, and its text; empty when it cannot be read.
    pub source: SourceFile,
    /// Everything that is wrong with it, in source order.
    pub diagnostics: Vec<Diagnostic>,
    says: SharedPrograms,
}

/// What lies beside the file of a tool and is known while that is read.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// The file that speaks about programs for it; nothing when there is none.
    pub programs: Option<Arc<ProgramsFile>>,
    /// What its project builds, and the scripts there.
    pub project: Project,
}

/// What a tool rests on that stands in another file than its own.
#[derive(Clone, Debug, Default)]
pub struct Stated {
    /// The file that speaks about programs for it; nothing when there is none.
    pub file: Option<Arc<ProgramsFile>>,
    /// What the verdicts about its values may rest on, by the name of the program.
    pub natures: Vec<(String, Nature)>,
    /// The programs that count as the project's own for them, each with the manifest that names it, by its path in the project.
    pub built: Vec<(String, String)>,
    /// The scripts of the project that they depend on, whether these are there or not.
    pub scripts: Vec<ScriptPath>,
}

impl ProgramsFile {
    /// The most bytes that such a file may have: some thousands of programs.
    pub const LARGEST: u64 = 64 << 10;

    /// Reads the text of a file.
    pub fn read(source: SourceFile) -> Self {
        let sink = Sink::new(&source);
        let (root, mut found) = yaml::parse(&source);
        // A file that only has comments, and programs that are called as keys of a tool are.
        found.retain(|one| !matches!(one.code, Code::EmptyFile | Code::CommentInCommand));
        sink.extend(found);
        let mut statements = Vec::new();
        match root.as_ref().map(|root| (&root.kind, root.span)) {
            Some((NodeKind::Mapping(entries), _)) => {
                shape::check_each(entries, PROGRAMS, &sink);
                statements = self::statements(entries, &sink);
            }
            Some((NodeKind::Scalar(scalar), _)) if scalar.resolve() == Resolved::Null => {}
            Some((_, span)) => {
                sink.error(Code::NotAMapping, span, "this file is a mapping of programs, such as `fossa: text`");
            }
            None => {}
        }
        let diagnostics = most_important(sink.into_diagnostics());
        let is_broken = diagnostics.iter().any(|one| one.severity == Severity::Error);
        let says = match is_broken {
            true => SharedPrograms::Broken { text: Some((&*source.text).into()) },
            false => SharedPrograms::Stated(statements.into()),
        };
        Self { source, diagnostics, says }
    }

    /// A file of this name that is there and cannot be read.
    pub fn unreadable(name: impl Into<String>, code: Code, why: impl Into<String>) -> Self {
        let mut diagnostic = Diagnostic::error(code, Span::default(), why);
        diagnostic.labels.clear();
        let (source, diagnostics) = (SourceFile::new(name, ""), vec![diagnostic]);
        Self { source, diagnostics, says: SharedPrograms::Broken { text: None } }
    }

    /// What it says.
    pub fn says(&self) -> &SharedPrograms {
        &self.says
    }

    /// Every program that it says something about; nothing when it has an error.
    pub fn statements(&self) -> &[(String, Nature)] {
        match &self.says {
            SharedPrograms::Stated(statements) => statements,
            _ => &[],
        }
    }

    /// Its first error, with where it stands: `.cycod/programs.yaml:3:7: …`.
    pub fn problem(&self) -> Option<String> {
        let error = self.diagnostics.iter().find(|one| one.severity == Severity::Error)?;
        let name = &self.source.name;
        let at = error.span().map(|span| self.source.position(span.start));
        let place = at.map_or_else(|| name.clone(), |at| format!("{name}:{}:{}", at.line, at.column));
        Some(visible(&format!("{place}: {}", error.message)).into_owned())
    }
}

/// Reads what somebody says about programs. Values that are no nature were reported as such.
pub(crate) fn statements(entries: &[MappingEntry], sink: &Sink<'_>) -> Vec<(String, Nature)> {
    let mut statements = Vec::new();
    for entry in entries {
        if entry.key.is_empty() || entry.key.contains(|c: char| c.is_whitespace() || c.is_control()) {
            let diagnostic = Diagnostic::error(
                Code::ProgramName,
                entry.key_span,
                format!("`{}` cannot be the name of a program", visible(&entry.key)),
            );
            sink.report(diagnostic.note("it is one word: a name, or a path without blanks"));
            continue;
        }
        let nature = entry.value.as_scalar().and_then(|scalar| Nature::of(&scalar.text));
        if let Some(nature) = nature {
            if is_described(&entry.key) {
                let message = format!("cycod knows `{}`, and what it knows no longer counts", entry.key);
                sink.report(
                    Diagnostic::warning(Code::DescribedProgram, entry.key_span, message)
                        .label(format!("all its arguments count as `{}`", nature.name()))
                        .help("remove the line, unless another program of this name is meant"),
                );
            }
            statements.push((entry.key.clone(), nature));
        }
    }
    statements
}
