use cycod_definition::{Level, Privilege};

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// A person, by hand.
    Person,
    /// A language model, through a host or an agent.
    Model,
}

/// What may be done; the strictest of several wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// Go on when somebody says so.
    Ask,
    /// Do not go on.
    Deny,
}

/// A call, as far as policy needs to know it.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The tool.
    pub tool: &'a str,
    /// How dangerous it is, composition included.
    pub level: Level,
    /// With whose rights it runs.
    pub privilege: Privilege,
    /// Who asks.
    pub surface: Surface,
    /// What the tool asks to be confined to and this machine or version cannot enforce.
    pub unmet: &'a [String],
}

/// A verdict with the rule that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What may be done.
    pub verdict: Verdict,
    /// The rule that decided, in words.
    pub rule: String,
    /// The code of the refusal this leads to when nobody allows it.
    pub code: &'static str,
}

/// Decides a question by the built-in rules.
///
/// A tool never runs with less confinement than it asks for, so an unmet demand denies. Elevated rights are
/// asked for each time. Otherwise a person who runs a tool by hand has consented, and a model may read but is
/// asked about for the rest.
pub fn decide(question: &Question<'_>) -> Decision {
    let rules = [
        question.unmet.first().map(|demand| Decision {
            verdict: Verdict::Deny,
            rule: format!("a tool never runs with less confinement than it asks for: {demand}"),
            code: "confinement-unavailable",
        }),
        (question.privilege == Privilege::Elevated)
            .then(|| decision(Verdict::Ask, "elevated rights are asked for each time".to_owned())),
        Some(match (question.surface, question.level) {
            (Surface::Person, _) => decision(Verdict::Allow, "a person runs the tool by hand".to_owned()),
            (Surface::Model, Level::Read) => decision(Verdict::Allow, "a model may use tools of level read".to_owned()),
            (Surface::Model, level) => {
                decision(Verdict::Ask, format!("a model asks before using a tool of level {level}"))
            }
        }),
    ];
    let strictest = rules.into_iter().flatten().rev().max_by_key(|decision| decision.verdict);
    strictest.expect("the last rule always applies")
}

fn decision(verdict: Verdict, rule: String) -> Decision {
    Decision { verdict, rule, code: "not-approved" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(level: Level, privilege: Privilege, surface: Surface, unmet: &[&str], expect: Verdict) {
        let unmet: Vec<String> = unmet.iter().map(|&demand| demand.to_owned()).collect();
        let question = Question { tool: "t", level, privilege, surface, unmet: &unmet };
        assert_eq!(decide(&question).verdict, expect, "{question:?}");
    }

    #[test]
    fn the_strictest_rule_wins() {
        use Level::{Read, Run, Write};
        use Privilege::{Elevated, Reduced, SameAsUser};
        use Surface::{Model, Person};
        check(Run, SameAsUser, Person, &[], Verdict::Allow);
        check(Read, SameAsUser, Model, &[], Verdict::Allow);
        check(Write, SameAsUser, Model, &[], Verdict::Ask);
        check(Run, SameAsUser, Model, &[], Verdict::Ask);
        check(Read, Elevated, Person, &[], Verdict::Ask);
        check(Read, Elevated, Person, &["elevated"], Verdict::Deny);
        check(Read, Reduced, Model, &["reduced"], Verdict::Deny);
    }
}
