use std::{collections::BTreeMap, sync::Arc};

use cycod_definition::{Body, Level, Parameter, Tool, level};
use cycod_diagnostic::{Refusal, closest};

/// How deeply tools may use tools, and aliases stand for aliases.
const MAX_DEPTH: usize = 16;

/// The tools that a plan reaches by `use-tool` and `base-tool`, collected when it is made.
///
/// A plan carries its library, so that what runs later is what was planned, whatever happens to the files.
#[derive(Clone, Debug, Default)]
pub struct Library(BTreeMap<String, Arc<Tool>>);

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
                return Err(Refusal::new("tool-cycle", format!("a tool may not use itself: {chain}"))
                    .place(&*tool.name.to_string()));
            }
            if path.len() >= MAX_DEPTH {
                return Err(
                    Refusal::new("tool-cycle", format!("tools use tools more than {MAX_DEPTH} deep")).place(name)
                );
            }
            let used = match self.0.get(&key) {
                Some(used) => Arc::clone(used),
                None => find(name).ok_or_else(|| {
                    Refusal::new("unknown-tool", format!("`{}` uses `{name}`, and no tool has this name", tool.name))
                        .place(name)
                        .attempt("cycod tool list")
                })?,
            };
            self.0.insert(key.clone(), Arc::clone(&used));
            path.push(key);
            self.visit(&used, find, path)?;
            path.pop();
        }
        Ok(())
    }

    /// The tool called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.0.get(&name.to_ascii_lowercase())
    }

    /// Every tool in it.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.0.values()
    }

    /// Follows aliases from `tool` to the definition that runs.
    ///
    /// # Errors
    /// A refusal when one of them is missing, or sets what its base does not take.
    pub fn effective(&self, tool: &Arc<Tool>) -> Result<Arc<Tool>, Refusal> {
        let Body::Alias { base, defaults } = &tool.body else { return Ok(Arc::clone(tool)) };
        let base = self.get(base).ok_or_else(|| {
            Refusal::new("unknown-tool", format!("`{}` stands for `{base}`, which is not a tool", tool.name))
        })?;
        let base = self.effective(base)?;
        for (name, _) in defaults {
            if base.parameter(name).is_some_and(|parameter| parameter.asked) {
                let why =
                    format!("`{}` sets `{name}`, which is the answer to a question of `{}`", tool.name, base.name);
                return Err(Refusal::new("asked-parameter", why).place(name).attempt("leave it out"));
            }
            if base.parameter(name).or_else(|| tool.parameter(name)).is_none() {
                let near = closest(name, base.parameters.iter().map(|parameter| parameter.name.as_str()));
                let why = format!("`{}` sets `{name}`, which `{}` does not take", tool.name, base.name);
                let refusal = Refusal::new("unknown-argument", why).place(name);
                return Err(match near {
                    Some(near) => refusal.attempt(format!("did you mean `{near}`?")),
                    None => refusal,
                });
            }
        }
        Ok(Arc::new(standing_for(tool, Tool::clone(&base))))
    }
}

/// Returns the tool that an alias stands for: what its base does, under the alias's name, with the alias's
/// defaults, which nobody has to give any more, and with the parameters it adds or replaces.
pub fn standing_for(alias: &Tool, mut base: Tool) -> Tool {
    let Body::Alias { defaults, .. } = &alias.body else { return base };
    // Nobody answers a question in the place of whoever is asked.
    base.parameters.retain(|parameter| parameter.asked || alias.parameter(&parameter.name).is_none());
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
    base
}

/// The level of a tool together with everything it reaches: the highest of them.
pub fn effective_level(tool: &Tool, library: &Library) -> Level {
    level(tool, &|name| library.get(name).map(|used| effective_level(used, library)))
}
