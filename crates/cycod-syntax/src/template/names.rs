use cycod_diagnostic::closest;

use super::{ITEM, KnownNames, Predefined, Reference, StepAttribute};

/// What a name turned out to be.
#[derive(Debug, PartialEq)]
pub(crate) enum Resolution {
    Known(Reference),
    /// `step.attribute` where the step exists and the attribute does not.
    UnknownAttribute {
        step: String,
        attribute: String,
    },
    /// `step.attribute` where the attribute exists and the step does not.
    UnknownStep {
        step: String,
    },
    /// An upper-case name that nothing here declares.
    Environment(String),
    /// Nothing of ours: text.
    Unknown,
}

impl KnownNames {
    pub(crate) fn resolve(&self, name: &str) -> Resolution {
        if name.starts_with(|first: char| first.is_ascii_digit()) && !name.contains('.') {
            return Resolution::Unknown;
        }
        if self.parameters.iter().any(|parameter| parameter == name) {
            return Resolution::Known(Reference::Parameter(name.to_owned()));
        }
        if self.has_item && name == ITEM {
            return Resolution::Known(Reference::Item);
        }
        if let Some((_, variable)) = Predefined::NAMES.iter().find(|(known, _)| *known == name && !self.is_code) {
            return Resolution::Known(Reference::Predefined(*variable));
        }
        if let Some((step, attribute)) = name.rsplit_once('.') {
            let known = StepAttribute::NAMES.iter().find(|(known, _)| *known == attribute);
            let is_step = self.steps.iter().any(|known| known == step);
            return match known {
                Some((_, attribute)) if is_step => {
                    Resolution::Known(Reference::Step { step: step.to_owned(), attribute: *attribute })
                }
                None if is_step => {
                    Resolution::UnknownAttribute { step: step.to_owned(), attribute: attribute.to_owned() }
                }
                Some(_) if !self.steps.is_empty() => Resolution::UnknownStep { step: step.to_owned() },
                _ => Resolution::Unknown,
            };
        }
        let mut bytes = name.bytes();
        let upper = bytes.next().is_some_and(|first| first.is_ascii_uppercase())
            && bytes.all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-'));
        if upper && !self.is_code { Resolution::Environment(name.to_owned()) } else { Resolution::Unknown }
    }

    /// Returns the declared name that is `name` in capital letters, or the other way round.
    pub(crate) fn in_another_case(&self, name: &str) -> Option<&str> {
        let parameters = self.parameters.iter().map(String::as_str);
        parameters.chain(self.has_item.then_some(ITEM)).find(|known| known.eq_ignore_ascii_case(name))
    }

    /// Returns the declared or predefined name that a person most likely meant by `name`.
    pub(crate) fn near(&self, name: &str) -> Option<&str> {
        let parameters = self.parameters.iter().map(String::as_str);
        closest(name, parameters.chain(Predefined::NAMES.iter().map(|(name, _)| *name)))
    }
}

/// Whether a name can start with the character; a digit can only start the name of a step.
pub(crate) fn is_name_start(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the length of the name at the start of `text`: letters, digits, `_`, `-` and `.`.
pub(crate) fn name_len(text: &str) -> usize {
    if !text.starts_with(is_name_start) {
        return 0;
    }
    let len = text
        .find(|character: char| !(character.is_alphanumeric() || matches!(character, '_' | '-' | '.')))
        .unwrap_or(text.len());
    text[..len].trim_end_matches(['.', '-']).len()
}
