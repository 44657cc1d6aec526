use cycod_definition::{Level, Privilege};

use crate::Grant;

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
    /// What was allowed beforehand.
    pub grants: &'a [Grant],
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
/// asked for each time, whatever was granted. Otherwise a person who runs a tool by hand has consented, and a model may
/// read, may do what was granted, and is asked about for the rest.
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
            (Surface::Model, level) => match question.grants.iter().find(|grant| grant.covers(question.tool, level)) {
                Some(grant) => decision(Verdict::Allow, format!("`{grant}` was approved beforehand")),
                None => decision(Verdict::Ask, format!("a model asks before using a tool of level {level}")),
            },
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
        check_granted(level, privilege, surface, unmet, &[], expect);
    }

    fn check_granted(
        level: Level,
        privilege: Privilege,
        surface: Surface,
        unmet: &[&str],
        grants: &[&str],
        expect: Verdict,
    ) {
        let unmet: Vec<String> = unmet.iter().map(|&demand| demand.to_owned()).collect();
        let grants: Vec<Grant> = grants.iter().map(|text| Grant::parse(text).expect("a grant")).collect();
        let question = Question { tool: "t", level, privilege, surface, unmet: &unmet, grants: &grants };
        assert_eq!(decide(&question).verdict, expect, "{question:?}");
    }

    #[test]
    fn a_grant_reaches_as_far_as_it_says() {
        use Level::{Run, Write};
        use Privilege::{Elevated, SameAsUser};
        let check = |level, privilege, grant, expect| {
            check_granted(level, privilege, Surface::Model, &[], &[grant], expect);
        };
        check(Write, SameAsUser, "write", Verdict::Allow);
        check(Run, SameAsUser, "write", Verdict::Ask);
        check(Run, SameAsUser, "*", Verdict::Allow);
        check(Run, SameAsUser, "T", Verdict::Allow);
        check(Run, SameAsUser, "tool:t", Verdict::Allow);
        check(Run, SameAsUser, "other", Verdict::Ask);
        check(Run, Elevated, "*", Verdict::Ask);
        check(Run, Elevated, "t", Verdict::Ask);
        check_granted(Run, SameAsUser, Surface::Model, &["container"], &["*"], Verdict::Deny);
        assert!(Grant::parse("").is_err() && Grant::parse("a b").is_err());
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
