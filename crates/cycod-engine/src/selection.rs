//! Which tools are meant, of all that are here: by a list, a server, a model.

use std::collections::HashSet;

use cycod_catalog::{Availability, Entry, Scope, Scopes, State};
use cycod_definition::{Level, Platform};
use cycod_diagnostic::{Code, Refusal, closest};
use cycod_policy::Standing;
use cycod_settings::config::{ClientProfile, ToolPattern};

use crate::{Engine, Registered, Registry, registry::turned_off};

/// Which tools are meant: those for which everything holds that is said here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// They have one of these names; nothing means every name.
    pub names: Option<Vec<String>>,
    /// They have a tag of each of these.
    pub tags: Vec<AnyOf>,
    /// They are of one of these groups; none means every group.
    pub groups: AnyOf,
    /// This is their category or subcategory.
    pub category: Option<String>,
    /// They work on this platform.
    pub platform: Option<Platform>,
    /// Each of these words is in their name, description or keywords.
    pub words: Vec<String>,
    /// They are at most so dangerous.
    pub level: Option<Level>,
    /// They can be called here and now.
    pub available: bool,
    /// The built-in tools are meant, too, and not only those that are named.
    pub built_in: bool,
    /// Their name fits one of these; nothing means every name.
    pub matching: Option<Vec<ToolPattern>>,
    /// Those of other MCP servers are of one of these; nothing means every server.
    pub servers: Option<Vec<String>>,
    /// All of these mean them as well.
    pub and: Vec<Selection>,
}

/// Texts of which one is enough; upper and lower case are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnyOf(pub Vec<String>);

impl AnyOf {
    /// Reads `a,b`: one of them.
    pub fn parse(text: &str) -> Self {
        Self(text.split(',').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect())
    }

    fn has(&self, text: &str) -> bool {
        self.0.iter().any(|one| is_same(one, text))
    }
}

impl Selection {
    /// The tools that a profile offers, of those that are offered anyway.
    pub fn of_profile(profile: &ClientProfile) -> Self {
        let any = |names: &Option<Vec<String>>| names.clone().map(AnyOf);
        // A list with nothing in it means nothing, unlike one that is not there.
        let has_none = [&profile.groups, &profile.tags].into_iter().flatten().any(Vec::is_empty);
        Self {
            names: has_none.then(Vec::new),
            tags: any(&profile.tags).into_iter().collect(),
            groups: any(&profile.groups).unwrap_or_default(),
            level: profile.level,
            built_in: true,
            matching: profile.tools.clone(),
            servers: profile.servers.clone(),
            ..Self::default()
        }
    }

    /// The tools that this means and that `other` means as well.
    #[must_use]
    pub fn narrowed(mut self, other: Self) -> Self {
        self.and.push(other);
        self
    }

    /// Whether a tool is meant.
    pub fn admits(&self, entry: &Entry) -> bool {
        let is_named = self.names.as_ref().map(|names| names.iter().any(|name| is_same(name, &entry.name)));
        is_named.unwrap_or(entry.scope != Scope::BuiltIn || self.built_in)
            && (self.groups.0.is_empty() || self.groups.has(group_of(entry)))
            && self.tags.iter().all(|wanted| tags_of(entry).into_iter().any(|tag| wanted.has(tag)))
            && self.category.as_ref().is_none_or(|wanted| is_in_category(entry, wanted))
            && self.platform.is_none_or(|platform| works_on(entry, platform))
            && (self.words.is_empty() || says(entry, &self.words))
            && self.level.is_none_or(|most| entry.level <= most)
            && (!self.available || entry.is_active() && entry.availability == Availability::Available)
            && self.matching.as_ref().is_none_or(|patterns| patterns.iter().any(|pattern| pattern.matches(&entry.name)))
            && self.servers.as_ref().is_none_or(|servers| is_of_server(entry, servers))
            && self.and.iter().all(|also| also.admits(entry))
    }

    /// Whether a tool may be meant that this program carries out itself.
    fn may_mean_built_in(&self, scopes: &Scopes) -> bool {
        let is_built_in = |name: &String| scopes.is_reserved(&name.to_ascii_lowercase());
        self.names.as_ref().map_or(self.built_in, |names| names.iter().any(is_built_in))
            && self.and.iter().all(|also| also.may_mean_built_in(scopes))
    }

    /// Whether something is meant that another MCP server offers besides tools: a prompt by its name, or a resource, which has
    /// none that could be chosen by. It is of level read, and in the group of its server.
    pub fn admits_of_server(&self, server: &str, name: Option<&str>) -> bool {
        let has_name = |names: &[String]| name.is_some_and(|name| names.iter().any(|one| is_same(one, name)));
        let fits = |patterns: &[ToolPattern]| name.is_some_and(|name| patterns.iter().any(|one| one.matches(name)));
        self.names.as_ref().is_none_or(|names| has_name(names))
            && (self.groups.0.is_empty() || self.groups.has(&format!("mcp/{server}")))
            && self.tags.iter().all(|wanted| wanted.has(Level::Read.name()))
            && self.category.is_none()
            && self.words.is_empty()
            && self.matching.as_ref().is_none_or(|patterns| fits(patterns))
            && self.servers.as_ref().is_none_or(|servers| servers.iter().any(|one| is_same(one, server)))
            && self.and.iter().all(|also| also.admits_of_server(server, name))
    }
}

/// A tool that a selection means.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The tool.
    pub entry: Entry,
    /// How far it is trusted; nothing for one that needs no trust.
    pub standing: Option<Standing>,
}

impl Engine {
    /// The tools that a selection means, whether they can be called or not. When what is trusted cannot be told, nothing is.
    ///
    /// The definitions of built-in tools are read only if the selection may mean one.
    pub fn selected(&self, selection: &Selection) -> Vec<Selected> {
        let catalog = self.catalog();
        let has_built_in = selection.may_mean_built_in(catalog.scopes());
        let mut entries = if has_built_in { catalog.every_entry() } else { catalog.entries() };
        entries.retain(|entry| selection.admits(entry));
        let standings = self.standings_or_untrusted(&entries);
        entries.into_iter().zip(standings).map(|(entry, standing)| Selected { entry, standing }).collect()
    }
}

/// The group that a tool is listed under; one that its author put into none is among the custom ones.
pub fn group_of(entry: &Entry) -> &str {
    match (&entry.summary.group, entry.scope) {
        (Some(group), _) => group,
        (None, Scope::Mcp) => "mcp",
        (None, _) => "custom",
    }
}

/// Every tag of a tool once, those with a security meaning first.
pub fn tags_of(entry: &Entry) -> Vec<&str> {
    let mut tags: Vec<&str> = Vec::new();
    for tag in entry.summary.tags.iter().chain(&entry.summary.metadata_tags) {
        if !tags.iter().any(|known| known.eq_ignore_ascii_case(tag)) {
            tags.push(tag);
        }
    }
    tags
}

fn is_in_category(entry: &Entry, wanted: &str) -> bool {
    let categories = entry.summary.category.iter().chain(&entry.summary.subcategory);
    categories.into_iter().any(|category| is_same(category, wanted))
}

/// Whether a tool is none of another server's, or of one of these.
fn is_of_server(entry: &Entry, servers: &[String]) -> bool {
    let owner = entry.origin.owner.as_deref().filter(|_| entry.scope == Scope::Mcp);
    entry.scope != Scope::Mcp || owner.is_some_and(|owner| servers.iter().any(|server| is_same(server, owner)))
}

fn works_on(entry: &Entry, platform: Platform) -> bool {
    let summary = &entry.summary;
    let is_broken = matches!(entry.state, State::Broken { .. });
    let is_meant = summary.platforms.is_empty() || summary.platforms.contains(&platform);
    !is_broken && is_meant && !summary.speechless.contains(&platform)
}

fn says(entry: &Entry, words: &[String]) -> bool {
    let texts = entry.summary.description.iter().chain(&entry.summary.keywords);
    let text = texts.fold(entry.name.to_lowercase(), |text, more| text + "\n" + &more.to_lowercase());
    words.iter().all(|word| text.contains(&word.to_lowercase()))
}

fn is_same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other) || !one.is_ascii() && one.to_lowercase() == other.to_lowercase()
}

impl Registry {
    /// The tools that are offered to models and that are meant, in the order in which they were named, else in that of the list.
    ///
    /// # Errors
    /// Everything that was named and is not offered to models, with the reason.
    pub fn choose(&self, engine: &Engine, selection: &Selection) -> Result<Vec<&Registered>, Vec<Refusal>> {
        let mut refused = Vec::new();
        let (mut chosen, mut seen) = (Vec::new(), HashSet::new());
        match &selection.names {
            None => chosen.extend(self.offered()),
            Some(names) => {
                for name in names {
                    match self.find(engine, name) {
                        Ok(tool) if !tool.is_offered() => refused.push(not_offered(tool)),
                        Ok(tool) => chosen.extend(seen.insert(tool.entry.name.to_ascii_lowercase()).then_some(tool)),
                        Err(error) => refused.push(error.into_refusal()),
                    }
                }
            }
        }
        let groups = selection.groups.0.iter();
        refused.extend(groups.filter_map(|group| {
            let has = |tool: &Registered| is_same(group_of(&tool.entry), group);
            (!self.offered().any(has)).then(|| self.no_group(group))
        }));
        chosen.retain(|tool| selection.admits(&tool.entry));
        if refused.is_empty() { Ok(chosen) } else { Err(refused) }
    }

    /// Why no tool is of a group.
    fn no_group(&self, group: &str) -> Refusal {
        let refusal = Refusal::new(Code::UnknownTool, format!("no tool here is of the group `{group}`")).place(group);
        match closest(group, self.offered().map(|tool| group_of(&tool.entry))) {
            Some(near) => refusal.attempt(format!("did you mean `{near}`?")),
            None => refusal.attempt("cycod tool groups"),
        }
    }
}

/// Why a tool that is there cannot be used by a model.
fn not_offered(tool: &Registered) -> Refusal {
    let name = &tool.entry.name;
    if let Some(cause) = tool.switch.causes.first() {
        return turned_off(name, cause);
    }
    if let Some(standing) = tool.standing.as_ref().filter(|standing| **standing != Standing::Trusted) {
        let code = if *standing == Standing::Untrusted { Code::UntrustedTool } else { Code::ToolChanged };
        return Refusal::new(code, format!("`{name}` is {}", standing.name()))
            .place(name)
            .attempt(format!("cycod trust {name}"));
    }
    let refusal = match &tool.entry.state {
        State::Broken { problem } => Refusal::new(Code::BrokenTool, format!("`{name}` is broken: {problem}")),
        State::Duplicate { .. } => Refusal::new(Code::BrokenTool, format!("`{name}` is there twice")),
        _ => match tool.entry.availability.if_on() {
            Availability::Unavailable(reasons) => {
                let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                Refusal::new(Code::BrokenTool, format!("`{name}` {}", reasons.join("; ")))
            }
            Availability::Available => Refusal::new(Code::BrokenTool, format!("`{name}` cannot be called")),
        },
    };
    refusal.place(name).attempt(format!("cycod validate {name}"))
}
