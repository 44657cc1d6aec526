//! Rules of any text are read in one way, and no order, no index and no rule more makes a decision weaker.
//!
//! The first byte says what the tool is and who calls it. A line is a rule: a verdict and a pattern. What stands behind the last line
//! is the value that the call gives.
#![no_main]

use cycod_catalog::Scope;
use cycod_definition::Level;
use cycod_diagnostic::{RenderStyle, SourceFile, render_text};
use cycod_policy::{Layer, Origin, Pattern, Policy, Reading, Rule, Surface, Verdict};
use cycod_settings::policy::RuleFile;
use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../crates/cycod-policy/tests/support.rs"]
mod support;

use support::{Tool, question, text};

fn rule(line: &str) -> Option<Rule> {
    let (verdict, pattern) = line.split_once(' ')?;
    let (_, verdict) = Verdict::NAMES.iter().find(|(name, _)| *name == verdict)?;
    let read = Pattern::parse(pattern).ok()?;
    let again = Pattern::parse(&read.to_string()).expect("what is written of a pattern is one");
    assert_eq!(again.to_string(), read.to_string());
    Some(Rule::new(*verdict, read, Origin::new(Layer::User, "here")))
}

fuzz_target!(|input: &[u8]| {
    let Some((&kind, all)) = input.split_first() else { return };
    let Ok(all) = std::str::from_utf8(all) else { return };
    let (lines, value) = all.rsplit_once('\n').unwrap_or((all, ""));
    for part in Pattern::split(lines) {
        assert_eq!(part.trim(), part);
    }
    let file = RuleFile::of(Scope::User, "policy.yaml".into(), SourceFile::new("policy.yaml", all));
    assert!(!render_text(&file.report, RenderStyle::Plain).as_str().contains('\u{1b}'));

    let reading = [Reading::Literal, Reading::Words, Reading::Code][usize::from(kind) % 3];
    let level = [Level::Read, Level::Write, Level::Run][usize::from(kind / 3) % 3];
    let surface = [Surface::Person, Surface::Mcp, Surface::Agent][usize::from(kind / 9) % 3];
    let tool = Tool::new("push", level).tagged("vcs").read_as("B", text(value), reading);
    let asked = question(&tool, surface);
    let rules: Vec<Rule> = lines.lines().filter_map(rule).collect();

    let policy = Policy::new(rules.clone(), Vec::new());
    let explained = policy.explain(&asked);
    let decision = policy.decide(&asked);
    assert_eq!(decision, explained[0]);
    let is_meant = |rule: &&Rule| {
        rule.surfaces.contains(surface) && rule.pattern.matches(rule.verdict, &asked.tool, &asked.places)
    };
    let naive: Vec<String> = policy.rules().iter().filter(is_meant).map(ToString::to_string).collect();
    let mut found: Vec<String> =
        explained.iter().filter(|one| one.pattern.is_some()).map(|one| one.rule.clone()).collect();
    let mut expected = naive;
    expected.sort();
    found.sort();
    assert_eq!(expected, found, "the index misses nothing");

    let reversed = Policy::new(rules.iter().rev().cloned().collect(), Vec::new());
    assert_eq!(reversed.decide(&asked).verdict, decision.verdict, "the order decides nothing");
    // One rule more that denies or asks never weakens, nor does one less that allows.
    for without in 0..rules.len().min(8) {
        let mut fewer = rules.clone();
        let removed = fewer.remove(without).verdict;
        let verdict = Policy::new(fewer, Vec::new()).decide(&asked).verdict;
        match removed {
            Verdict::Allow => assert!(verdict >= decision.verdict),
            Verdict::Deny => assert!(verdict <= decision.verdict),
            Verdict::Ask => {}
        }
    }
});
