//! Names that a person could take for each other.

use std::collections::BTreeSet;

use unicode_security::{MixedScript, skeleton};

/// Whether two names that differ could be taken for each other: `dep1oy` and `deploy`, `git_push` and `git-push`.
pub fn looks_like(one: &str, other: &str) -> bool {
    !one.eq_ignore_ascii_case(other) && !name_shapes(one).is_disjoint(&name_shapes(other))
}

/// Whether letters of several scripts stand together in a word, or it is made of letters that look like Latin ones.
///
/// Japanese, Chinese and Korean words are written with several scripts, which is as it should be.
pub fn mixes_scripts(word: &str) -> bool {
    if word.is_ascii() {
        return false;
    }
    let is_imitation = || {
        let shape: String = skeleton(word).collect();
        shape.is_ascii() && shape.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    !word.is_single_script() || is_imitation()
}

/// The shapes of a name, as it is written and in small letters: `I` and `l` look alike, and so do `I` and `i`.
pub fn name_shapes(name: &str) -> BTreeSet<String> {
    let shape = |name: &str| skeleton(name).collect::<String>().to_lowercase().replace(['_', '.'], "-");
    BTreeSet::from([shape(name), shape(&name.to_lowercase())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_are_told() {
        for (one, other) in [
            ("dep1oy", "deploy"),
            ("depIoy", "deploy"),
            ("t00l", "tool"),
            ("git_push", "git-push"),
            ("rnake", "make"),
            ("d\u{435}ploy", "deploy"),
        ] {
            assert!(looks_like(one, other) && looks_like(other, one), "{one} {other}");
        }
        for (one, other) in [("deploy", "Deploy"), ("deploy", "deploys"), ("a", "b"), ("list", "lint")] {
            assert!(!looks_like(one, other), "{one} {other}");
        }
    }

    #[test]
    fn words_of_several_scripts_are_told() {
        for word in ["p\u{430}ypal", "\u{440}\u{430}\u{443}", "r\u{435}ad", "\u{ff52}\u{ff45}\u{ff41}\u{ff44}"] {
            assert!(mixes_scripts(word), "{word}");
        }
        for word in [
            "paypal",
            "caf\u{e9}",
            "\u{43f}\u{440}\u{438}\u{432}\u{435}\u{442}",
            "\u{6771}\u{4eac}\u{30bf}\u{30ef}\u{30fc}",
            "stra\u{df}e",
        ] {
            assert!(!mixes_scripts(word), "{word}");
        }
    }
}
