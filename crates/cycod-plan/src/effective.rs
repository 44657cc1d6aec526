//! The tools that a plan reaches: which they are, what an alias stands for, where they run, and how dangerous all of them are.

use std::{collections::BTreeMap, sync::Arc};

use cycod_definition::{Body, Level, Parameter, RunSite, Tool, judge, level};
use cycod_diagnostic::{Code, Refusal};

use crate::misuse::of_alias;

/// How deeply tools may use tools, and aliases stand for aliases.
const MAX_DEPTH: usize = 16;

/// The tools that a plan reaches by `use-tool` and `base-tool`, collected when it is made.
///
/// A plan carries its library, so that what runs later is what was planned, whatever happens to the files.
#[derive(Clone, Debug, Default)]
pub struct Library {
    tools: BTreeMap<String, Arc<Tool>>,
    /// Why some of them, or the tool that reaches them, cannot run on this machine.
    lacking: BTreeMap<String, Refusal>,
}

impl Library {
    /// Collects every tool that `root` reaches.
    ///
    /// # Errors
    /// A refusal when a tool is missing, reaches itself, or the chain is deeper than 16.
    pub fn collect(root: &Tool, find: &dyn Fn(&str) -> Option<Arc<Tool>>) -> Result<Self, Refusal> {
        let mut library = Self::default();
        library.visit(root, find, &mut vec![root.name.key()])?;
        Ok(library)
    }

    fn visit(
        &mut self,
        tool: &Tool,
        find: &dyn Fn(&str) -> Option<Arc<Tool>>,
        path: &mut Vec<String>,
    ) -> Result<(), Refusal> {
        for name in tool.uses() {
            let key = name.to_ascii_lowercase();
            if path.contains(&key) {
                let chain = path.iter().chain([&key]).map(|step| format!("`{step}`")).collect::<Vec<_>>().join(" → ");
                return Err(Refusal::new(Code::ToolCycle, format!("a tool may not use itself: {chain}"))
                    .place(&*tool.name.to_string()));
            }
            if path.len() >= MAX_DEPTH {
                return Err(
                    Refusal::new(Code::ToolCycle, format!("tools use tools more than {MAX_DEPTH} deep")).place(name)
                );
            }
            let used = match self.tools.get(&key) {
                Some(used) => Arc::clone(used),
                None => find(name).ok_or_else(|| {
                    Refusal::new(Code::UnknownTool, format!("`{}` uses `{name}`, and no tool has this name", tool.name))
                        .place(name)
                        .attempt("cycod list")
                })?,
            };
            self.tools.insert(key.clone(), Arc::clone(&used));
            path.push(key);
            self.visit(&used, find, path)?;
            path.pop();
        }
        Ok(())
    }

    /// Says why a tool cannot run on this machine, as far as the collector of the library has looked.
    pub fn lacks(&mut self, tool: &Tool, why: Refusal) {
        self.lacking.insert(tool.name.key(), why);
    }

    /// Why a tool, or one that it stands for, cannot run on this machine.
    pub(crate) fn lacking(&self, tool: &Tool) -> Option<&Refusal> {
        self.lacking.get(&tool.name.key()).or_else(|| match &tool.body {
            Body::Alias { base, .. } => self.lacking(self.get(base)?),
            _ => None,
        })
    }

    /// The tools that an alias stands for, one behind the other.
    pub(crate) fn bases<'l>(&'l self, tool: &'l Tool) -> impl Iterator<Item = &'l Tool> {
        std::iter::successors(Some(tool), |tool| match &tool.body {
            Body::Alias { base, .. } => self.get(base).map(|base| &**base),
            _ => None,
        })
        .skip(1)
    }

    /// The tool called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(&name.to_ascii_lowercase())
    }

    /// Every tool in it.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.values()
    }

    /// Where `tool` runs when its caller leaves that to it. A run is on one side as a whole.
    ///
    /// # Errors
    /// As for [`Library::effective`], and when it uses a tool that runs on the fleet and is itself to run here.
    pub fn site(&self, tool: &Arc<Tool>) -> Result<RunSite, Refusal> {
        let site = self.effective(tool)?.on;
        let other = self.tools().find(|used| site == RunSite::Here && used.on == RunSite::Fleet);
        match other {
            None => Ok(site),
            Some(used) => {
                let why = format!("`{}` runs on the fleet, and `{}`, which uses it, does not", used.name, tool.name);
                Err(Refusal::new(Code::NotForFleet, why)
                    .place(tool.name.as_str())
                    .attempt(format!("write `on: fleet` in `{}`, too, or run all of it here: `--on here`", tool.name)))
            }
        }
    }

    /// Follows aliases from `tool` to the definition that runs.
    ///
    /// # Errors
    /// A refusal when one of them is missing, or sets what its base does not take.
    pub fn effective(&self, tool: &Arc<Tool>) -> Result<Arc<Tool>, Refusal> {
        let Body::Alias { base, .. } = &tool.body else { return Ok(Arc::clone(tool)) };
        let base = self.get(base).ok_or_else(|| {
            Refusal::new(Code::UnknownTool, format!("`{}` is an alias of `{base}`, which is not a tool", tool.name))
        })?;
        let base = self.effective(base)?;
        if let Some(misuse) = of_alias(tool, &base).into_iter().next() {
            return Err(misuse.refusal(tool));
        }
        Ok(Arc::new(standing_for(tool, Tool::clone(&base))))
    }
}

/// Returns the tool that an alias stands for: what its base does, under the alias's name, with the alias's
/// defaults, which nobody has to give any more, and with the parameters it adds. Those of the base stay as they are: what
/// restricts their values is not the alias's to take away.
pub fn standing_for(alias: &Tool, mut base: Tool) -> Tool {
    let Body::Alias { defaults, .. } = &alias.body else { return base };
    let added: Vec<_> =
        alias.parameters.iter().filter(|added| base.parameter(&added.name).is_none()).cloned().collect();
    base.parameters.extend(added);
    for (name, default) in defaults {
        let given = |parameter: &&mut Parameter| parameter.name == *name && !parameter.asked;
        if let Some(parameter) = base.parameters.iter_mut().find(given) {
            parameter.default = Some(default.clone());
            parameter.required = false;
        }
    }
    base.name = alias.name.clone();
    base.origin = alias.origin.clone();
    base.description = alias.description.clone().or(base.description);
    base.title.clone_from(&alias.title);
    base.group = alias.group.clone().or(base.group);
    base.offer.clone_from(&alias.offer);
    base.tests.clone_from(&alias.tests);
    base.timeout = alias.timeout.or(base.timeout);
    base.uses_temp |= alias.uses_temp;
    // Other parameters may stand where the base's stood.
    judge(&mut base);
    base
}

/// The level of a tool together with everything it reaches: the highest of them.
pub fn effective_level(tool: &Tool, library: &Library) -> Level {
    level(tool, &|name| library.get(name).map(|used| effective_level(used, library)))
}
