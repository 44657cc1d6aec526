use std::collections::{BTreeSet, HashMap};

use cycod_diagnostic::{Code, Diagnostic, Span};

use crate::{
    confusable::{mixes_scripts, name_shapes},
    lower::{Lowering, View},
};

/// Reports names in a tool that could be taken for others: for another of the same tool, or for a word of other letters.
pub(crate) fn check(view: &View<'_>, lowering: &Lowering<'_>) {
    let keys = |name: &str| -> Vec<(String, Span)> {
        view.map(name).iter().map(|entry| (entry.key.clone(), entry.key_span)).collect()
    };
    let tags = view.texts("tags").into_iter().map(|tag| (tag.scalar.text.clone(), tag.span)).collect();
    let steps = view.objects("steps").into_iter().filter_map(|step| step.text("name"));
    let steps = steps.map(|name| (name.scalar.text.clone(), name.span)).collect();
    for (what, names) in [("tag", tags), ("parameter", keys("parameters")), ("step", steps)] {
        let mut known: HashMap<String, (&str, Span)> = HashMap::new();
        for (name, span) in &names {
            if mixes_scripts(name) {
                let escaped: String = name
                    .chars()
                    .flat_map(|c| if c.is_ascii() { vec![c] } else { c.escape_unicode().collect() })
                    .collect();
                let diagnostic = Diagnostic::warning(
                    Code::ConfusableName,
                    *span,
                    format!("the {what} `{name}` has letters that look like others"),
                );
                lowering.sink.report(diagnostic.note(format!("it is `{escaped}`")));
            }
            // A name alone is like no other.
            let shapes = if names.len() > 1 { name_shapes(name) } else { BTreeSet::new() };
            let double = shapes.iter().find_map(|shape| known.get(shape).copied().filter(|(other, _)| other != name));
            if let Some((other, first)) = double.filter(|(other, _)| !other.eq_ignore_ascii_case(name)) {
                let diagnostic = Diagnostic::warning(
                    Code::ConfusableName,
                    *span,
                    format!("the {what} `{name}` looks like `{other}`"),
                );
                lowering.sink.report(diagnostic.also(first, "the other one").help("give one of them another name"));
            }
            known.extend(shapes.into_iter().map(|shape| (shape, (name.as_str(), *span))));
        }
    }
}
