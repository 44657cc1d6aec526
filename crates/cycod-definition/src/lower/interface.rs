//! What a tool gives back, how hosts see it, and what it asks.

use std::collections::{BTreeSet, HashSet};

use cycod_diagnostic::{Code, Diagnostic, Span, closest, is_slip};
use cycod_schema::{Era, RULES, published_output, unknown_words};
use cycod_syntax::yaml::{MappingEntry, Node, NodeKind};
use serde_json::Value as Json;

use super::{Lowering, Scope, View, parameter::is_parameter_name, plain_value};
use crate::{
    Hints, JsonSchema, OfferedAs, Parameter, ParameterType, ParameterValidation, Produces, Shape, TaskSupport, Tool,
    ToolPage, ToolQuestion, Value, Whom,
    table::{self, one_of},
};

/// The answer of a model may be this long when its question does not say.
const MAX_TOKENS: u32 = 1000;

impl Lowering<'_> {
    /// Reads a JSON Schema, which refers to nothing outside of it.
    pub(crate) fn json_schema(&self, entry: &MappingEntry) -> Option<JsonSchema> {
        let schema = JsonSchema::from(plain_value(&entry.value).to_json());
        if self.misspelt_rules(entry, &schema) {
            return None;
        }
        match schema.compiled() {
            Ok(_) => {}
            Err(problem) => {
                let span = node_at(&entry.value, &problem.pointer).span;
                self.invalid_schema(entry, span, &problem.message);
                return None;
            }
        }
        Some(schema)
    }

    /// Reports words of a schema that are a slip away from one of its rules: every other stranger is a remark to it.
    fn misspelt_rules(&self, entry: &MappingEntry, schema: &JsonSchema) -> bool {
        let mut found = false;
        for (pointer, word) in unknown_words(schema.json()) {
            // Of the shortest, half of all words are a slip away.
            let meant = RULES.into_iter().find(|rule| rule.len() > 3 && is_slip(&word, rule));
            let Some(meant) = meant.filter(|_| !word.starts_with("x-")) else { continue };
            found = true;
            let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
            let node = node_at(&entry.value, parent);
            let key = node.as_mapping().and_then(|entries| entries.iter().find(|entry| entry.key == word));
            let span = key.map_or(node.span, |key| key.key_span);
            self.sink.report(
                Diagnostic::error(Code::UnknownKey, span, format!("a schema has no rule `{word}`"))
                    .help(format!("did you mean `{meant}`?"))
                    .fix(format!("write `{meant}`"), self.sink.rewrite(span, meant)),
            );
        }
        found
    }

    fn invalid_schema(&self, entry: &MappingEntry, span: Span, why: &str) {
        let message = format!("`{}` is not a schema that can be used", self.written_key(entry));
        self.sink.report(Diagnostic::error(Code::InvalidSchema, span, message).label(why));
    }

    /// A key as its author wrote it, which in other formats is not ours.
    fn written_key(&self, entry: &MappingEntry) -> &str {
        self.sink.text(entry.key_span).trim_matches(['"', '\''])
    }

    /// Reads `schema`, which takes the place of a parameter's type and rules.
    pub(crate) fn parameter_schema(&self, view: &View<'_>) -> Option<JsonSchema> {
        let entry = view.entry("schema")?;
        let rules = table::RULES.iter().map(|key| key.name);
        for other in ["type", "validation"].into_iter().chain(rules).filter_map(|key| view.entry(key)) {
            self.two_schemas(other, entry);
        }
        let schema = self.json_schema(entry)?;
        if !schema.stands_alone() {
            let why = "`$ref` would lead elsewhere in the tool's schema, where this becomes a part";
            self.invalid_schema(entry, entry.value.span, why);
            return None;
        }
        Some(schema)
    }

    pub(crate) fn two_schemas(&self, one: &MappingEntry, other: &MappingEntry) {
        self.sink.report(
            Diagnostic::error(
                Code::TwoSchemas,
                one.key_span,
                format!("`{}` and `{}` define the same thing twice", self.written_key(one), self.written_key(other)),
            )
            .also(other.key_span, "here as well")
            .help("keep one of them"),
        );
    }

    /// Reads `input-schema`, with the parameters that it describes.
    pub(crate) fn input_schema(&self, view: &View<'_>) -> Option<(JsonSchema, Vec<Parameter>)> {
        let entry = view.entry("input-schema").filter(|entry| entry.value.as_mapping().is_some())?;
        if let Some(parameters) = view.entry("parameters") {
            self.two_schemas(parameters, entry);
            return None;
        }
        let schema = self.json_schema(entry)?;
        if schema.json().get("type") != Some(&Json::from("object")) {
            let span = entry.value.get("type").map_or(entry.key_span, |node| node.span);
            self.invalid_schema(entry, span, "arguments have names, so its `type` must be `object`");
            return None;
        }
        let parameters = Parameter::of_schema(schema.json());
        self.check_schema_defaults(&schema, entry, &parameters);
        Some((schema, parameters))
    }

    /// The entries of the parameters that `input-schema` describes.
    pub(crate) fn described<'a>(&self, view: &View<'a>) -> &'a [MappingEntry] {
        let properties = view.node("input-schema").and_then(|schema| schema.get("properties"));
        properties.and_then(Node::as_mapping).unwrap_or_default()
    }

    /// Holds the defaults in a schema against it.
    fn check_schema_defaults(&self, schema: &JsonSchema, entry: &MappingEntry, parameters: &[Parameter]) {
        let default_of = |parameter: &Parameter| parameter.default.as_ref().and_then(super::static_value);
        let defaults: serde_json::Map<String, Json> = parameters
            .iter()
            .filter_map(|parameter| Some((parameter.name.clone(), default_of(parameter)?.to_json())))
            .collect();
        for violation in schema.violations(&Json::Object(defaults)).into_iter().flatten() {
            let Some(name) = violation.instance_pointer.split('/').nth(1).map(cycod_schema::unescaped_token) else {
                continue;
            };
            let default =
                entry.value.get("properties").and_then(|node| node.get(&name)).and_then(|node| node.get("default"));
            if let Some(default) = default {
                let message = format!("the default of `{name}`: {}", violation.message);
                self.sink.error(Code::InvalidDefault, default.span, message);
            }
        }
    }

    /// Reads `returns`, and says what hosts are shown instead, if so.
    pub(crate) fn returns(&self, view: &View<'_>) -> Option<JsonSchema> {
        let entry = view.entry("returns")?;
        let schema = self.json_schema(entry)?;
        if !schema.json().is_object() {
            return Some(schema);
        }
        let shown = published_output(schema.json(), Era::Handshake);
        let hint = |span, message: &str| Diagnostic::hint(Code::ReturnsForHosts, span, message);
        if let Some(problem) = shown.loss {
            let span = node_at(&entry.value, &problem.pointer).span;
            self.sink.report(
                hint(span, "hosts aren't shown this schema")
                    .label(problem.why)
                    .note("cycod still checks the output against it"),
            );
        } else if shown.is_wrapped {
            let span = entry.value.get("type").map_or(entry.key_span, |node| node.span);
            self.sink.report(
                hint(span, "hosts of the protocol up to 2025-11-25 get the output as `{\"result\": …}`")
                    .label("structured output is always an object there")
                    .help("to choose the name, return an object with a property for it"),
            );
        }
        Some(schema)
    }

    pub(crate) fn produces(&self, view: &View<'_>) -> Produces {
        const NAMED: [(&str, Produces); 3] = [
            ("text/plain", Produces::Text),
            ("application/json", Produces::Json),
            ("content-blocks", Produces::Blocks),
        ];
        let text = view.text("produces");
        let produces = text.and_then(|text| {
            let written = text.scalar.text.trim();
            let named = NAMED.into_iter().find(|(name, _)| *name == written).map(|(_, produces)| produces);
            let produces = named.or_else(|| is_media_type(written).then(|| Produces::Media(written.to_owned())));
            if produces.is_none() {
                let names = NAMED.map(|(name, _)| name);
                let diagnostic =
                    Diagnostic::error(Code::UnknownChoice, text.span, format!("`produces` cannot be `{written}`"))
                        .note(format!("it is {}, or a media type such as `image/png`", one_of(&names)));
                let near = names.into_iter().find(|name| name.ends_with(&format!("/{written}")));
                self.sink.report(match near {
                    Some(near) => diagnostic.fix(format!("write `{near}`"), self.sink.rewrite(text.span, near)),
                    None => diagnostic,
                });
            }
            produces
        });
        match (view.entry("returns"), produces) {
            (Some(_), None) => Produces::Json,
            (Some(returns), Some(produces)) if produces != Produces::Json => {
                let span = text.map_or(returns.key_span, |text| text.span);
                self.sink.report(
                    Diagnostic::error(Code::ReturnsNoJson, span, "`returns` describes JSON, and this is another thing")
                        .also(returns.key_span, "described here")
                        .help("remove `produces`, or remove `returns`"),
                );
                produces
            }
            (_, produces) => produces.unwrap_or_default(),
        }
    }

    /// Reads `rank`, and holds its names against `returns`.
    pub(crate) fn rank(&self, view: &View<'_>) -> Vec<Vec<String>> {
        let Some(entry) = view.entry("rank") else { return Vec::new() };
        let produces = view.text("produces").map(|text| text.scalar.text.trim());
        if view.entry("returns").is_none() && produces != Some("application/json") {
            let message = "`rank` has no effect on a tool whose output isn't JSON";
            self.sink.report(
                Diagnostic::warning(Code::UnusedKey, entry.key_span, message)
                    .help("describe the output with `returns`, or remove `rank`"),
            );
        }
        let returns = view.node("returns").map(|node| plain_value(node).to_json());
        let mut rank: Vec<Vec<String>> = Vec::new();
        for text in view.texts("rank") {
            let written = text.scalar.text.trim();
            let names: Vec<String> = written.split('.').map(str::to_owned).collect();
            if names.iter().any(String::is_empty) {
                let message = format!("`{written}` is no name of a property");
                self.sink.report(
                    Diagnostic::error(Code::UnknownChoice, text.span, message)
                        .help("write a name such as `errors`, or several such as `results.title`"),
                );
            } else if let Some((name, near)) = returns.as_ref().and_then(|returns| unknown_property(returns, &names)) {
                let message = format!("`returns` describes no property `{name}`");
                let help = near.map(|near| format!("did you mean `{near}`?"));
                let help = help.unwrap_or_else(|| "add it to `returns`, or remove it from `rank`".to_owned());
                self.sink.report(Diagnostic::error(Code::UnknownChoice, text.span, message).help(help));
            } else if !rank.contains(&names) {
                rank.push(names);
            }
        }
        rank
    }

    /// Reads `page`, and holds it against what the tool takes, does and returns.
    pub(crate) fn page(&self, view: &View<'_>) -> Option<ToolPage> {
        let page = ToolPage::named(view.choice("page")?)?;
        let produces = view.text("produces").map(|text| text.scalar.text.trim());
        let returns = view.node("returns").map(|node| plain_value(node).to_json());
        let has_data = |fits: fn(&Json, usize) -> bool| match &returns {
            Some(returns) => fits(returns, 0),
            None => produces == Some("application/json"),
        };
        let is_tool =
            view.entry("offer").is_none() || view.text("offer").is_some_and(|text| text.scalar.text == "tool");
        let needs = match page {
            _ if !is_tool => Some("what is offered as a tool"),
            ToolPage::Table => (!has_data(has_rows)).then_some("a tool that returns a list of objects"),
            ToolPage::Chart => (!has_data(has_numbers)).then_some("a tool that returns numbers by their keys"),
            ToolPage::Graph => view.entry("steps").is_none().then_some("a tool with `steps`"),
            ToolPage::Form => self.parameters.is_empty().then_some("a tool with parameters"),
        };
        if let (Some(needs), Some(text)) = (needs, view.text("page")) {
            let message = format!("`page: {}` has no effect: it is for {needs}", page.name());
            self.sink.report(
                Diagnostic::warning(Code::UnusedKey, text.span, message).help("remove `page`, or choose another one"),
            );
            return None;
        }
        Some(page)
    }

    pub(crate) fn hints(&self, view: &View<'_>) -> Hints {
        let Some(hints) = view.object("hints") else { return Hints::default() };
        let found = Hints {
            read_only: hints.flag("read-only").or(hints.flag("read_only")),
            destructive: hints.flag("destructive"),
            idempotent: hints.flag("idempotent"),
            open_world: hints.flag("open-world").or(hints.flag("open_world")),
        };
        let writes = view.texts("tags").into_iter().find(|tag| tag.scalar.text.eq_ignore_ascii_case("write"));
        let other = match found.destructive {
            Some(true) => hints.entry("destructive").map(|entry| entry.key_span),
            _ => writes.map(|tag| tag.span),
        };
        if let (Some(true), Some(other), Some(entry)) =
            (found.read_only, other, hints.entry("read-only").or_else(|| hints.entry("read_only")))
        {
            self.sink.report(
                Diagnostic::warning(Code::ContradictingHints, entry.key_span, "what changes nothing cannot do this")
                    .also(other, "declares that it changes something")
                    .help("remove one of the two"),
            );
        }
        found
    }

    pub(crate) fn task(&self, view: &View<'_>) -> TaskSupport {
        match view.choice("task") {
            Some("offered") => TaskSupport::Offered,
            Some("required") => TaskSupport::Required,
            _ => TaskSupport::Never,
        }
    }

    /// Reads `offer`; the parameters must be known.
    pub(crate) fn offer(&self, view: &View<'_>) -> OfferedAs {
        let Some(resource) = view.object("offer") else {
            return match view.text("offer").map(|text| text.scalar.text.as_str()) {
                Some("prompt") => OfferedAs::Prompt,
                _ => OfferedAs::Tool,
            };
        };
        let invalid = |span: Span, why: String| {
            let diagnostic = Diagnostic::error(Code::InvalidUri, span, why);
            self.sink.report(diagnostic.help("write an address such as `notes://today` or `notes://{DAY}`"));
        };
        let Some(text) = resource.text("resource") else {
            if resource.entry("resource").is_none() {
                invalid(resource.span, "a resource needs its address".to_owned());
            }
            return OfferedAs::Tool;
        };
        let uri = text.to_owned();
        let names = match names_in(&uri) {
            Ok(names) => names,
            Err(why) => {
                invalid(text.span, format!("`{uri}` is not the address of a resource: {why}"));
                return OfferedAs::Tool;
            }
        };
        let given = || self.parameters.iter().filter(|parameter| !parameter.asked);
        for name in names.iter().filter(|name| given().all(|parameter| parameter.name != **name)) {
            let message = format!("the address refers to `{name}`, which is not a parameter");
            let diagnostic = Diagnostic::error(Code::UnknownParameter, text.span, message);
            let near = self.sink.did_you_mean(name, given().map(|parameter| parameter.name.as_str()));
            self.sink.report(match near {
                Some((_, help)) => diagnostic.help(help),
                None => diagnostic,
            });
        }
        let needed = given().filter(|parameter| parameter.is_needed());
        for parameter in needed.filter(|parameter| !names.contains(&parameter.name.as_str())) {
            let message = format!("no caller can give `{}` to a resource of this address", parameter.name);
            let diagnostic = Diagnostic::error(Code::ResourceNeedsValue, text.span, message);
            self.sink.report(
                diagnostic
                    .help(format!("write `{{{}}}` into the address, or give the parameter a default", parameter.name)),
            );
        }
        OfferedAs::Resource { uri }
    }

    /// The entries of the parameters that the forms of questions fill.
    pub(crate) fn form_fields<'a>(&self, view: &View<'a>) -> Vec<&'a MappingEntry> {
        let asks = view.map("asks").iter().filter_map(|entry| View::new(&entry.value, table::ask()));
        asks.flat_map(|ask| ask.map("fields")).collect()
    }

    /// The parameters that questions fill without a form.
    pub(crate) fn plain_answers(&self, view: &View<'_>) -> Vec<Parameter> {
        let answers = view.map("asks").iter().filter_map(|entry| {
            let ask = View::new(&entry.value, table::ask())?;
            let plain = Parameter { asked: true, required: true, ..Parameter::plain(entry.key.clone()) };
            if ask.entry("person").is_some() {
                let validation =
                    ParameterValidation { allowed: Some(vec![Value::Bool(true)]), ..ParameterValidation::default() };
                let consent = Parameter { kind: ParameterType::Boolean, validation, ..plain };
                return ask.map("fields").is_empty().then_some(consent);
            }
            if ask.flag("roots") != Some(true) {
                return Some(plain);
            }
            let items =
                Shape { kind: ParameterType::String, validation: ParameterValidation::default(), description: None };
            let validation = ParameterValidation { items: Some(Box::new(items)), ..ParameterValidation::default() };
            Some(Parameter { kind: ParameterType::Array, validation, ..plain })
        });
        answers.collect()
    }

    /// Reads the questions; the parameters must be known.
    pub(crate) fn asks(&self, view: &View<'_>) -> Vec<ToolQuestion> {
        let mut known: HashSet<&str> = view.map("parameters").iter().map(|entry| entry.key.as_str()).collect();
        known.extend(self.described(view).iter().map(|entry| entry.key.as_str()));
        view.map("asks").iter().filter_map(|entry| self.ask(entry, &mut known)).collect()
    }

    fn ask<'a>(&self, entry: &'a MappingEntry, known: &mut HashSet<&'a str>) -> Option<ToolQuestion> {
        let name = &entry.key;
        if !is_parameter_name(name) {
            let message = format!("`{name}` cannot name a question");
            self.sink.report(
                Diagnostic::error(Code::InvalidName, entry.key_span, message)
                    .note("questions are named like parameters: letters, digits, `_` and `-`, no digit first"),
            );
            return None;
        }
        let ask = View::new(&entry.value, table::ask());
        let written = |key: &str| {
            let ask = ask.as_ref()?;
            ask.entry(key).filter(|_| key != "roots" || ask.flag("roots") != Some(false))
        };
        let whom: Vec<&MappingEntry> = ["person", "model", "roots"].into_iter().filter_map(written).collect();
        let (ask, one) = match (ask, whom.as_slice()) {
            (Some(ask), [one]) => (ask, *one),
            (_, several) => {
                let message = match several {
                    [] => format!("question `{name}` is for no one"),
                    _ => format!("question `{name}` is for several at once"),
                };
                self.sink.report(
                    Diagnostic::error(Code::WhomToAsk, entry.key_span, message)
                        .help("give it exactly one of `person`, `model` and `roots`"),
                );
                return None;
            }
        };
        for (key, needs) in [("fields", "person"), ("max-tokens", "model")] {
            if let Some(unused) = ask.entry(key).filter(|_| one.key != needs) {
                let message = format!("`{key}` has no effect without `{needs}`");
                self.sink.warning(Code::UnusedKey, unused.key_span, message);
            }
        }
        let fields = ask.map("fields");
        let words = || ask.text(&one.key).map(|text| self.template(text, Scope::Call));
        let whom = match one.key.as_str() {
            "person" if fields.is_empty() => Whom::Consent { message: words()? },
            "person" => Whom::Person { message: words()? },
            "model" => {
                let most = ask.count("max-tokens").and_then(|most| u32::try_from(most).ok());
                Whom::Model { prompt: words()?, max_tokens: most.unwrap_or(MAX_TOKENS) }
            }
            _ => Whom::Roots,
        };
        let filled = match &whom {
            Whom::Person { .. } => fields.iter().map(|field| (field.key.as_str(), field.key_span)).collect(),
            _ => vec![(name.as_str(), entry.key_span)],
        };
        for (parameter, span) in &filled {
            if !known.insert(parameter) {
                let message = format!("`{parameter}` is the name of two things that hold a value");
                self.sink.report(
                    Diagnostic::error(Code::DuplicateParameter, *span, message).help("give the answer another name"),
                );
            }
        }
        if matches!(whom, Whom::Person { .. }) {
            fields.iter().for_each(|field| self.check_field(field));
        }
        Some(ToolQuestion {
            name: name.clone(),
            whom,
            fields: filled.into_iter().map(|(field, _)| field.to_owned()).collect(),
            within_task: ask.choice("within") == Some("task"),
        })
    }

    /// Reports a field that no form can have: forms are flat.
    fn check_field(&self, entry: &MappingEntry) {
        let Some(field) = self.parameters.iter().find(|parameter| parameter.name == entry.key) else { return };
        let choices = field.validation.items.as_ref().is_some_and(|items| items.validation.allowed.is_some());
        let why = match field.kind {
            ParameterType::Object => "forms have no objects in them",
            ParameterType::Any => "a form needs a type",
            ParameterType::Array if field.schema.is_none() && !choices => "a list in a form is a choice of several",
            _ => return,
        };
        let diagnostic =
            Diagnostic::error(Code::FormField, entry.key_span, format!("`{}` cannot be asked of the user", entry.key));
        let help = match field.kind {
            ParameterType::Array => "say in `validation.items.enum` what there is to choose from",
            _ => "make it a string, a number, an integer, a boolean, or an array of choices",
        };
        self.sink.report(diagnostic.label(why).help(help));
    }

    /// Reports questions that wait for each other's answers.
    pub(crate) fn check_ask_cycles(&self, tool: &Tool, view: &View<'_>) {
        let needs: Vec<BTreeSet<&str>> = tool.asks.iter().map(|ask| tool.answers_for(ask)).collect();
        let waits = |needs: &BTreeSet<&str>| {
            (0..tool.asks.len())
                .filter(|&other| tool.asks[other].fields.iter().any(|field| needs.contains(field.as_str())))
                .collect()
        };
        let edges: Vec<Vec<usize>> = needs.iter().map(waits).collect();
        for cycle in crate::check::graph::cycles(&edges) {
            let names: Vec<String> =
                cycle.iter().chain(cycle.first()).map(|&index| format!("`{}`", tool.asks[index].name)).collect();
            let entry = view.map("asks").iter().find(|entry| entry.key == tool.asks[cycle[0]].name);
            self.sink.report(
                Diagnostic::error(
                    Code::AskCycle,
                    entry.map_or(view.span, |entry| entry.key_span),
                    format!("questions wait for each other's answers: {}", names.join(" → ")),
                )
                .help("ask one of them without the other's answer"),
            );
        }
    }
}

/// The names in braces in an address, or why it is none.
/// How deep a schema is searched for what a page shows; a page looks into the answer and into its properties.
const DEEP: usize = 2;

/// The types that a schema allows; nothing when it does not say.
fn allows(schema: &Json, name: &str) -> Option<bool> {
    match &schema["type"] {
        Json::String(only) => Some(only == name),
        Json::Array(some) => Some(some.iter().any(|one| one == name)),
        _ => None,
    }
}

/// The schemas of an object's properties; nothing when it does not say.
fn properties(schema: &Json) -> Option<impl Iterator<Item = &Json>> {
    Some(schema["properties"].as_object()?.values())
}

/// Whether values of a schema can be a list of objects, or have one.
fn has_rows(schema: &Json, depth: usize) -> bool {
    let is_rows = allows(schema, "array").unwrap_or(depth == 0) && allows(&schema["items"], "object").unwrap_or(true);
    let has_rows = || {
        allows(schema, "object").unwrap_or(true)
            && properties(schema).is_none_or(|mut own| own.any(|one| has_rows(one, depth + 1)))
    };
    is_rows || depth == 0 && has_rows()
}

/// Whether values of a schema can be numbers by their keys, or have them.
fn has_numbers(schema: &Json, depth: usize) -> bool {
    let is_number =
        |schema: &Json| allows(schema, "number").is_none_or(|is| is) || allows(schema, "integer").is_none_or(|is| is);
    let has_own = |schema: &Json| {
        allows(schema, "object").unwrap_or(true) && properties(schema).is_none_or(|mut own| own.any(is_number))
    };
    let has_inner =
        || properties(schema).is_some_and(|mut own| own.any(|one| !is_number(one) && has_numbers(one, depth + 1)));
    has_own(schema) || allows(schema, "array") == Some(true) && has_own(&schema["items"]) || depth < DEEP && has_inner()
}

fn names_in(uri: &str) -> Result<Vec<&str>, &'static str> {
    let (scheme, rest) = uri.split_once(':').ok_or("it has no scheme, as in `notes:`")?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    if !is_scheme {
        return Err("its scheme holds more than letters, digits, `+`, `-` and `.`");
    }
    if rest.is_empty() || !uri.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("it is empty, or holds blanks or letters that must be written as `%` and two digits");
    }
    let mut names = Vec::new();
    for part in rest.split('{').skip(1) {
        let (name, literal) = part.split_once('}').ok_or("a brace is not closed")?;
        if !is_parameter_name(name) {
            return Err("only a parameter's name can be in braces");
        }
        if literal.contains('}') {
            return Err("a brace is not opened");
        }
        names.push(name);
    }
    if names.is_empty() && rest.contains('}') { Err("a brace is not opened") } else { Ok(names) }
}

fn is_media_type(text: &str) -> bool {
    let token = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    let essence = text.split_once(';').map_or(text, |(essence, _)| essence.trim_end());
    essence.split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype))
        && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

/// The node that a JSON Pointer leads to, or the innermost one around it that there is.
fn node_at<'n>(node: &'n Node, pointer: &str) -> &'n Node {
    pointer
        .split('/')
        .skip(1)
        .map(cycod_schema::unescaped_token)
        .try_fold(node, |node, part| {
            let inner = match &node.kind {
                NodeKind::Sequence(items) => part.parse().ok().and_then(|index: usize| items.get(index)),
                _ => node.get(&part),
            };
            inner.ok_or(node)
        })
        .unwrap_or_else(|innermost| innermost)
}

/// The first of the names that a schema does not describe, with the nearest that it does. A schema that leaves its properties open
/// describes every name.
fn unknown_property(returns: &Json, names: &[String]) -> Option<(String, Option<String>)> {
    let mut schema = returns;
    for name in names {
        // The names lead through the elements of lists.
        while let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            schema = items;
        }
        let properties = schema.get("properties")?.as_object()?;
        match properties.get(name) {
            Some(property) => schema = property,
            None if ["patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if"]
                .iter()
                .any(|key| schema.get(key).is_some()) =>
            {
                return None;
            }
            None => {
                let near = closest(name, properties.keys().map(String::as_str)).map(str::to_owned);
                return Some((name.clone(), near));
            }
        }
    }
    None
}
