//! Values that would do, for examples of calls.

use cycod_definition::{Disclosure, Parameter, ParameterType, ParameterValidation, Shape, Value, static_value};

/// Returns a value that a parameter takes: one of its author's, if they gave any, else a plain one that its type and rules
/// allow; nothing when none is at hand.
pub fn sample(parameter: &Parameter) -> Option<Value> {
    let of_schema = parameter.schema.as_ref().map(|schema| schema.json());
    let of_schema = of_schema.into_iter().flat_map(|schema| {
        let listed = ["examples", "enum"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
        listed.chain(schema.get("const")).chain(schema.get("default")).cloned().map(Value::from)
    });
    let of_author = parameter.examples.iter().cloned();
    let default = parameter.default.as_ref().and_then(static_value);
    let listed = parameter.validation.allowed.iter().flatten().cloned();
    let own = of_author.chain(default).chain(listed).chain(of_schema);
    let mut candidates = own.chain(plain(parameter.kind, &parameter.validation));
    candidates.find(|value| *value != Value::Null && parameter.accept(value.clone(), Disclosure::Masked).is_ok())
}

/// Plain values of a type, of which the rules may allow one.
fn plain(kind: ParameterType, rules: &ParameterValidation) -> Vec<Value> {
    let number = |text: &str| Value::Number(text.to_owned());
    let text = || {
        let least = usize::try_from(rules.min_length.unwrap_or(0)).unwrap_or(usize::MAX);
        let most = usize::try_from(rules.max_length.unwrap_or(3)).unwrap_or(usize::MAX);
        (least < 1000).then(|| Value::Text(".".repeat(3.min(most).max(least))))
    };
    let of_shape = |shape: Option<&Shape>| match shape {
        Some(shape) => shape
            .validation
            .allowed
            .iter()
            .flatten()
            .cloned()
            .chain(plain(shape.kind, &shape.validation))
            .next()
            .unwrap_or(Value::Null),
        None => Value::Text("...".to_owned()),
    };
    match kind {
        ParameterType::String => text().into_iter().collect(),
        ParameterType::Any => text().into_iter().chain([number("1"), Value::Bool(true)]).collect(),
        ParameterType::Number | ParameterType::Integer => {
            let limits = [&rules.minimum, &rules.maximum, &rules.multiple_of];
            let limits = limits.into_iter().flatten().map(|limit| number(limit));
            limits.chain(["1", "0", "10", "0.5", "-1", "100"].map(number)).collect()
        }
        ParameterType::Boolean => vec![Value::Bool(true), Value::Bool(false)],
        ParameterType::Array => {
            let least = usize::try_from(rules.min_items.unwrap_or(1)).unwrap_or(usize::MAX);
            let items = (least <= 20).then(|| vec![of_shape(rules.items.as_deref()); least.max(1)]);
            items.into_iter().chain([Vec::new()]).map(Value::List).collect()
        }
        ParameterType::Object => {
            let required = rules.required_properties.iter();
            let fields = required.map(|name| (name.clone(), of_shape(rules.property(name)))).collect();
            vec![Value::Object(fields)]
        }
    }
}
