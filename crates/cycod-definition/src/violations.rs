use std::collections::HashSet;

use crate::{ParameterType, Validation, Value};

impl Validation {
    /// What is wrong with `value`, as phrases that follow its name ("is shorter than 5 characters").
    ///
    /// The value is expected in the type's own form: text from a command line is coerced before.
    pub fn violations(&self, kind: ParameterType, value: &Value) -> Vec<String> {
        if !fits(kind, value) {
            return vec![format!("is {}, not {}", article(describe(value)), article(kind.name()))];
        }
        let mut found = Vec::new();
        match value {
            Value::Text(text) => self.text(text, &mut found),
            Value::Number(text) => self.number(text, &mut found),
            Value::List(items) => self.list(items, &mut found),
            Value::Object(entries) => self.object(entries, &mut found),
            Value::Null | Value::Bool(_) => {}
        }
        if let Some(allowed) = &self.allowed
            && !allowed.iter().any(|allowed| same(allowed, value))
        {
            let words: Vec<String> = allowed.iter().map(Value::to_string).collect();
            found.push(format!("is not one of {}", crate::table::one_of(&words)));
        }
        found
    }

    fn text(&self, text: &str, found: &mut Vec<String>) {
        let length = text.chars().count() as u64;
        if let Some(min) = self.min_length.filter(|min| length < *min) {
            found.push(format!("is shorter than {}", plural(min, "character")));
        }
        if let Some(max) = self.max_length.filter(|max| length > *max) {
            found.push(format!("is longer than {}", plural(max, "character")));
        }
        if let Some(pattern) = self.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
            found.push(format!("does not match `{pattern}`"));
        }
    }

    fn number(&self, text: &str, found: &mut Vec<String>) {
        let Ok(number) = text.parse::<f64>() else { return };
        let mut limit = |limit: &Option<String>, breaks: fn(f64, f64) -> bool, phrase: &str| {
            if let Some(text) = limit
                && text.parse().is_ok_and(|limit| breaks(number, limit))
            {
                found.push(format!("{phrase} {text}"));
            }
        };
        limit(&self.minimum, |number, limit| number < limit, "is less than");
        limit(&self.maximum, |number, limit| number > limit, "is more than");
        limit(&self.exclusive_minimum, |number, limit| number <= limit, "is not more than");
        limit(&self.exclusive_maximum, |number, limit| number >= limit, "is not less than");
        if let Some(text) = &self.multiple_of
            && let Ok(step) = text.parse::<f64>()
            && step > 0.0
        {
            // 0.3 is a multiple of 0.1 for everybody but a computer.
            let quotient = number / step;
            if (quotient - quotient.round()).abs() > 1e-9 * quotient.abs().max(1.0) {
                found.push(format!("is not a multiple of {text}"));
            }
        }
    }

    fn list(&self, items: &[Value], found: &mut Vec<String>) {
        let length = items.len() as u64;
        if let Some(min) = self.min_items.filter(|min| length < *min) {
            found.push(format!("has fewer than {}", plural(min, "element")));
        }
        if let Some(max) = self.max_items.filter(|max| length > *max) {
            found.push(format!("has more than {}", plural(max, "element")));
        }
        if self.unique_items
            && let Some(twice) = {
                let mut seen = HashSet::new();
                items.iter().find(|item| !seen.insert(canonical(item).to_string()))
            }
        {
            found.push(format!("has an element twice ({twice})"));
        }
        if let Some(shape) = &self.items {
            for (index, item) in items.iter().enumerate() {
                let problems = shape.validation.violations(shape.kind, item);
                found.extend(problems.into_iter().map(|problem| format!("has element {}, which {problem}", index + 1)));
            }
        }
    }

    fn object(&self, entries: &[(String, Value)], found: &mut Vec<String>) {
        let get = |name: &str| entries.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        for name in self.required_properties.iter().filter(|name| get(name).is_none()) {
            found.push(format!("lacks property `{name}`"));
        }
        for (name, shape) in &self.properties {
            if let Some(value) = get(name) {
                let problems = shape.validation.violations(shape.kind, value);
                found.extend(problems.into_iter().map(|problem| format!("has property `{name}`, which {problem}")));
            }
        }
    }
}

fn fits(kind: ParameterType, value: &Value) -> bool {
    match kind {
        ParameterType::Any => true,
        ParameterType::String => matches!(value, Value::Text(_)),
        ParameterType::Number => matches!(value, Value::Number(_)),
        ParameterType::Integer => match value {
            Value::Number(text) => text.parse::<f64>().is_ok_and(|number| number.fract() == 0.0),
            _ => false,
        },
        ParameterType::Boolean => matches!(value, Value::Bool(_)),
        ParameterType::Array => matches!(value, Value::List(_)),
        ParameterType::Object => matches!(value, Value::Object(_)),
    }
}

/// Whether two values are equal; numbers by what they are worth, not by how they are written.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.parse::<f64>().ok() == b.parse::<f64>().ok(),
        _ => a == b,
    }
}

/// The value with its numbers written in one way, so that equal values have equal texts.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Number(text) => Value::Number(text.parse::<f64>().map_or_else(|_| text.clone(), |n| n.to_string())),
        Value::List(items) => Value::List(items.iter().map(canonical).collect()),
        Value::Object(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.clone(), canonical(value))).collect())
        }
        // Text and JSON look alike in `Display`, so text is told apart by its quotes.
        Value::Text(text) => Value::Text(format!("\"{text}\"")),
        other => other.clone(),
    }
}

fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::Text(_) => "text",
        Value::List(_) => "list",
        Value::Object(_) => "object",
    }
}

fn article(noun: &str) -> String {
    match noun {
        "nothing" | "text" => noun.to_owned(),
        _ if noun.starts_with(['a', 'i', 'o']) => format!("an {noun}"),
        _ => format!("a {noun}"),
    }
}

fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
