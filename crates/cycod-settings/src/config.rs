//! What the user configured about tools: which are on, how long they may take, what their tokens cost.
//!
//! Each scope has a `config.yaml` beside its tools; the `.mimir/config.yml` of a project and of a home is read as well. The
//! files of one scope make one *layer*, in which the first that says something is heard and ours comes first. Across layers
//! nothing is overruled: what one of them turns off is off, and the shortest time holds. So a project that came from
//! elsewhere can turn tools off, and can never turn one on.

mod edit;
mod models;
mod name;
mod profile;
mod read;
mod read_profile;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use cycod_catalog::{DirectoryStyle, Scope, Scopes, Switches, ToolSource};
use cycod_definition::Host;
use cycod_diagnostic::{Severity, SourceFile, SourceReport, most_important};
use cycod_file::Look;
use cycod_policy::Flaw;

use crate::{FileError, file, looked::Looked};

pub use edit::{path, turn};
pub use models::{KnownModel, ModelProvider, ModelSettings};
pub use name::ToolPattern;
pub use profile::{ClientProfile, ClientProfiles, HoldingProfiles, ProfileChoice, TokenSubject};

/// What our own file is called.
const NAME: &str = "config.yaml";

/// What one would take for it, and is not.
const MISTAKEN: [&str; 2] = ["config.yml", "config.json"];

/// What Mimir's file is called.
const MIMIR: &str = "config.yml";

/// What 1000 tokens cost when nobody says otherwise, in dollars.
pub const USUAL_PRICE: f64 = 0.001;

/// The layers, the broadest first.
const LAYERS: [Scope; 4] = [Scope::Team, Scope::Global, Scope::User, Scope::Local];

/// A value with the place where it is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said<T> {
    /// The value.
    pub value: T,
    /// Whose file it is.
    pub scope: Scope,
    /// Where, as in `~/.cycod/config.yaml:3:5`.
    pub place: String,
}

/// Everything that is configured for this place.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The files that are there, from the broadest layer to the narrowest.
    pub files: Vec<SettingsFile>,
    layers: [Layer; 4],
    flaws: Vec<Flaw>,
    /// Everything that was looked at, as it was then.
    looked: Looked,
    /// The release of the team, if it has expired, and when it will, if it has not.
    expired: Option<Said<()>>,
    until: Option<SystemTime>,
}

/// A file of settings.
#[derive(Clone, Debug)]
pub struct SettingsFile {
    /// Whose it is.
    pub scope: Scope,
    /// Where it is.
    pub path: PathBuf,
    /// Whether it is ours, and may be changed.
    pub is_ours: bool,
    /// What is wrong with it.
    pub report: SourceReport,
}

/// The files of one scope, the one that is heard first at the front.
#[derive(Clone, Debug, Default)]
struct Layer(Vec<Options>);

/// What one file says.
#[derive(Clone, Debug, Default)]
struct Options {
    /// By name, in lower case.
    named: HashMap<String, Said<bool>>,
    /// Those with stars, the most specific first.
    patterns: Vec<(ToolPattern, Said<bool>)>,
    /// The names under `tools`, as they are written.
    mentioned: Vec<Said<ToolPattern>>,
    shows_costs: Option<Said<bool>>,
    loads_custom: Option<Said<bool>>,
    longest: Option<Said<Duration>>,
    /// The most bytes that are kept of one output, and of all.
    largest_output: Option<Said<u64>>,
    all_outputs: Option<Said<u64>>,
    forbids_local: Option<Said<bool>>,
    syncs_team: Option<Said<bool>>,
    /// In lower case.
    enforced: Vec<Said<String>>,
    price: Option<Said<f64>>,
    model: Option<Said<String>>,
    models: ModelSettings,
    skill_directories: Vec<Said<String>>,
    profiles: Vec<Said<ClientProfile>>,
    /// By the keys of `runtime`.
    runtimes: Vec<(&'static str, Said<String>)>,
}

/// Why a tool is off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What was decided.
    pub what: SwitchedOffBy,
    /// Where; nothing when the tool's own file says it.
    pub by: Option<Said<()>>,
}

/// What turns a tool off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchedOffBy {
    /// `tools.NAME.enabled: false`.
    Disabled,
    /// `tools.autoLoadCustomTools: false`, and nobody named the tool.
    NotLoaded,
    /// `enforcement.disableLocalTools: true`.
    LocalForbidden,
    /// `enabled: false` in its own file, and nobody turned it on.
    OwnFile,
    /// The release of the team has expired.
    Expired,
}

/// Whether a tool is on, with everything that speaks against it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switch {
    /// Why it is off; nothing when it is on.
    pub causes: Vec<Cause>,
    /// Whether nobody but who looks after the machine may turn it off.
    pub is_enforced: bool,
}

impl Switch {
    /// Whether the tool may be offered and run.
    pub fn is_on(&self) -> bool {
        self.causes.is_empty()
    }
}

impl Cause {
    /// Where it was decided, for a sentence.
    pub fn place(&self) -> &str {
        self.by.as_ref().map_or("its own file", |by| &by.place)
    }

    /// What was decided, for a sentence.
    pub fn said(&self, name: &str) -> String {
        match self.what {
            SwitchedOffBy::Disabled => format!("`tools.{name}.enabled` is false"),
            SwitchedOffBy::NotLoaded => {
                "`tools.autoLoadCustomTools` is false, and nothing turns this tool on".to_owned()
            }
            SwitchedOffBy::LocalForbidden => "`enforcement.disableLocalTools` is true".to_owned(),
            SwitchedOffBy::OwnFile => "`enabled` is false".to_owned(),
            SwitchedOffBy::Expired => "the release has expired".to_owned(),
        }
    }
}

impl Settings {
    /// Reads the settings of every scope.
    pub fn load(scopes: &Scopes, host: &Host) -> Self {
        Self::load_in(scopes, host, &Look::default())
    }

    /// The same, as part of a look at more.
    pub fn load_in(scopes: &Scopes, host: &Host, look: &Look) -> Self {
        let mut settings = Self::default();
        let of_scope = |wanted: Scope| {
            let directories = scopes.with_rules().filter(move |directory| directory.scope == wanted);
            let beside = directories.filter_map(|directory| Some((directory.style, directory.path.parent()?)));
            let mut files: Vec<(bool, PathBuf)> = beside
                .filter_map(|(style, beside)| match style {
                    DirectoryStyle::Cycod => Some((true, beside.join(NAME))),
                    DirectoryStyle::Mimir => Some((false, beside.join(MIMIR))),
                    _ => None,
                })
                .collect();
            // Ours are heard first. The sort is stable, so that the order of directories stays.
            files.sort_by_key(|(is_ours, _)| !is_ours);
            files
        };
        // One that can't be read is a flaw of the rules, and nothing runs.
        let release = scopes.team().and_then(|team| {
            settings.looked.see(&team.about(), look);
            team.release().ok()
        });
        match &release {
            Some(release) if release.is_over(SystemTime::now()) => {
                settings.expired = Some(Said { value: (), scope: Scope::Team, place: release.name() });
            }
            Some(release) => settings.until = Some(release.end()),
            None => {}
        }
        for (index, scope) in LAYERS.into_iter().enumerate() {
            for (is_ours, path) in of_scope(scope) {
                if is_ours {
                    settings.refuse_mistaken(&path, host, look);
                }
                let name = match release.as_ref().filter(|_| scopes.team_of(&path).is_some()) {
                    Some(release) => format!("{}, {NAME}", release.name()),
                    None => file::shown(&path, host),
                };
                match settings.looked.read(&path, look) {
                    Ok(Some(text)) => {
                        let (file, options) = SettingsFile::of(scope, path, is_ours, SourceFile::new(name, text));
                        settings.flaws.extend(file.flaw());
                        settings.files.push(file);
                        settings.layers[index].0.push(options);
                    }
                    Ok(None) => {}
                    Err(FileError::Wrong { at, message, .. }) => {
                        settings.flaws.push(Flaw { place: format!("{name}:{}:{}", at.line, at.column), message });
                    }
                    Err(error) => settings.flaws.push(Flaw { place: name, message: error.to_string() }),
                }
            }
        }
        settings
    }

    /// Whether nothing that was read has changed since.
    pub fn are_current(&self) -> bool {
        self.are_current_in(&Look::default())
    }

    /// The same, as far as a look at more tells.
    pub fn are_current_in(&self, look: &Look) -> bool {
        self.until.is_none_or(|until| SystemTime::now() < until) && self.looked.is_current(look)
    }

    /// The files that were looked for, whether they are there or not.
    pub fn places(&self) -> impl Iterator<Item = &Path> {
        self.looked.places()
    }

    /// Why they cannot be known: while there is one, no tool runs, because what cannot be read may turn it off.
    pub fn flaws(&self) -> &[Flaw] {
        &self.flaws
    }

    /// Whether a tool is on; `own` is what its own file says.
    pub fn switch(&self, name: &str, scope: Scope, own: bool) -> Switch {
        let is_enforced = self.is_enforced(name, scope);
        let is_custom = scope.source() == ToolSource::Custom;
        let mut causes = Vec::new();
        if let Some(expired) = self.expired.as_ref().filter(|_| scope == Scope::Team) {
            causes.push(Cause { what: SwitchedOffBy::Expired, by: Some(expired.here()) });
        }
        let mut is_named = false;
        for (layer, at) in self.layers.iter().zip(LAYERS) {
            let said = layer.enabled(name);
            // A layer names a tool for itself and for those within it.
            is_named |= said.is_some_and(|said| said.value);
            if is_enforced && !at.binds() {
                continue;
            }
            let mut add = |what, by: &Said<_>| causes.push(Cause { what, by: Some(by.here()) });
            if let Some(said) = said.filter(|said| !said.value) {
                add(SwitchedOffBy::Disabled, said);
            }
            if !is_custom {
                continue;
            }
            if let Some(said) = layer.first(|options| options.forbids_local.as_ref()).filter(|said| said.value) {
                add(SwitchedOffBy::LocalForbidden, said);
            }
            if let Some(said) = layer.first(|options| options.loads_custom.as_ref()).filter(|said| !said.value)
                && !is_named
            {
                add(SwitchedOffBy::NotLoaded, said);
            }
        }
        if !own && !is_enforced && !self.is_turned_on_by_user(name) {
            causes.push(Cause { what: SwitchedOffBy::OwnFile, by: None });
        }
        Switch { causes, is_enforced }
    }

    /// Whether nobody but who looks after the machine may turn a tool off.
    pub fn is_enforced(&self, name: &str, scope: Scope) -> bool {
        scope.source() == ToolSource::Teams || self.is_enforced_by_name(name)
    }

    fn is_enforced_by_name(&self, name: &str) -> bool {
        let binding = self.layers.iter().zip(LAYERS).filter(|(_, at)| at.binds()).flat_map(|(layer, _)| &layer.0);
        binding.flat_map(|options| &options.enforced).any(|said| said.value.eq_ignore_ascii_case(name))
    }

    /// Whether somebody other than the project says that a tool is on.
    fn is_turned_on_by_user(&self, name: &str) -> bool {
        let layers = self.layers.iter().zip(LAYERS).filter(|(_, at)| *at != Scope::Local);
        layers.filter_map(|(layer, _)| layer.enabled(name)).any(|said| said.value)
    }

    /// The longest that a run may take, and who says so: the shortest of all that is said.
    pub fn longest(&self) -> Option<&Said<Duration>> {
        let said = self.layers.iter().filter_map(|layer| layer.first(|options| options.longest.as_ref()));
        said.min_by_key(|said| said.value)
    }

    /// The most bytes that are kept of one output: the least of all that is said.
    pub fn largest_output(&self) -> Option<u64> {
        let said = self.layers.iter().filter_map(|layer| layer.first(|options| options.largest_output.as_ref()));
        said.map(|said| said.value).min()
    }

    /// The most bytes that are kept of all outputs together: the least of all that is said.
    pub fn all_outputs(&self) -> Option<u64> {
        let said = self.layers.iter().filter_map(|layer| layer.first(|options| options.all_outputs.as_ref()));
        said.map(|said| said.value).min()
    }

    /// Whether commands fetch the newest release of the team by themselves: not when any layer says no.
    pub fn syncs_team(&self) -> bool {
        let mut said = self.layers.iter().filter_map(|layer| layer.first(|options| options.syncs_team.as_ref()));
        said.all(|said| said.value)
    }

    /// Whether a list of tools says what they cost.
    pub fn shows_costs(&self) -> bool {
        self.narrowest(|options| options.shows_costs.as_ref()).is_none_or(|said| said.value)
    }

    /// What 1000 tokens cost in dollars, when somebody says so.
    pub fn price(&self) -> Option<&Said<f64>> {
        self.narrowest(|options| options.price.as_ref())
    }

    /// Whose price it is.
    pub fn model(&self) -> Option<&Said<String>> {
        self.narrowest(|options| options.model.as_ref())
    }

    /// Where skills are looked for beside the usual places, what the project says first.
    pub fn skill_directories(&self) -> impl Iterator<Item = &Said<String>> {
        self.layers.iter().rev().flat_map(|layer| &layer.0).flat_map(|options| &options.skill_directories)
    }

    /// The interpreters that are named, by the keys of `runtime`: those of the project, or those of the user and the machine, the
    /// user's last.
    pub fn runtimes(&self, is_project: bool) -> impl Iterator<Item = (&'static str, &str)> {
        let layers = self.layers.iter().zip(LAYERS).filter(move |(_, at)| (*at == Scope::Local) == is_project);
        let options = layers.flat_map(|(layer, _)| layer.0.iter().rev());
        options.flat_map(|options| &options.runtimes).map(|(key, said)| (*key, said.value.as_str()))
    }

    /// What is configured about language models.
    ///
    /// A project may say which model is meant when nobody names one, of the providers that the user knows, and nothing else:
    /// an address of its own would get the user's keys and everything that is said.
    pub fn models(&self) -> ModelSettings {
        let said = self.layers.iter().rev().flat_map(|layer| &layer.0).map(|options| &options.models);
        said.cloned().reduce(ModelSettings::over).unwrap_or_default()
    }

    /// The tools that are named, to compare with those that there are.
    pub fn mentioned(&self) -> impl Iterator<Item = &Said<ToolPattern>> {
        self.layers.iter().flat_map(|layer| &layer.0).flat_map(|options| &options.mentioned)
    }

    /// What a narrower layer says, which is heard where nothing can be weakened.
    fn narrowest<'a, T>(&'a self, of: impl Fn(&'a Options) -> Option<&'a Said<T>>) -> Option<&'a Said<T>> {
        self.layers.iter().rev().find_map(|layer| layer.first(&of))
    }

    /// Says that a file is not read, if it is there.
    fn refuse_mistaken(&mut self, path: &Path, host: &Host, look: &Look) {
        for name in MISTAKEN {
            let path = path.with_file_name(name);
            if self.looked.see(&path, look) {
                let message = format!("this file is not read: call it {NAME}");
                self.flaws.push(Flaw { place: file::shown(&path, host), message });
            }
        }
    }
}

impl Switches for Settings {
    fn turned_off(&self, name: &str, scope: Scope, own: bool) -> Option<String> {
        let switch = self.switch(name, scope, own);
        switch.causes.first().map(|cause| cause.place().to_owned())
    }
}

impl Layer {
    /// What the layer says about a tool.
    fn enabled(&self, name: &str) -> Option<&Said<bool>> {
        let key = name.to_ascii_lowercase();
        self.first(|options| {
            options.named.get(&key).or_else(|| {
                let matching = options.patterns.iter().find(|(pattern, _)| pattern.matches(&key));
                matching.map(|(_, said)| said)
            })
        })
    }

    fn first<'a, T>(&'a self, of: impl Fn(&'a Options) -> Option<&'a Said<T>>) -> Option<&'a Said<T>> {
        self.0.iter().find_map(of)
    }
}

impl<T> Said<T> {
    fn here(&self) -> Said<()> {
        Said { value: (), scope: self.scope, place: self.place.clone() }
    }
}

impl SettingsFile {
    fn of(scope: Scope, path: PathBuf, is_ours: bool, source: SourceFile) -> (Self, Options) {
        let (options, diagnostics) = read::options(&source, scope, is_ours);
        (
            Self { scope, path, is_ours, report: SourceReport { source, diagnostics: most_important(diagnostics) } },
            options,
        )
    }

    /// The first mistake in it.
    fn flaw(&self) -> Option<Flaw> {
        let mistake = self.report.diagnostics.iter().find(|found| found.severity == Severity::Error)?;
        let at = self.report.source.position(mistake.span().unwrap_or_default().start);
        let place = format!("{}:{}:{}", self.report.source.name, at.line, at.column);
        Some(Flaw { place, message: mistake.message.clone() })
    }
}
