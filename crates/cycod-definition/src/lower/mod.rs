//! The way from a document to a tool.
//!
//! First the whole document is held against the table of keys ([`shape`]); what is unknown or of the wrong
//! type is reported there, and nowhere else. Then each part is read into its type, reporting only what its
//! meaning forbids.

mod command;
mod literal;
mod parameter;
mod settings;
mod shape;
mod sink;
mod step;
mod tool;
mod units;
mod view;

use cycod_diagnostic::{Code, Diagnostic, Severity, SourceFile};
use cycod_syntax::{
    template::{Names, Reference, Template},
    yaml::{Node, NodeKind},
};

pub(crate) use literal::static_value;
pub(crate) use sink::{Sink, did_you_mean, replace};
pub(crate) use view::{Text, View};

use crate::{Loaded, Parameter, table::TOOL};

/// Lowers a document; `found` is what reading it as YAML reported.
pub(crate) fn lower(source: &SourceFile, root: &Node, stem: Option<&str>, found: Vec<Diagnostic>) -> Loaded {
    let sink = Sink::new(source);
    sink.extend(found);
    let entries = match &root.kind {
        NodeKind::Mapping(entries) => entries.as_slice(),
        NodeKind::Scalar(scalar) if scalar.text.trim().is_empty() => {
            sink.report(crate::load::empty_file());
            &[]
        }
        _ => {
            sink.error("not-a-mapping", root.span, "a tool is a mapping of keys such as `name` and `bash`");
            &[]
        }
    };
    if entries.is_empty() && sink.has_errors() {
        let name = stem.and_then(crate::ToolName::new);
        return Loaded { tool: None, name, diagnostics: sink.into_diagnostics() };
    }
    shape::check(root, &sink);
    let view = View { entries, section: &TOOL, span: root.span };
    let mut lowering = Lowering { sink, names: Names::default(), parameters: Vec::new() };
    let (name, tool) = lowering.tool(&view, stem);
    let diagnostics = lowering.sink.into_diagnostics();
    let broken = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    Loaded { tool: tool.filter(|_| !broken), name, diagnostics }
}

/// What is known while a tool is lowered.
pub(crate) struct Lowering<'a> {
    pub(crate) sink: Sink<'a>,
    /// The names of parameters and steps.
    pub(crate) names: Names,
    /// The parameters, once they are lowered.
    pub(crate) parameters: Vec<Parameter>,
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
    /// Reads a template.
    pub(crate) fn template(&self, text: Text<'_>, scope: Scope) -> Template {
        let template = self.sink.template(text.scalar, &self.names);
        self.check_references(&template, scope);
        crate::check::transforms::check(&template, self);
        template
    }

    fn check_references(&self, template: &Template, scope: Scope) {
        if scope == Scope::Steps {
            return;
        }
        for (reference, span) in template.references() {
            if let Reference::Step { step, attribute } = reference {
                self.sink.report(
                    Diagnostic::error(
                        Code("step-reference"),
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
