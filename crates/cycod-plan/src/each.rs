//! Steps that run once for each item of a list.

use std::borrow::Cow;

use cycod_call::Steps;
use cycod_definition::{ForEach, Literal, Value, json};
use cycod_diagnostic::{Code, Refusal};
use cycod_syntax::template::Reference;

use crate::{Plan, PlannedStep};

impl PlannedStep {
    /// A name that no other step of the tool has, nor an item of one. No step's own name has a dot in it.
    pub fn own_name(&self) -> Cow<'_, str> {
        match &self.item_of {
            Some(of) => format!("{of}.{}", self.name).into(),
            None => self.name.as_str().into(),
        }
    }

    /// The name by which others refer to its results.
    pub fn known_as(&self) -> &str {
        self.item_of.as_ref().unwrap_or(&self.name)
    }
}

impl Plan {
    /// The items that a step runs for, given the results of earlier steps.
    ///
    /// # Errors
    /// A refusal when the list has no value, is none, or is too long.
    pub fn items(&self, step: &PlannedStep, each: &ForEach, steps: &dyn Steps) -> Result<Vec<Value>, Refusal> {
        let name = step.own_name();
        let list = self.call.literal(&each.list, steps).map_err(|error| self.unresolved(&error))?;
        let items = match list {
            Value::Null => Vec::new(),
            Value::List(items) => items.into_iter().map(some).collect(),
            Value::Text(text) if is_result(&each.list) => of_output(&text),
            _ => {
                let why = format!("`for-each` of `{name}` needs a list, and its value is none");
                return Err(Refusal::new(Code::InvalidArgument, why).place(&*name));
            }
        };
        let (count, most) = (items.len(), ForEach::MOST_ITEMS);
        if count > most {
            let why = format!("`{name}` has {count} items, and at most {most} are possible");
            return Err(Refusal::new(Code::OutOfRange, why).place(&*name).attempt("give it fewer, in several runs"));
        }
        Ok(items)
    }

    /// The items that a step runs for, if they are known before anything runs.
    pub(crate) fn known_items(
        &self,
        step: &PlannedStep,
        each: &ForEach,
        steps: &dyn Steps,
    ) -> Option<Result<Vec<Value>, Refusal>> {
        let is_later =
            each.list.templates().into_iter().any(|template| {
                template.references().any(|(reference, _)| matches!(reference, Reference::Step { .. }))
            });
        (!is_later).then(|| self.items(step, each, steps))
    }

    /// The plan of the items of a step: one step for each, of which none waits for another.
    pub fn for_items(&self, step: &PlannedStep, count: usize) -> Self {
        let item = |number: usize| PlannedStep {
            name: number.to_string(),
            item_of: Some(step.name.clone()),
            each: None,
            after: Vec::new(),
            condition: None,
            // The step as a whole runs on failure; its items are what it does then.
            on_failure: false,
            ..step.clone()
        };
        let steps = (1..=count).map(item).collect();
        // What is cleaned up is cleaned up at the end of the run.
        Self { steps, cleanup: Vec::new(), is_workflow: true, ..self.clone() }
    }
}

/// An item that is no value is empty text, so that it is one word like every other.
fn some(item: Value) -> Value {
    if item == Value::Null { Value::Text(String::new()) } else { item }
}

/// Whether a list is what a step said.
fn is_result(list: &Literal) -> bool {
    let Literal::Text(template) = list else { return false };
    template.references().any(|(reference, _)| matches!(reference, Reference::Step { .. }))
}

/// The items in the output of a step: the elements of a JSON array, or else the lines.
fn of_output(text: &str) -> Vec<Value> {
    if text.trim_start().starts_with('[')
        && let Ok(Value::List(items)) = json::parse(text)
    {
        return items.into_iter().map(some).collect();
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| Value::Text(line.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_a_json_array_or_lines() {
        let texts = |text: &str| json::write(&Value::List(of_output(text)));
        assert_eq!(texts("a b\n\n  \nc\r\n d"), r#"["a b","c"," d"]"#);
        assert_eq!(texts(r#" ["a\nb", 1, {"x": 1.50}, [2]] "#), r#"["a\nb",1,{"x":1.50},[2]]"#);
        assert_eq!(texts("[x]\n[y]"), r#"["[x]","[y]"]"#, "it only looks like one");
        assert_eq!(texts(""), "[]");
    }
}
