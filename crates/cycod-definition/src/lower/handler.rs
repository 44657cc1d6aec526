//! Functions in a language.

use cycod_diagnostic::{Code, Diagnostic, Span};
use cycod_syntax::template::Template;

use super::{Lowering, Text, View, command::Form};
use crate::{Command, CommandPattern, CommandText, Handler, Interpreter, ProgramTemplate, Runtime};

impl Lowering<'_> {
    /// Reads `handler`. What is missing was left out by its author, or reported where the file was read.
    pub(crate) fn handler<'a>(&self, view: &View<'a>, key_span: Span) -> Option<Form<'a>> {
        let missing = |key: &str, help: &str| {
            let is_there = view.entries.iter().any(|entry| entry.key == key && entry.value.as_scalar().is_some());
            if !is_there {
                let message = format!("the handler does not say its `{key}`");
                self.sink.report(Diagnostic::error(Code::NoHandler, key_span, message).help(help));
            }
        };
        missing("language", "add `language: r`, `python`, `javascript`, `typescript`, `ruby` or `perl`");
        missing("code", "add `code: |` and the function below it");
        let (language, code) = (view.choice("language")?, view.text("code")?);
        let asked = view.choice("runtime");
        let named = view.object("runtime");
        let named_for = |key: &str| named.as_ref().and_then(|named| named.text(key));
        let (python, r, node) = (named_for("python"), named_for("r"), named_for("node"));
        let is_typescript = language == "typescript";
        if let "ruby" | "perl" = language {
            return Some(self.program(view, language, &code.scalar.text));
        }
        let runtime = match (language, asked) {
            ("r", _) => Runtime::R,
            ("python", _) => Runtime::Python,
            (_, Some("node")) | ("javascript", None) => Runtime::Node,
            _ if node.is_some() => Runtime::Node,
            _ => Runtime::Engine,
        };
        let interpreter = match runtime {
            Runtime::Python => python,
            Runtime::R => r,
            Runtime::Node => node,
            Runtime::Engine => None,
        };
        if interpreter.is_none()
            && let Some(entry) = view.entry("runtime").filter(|_| asked.is_none() || runtime.key() != Some("node"))
            && runtime != Runtime::Engine
        {
            let message = format!("`runtime` has no effect on code in {language}");
            let diagnostic = Diagnostic::warning(Code::UnusedKey, entry.key_span, message);
            let key = runtime.key().unwrap_or_default();
            self.sink.report(diagnostic.help(format!("name the interpreter as `runtime: {{{key}: PATH}}`")));
        }
        let line = self.sink.source.position(code.scalar.origin(0)).line;
        Some(Form::Handler(Handler {
            runtime,
            interpreter: interpreter.and_then(|text| self.named_interpreter(text)),
            is_typescript,
            code: code.to_owned(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            allowlist: view.entry("allowlist").map(|_| self.allowlist(&view.texts("allowlist"), runtime)),
        }))
    }

    /// An interpreter, as its author names it.
    fn named_interpreter(&self, text: Text<'_>) -> Option<String> {
        let name = text.scalar.text.trim();
        if name.is_empty() || name.contains('\0') {
            let diagnostic = Diagnostic::error(Code::EmptyCommand, text.span, "this names no interpreter");
            self.sink.report(diagnostic.help("write the path of one, such as `.venv/bin/python`"));
            return None;
        }
        Some(name.to_owned())
    }

    /// A program that finds its arguments in its environment. Like that of any handler, its text is no template.
    fn program<'a>(&self, view: &View<'_>, language: &str, code: &str) -> Form<'a> {
        for key in ["runtime", "allowlist"] {
            if let Some(entry) = view.entry(key) {
                let message = format!("`{key}` has no effect on code in {language}");
                self.sink.report(Diagnostic::error(Code::UnusedKey, entry.key_span, message).help("remove it"));
            }
        }
        let words = vec![language.to_owned(), "{0}".to_owned()];
        let interpreter = Interpreter::Program(ProgramTemplate { words });
        Form::Command(Command::One(CommandText::of(interpreter, Template::text(code))))
    }

    fn allowlist(&self, patterns: &[Text<'_>], runtime: Runtime) -> Vec<CommandPattern> {
        if matches!(runtime, Runtime::R | Runtime::Python)
            && let Some(first) = patterns.first()
        {
            let message = format!("`allowlist` has no effect on code that {runtime} runs");
            let help = "say in `security.required-permissions` what it may reach";
            self.sink.report(
                Diagnostic::error(Code::UnusedKey, first.span, message)
                    .note("it concerns `platform.executor`, and this code can start programs without it")
                    .help(help),
            );
        }
        let read = |text: &Text<'_>| {
            let pattern = CommandPattern::new(&text.scalar.text);
            if pattern.is_none() {
                let diagnostic = Diagnostic::error(Code::EmptyCommand, text.span, "this allows no command");
                self.sink.report(diagnostic.help("write a command, such as `npm test*`, or remove the item"));
            }
            pattern
        };
        patterns.iter().filter_map(read).collect()
    }
}
