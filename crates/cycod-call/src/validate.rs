//! The rules of `validation`, over values that are already of their type.

use std::collections::HashSet;

use cycod_definition::{Validation, Value};

use crate::{
    coerce::{Place, Wrong, found},
    decimal::Decimal,
    json,
    problem::shown,
};

/// Checks a value against rules, at every depth; `hide` keeps the value itself out of the messages.
pub(crate) fn validate(value: &Value, rules: &Validation, place: Place<'_>, hide: bool, wrong: &mut Vec<Wrong>) {
    let mut report = |message: String, help: Option<String>| {
        wrong.push(Wrong { path: place.to_string(), message, help });
    };
    if let Some(allowed) = &rules.allowed
        && !allowed.iter().any(|one| is_same(one, value))
    {
        let listed: Vec<String> = allowed.iter().take(20).map(|one| found(one, false)).collect();
        let more = if allowed.len() > 20 { ", …" } else { "" };
        let near = match value {
            Value::Text(text) if !hide && text.len() > 2 => {
                cycod_diagnostic::closest(text, allowed.iter().filter_map(as_text))
            }
            _ => None,
        };
        let help = near.map(|near| format!("did you mean `{}`?", shown(near)));
        report(format!("{} is not one of {}{more}", found(value, hide), listed.join(", ")), help);
    }
    match value {
        Value::Text(text) => check_text(text, rules, hide, &mut report),
        Value::Number(text) => check_number(text, rules, hide, &mut report),
        Value::List(items) => {
            let length = items.len() as u64;
            if let Some(least) = rules.min_items.filter(|least| length < *least) {
                report(format!("has {}, needs at least {least}", counted(length, "element")), None);
            }
            if let Some(most) = rules.max_items.filter(|most| length > *most) {
                report(format!("has {}, may have at most {most}", counted(length, "element")), None);
            }
            if rules.unique_items {
                let mut seen = HashSet::new();
                if let Some(twice) = items.iter().find(|item| !seen.insert(key(item))) {
                    report(format!("holds {} more than once", found(twice, hide)), None);
                }
            }
        }
        Value::Object(entries) => {
            for name in &rules.required_properties {
                if entries.iter().all(|(key, _)| key != name) {
                    report(format!("lacks the property `{}`", shown(name)), None);
                }
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
    match value {
        Value::List(items) => {
            if let Some(shape) = &rules.items {
                for (at, item) in items.iter().enumerate() {
                    validate(item, &shape.validation, Place::Element(&place, at), hide, wrong);
                }
            }
        }
        Value::Object(entries) if !rules.properties.is_empty() => {
            for (key, item) in entries {
                if let Some((_, shape)) = rules.properties.iter().find(|(name, _)| name == key) {
                    validate(item, &shape.validation, Place::Property(&place, key), hide, wrong);
                }
            }
        }
        _ => {}
    }
}

fn check_text(text: &str, rules: &Validation, hide: bool, report: &mut dyn FnMut(String, Option<String>)) {
    if rules.min_length.is_some() || rules.max_length.is_some() {
        let length = text.chars().count() as u64;
        if let Some(least) = rules.min_length.filter(|least| length < *least) {
            report(format!("has {}, needs at least {least}", counted(length, "character")), None);
        }
        if let Some(most) = rules.max_length.filter(|most| length > *most) {
            report(format!("has {}, may have at most {most}", counted(length, "character")), None);
        }
    }
    if let Some(pattern) = &rules.pattern
        && !pattern.is_match(text)
    {
        let found = found(&Value::Text(if hide { "****".to_owned() } else { text.to_owned() }), hide);
        report(format!("{found} does not match the pattern `{}`", shown(pattern.as_str())), None);
    }
}

fn check_number(text: &str, rules: &Validation, hide: bool, report: &mut dyn FnMut(String, Option<String>)) {
    let limits = [
        (&rules.minimum, "is less than the minimum", std::cmp::Ordering::Less, false),
        (&rules.maximum, "is more than the maximum", std::cmp::Ordering::Greater, false),
        (&rules.exclusive_minimum, "must be more than", std::cmp::Ordering::Less, true),
        (&rules.exclusive_maximum, "must be less than", std::cmp::Ordering::Greater, true),
    ];
    if limits.iter().all(|(limit, ..)| limit.is_none()) && rules.multiple_of.is_none() {
        return;
    }
    let Some(number) = Decimal::parse(text) else { return };
    let found = found(&Value::Number(text.to_owned()), hide);
    for (limit, words, forbidden, excludes_equal) in limits {
        let Some((limit, exact)) = limit.as_ref().and_then(|limit| Some((limit, Decimal::parse(limit)?))) else {
            continue;
        };
        let order = number.cmp(&exact);
        if order == forbidden || (excludes_equal && order.is_eq()) {
            report(format!("{found} {words} {limit}"), None);
        }
    }
    if let Some(step) = &rules.multiple_of
        && Decimal::parse(step).is_some_and(|exact| !number.is_multiple_of(&exact))
    {
        report(format!("{found} is not a multiple of {step}"), None);
    }
}

/// Whether two values are the same for JSON Schema: numbers by value, all else exactly.
fn is_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => left == right,
        (Value::Number(left), Value::Number(right)) => left == right || Decimal::parse(left) == Decimal::parse(right),
        (Value::List(_) | Value::Object(_), _) => key(left) == key(right),
        _ => left == right,
    }
}

/// A text that two values share exactly when they are the same.
fn key(value: &Value) -> String {
    match value {
        Value::Number(text) => Decimal::parse(text).map_or_else(|| text.clone(), |number| number.key()),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(key).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(entries) => {
            let mut entries: Vec<String> = entries
                .iter()
                .map(|(name, value)| format!("{}:{}", json::write(&Value::Text(name.clone())), key(value)))
                .collect();
            entries.sort();
            format!("{{{}}}", entries.join(","))
        }
        _ => json::write(value),
    }
}

fn as_text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
