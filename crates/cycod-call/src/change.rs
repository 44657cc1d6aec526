//! What templates make of a text: a secret stays one, whatever a tool makes of it.

use std::collections::BTreeSet;

use cycod_definition::{Tool, Value};
use cycod_syntax::template::{HoleValue, Template, number_format};

use crate::transform;

/// How one placeholder changes its value: transforms one after another, then perhaps a number format.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaceholderChange {
    transforms: Vec<String>,
    format: Option<String>,
}

impl PlaceholderChange {
    /// Every way in which the templates of `tool` change values.
    pub fn all_of(tool: &Tool) -> BTreeSet<Self> {
        let inline: BTreeSet<Self> = tool.templates().into_iter().flat_map(Self::in_template).collect();
        // What a parameter's own `format` makes of its value comes after the transforms of the place.
        let formats = tool.parameters.iter().filter_map(|parameter| parameter.format.as_ref());
        let last: BTreeSet<Self> = formats
            .flat_map(|format| match format.template.as_text() {
                Some(pattern) if number_format::check(pattern).is_ok() => {
                    vec![Self { format: Some(pattern.to_owned()), ..Self::default() }]
                }
                _ => Self::in_template(&format.template).collect(),
            })
            .collect();
        let first = inline.iter().filter(|change| change.format.is_none());
        let both = first.flat_map(|first| last.iter().map(|last| first.then(last))).collect::<Vec<_>>();
        let mut changes: BTreeSet<Self> = inline.into_iter().chain(last).chain(both).collect();
        changes.remove(&Self::default());
        changes
    }

    fn in_template(template: &Template) -> impl Iterator<Item = Self> {
        template.holes().filter_map(|hole| match &hole.value {
            HoleValue::Reference { transforms, format, .. } => {
                Some(Self { transforms: transforms.clone(), format: format.clone() })
            }
            HoleValue::Choice { .. } => None,
        })
    }

    /// This one and then another.
    fn then(&self, last: &Self) -> Self {
        Self { transforms: [&self.transforms[..], &last.transforms].concat(), format: last.format.clone() }
    }

    /// What becomes of a text, after each transform; less where one of them does not fit it.
    pub(crate) fn stages(&self, text: &str) -> Vec<String> {
        let mut stages: Vec<String> = Vec::with_capacity(self.transforms.len() + 1);
        for name in &self.transforms {
            let before = Value::Text(stages.last().map_or(text, String::as_str).to_owned());
            let after = transform::named(name).and_then(|transform| transform::apply(transform, &before).ok());
            match after {
                Some(after) => stages.push(transform::plain_text(&after)),
                None => return stages,
            }
        }
        let last = stages.last().map_or(text, String::as_str);
        let formatted = self.format.as_ref().and_then(|pattern| number_format::apply(pattern, last).ok());
        stages.extend(formatted);
        stages
    }
}
