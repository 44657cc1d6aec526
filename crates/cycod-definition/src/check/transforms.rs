use cycod_diagnostic::{Code, Diagnostic, Span};
use cycod_syntax::template::{HoleValue, Reference, Template, number_format};

use crate::{NamedTransform, ParameterType, lower::Lowering, table::one_of};

/// Reports inline transforms and formats that do not exist.
pub(crate) fn check(template: &Template, lowering: &Lowering<'_>) {
    for hole in template.holes() {
        let HoleValue::Reference { of, transforms, format } = &hole.value else { continue };
        for transform in transforms {
            if !NamedTransform::NAMES.iter().any(|(known, _)| known == transform) {
                unknown(transform, hole.span, lowering);
            }
        }
        let Some(pattern) = format else { continue };
        if number_format::check(pattern).is_err() {
            lowering.sink.report(
                Diagnostic::error(Code::NumberFormat, hole.span, format!("`{pattern}` is not a number format"))
                    .note("number formats are zeros as in `0000`, `0.00`, `#,##0`, `x` and `X`"),
            );
        } else if let Reference::Parameter(name) = of
            && let Some(parameter) = lowering.parameters.iter().find(|parameter| parameter.name == *name)
            && matches!(parameter.kind, ParameterType::Boolean | ParameterType::Array | ParameterType::Object)
        {
            lowering.sink.error(
                Code::NumberFormat,
                hole.span,
                format!("`format({pattern})` needs a number, but `{name}` is of type {}", parameter.kind.name()),
            );
        }
    }
}

/// Reports a transform that does not exist.
pub(crate) fn unknown(name: &str, span: Span, lowering: &Lowering<'_>) {
    let names = NamedTransform::NAMES.map(|(name, _)| name);
    let diagnostic = Diagnostic::error(Code::UnknownTransform, span, format!("there is no transform `{name}`"))
        .note(format!("transforms are {}", one_of(&names).replace(" or ", " and ")));
    lowering.sink.report(match lowering.sink.did_you_mean(name, names) {
        Some((near, help)) => {
            let start = lowering.sink.text(span).find(name).map(|at| span.start + at as u32);
            let diagnostic = diagnostic.help(help);
            match start {
                Some(start) => diagnostic.fix(
                    format!("write `{near}`"),
                    super::super::lower::replace(Span { start, end: start + name.len() as u32 }, near),
                ),
                None => diagnostic,
            }
        }
        None => diagnostic,
    });
}
