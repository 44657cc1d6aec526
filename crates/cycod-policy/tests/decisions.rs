use cycod_definition::{Level, Privilege};
use cycod_diagnostic::Code;
use cycod_policy::{Flaw, Held, Layer, Policy, Question, Standing, Surface, Surfaces, Verdict};

use crate::support::{Tool, check, decide, policy, question, rule, text};
use Level::{Read, Run, Write};
use Verdict::{Allow, Ask, Deny};

fn tool(level: Level) -> Tool {
    Tool::new("Format", level).tagged("read").tagged("style")
}

#[test]
fn without_rules_a_person_may_and_a_model_may_read() {
    for level in [Read, Write, Run] {
        let verdict = |surface| policy(&[]).decide(&question(&tool(level), surface)).verdict;
        assert_eq!(verdict(Surface::Person), Allow);
        assert_eq!(verdict(Surface::Mcp), if level == Read { Allow } else { Ask });
        assert_eq!(verdict(Surface::Agent), verdict(Surface::Mcp));
    }
}

#[test]
fn a_pattern_reaches_as_far_as_it_says() {
    for pattern in
        ["write", "tool:write", "run", "*", "tool:*", "format", "FORM*", "tool:format", "tool:style", "tool:st*"]
    {
        check(&[&format!("allow {pattern}")], &tool(Write), Allow);
    }
    // A tag says nothing about the level, a bare word nothing about tags, and no other tool is of this name.
    for pattern in ["read", "tool:read", "style", "for", "*-x", "mcp:*", "tool:write(A=1)"] {
        check(&[&format!("allow {pattern}")], &tool(Write), Ask);
    }
    check(&["deny write"], &tool(Run), Deny);
    check(&["deny run"], &tool(Write), Ask);
    check(&["ask read"], &tool(Read), Ask);
    check(&["deny write"], &Tool::new("write", Read), Deny);
    check(&["allow read"], &Tool::new("read", Write), Ask);
}

#[test]
fn servers_and_their_tools() {
    let mail = Tool { remote: Some(("mail", "Send.All")), ..Tool::new("mcp_mail_Send_All", Run) };
    for pattern in ["mcp:mail", "mcp:mail/*", "mcp:mail/send.all", "mcp:*/send*", "mcp:MAIL/*.all", "mcp_mail_*"] {
        check(&[&format!("deny {pattern}")], &mail, Deny);
    }
    for pattern in ["mcp:mai", "mcp:mail/send", "mcp:mail/sendxall", "mail"] {
        check(&[&format!("deny {pattern}")], &mail, Ask);
    }
}

#[test]
fn deny_beats_ask_beats_allow() {
    check(&["allow *", "ask format", "deny write"], &tool(Write), Deny);
    check(&["allow format", "ask *"], &tool(Write), Ask);
    check(&["allow format", "ask *"], &tool(Read), Ask);
    let rules = vec![rule("allow format", Layer::CommandLine), rule("deny *", Layer::Global)];
    let decision = Policy::new(rules, Vec::new()).decide(&question(&tool(Read), Surface::Person));
    assert_eq!((decision.verdict, decision.code), (Deny, Code::DeniedByPolicy));
    assert_eq!(decision.origin.layer, Layer::Global);
}

#[test]
fn the_deciding_rule_is_named_with_its_reason() {
    let mut exact = rule("deny tool:format(A=x)", Layer::Local);
    exact.why = Some("not here".to_owned());
    let rules = vec![rule("deny *", Layer::CommandLine), exact, rule("allow write", Layer::User)];
    let policy = Policy::new(rules, Vec::new());
    let subject = tool(Write).with("A", text("x"));
    let all = policy.explain(&question(&subject, Surface::Mcp));
    let said: Vec<&str> = all.iter().map(|decision| &*decision.rule).collect();
    assert_eq!(
        said,
        [
            "`deny tool:format(A=x)` (here): not here",
            "`deny *` (here)",
            "`allow write` (here)",
            "a model needs approval for a tool of level write"
        ]
    );
    assert_eq!(policy.decide(&question(&subject, Surface::Mcp)), all[0]);
}

#[test]
fn some_things_hold_whatever_is_allowed() {
    let subject = tool(Read);
    let allowing = policy(&["allow *", "allow format"]);
    let verdict = |change: &dyn Fn(&mut Question<'_>)| {
        [Surface::Person, Surface::Agent].map(|surface| {
            let mut question = question(&subject, surface);
            change(&mut question);
            allowing.decide(&question).verdict
        })
    };
    assert_eq!(verdict(&|_| {}), [Allow; 2]);
    assert_eq!(verdict(&|question| question.privilege = Privilege::Elevated), [Ask; 2]);
    assert_eq!(verdict(&|question| question.standing = Standing::Untrusted), [Deny; 2]);
    // A model's call shows the change and asks; what runs by hand is trusted again first.
    assert_eq!(verdict(&|question| question.standing = Standing::Changed), [Deny, Ask]);
    let unmet = ["container".to_owned()];
    let mut asked = question(&subject, Surface::Person);
    asked.unmet = &unmet;
    let decision = allowing.decide(&asked);
    assert_eq!((decision.verdict, decision.code), (Deny, Code::ConfinementUnavailable));
}

#[test]
fn rules_that_cannot_be_read_deny_everything() {
    let flaw = Flaw { place: "p.yaml:1:2".to_owned(), message: "x".to_owned() };
    let policy = Policy::new(vec![rule("allow *", Layer::User)], vec![flaw]);
    let decision = policy.decide(&question(&tool(Read), Surface::Person));
    assert_eq!((decision.verdict, decision.code), (Deny, Code::PolicyBroken));
    assert!(decision.rule.contains("p.yaml:1:2: x"), "{}", decision.rule);
}

#[test]
fn a_rule_is_for_the_surfaces_it_names() {
    let mut for_models = rule("deny format", Layer::User);
    for_models.surfaces = Surfaces::named("model").expect("a name");
    let policy = Policy::new(vec![for_models], Vec::new());
    let verdict = |surface| policy.decide(&question(&tool(Read), surface)).verdict;
    assert_eq!([Surface::Person, Surface::Mcp, Surface::Agent].map(verdict), [Allow, Deny, Deny]);
}

#[test]
fn what_is_denied_is_denied_through_others() {
    let (outer, inner) = (tool(Run), Tool::new("git-push", Run).with("BRANCH", text("main")));
    let verdict = |rules: &[&str], later: bool| {
        let mut question = question(&outer, Surface::Mcp);
        question.reached = vec![inner.subject()];
        if later {
            question.reached[0].arguments[0].value = Held::Later;
        }
        policy(rules).decide(&question).verdict
    };
    assert_eq!(verdict(&["allow *", "deny git-push(BRANCH=main)"], false), Deny);
    assert_eq!(verdict(&["allow *", "deny git-push(BRANCH=topic)"], false), Allow);
    assert_eq!(verdict(&["allow *", "ask git-push(BRANCH=topic)"], true), Ask, "what is not known may be it");
    assert_eq!(verdict(&["allow git-push"], false), Ask, "to allow a tool is not to allow what uses it");
    let mut asked = question(&outer, Surface::Mcp);
    asked.reached = vec![inner.subject()];
    let rule = policy(&["deny git-push"]).decide(&asked).rule;
    assert_eq!(rule, "`deny git-push` (here); it reaches `git-push`");
    assert_eq!(decide(&["deny git-push"], &outer).verdict, Ask);
}
