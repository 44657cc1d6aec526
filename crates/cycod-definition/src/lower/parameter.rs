//! Reads parameters: types, defaults, validation and transforms.

use std::collections::BTreeSet;

use cycod_diagnostic::{Code, Diagnostic, Severity, Span};
use cycod_schema::Pattern;
use cycod_syntax::{
    template::{KnownNames, Predefined, Reference, number_format},
    yaml::{MappingEntry, Node},
};
use serde_json::Value as Json;

use super::{
    Lowering, Scope, Text, View,
    literal::{Expected, static_value, value},
};
use crate::{
    Decimal, Deprecation, Disclosure, Literal, NamedTransform, Parameter, ParameterType, ParameterValidation, PathPart,
    Placing, Rejection, Shape, Transform, Value, ValueFormat, ValuePath, shown,
    table::{Takes, parameter, validation},
    violations::fitted,
};

/// The most memory a compiled pattern may take.
const PATTERN_LIMIT: usize = 1 << 20;

/// Whether `name` can be a parameter: a letter or `_`, then letters, digits, `_` and `-`.
pub(crate) fn is_parameter_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        && name != "RAW"
}

impl Lowering<'_> {
    /// Reads every parameter, and the fields that are asked of a person. The names are known already, because defaults
    /// refer to each other.
    pub(crate) fn lower_parameters<'e>(
        &self,
        entries: &[&'e MappingEntry],
        asked: &[&'e MappingEntry],
    ) -> Vec<Parameter> {
        let of = |(entries, asked): (&[&'e MappingEntry], bool)| -> Vec<(Parameter, &'e MappingEntry)> {
            entries.iter().filter_map(|&entry| Some((self.parameter(entry, entries, asked)?, entry))).collect()
        };
        let parameters: Vec<_> = [(entries, false), (asked, true)].into_iter().flat_map(of).collect();
        self.check_default_cycles(&parameters);
        parameters.into_iter().map(|(parameter, _)| parameter).collect()
    }

    fn parameter(&self, entry: &MappingEntry, all: &[&MappingEntry], asked: bool) -> Option<Parameter> {
        let name = entry.key.clone();
        if !is_parameter_name(&name) {
            self.sink.report(
                Diagnostic::error(Code::InvalidName, entry.key_span, format!("`{name}` cannot name a parameter")).note(
                    if name == "RAW" {
                        "`{RAW:NAME}` has a meaning of its own"
                    } else {
                        "parameters are named with letters, digits, `_` and `-`, and do not start with a digit"
                    },
                ),
            );
            return None;
        }
        if Predefined::NAMES.iter().any(|(predefined, _)| *predefined == name) {
            self.sink.report(
                Diagnostic::warning(
                    Code::ShadowsPredefined,
                    entry.key_span,
                    format!("parameter `{name}` hides the predefined variable of that name"),
                )
                .help("give it another name if the predefined value is ever needed"),
            );
        }
        // A question says itself what its fields are for.
        let needs_description = |view: Option<&View<'_>>| {
            !asked
                && view.is_none_or(|view| view.entry("description").is_none() && view.flag("deprecated") != Some(true))
        };
        let Some(view) = View::new(&entry.value, parameter()) else {
            if needs_description(None) {
                self.missing_description(&name, entry.key_span);
            }
            return Some(Parameter { asked, ..Parameter::plain(name) });
        };
        let schema = self.parameter_schema(&view);
        let described = schema.as_ref().map(|schema| Parameter::of_property(&name, schema.json(), false));
        let written_type = view.choice("type").unwrap_or("string");
        let kind = described.as_ref().map_or_else(|| type_named(written_type), |described| described.kind);
        let rules = self.written_rules(&view);
        let mut validation = self.validation(&View { entries: &rules, ..view.under(validation()) }, kind, entry);
        if written_type == "character" && validation.items.is_none() {
            let shape =
                Shape { kind: ParameterType::String, validation: ParameterValidation::default(), description: None };
            validation.items = Some(Box::new(shape));
        }
        let of_schema = described.as_ref().map(|described| described.description.clone());
        let description = view.string("description").or(of_schema).unwrap_or_default();
        if description.is_empty() && needs_description(Some(&view)) {
            self.missing_description(&name, entry.key_span);
        }
        let expected = Expected::new(kind, &validation);
        let default = view.entry("default").map(|entry| self.literal(&entry.value, expected, Scope::Call));
        let default = default.or_else(|| described.and_then(|described| described.default));
        let examples = view.items("examples").iter().map(|node| value(node, expected)).collect();
        let required = view.flag("required").unwrap_or(false);
        if let (true, Some(default)) = (required, view.entry("default")) {
            let span = view.entry("required").map_or(default.key_span, |required| required.key_span);
            self.sink.report(
                Diagnostic::warning(
                    Code::RequiredWithDefault,
                    span,
                    format!("parameter `{name}` is required but has a default"),
                )
                .also(default.key_span, "the default satisfies it")
                .help("remove one of the two"),
            );
        }
        if let Some(text) = view
            .object("security")
            .filter(|security| security.flag("escape-shell") == Some(false))
            .and_then(|security| security.text("escape-shell"))
        {
            let message = format!("the value of `{name}` is placed as program text");
            self.sink.report(crate::judge::raw_placing(text.span, &message));
        }
        let mut parameter = Parameter {
            transform: view.text("transform").map(|text| self.transform(text)),
            format: view.text("format").map(|text| self.format(text, kind)),
            examples,
            detailed_help: view.string("detailed-help"),
            escape_shell: view.object("security").and_then(|security| security.flag("escape-shell")),
            words: view.flag("words").unwrap_or(false),
            options: view.flag("options").unwrap_or(false),
            placing: view
                .choice("placing")
                .and_then(|name| Placing::NAMES.iter().find(|(known, _)| *known == name).map(|(_, placing)| *placing)),
            delimiter: view.string("delimiter").unwrap_or_else(|| " ".to_owned()),
            path: view.flag("path").unwrap_or(false),
            sensitive: view.flag("sensitive").unwrap_or(false),
            deprecated: self.deprecation(&view, all),
            asked,
            schema,
            name,
            description,
            kind,
            required,
            default,
            validation,
        };
        self.settle_values(&mut parameter, &view);
        Some(parameter)
    }

    fn missing_description(&self, name: &str, span: Span) {
        self.sink.report(
            Diagnostic::warning(Code::NoDescription, span, format!("parameter `{name}` has no description"))
                .help("describe its purpose; people and models choose its value by that"),
        );
    }

    fn deprecation(&self, view: &View<'_>, all: &[&MappingEntry]) -> Option<Deprecation> {
        let deprecation = self.tool_deprecation(view)?;
        if let Some(text) = view.text("deprecated-alternative") {
            let names = || all.iter().map(|entry| entry.key.as_str());
            let alternative = &text.scalar.text;
            if !names().any(|name| name == alternative) {
                let diagnostic = Diagnostic::warning(
                    Code::UnknownParameter,
                    text.span,
                    format!("the alternative `{alternative}` is not a parameter"),
                );
                self.sink.report(match self.sink.did_you_mean(alternative, names()) {
                    Some((near, help)) => {
                        diagnostic.help(help).fix(format!("write `{near}`"), self.sink.rewrite(text.span, near))
                    }
                    None => diagnostic,
                });
            }
        }
        Some(deprecation)
    }

    /// Reads `deprecated`, `deprecated-message` and `deprecated-alternative`; a message alone deprecates too.
    pub(crate) fn tool_deprecation(&self, view: &View<'_>) -> Option<Deprecation> {
        let message = view.string("deprecated-message");
        let alternative = view.string("deprecated-alternative");
        let deprecated = view.flag("deprecated").unwrap_or(message.is_some() || alternative.is_some());
        deprecated.then_some(Deprecation { message, alternative })
    }

    fn transform(&self, text: Text<'_>) -> Transform {
        let name = text.scalar.text.trim();
        if let Some((_, named)) = NamedTransform::NAMES.iter().find(|(known, _)| *known == name) {
            return Transform::Named(*named);
        }
        if is_parameter_name(name) && name != "value" {
            crate::check::transforms::unknown(name, text.span, self);
        }
        Transform::Script(text.scalar.text.clone())
    }

    fn format(&self, text: Text<'_>, kind: ParameterType) -> ValueFormat {
        let names = KnownNames { parameters: vec!["value".to_owned()], ..KnownNames::default() };
        let template = self.sink.template(text.scalar, &names);
        for (reference, span) in template.references() {
            if let Reference::Environment(name) = reference
                && self.names.parameters.contains(name)
            {
                self.sink.report(
                    Diagnostic::error(Code::FormatReference, span, format!("`format` cannot use parameter `{name}`"))
                        .note("only `{value}`, the parameter's own value, and predefined variables are known here"),
                );
            }
        }
        crate::check::transforms::check(&template, self);
        if let Some(pattern) = template.as_text() {
            let number = matches!(kind, ParameterType::Number | ParameterType::Integer | ParameterType::Any);
            if !number || number_format::check(pattern).is_err() {
                self.sink.report(
                    Diagnostic::warning(Code::FormatWithoutValue, text.span, "`format` does not use `{value}`")
                        .help("write `{value}` where the value belongs, or use a number format such as `0000`"),
                );
            }
        }
        ValueFormat { template }
    }

    /// The rules of a value, which stand below `validation` or beside its type.
    fn written_rules(&self, view: &View<'_>) -> Vec<MappingEntry> {
        let below = view.object("validation");
        let mut rules = below.map(|below| below.entries.to_vec()).unwrap_or_default();
        for key in validation().keys {
            // Beside the type of a parameter, `required` says whether it must be given.
            let is_rule = |takes| !matches!((takes, key.takes), (Takes::Bool, Takes::Texts));
            if !view.section.key(key.name).is_some_and(|known| is_rule(known.takes)) {
                continue;
            }
            let Some(entry) = view.entry(key.name) else { continue };
            match below.and_then(|below| below.entry(key.name)) {
                Some(other) => self.two_schemas(entry, other),
                None => rules.push(entry.clone()),
            }
        }
        rules
    }

    fn validation(&self, view: &View<'_>, kind: ParameterType, parameter: &MappingEntry) -> ParameterValidation {
        self.check_keywords(view, kind, &format!("parameter `{}`", parameter.key));
        self.rules(view, kind)
    }

    fn rules(&self, view: &View<'_>, kind: ParameterType) -> ParameterValidation {
        let pattern = view.text("pattern").and_then(|text| match Pattern::new(&text.scalar.text, PATTERN_LIMIT) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                self.invalid_pattern(text, &error);
                None
            }
        });
        let listed = view.node("enum").and_then(|node| node.as_sequence()).inspect(|items| {
            if items.is_empty() {
                self.sink.error(
                    Code::EmptyRange,
                    view.entry("enum").map_or(view.span, |e| e.key_span),
                    "`enum` allows no value at all",
                );
            }
        });
        let rules = ParameterValidation {
            min_length: view.count("minLength"),
            max_length: view.count("maxLength"),
            pattern,
            minimum: view.number("minimum"),
            maximum: view.number("maximum"),
            exclusive_minimum: view.number("exclusiveMinimum"),
            exclusive_maximum: view.number("exclusiveMaximum"),
            multiple_of: view.number("multipleOf"),
            allowed: None,
            min_items: view.count("minItems"),
            max_items: view.count("maxItems"),
            unique_items: view.flag("uniqueItems").unwrap_or(false),
            items: view.object("items").map(|shape| Box::new(self.shape(&shape))),
            properties: view
                .map("properties")
                .iter()
                .filter_map(|entry| {
                    let shape = View::new(&entry.value, view_shape(view))?;
                    Some((entry.key.clone(), self.shape(&shape)))
                })
                .collect(),
            required_properties: view.strings("required"),
        };
        self.check_range(view, &rules);
        // A value is compared once it is of its type, and so are the ones it is compared with.
        let fit = |item| fitted(value(item, Expected::new(kind, &rules)), kind, &rules);
        let allowed = listed.map(|items| items.iter().map(fit).collect());
        ParameterValidation { allowed, ..rules }
    }

    fn shape(&self, view: &View<'_>) -> Shape {
        let kind = view.choice("type").map_or(ParameterType::Any, type_named);
        let rules = self.written_rules(view);
        let rules = View { entries: &rules, ..view.under(validation()) };
        self.check_keywords(&rules, kind, "a value");
        Shape { kind, validation: self.rules(&rules, kind), description: view.string("description") }
    }

    fn invalid_pattern(&self, text: Text<'_>, error: &regex::Error) {
        let reason = match error {
            regex::Error::CompiledTooBig(limit) => format!("it would take more than {} KiB", limit >> 10),
            other => {
                let message = other.to_string();
                message.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
            }
        };
        let pattern = &text.scalar.text;
        let at = Pattern::mistake(pattern).filter(|at| !at.is_empty());
        let place = at.map_or(text.span, |at| Span {
            start: text.scalar.origin(at.start),
            end: text.scalar.origin(at.end.saturating_sub(1)) + 1,
        });
        let diagnostic =
            Diagnostic::error(Code::InvalidPattern, place, format!("`{pattern}` is not a pattern we can use"))
                .label(reason);
        let lookaround = ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| pattern.contains(look));
        self.sink.report(if lookaround {
            diagnostic.help("patterns run in linear time, without lookaround and backreferences")
        } else {
            diagnostic
        });
    }

    /// Reports rules that do not concern values of this type.
    fn check_keywords(&self, view: &View<'_>, kind: ParameterType, of: &str) {
        for entry in view.entries {
            let fits = match entry.key.as_str() {
                "minLength" | "maxLength" | "pattern" => kind == ParameterType::String,
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                    matches!(kind, ParameterType::Number | ParameterType::Integer)
                }
                "minItems" | "maxItems" | "uniqueItems" | "items" => kind == ParameterType::Array,
                "properties" | "required" => kind == ParameterType::Object,
                _ => true,
            };
            if !fits && kind != ParameterType::Any {
                let message = format!("`{}` has no effect on {of}, which is of type {}", entry.key, kind.name());
                self.sink.report(
                    Diagnostic::error(Code::UnusedKey, entry.key_span, message)
                        .note("a value that breaks the rule would be taken"),
                );
            }
        }
    }

    fn check_range(&self, view: &View<'_>, rules: &ParameterValidation) {
        let number = |text: &Option<String>| text.as_deref().and_then(Decimal::parse);
        let count = |count: Option<u64>| number(&count.map(|count| count.to_string()));
        let pairs = [
            ("minLength", count(rules.min_length), "maxLength", count(rules.max_length)),
            ("minItems", count(rules.min_items), "maxItems", count(rules.max_items)),
            ("minimum", number(&rules.minimum), "maximum", number(&rules.maximum)),
        ];
        for (low_key, low, high_key, high) in pairs {
            if let (Some(low), Some(high)) = (low, high)
                && low > high
                && let (Some(low_entry), Some(high_entry)) = (view.entry(low_key), view.entry(high_key))
            {
                self.sink.report(
                    Diagnostic::error(
                        Code::EmptyRange,
                        low_entry.key_span,
                        format!("no value can satisfy `{low_key}` and `{high_key}`"),
                    )
                    .also(high_entry.key_span, "smaller"),
                );
            }
        }
        if number(&rules.multiple_of).is_some_and(|step| !step.is_positive())
            && let Some(entry) = view.entry("multipleOf")
        {
            self.sink.error(Code::OutOfRange, entry.value.span, "`multipleOf` must be larger than 0");
        }
    }

    /// Holds the static default and the examples against type and rules, as a call would be, and keeps them as a
    /// call would get them.
    fn settle_values(&self, parameter: &mut Parameter, view: &View<'_>) {
        if let (Some(default), Some(node)) = (&parameter.default, view.node("default"))
            && let Some(value) = static_value(default)
        {
            match parameter.accept(value, disclosure(parameter)) {
                Ok(value) => parameter.default = Some(value.into()),
                Err(rejection) => {
                    let refused =
                        Refused { code: Code::InvalidDefault, severity: Severity::Error, what: "the default" };
                    self.rejected(&refused, &parameter.name, &rejection, node);
                }
            }
        }
        // A list of examples that long is not for people, and `enum` may be long as well.
        let mut examples = std::mem::take(&mut parameter.examples);
        for (example, node) in examples.iter_mut().zip(view.items("examples")).take(100) {
            match parameter.accept(example.clone(), disclosure(parameter)) {
                Ok(value) => *example = value,
                Err(rejection) => {
                    let refused =
                        Refused { code: Code::InvalidExample, severity: Severity::Warning, what: "an example" };
                    self.rejected(&refused, &parameter.name, &rejection, node);
                }
            }
        }
        parameter.examples = examples;
    }

    /// Reports each part of a value that a parameter does not take, where it stands in the file.
    pub(crate) fn rejected(&self, refused: &Refused, name: &str, rejection: &Rejection<'_>, node: &Node) {
        let Refused { code, severity, what } = *refused;
        let last = rejection.violations.len().saturating_sub(1);
        for (index, violation) in rejection.violations.iter().enumerate() {
            let part = node_at(node, &violation.path);
            let path = shown(&violation.path.to_string());
            let message = format!("{what} of `{name}{path}`: {}", violation.message);
            let mut diagnostic = match severity {
                Severity::Error => Diagnostic::error(code, part.span, message),
                Severity::Warning | Severity::Hint => Diagnostic::warning(code, part.span, message),
            };
            if let Some(help) = &violation.help {
                diagnostic = diagnostic.help(help);
            }
            if let Some(choice) = &violation.choice
                && let Some((near, help)) = self.sink.did_you_mean(&choice.given, choice.texts())
            {
                diagnostic = diagnostic.help(help);
                if part.as_scalar().is_some_and(|scalar| scalar.text == choice.given) {
                    diagnostic = diagnostic.fix(format!("write `{near}`"), self.sink.rewrite(part.span, near));
                }
            }
            if index == last && rejection.more > 0 {
                diagnostic = diagnostic.note(format!("and {} more of the kind", rejection.more));
            }
            self.sink.report(diagnostic);
        }
    }

    /// Reports defaults that refer to each other in a circle.
    fn check_default_cycles(&self, parameters: &[(Parameter, &MappingEntry)]) {
        let edges: Vec<Vec<usize>> = parameters
            .iter()
            .map(|(parameter, _)| {
                let mut names = BTreeSet::new();
                if let Some(default) = &parameter.default {
                    parameters_in(default, &mut names);
                }
                (0..parameters.len()).filter(|index| names.contains(&parameters[*index].0.name)).collect()
            })
            .collect();
        for cycle in crate::check::graph::cycles(&edges) {
            let names: Vec<String> =
                cycle.iter().chain(cycle.first()).map(|index| format!("`{}`", parameters[*index].0.name)).collect();
            let entry = parameters[cycle[0]].1;
            let span = entry.value.get("default").map_or(entry.key_span, |node| node.span);
            self.sink.report(
                Diagnostic::error(
                    Code::DefaultCycle,
                    span,
                    format!("defaults depend on each other: {}", names.join(" → ")),
                )
                .help("give one of them a default of its own, or none"),
            );
        }
    }
}

/// A value of the file that a parameter does not take.
#[derive(Clone, Copy)]
pub(crate) struct Refused {
    pub(crate) code: Code,
    pub(crate) severity: Severity,
    pub(crate) what: &'static str,
}

pub(crate) fn disclosure(parameter: &Parameter) -> Disclosure {
    if parameter.sensitive { Disclosure::Masked } else { Disclosure::Shown }
}

/// The part of a value, or the innermost one around it that the file spells out.
fn node_at<'n>(node: &'n Node, path: &ValuePath) -> &'n Node {
    let mut node = node;
    for part in &path.0 {
        let inner = match part {
            PathPart::Element(index) => node.as_sequence().and_then(|items| items.get(*index)),
            PathPart::Property(name) => node.get(name),
        };
        match inner {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

fn view_shape(view: &View<'_>) -> &'static crate::table::Section {
    match view.section.key("items").map(|key| key.takes) {
        Some(crate::table::Takes::Object(shape)) => shape,
        _ => view.section,
    }
}

fn type_named(name: &str) -> ParameterType {
    ParameterType::NAMES.iter().find(|(known, _)| *known == name).map_or(ParameterType::Any, |(_, kind)| *kind)
}

/// The parameters that a value refers to.
pub(crate) fn parameters_in(literal: &Literal, names: &mut BTreeSet<String>) {
    match literal {
        Literal::Text(template) => names.extend(template.references().filter_map(|(reference, _)| match reference {
            Reference::Parameter(name) => Some(name.clone()),
            _ => None,
        })),
        Literal::List(items) => items.iter().for_each(|item| parameters_in(item, names)),
        Literal::Object(entries) => entries.iter().for_each(|(_, value)| parameters_in(value, names)),
        Literal::Null | Literal::Bool(_) | Literal::Number(_) => {}
    }
}

impl Parameter {
    /// The parameters that a JSON Schema of type `object` describes, in its order.
    pub fn of_schema(schema: &Json) -> Vec<Self> {
        let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name));
        let properties = schema["properties"].as_object().into_iter().flatten();
        properties.map(|(name, part)| Self::of_property(name, part, required(name))).collect()
    }

    /// The parameter that a property of a JSON Schema describes; what our types cannot say stays with the schema.
    fn of_property(name: &str, part: &Json, required: bool) -> Self {
        let text = |key: &str| part[key].as_str().map(str::to_owned);
        // With null beside it, a type is still that of every value.
        let kind = match &part["type"] {
            Json::String(only) => type_named(only),
            Json::Array(types) => match types.iter().filter(|one| *one != "null").collect::<Vec<_>>()[..] {
                [only] => only.as_str().map_or(ParameterType::Any, type_named),
                _ => ParameterType::Any,
            },
            _ => ParameterType::Any,
        };
        let items = part["examples"].as_array().cloned().unwrap_or_default();
        let mut parameter = Self {
            description: text("description").unwrap_or_default(),
            kind,
            required,
            default: part.get("default").map(|default| Value::from(default.clone()).into()),
            examples: items.into_iter().map(Value::from).collect(),
            deprecated: (part["deprecated"] == true).then(Deprecation::default),
            schema: Some(part.clone().into()),
            ..Self::plain(name.to_owned())
        };
        let choices = part["enum"].as_array().filter(|choices| choices.iter().all(Json::is_string));
        if let (ParameterType::String, Some(choices)) = (kind, choices) {
            parameter.validation.allowed = Some(choices.iter().cloned().map(Value::from).collect());
        }
        parameter
    }

    /// A string parameter about which nothing else is said.
    pub(crate) fn plain(name: String) -> Self {
        Self {
            name,
            description: String::new(),
            kind: ParameterType::String,
            required: false,
            default: None,
            validation: ParameterValidation::default(),
            transform: None,
            format: None,
            examples: Vec::new(),
            detailed_help: None,
            escape_shell: None,
            words: false,
            options: false,
            placing: None,
            delimiter: " ".to_owned(),
            path: false,
            sensitive: false,
            deprecated: None,
            asked: false,
            schema: None,
        }
    }
}
