use cycod_engine::{
    Engine, Pattern,
    catalog::ScopeFilter,
    diagnostic::{Code, closest},
};

/// What a pattern names that is not here, with what was probably meant: a tool, or a parameter of one.
pub fn doubts(pattern: &Pattern, engine: &Engine) -> Vec<(Code, String)> {
    let Some(name) = pattern.tool() else { return Vec::new() };
    if let Some(entry) = engine.catalog().find(name, ScopeFilter::Any) {
        let Ok(opened) = entry.load() else { return Vec::new() };
        let tool = engine.resulting(opened.tool);
        let parameters = || tool.parameters.iter().map(|parameter| parameter.name.as_str());
        let unknown = pattern.parameters().filter(|name| !parameters().any(|known| known.eq_ignore_ascii_case(name)));
        let doubt = |unknown: &str| {
            let near = closest(unknown, parameters()).map(|near| format!("; did you mean `{near}`?"));
            let why = format!("`{}` has no parameter `{unknown}`, so it is never about it", tool.name);
            (Code::UnknownParameter, why + &near.unwrap_or_default())
        };
        return unknown.map(doubt).collect();
    }
    let is_tag = |tag: &String| tag.eq_ignore_ascii_case(name);
    if pattern.may_be_tag() && engine.catalog().entries().iter().any(|entry| entry.summary.tags.iter().any(is_tag)) {
        return Vec::new();
    }
    let near = closest(name, ["read", "write", "run"]).map(str::to_owned).or_else(|| engine.catalog().suggest(name));
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let or_tagged = if pattern.may_be_tag() { " or tagged" } else { "" };
    vec![(Code::UnknownTool, format!("this is no level, and no tool is called{or_tagged} so{near}"))]
}
