//! The way from a document to a tool.
//!
//! The whole document was held against the table of keys before ([`shape`]); what is unknown or of the wrong
//! type is reported there, and nowhere else. Here each part is read into its type, reporting only what its
//! meaning forbids.

mod command;
mod habits;
mod handler;
mod interface;
mod literal;
mod parameter;
mod settings;
pub(crate) mod shape;
mod sink;
mod step;
mod tool;
mod units;
mod view;

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
};

use cycod_diagnostic::{Code, Diagnostic, Severity, SourceFile, Span, most_important, visible};
use cycod_syntax::{
    template::{self, HoleValue, KnownNames, Predefined, Reference, Template},
    yaml::{Node, NodeKind},
};

pub(crate) use literal::plain_value;
pub use literal::static_value;
pub(crate) use sink::{Sink, replace};
pub(crate) use view::{Text, View};

use crate::{Beside, Loaded, Parameter, table::TOOL};

/// Lowers a document, in the keys of a tool; `found` is what reading it reported.
pub(crate) fn lower(
    source: &SourceFile,
    root: &Node,
    stem: Option<&str>,
    origin: Whose,
    beside: &Beside,
    found: Vec<Diagnostic>,
) -> Loaded {
    let sink = Sink::new(source);
    sink.extend(found);
    let entries = match &root.kind {
        NodeKind::Mapping(entries) => entries.as_slice(),
        _ => {
            sink.error(Code::NotAMapping, root.span, "a tool is a mapping of keys such as `name` and `bash`");
            &[]
        }
    };
    if root.as_mapping().is_none() {
        let name = stem.and_then(crate::ToolName::new);
        return Loaded { tool: None, refused: None, name, diagnostics: most_important(sink.into_diagnostics()) };
    }
    let view = View { entries, section: &TOOL, span: root.span };
    let mut lowering = Lowering {
        sink,
        names: KnownNames::default(),
        alias: false,
        built_in: origin == Whose::Ours,
        beside: beside.clone(),
        flow: false,
        has_item: Cell::new(false),
        used: RefCell::default(),
        uses_temp: Cell::new(false),
        parameters: Vec::new(),
        secret_hosts: RefCell::default(),
    };
    let (name, mut tool) = lowering.tool(&view, stem);
    let diagnostics = most_important(lowering.sink.into_diagnostics());
    if let Some(tool) = &mut tool {
        tool.ignored = ignored(source, &diagnostics);
    }
    let broken = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    let (tool, refused) = if broken { (None, tool.map(Box::new)) } else { (tool, None) };
    Loaded { tool, refused, name, diagnostics }
}

/// What a file says that has no effect, for those who are not looking for mistakes.
fn ignored(source: &SourceFile, diagnostics: &[Diagnostic]) -> Vec<String> {
    const CODES: [Code; 4] = [Code::UnknownKey, Code::UnusedKey, Code::IgnoredByAlias, Code::IgnoredWithUseTool];
    let of_keys = diagnostics.iter().filter(|diagnostic| CODES.contains(&diagnostic.code));
    let told = |diagnostic: &Diagnostic| {
        let line = diagnostic.span().map(|span| format!(" (line {})", source.position(span.start).line));
        visible(&format!("{}{}", diagnostic.message, line.unwrap_or_default())).into_owned()
    };
    of_keys.map(told).collect()
}

/// Who wrote a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Anyone: it says what it executes.
    Authors,
    /// This program, which carries the tool out itself.
    Ours,
}

/// The most parameters, steps or tests a tool may have. Some checks look at pairs of them.
const MOST: usize = 1000;

/// What is known while a tool is lowered.
pub(crate) struct Lowering<'a> {
    pub(crate) sink: Sink<'a>,
    /// The names of parameters and steps.
    pub(crate) names: KnownNames,
    /// Whether the tool is an alias, whose base's parameters are not known here.
    pub(crate) alias: bool,
    /// Whether the tool is carried out by this program, so that it executes nothing.
    pub(crate) built_in: bool,
    /// What lies beside it.
    pub(crate) beside: Beside,
    /// Whether the whole file is in braces, as JSON is.
    pub(crate) flow: bool,
    /// Whether a step with `for-each` is being read, in which `{ITEM}` has a value.
    pub(crate) has_item: Cell<bool>,
    /// The parameters that something refers to.
    pub(crate) used: RefCell<BTreeSet<String>>,
    /// Whether something refers to `{TEMP}`.
    pub(crate) uses_temp: Cell<bool>,
    /// The parameters, once they are lowered.
    pub(crate) parameters: Vec<Parameter>,
    /// The hosts that alone get a secret, and where the file says so.
    pub(crate) secret_hosts: RefCell<Vec<(String, Span)>>,
}

/// Whether results of steps exist where a template is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Only parameters, predefined variables and the environment.
    Call,
    /// Steps as well.
    Steps,
}

impl Lowering<'_> {
    /// Whether there are too many of something, which is reported.
    pub(crate) fn too_many(&self, count: usize, what: &str, span: Span) -> bool {
        if count > MOST {
            self.sink.error(Code::TooMany, span, format!("a tool has at most {MOST} {what}, not {count}"));
        }
        count > MOST
    }

    /// Reads a template.
    pub(crate) fn template(&self, text: Text<'_>, scope: Scope) -> Template {
        match self.has_item.get() {
            true => self.template_under(text, scope, &KnownNames { has_item: true, ..self.names.clone() }),
            false => self.template_under(text, scope, &self.names),
        }
    }

    /// Reads a template of code in a language whose grammar is not known here.
    pub(crate) fn template_of_code(&self, text: Text<'_>, scope: Scope) -> Template {
        self.template_under(
            text,
            scope,
            &KnownNames { is_code: true, has_item: self.has_item.get(), ..self.names.clone() },
        )
    }

    fn template_under(&self, text: Text<'_>, scope: Scope, names: &KnownNames) -> Template {
        let (template, mut found) = template::parse(&text.scalar.text, |offset| text.scalar.origin(offset), names);
        // A name that an alias does not know is most likely a parameter of its base.
        found.retain(|diagnostic| !(self.alias && diagnostic.code == Code::MisspeltPlaceholder));
        self.sink.extend(found);
        self.check_references(&template, scope);
        crate::check::transforms::check(&template, self);
        for hole in template.holes() {
            if let HoleValue::Choice { condition, .. } = &hole.value {
                crate::check::conditions::check(condition, text.span, self);
            }
        }
        template
    }

    /// Remembers what is referred to.
    pub(crate) fn mark_used<'r>(&self, references: impl IntoIterator<Item = &'r Reference>) {
        for reference in references {
            match reference {
                Reference::Parameter(name) => drop(self.used.borrow_mut().insert(name.clone())),
                Reference::Predefined(Predefined::Temp) => self.uses_temp.set(true),
                _ => {}
            }
        }
    }

    fn check_references(&self, template: &Template, scope: Scope) {
        self.mark_used(template.references().map(|(reference, _)| reference));
        if scope == Scope::Steps {
            return;
        }
        for (reference, span) in template.references() {
            if let Reference::Step { step, attribute } = reference {
                self.sink.report(
                    Diagnostic::error(
                        Code::StepReference,
                        span,
                        format!("the result of step `{step}` is not known here"),
                    )
                    .note(format!(
                        "{{{step}.{}}} can be used in commands, conditions, `input`, `with` and settings of steps",
                        attribute.name()
                    )),
                );
            }
        }
    }
}
