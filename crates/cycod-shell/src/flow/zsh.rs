//! What is different in zsh: options that change how a script is read, and arrays that become words without quotes.
//!
//! A script for zsh is followed with the options that zsh begins with. What changes them otherwise is not followed.
//! Source: zshoptions(1), zshbuiltins(1), zshparam(1), zsh 5.9.

use super::Flow;
use super::commands::declares;
use super::value::{Field, literal};
use crate::piece::Shell;

/// Options that do not change what words a command gets. Written as zsh compares them: without `_`, in lower case, without `no`.
const HARMLESS: [&str; 20] = [
    "bareglobqual",
    "bgnice",
    "clobber",
    "debugbeforecmd",
    "errexit",
    "errreturn",
    "extendedglob",
    "globdots",
    "hup",
    "localoptions",
    "localtraps",
    "match",
    "monitor",
    "nullglob",
    "pipefail",
    "typesetsilent",
    "unset",
    "verbose",
    "warncreateglobal",
    "xtrace",
];

/// Single letters of `set` with the same property.
const HARMLESS_LETTERS: &str = "euvx";

/// Parameters whose elements are code, or change what names, options and arguments mean.
const SPECIAL: [&str; 16] = [
    "aliases",
    // The arguments of the script.
    "argv",
    "builtins",
    "commands",
    "dis_aliases",
    "dis_functions",
    "dis_galiases",
    "dis_saliases",
    "functions",
    "galiases",
    "jobtexts",
    "modules",
    "nameddirs",
    "options",
    "saliases",
    "userdirs",
];

/// Whether zsh looks for code in the directories of a list, or calls what stands in it.
pub(super) fn runs_list(name: &str) -> bool {
    matches!(name, "fpath" | "module_path" | "path") || name.ends_with("_functions")
}

impl Flow<'_> {
    /// A command of zsh that may change how everything behind it is read. `words` are those behind its name.
    pub(super) fn changes_zsh(&mut self, name: &str, words: &[Field]) {
        let keeps = match name {
            "setopt" | "unsetopt" => words.iter().all(|word| {
                let Field::Word(text) = word else { return false };
                literal(text).is_some_and(is_harmless)
            }),
            "set" => has_harmless_options(words),
            // The way in which it begins; with `-R`, other options as well.
            "emulate" => {
                let words: Vec<Option<&str>> =
                    words.iter().map(|word| if let Field::Word(text) = word { literal(text) } else { None }).collect();
                matches!(words.as_slice(), [Some("zsh")] | [Some("-L" | "-R" | "-LR" | "-RL"), Some("zsh")])
            }
            // Two variables with one value.
            name if declares(name) => !words.iter().any(|word| {
                let Field::Word(text) = word else { return false };
                super::value::beginning(text).starts_with('-') && super::value::beginning(text).contains('T')
            }),
            // Things of other names.
            "zmodload" | "enable" | "disable" | "functions" | "zparseopts" => false,
            _ => true,
        };
        if !keeps {
            self.not_as_zsh_begins(&format!("`{name}` changes how zsh reads what follows"));
        }
    }

    /// An assignment to an element of a parameter that zsh itself reads.
    pub(super) fn assigns_zsh(&mut self, name: &str) {
        if self.shell == Shell::Zsh && SPECIAL.contains(&name) {
            self.not_as_zsh_begins(&format!("`{name}` changes what zsh does"));
        }
    }

    fn not_as_zsh_begins(&mut self, why: &str) {
        self.find_unclear(self.own_holes(), why);
    }
}

fn has_harmless_options(words: &[Field]) -> bool {
    let mut words = words.iter().map(|word| if let Field::Word(text) = word { literal(text) } else { None });
    while let Some(word) = words.next() {
        match word {
            Some("--" | "-") => return true,
            Some(option) if option.starts_with(['-', '+']) => {
                let letters = option[1..].strip_suffix('o').unwrap_or(&option[1..]);
                // The last letter takes the name of an option.
                let takes_name = letters.len() < option.len() - 1;
                if !letters.chars().all(|letter| HARMLESS_LETTERS.contains(letter))
                    || takes_name && !words.next().flatten().is_some_and(is_harmless)
                {
                    return false;
                }
            }
            // A value may be an option, which is guarded against elsewhere.
            _ => return true,
        }
    }
    true
}

fn is_harmless(option: &str) -> bool {
    let name: String = option.chars().filter(|c| *c != '_').collect::<String>().to_ascii_lowercase();
    HARMLESS.contains(&name.as_str()) || name.strip_prefix("no").is_some_and(|name| HARMLESS.contains(&name))
}
