/// What a source is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskKind {
    /// Recipes of `just`.
    Just,
    /// Targets of `make`.
    Make,
    /// Scripts of a `package.json`.
    PackageJson,
    /// Tasks of `task`.
    Taskfile,
    /// Tasks of `mise`, in its configuration or each in a file.
    Mise,
    /// Tasks of poe, pdm, hatch and taskipy, and the programs of a Python project.
    Pyproject,
    /// Commands of a shell script with the comments of `argc`.
    Argc,
    /// A command or tool of nanocoder.
    Nanocoder,
    /// A skill: instructions with scripts.
    Skill,
}

impl TaskKind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Just,
        Self::Make,
        Self::PackageJson,
        Self::Taskfile,
        Self::Mise,
        Self::Pyproject,
        Self::Argc,
        Self::Nanocoder,
        Self::Skill,
    ];

    /// Returns the word for it on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Just => "justfile",
            Self::Make => "makefile",
            Self::PackageJson => "package.json",
            Self::Taskfile => "taskfile",
            Self::Mise => "mise",
            Self::Pyproject => "pyproject",
            Self::Argc => "argc",
            Self::Nanocoder => "nanocoder",
            Self::Skill => "skill",
        }
    }

    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns what one task of it is called.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Just => "recipe",
            Self::Make => "target",
            Self::PackageJson => "script",
            Self::Taskfile | Self::Mise | Self::Pyproject => "task",
            Self::Argc => "command",
            Self::Nanocoder => "file",
            Self::Skill => "script",
        }
    }

    /// Returns the kind that a file of this path is, where its name leaves no doubt.
    pub fn of_path(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
        let (name, directories) = parts.split_last()?;
        let lower = name.to_ascii_lowercase();
        let inside = |wanted: &[&str]| {
            let named = |window: &[&str]| window == wanted;
            directories.windows(wanted.len()).any(named)
        };
        let is_mise = matches!(lower.as_str(), "mise.toml" | ".mise.toml")
            || (lower.starts_with("mise.") || lower.starts_with(".mise.")) && lower.ends_with(".toml")
            || lower == "config.toml" && (inside(&["mise"]) || inside(&[".mise"]))
            || inside(&["mise-tasks"])
            || inside(&[".mise-tasks"])
            || inside(&["mise", "tasks"])
            || inside(&[".mise", "tasks"]);
        Some(match lower.as_str() {
            "justfile" | ".justfile" => Self::Just,
            _ if lower.ends_with(".just") => Self::Just,
            "makefile" | "gnumakefile" => Self::Make,
            _ if lower.ends_with(".mk") => Self::Make,
            "package.json" => Self::PackageJson,
            "taskfile.yml" | "taskfile.yaml" | "taskfile.dist.yml" | "taskfile.dist.yaml" => Self::Taskfile,
            "pyproject.toml" | "hatch.toml" => Self::Pyproject,
            "argcfile.sh" | "argcfile" => Self::Argc,
            "skill.md" => Self::Skill,
            _ if inside(&[".nanocoder"]) && lower.ends_with(".md") => Self::Nanocoder,
            _ if is_mise => Self::Mise,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::TaskKind;

    #[test]
    fn names_lead_back_to_kinds() {
        for kind in TaskKind::ALL {
            assert_eq!(TaskKind::named(kind.name()), Some(kind));
        }
    }

    #[test]
    fn well_known_files_are_told_by_their_names() {
        for (path, expect) in [
            ("justfile", Some(TaskKind::Just)),
            ("a/.justfile", Some(TaskKind::Just)),
            ("ci.just", Some(TaskKind::Just)),
            ("GNUmakefile", Some(TaskKind::Make)),
            ("rules.mk", Some(TaskKind::Make)),
            ("web/package.json", Some(TaskKind::PackageJson)),
            ("Taskfile.dist.yaml", Some(TaskKind::Taskfile)),
            ("mise.local.toml", Some(TaskKind::Mise)),
            (".config/mise/config.toml", Some(TaskKind::Mise)),
            ("mise-tasks/test/units", Some(TaskKind::Mise)),
            ("pyproject.toml", Some(TaskKind::Pyproject)),
            ("backend/hatch.toml", Some(TaskKind::Pyproject)),
            ("Argcfile.sh", Some(TaskKind::Argc)),
            (".nanocoder/commands/refactor/dry.md", Some(TaskKind::Nanocoder)),
            ("skills/pdf/SKILL.md", Some(TaskKind::Skill)),
            ("weather.yaml", None),
            ("config.toml", None),
            ("", None),
        ] {
            assert_eq!(TaskKind::of_path(path), expect, "{path}");
        }
    }
}
