use std::borrow::Cow;

use cycod_definition::matches_stars;

/// A name in which `*` stands for any run of characters; compared without regard to case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob(String);

impl Glob {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_ascii_lowercase())
    }

    /// A name whose case counts.
    pub(crate) fn as_written(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The name, when it is only one.
    pub(crate) fn exact(&self) -> Option<&str> {
        (!self.0.contains('*')).then_some(&*self.0)
    }

    /// What all names begin with that it stands for.
    pub(crate) fn prefix(&self) -> &str {
        self.0.split('*').next().unwrap_or_default()
    }

    /// Whether it stands for a name.
    pub(crate) fn matches(&self, name: &str) -> bool {
        matches_stars(&self.0, &folded(name))
    }

    /// Whether it stands for a program, by its name or path. A `*` stands for no `/`, and for no way back up.
    pub(crate) fn matches_program(&self, program: &str) -> bool {
        let slashes = |text: &str| text.bytes().filter(|byte| *byte == b'/').count();
        let is_plain = slashes(&self.0) == slashes(program) && !program.split('/').any(|part| part == "..");
        self.0 == program || is_plain && matches_stars(&self.0, program)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A name as it is compared.
pub(crate) fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) { name.to_ascii_lowercase().into() } else { name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_in_its_own_case_and_directory() {
        for (glob, program, expect) in [
            ("git", "git", true),
            ("git", "GIT", false),
            ("git", "./git", false),
            ("git", "/usr/bin/git", false),
            ("git*", "git-lfs", true),
            ("git*", "git/x", false),
            ("*", "curl", true),
            ("*", "./curl", false),
            ("./scripts/*", "./scripts/build", true),
            ("./scripts/*", "./scripts/sub/build", false),
            ("/opt/*/run", "/opt/../run", false),
            ("../run", "../run", true),
        ] {
            assert_eq!(Glob::as_written(glob).matches_program(program), expect, "{glob} {program}");
        }
    }

    #[test]
    fn stars_stand_for_any_run() {
        for (glob, name, expect) in [
            ("git-*", "Git-push", true),
            ("git-*", "git-", true),
            ("git-*", "git", false),
            ("*-push", "git-push", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "acb", false),
            ("ab*bc", "abc", false),
            ("*", "", true),
            ("x", "X", true),
            ("x", "xy", false),
        ] {
            assert_eq!(Glob::new(glob).matches(name), expect, "{glob} {name}");
        }
    }
}
