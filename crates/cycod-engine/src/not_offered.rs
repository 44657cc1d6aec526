//! Which tools are not offered to models, and why.

use cycod_catalog::{Availability, State};
use cycod_policy::Standing;

use crate::{Engine, Selected, Selection, trust::Skills};

/// A tool that is selected and not offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotOffered {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: WhyNot,
}

/// Why a tool is not offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyNot {
    /// Nobody has trusted it.
    Untrusted,
    /// Its file is wrong, or other files define it as well; and how.
    Broken(String),
    /// It cannot run here, or is turned off; and why.
    Unavailable(String),
    /// It is a skill that nobody has trusted.
    UntrustedSkill,
    /// It is a skill with which something is wrong; and what.
    BrokenSkill(String),
}

impl NotOffered {
    /// Why this entry is not offered; nothing for one that is, and for one whose name leads to another tool.
    pub fn of(selected: &Selected) -> Option<Self> {
        let Selected { entry, standing } = selected;
        let why = match (&entry.state, &entry.availability) {
            (State::Shadowed { .. }, _) => return None,
            (State::Broken { problem }, _) => WhyNot::Broken(problem.message.clone()),
            (State::Duplicate { .. }, _) => WhyNot::Broken("other files define it as well".to_owned()),
            (State::Active, Availability::Unavailable(reasons)) => {
                let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                WhyNot::Unavailable(format!("it {}", reasons.join("; it ")))
            }
            (State::Active, Availability::Available) if *standing == Some(Standing::Untrusted) => WhyNot::Untrusted,
            (State::Active, Availability::Available) => return None,
        };
        Some(Self { name: entry.name.clone(), why })
    }
}

impl Engine {
    /// The skills that are not offered. When what is trusted cannot be told, nothing is offered, and tools say why.
    pub fn skills_not_offered(&self) -> Vec<NotOffered> {
        let Skills { found, broken } = self.skills().unwrap_or_default();
        let untrusted = found
            .into_iter()
            .filter(|skill| !skill.is_trusted)
            .map(|skill| NotOffered { name: skill.path, why: WhyNot::UntrustedSkill });
        let broken =
            broken.into_iter().map(|skill| NotOffered { name: skill.path, why: WhyNot::BrokenSkill(skill.why) });
        untrusted.chain(broken).collect()
    }

    /// The tools of a selection that are not offered.
    pub fn not_offered(&self, selection: &Selection) -> Vec<NotOffered> {
        self.selected(selection).iter().filter_map(NotOffered::of).collect()
    }
}
