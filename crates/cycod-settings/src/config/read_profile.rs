//! Reads the profiles of clients.

use cycod_definition::Level;
use cycod_diagnostic::Code;
use cycod_syntax::yaml::{MappingEntry, Node};

use super::{ClientProfile, Said, ToolPattern, read::Reader};
use crate::is_server_name;

const KEYS: [&str; 9] =
    ["clients", "subjects", "tools", "servers", "groups", "tags", "level", "replyTokens", "listTokens"];

/// The least of an output that can be returned, in tokens.
const FEWEST_TOKENS: u32 = 100;

/// The most names and patterns of one list. Each is compared with each tool.
const MOST_NAMES: usize = 1_000;

impl Reader<'_> {
    pub(super) fn profiles(&mut self, node: &Node) {
        for profile in self.entries(node, "`profiles`") {
            if !is_server_name(&profile.key) {
                let message = format!("no profile can be called `{}`", profile.key);
                let help = "a name starts with a letter or digit and holds letters, digits, `_` and `-`, at most 32";
                self.push(Code::InvalidName, profile.key_span, message, help, true);
                continue;
            }
            let read = self.profile(profile);
            let said = self.said(profile.key_span, read);
            self.options.profiles.push(said);
        }
    }

    fn profile(&mut self, profile: &MappingEntry) -> ClientProfile {
        let mut read = ClientProfile { name: profile.key.clone(), ..ClientProfile::default() };
        for entry in self.entries(&profile.value, "a profile") {
            match entry.key.as_str() {
                "clients" => read.clients = self.names(entry, "[claude-code, \"cursor*\"]").unwrap_or_default(),
                "subjects" => {
                    read.subjects = Some(self.names(entry, "[\"ada@example.com\", \"ci-*\"]").unwrap_or_default());
                }
                "tools" => read.tools = self.patterns(entry),
                "servers" => read.servers = self.names(entry, "[github]"),
                "groups" => read.groups = self.names(entry, "[git]"),
                "tags" => read.tags = self.names(entry, "[fast]"),
                "level" => read.level = self.level(entry),
                "replyTokens" => read.reply_tokens = self.tokens_of(entry, FEWEST_TOKENS),
                "listTokens" => read.list_tokens = self.tokens_of(entry, 0),
                // No one may believe that something is not offered because of a key that means nothing.
                _ => self.unknown(entry, &KEYS, "a profile", true),
            }
        }
        if read.subjects.is_some() && !read.clients.is_empty() {
            let message = "`clients` and `subjects` exclude each other".to_owned();
            let help = "a client can announce any name, so no name chooses what the subject of a token gets";
            self.push(Code::UnusedKey, profile.key_span, message, help, true);
        }
        read
    }

    /// The texts of a list.
    fn names(&mut self, entry: &MappingEntry, example: &str) -> Option<Vec<String>> {
        let help = format!("write a list, as in {example}");
        let Some(items) = entry.value.as_sequence() else {
            self.wrong(entry, "a list of names", &help);
            return None;
        };
        if items.len() > MOST_NAMES {
            let message = format!("`{}` has more than {MOST_NAMES} names", entry.key);
            self.push(Code::TooMany, entry.value.span, message, "use patterns, groups or tags", true);
            return None;
        }
        let mut names = Vec::with_capacity(items.len());
        for item in items {
            match item.as_scalar().filter(|scalar| !scalar.text.trim().is_empty()) {
                Some(scalar) => names.push(scalar.text.clone()),
                None => {
                    let message = format!("this is no name of `{}`", entry.key);
                    self.push(Code::WrongType, item.span, message, help.as_str(), true);
                }
            }
        }
        Some(names)
    }

    fn patterns(&mut self, entry: &MappingEntry) -> Option<Vec<ToolPattern>> {
        let names = self.names(entry, "[test, \"git_*\"]")?;
        let mut patterns = Vec::with_capacity(names.len());
        for name in names {
            match ToolPattern::new(&name) {
                Some(pattern) => patterns.push(pattern),
                None => {
                    let help = "a name holds letters, digits, `_`, `.` and `-`; `*` means any of them";
                    self.push(
                        Code::InvalidName,
                        entry.value.span,
                        format!("no tool can be called `{name}`"),
                        help,
                        true,
                    );
                }
            }
        }
        Some(patterns)
    }

    fn level(&mut self, entry: &MappingEntry) -> Option<Level> {
        let said = self.text(entry, "write read, write or run")?;
        let found = Level::NAMES.into_iter().find(|(name, _)| *name == said.value);
        if found.is_none() {
            let message = format!("`{}` is no level", said.value);
            self.push(Code::OutOfRange, entry.value.span, message, "write read, write or run", true);
        }
        found.map(|(_, level)| level)
    }

    fn tokens_of(&mut self, entry: &MappingEntry, fewest: u32) -> Option<u32> {
        let Said { value, .. } = self.count(entry)?;
        if value < fewest {
            let message = format!("`{}` is at least {fewest}", entry.key);
            self.push(Code::OutOfRange, entry.value.span, message, "write a number of tokens, as in 4000", true);
            return None;
        }
        Some(value)
    }
}
