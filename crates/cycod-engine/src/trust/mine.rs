//! Projects of the user's own, in which what they write themselves runs by hand without a question.
//!
//! Whether a file is the user's own work is asked of git: it is not committed, or the commit that changed it last was made in
//! this very clone, under the user's own address. Anybody can write an address into a commit; that it was made here stands in
//! the log of this clone, which nobody else writes.

use std::{collections::BTreeSet, path::Path};

use cycod_diagnostic::Refusal;
use cycod_store::{Pin, PinKey};
use serde_json::json;

use super::{TrustSubject, git::Git, now, real, repository::Project, scope_text, unreadable};
use crate::Engine;

/// The kind of the pins that mark projects.
const PROJECT: &str = "project";

/// How many files are asked about before the person is.
const MOST_FILES: usize = 64;

impl Engine {
    /// Marks this project as the user's own, or takes the mark away; says whether that is new.
    ///
    /// # Errors
    /// When the pins cannot be written.
    pub fn mark_mine(&self, is_mine: bool) -> Result<bool, Refusal> {
        let key = self.project_key();
        let here = Project::at(Path::new(&key.scope));
        let changed = self.update_pins(|pins| match is_mine {
            true => pins.insert(key, Pin::new(json!({}), now())).is_none(),
            false => {
                let before = pins.len();
                let is_here =
                    |other: &PinKey| *other == key || here.is_some() && Project::at(Path::new(&other.scope)) == here;
                pins.retain(|other, _| other.kind != PROJECT || !is_here(other));
                pins.len() < before
            }
        });
        changed.map_err(|error| unreadable(&error))
    }

    /// Whether the user has marked this project as their own.
    pub fn is_mine(&self) -> bool {
        let Ok(pins) = self.pins().read() else { return false };
        let own = self.project_key();
        if pins.keys().any(|key| *key == own) {
            return true;
        }
        let mut marked = pins.keys().filter(|key| key.kind == PROJECT).peekable();
        // Every working tree of a repository has the same project.
        marked.peek().is_some()
            && Project::at(Path::new(&own.scope))
                .is_some_and(|here| marked.any(|key| Project::at(Path::new(&key.scope)).as_ref() == Some(&here)))
    }

    /// Whether everything about a tool that is not as it was trusted is the user's own work. What cannot be told is not.
    pub fn is_own_work(&self, subject: &TrustSubject) -> bool {
        let Some(files) = subject.doubtful_files(&real(&self.host().workspace)) else { return false };
        if files.len() > MOST_FILES {
            return false;
        }
        let root = real(&self.host().workspace);
        let is_versioned = root.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok());
        if !is_versioned {
            // Nobody else's work comes into a directory without a history.
            return true;
        }
        let Some(git) = Git::open(self.host(), root) else { return false };
        let mut made_here: Option<BTreeSet<String>> = None;
        // What lies elsewhere did not come with the project.
        files.iter().filter(|file| file.starts_with(&git.root)).all(|file| {
            let Some(state) =
                git.ask(&["status", "--porcelain", "-z", "--ignored", "--untracked-files=all", "--"], file)
            else {
                return false;
            };
            if !state.is_empty() {
                return true;
            }
            let Some(last) = git.ask(&["log", "-1", "--format=%H %ae", "--"], file) else { return false };
            let Some((commit, address)) = last.trim().split_once(' ') else { return false };
            let made_here = made_here.get_or_insert_with(|| git.made_here().unwrap_or_default());
            !address.is_empty() && Some(address) == git.address().as_deref() && made_here.contains(commit)
        })
    }

    fn project_key(&self) -> PinKey {
        PinKey::new(PROJECT, &scope_text(&real(&self.host().workspace)), "mine")
    }
}
