use cycod_definition::{Level, Privilege, StartedProgram, Value};
use cycod_policy::{
    AllowedKind, Allowlist, Floor, FloorKind, Layer, NetworkReach, Origin, Policy, ProgramTerms, Question, Reading,
    Rule, Standing, Surface, Surfaces, Verdict,
};
use proptest::prelude::*;

use crate::support::{Tool, policy, question, rule, text};

const LAYERS: [Layer; 6] =
    [Layer::Team, Layer::Global, Layer::User, Layer::Local, Layer::Environment, Layer::CommandLine];

fn patterns() -> impl Strategy<Value = String> {
    let target = prop::sample::select(vec![
        "*",
        "read",
        "write",
        "run",
        "push",
        "PUSH",
        "p*",
        "*h",
        "pull",
        "tool:push",
        "tool:vcs",
        "tool:v*",
        "mcp:git/*",
        "mcp:git/push",
        "mcp:*",
        "mcp:mail",
    ]);
    let condition = prop::sample::select(vec![
        "",
        "(B=main)",
        "(B!=main)",
        "(B~ma)",
        "(B^=m)",
        "(B under src)",
        "(N>3)",
        "(N=3, B=main)",
        "(X=1)",
        "(B not under /)",
    ]);
    (target, condition).prop_map(|(target, condition)| format!("{target}{condition}"))
}

fn rules() -> impl Strategy<Value = Rule> {
    let verdict = prop::sample::select(vec!["allow", "ask", "deny"]);
    let surfaces = prop::sample::select(vec!["person", "mcp", "agent", "model", ""]);
    (verdict, patterns(), prop::sample::select(LAYERS.to_vec()), surfaces).prop_map(
        |(verdict, pattern, layer, surfaces)| {
            let mut rule = rule(&format!("{verdict} {pattern}"), layer);
            rule.surfaces = Surfaces::named(surfaces).unwrap_or(Surfaces::ALL);
            rule
        },
    )
}

fn tools() -> impl Strategy<Value = Tool> {
    let level = prop::sample::select(vec![Level::Read, Level::Write, Level::Run]);
    let branch =
        prop::option::of(prop::sample::select(vec!["main", "'main'", "m*", "topic", "a b", "", "../x", "/etc"]));
    let reading = prop::sample::select(vec![Reading::Literal, Reading::Words, Reading::Code]);
    (level, prop::bool::ANY, prop::bool::ANY, branch, reading, 0..6_u8).prop_map(
        |(level, is_tagged, is_remote, branch, reading, number)| {
            let mut tool = Tool::new("push", level);
            tool.programs = match number {
                0 => None,
                1 => Some(vec![StartedProgram::Unknown("a function".to_owned())]),
                2 => Some(vec![StartedProgram::Named("git".to_owned())]),
                3 => Some(vec![StartedProgram::Named("git".to_owned()), StartedProgram::Named("./pull".to_owned())]),
                _ => Some(Vec::new()),
            };
            if is_tagged {
                tool = tool.tagged("vcs");
            }
            tool.remote = is_remote.then_some(("git", "push"));
            tool = match branch {
                Some(branch) => tool.read_as("B", text(branch), reading),
                None => tool.without("B"),
            };
            tool.with("N", Value::Number(number.to_string()))
        },
    )
}

fn lists() -> impl Strategy<Value = Allowlist> {
    let kind = prop::sample::select(AllowedKind::NAMES.map(|(_, kind)| kind).to_vec());
    let name = prop::sample::select(vec!["push", "PUSH", "p*", "pull", "git", "mail", "mcp", "custom", "*"]);
    let layer = prop::sample::select(vec![Layer::Team, Layer::Global, Layer::User, Layer::Local]);
    (kind, prop::collection::vec(name, 0..3), layer)
        .prop_map(|(kind, names, layer)| Allowlist::new(kind, names, Origin::new(layer, "here")))
}

fn floors() -> impl Strategy<Value = Floor> {
    let version = |is_met| FloorKind::Version { wanted: "1.0.0".to_owned(), is_met };
    let kind = prop::sample::select(vec![
        FloorKind::Reduced,
        FloorKind::Container,
        FloorKind::DeclaredNetwork,
        FloorKind::NoNetwork,
        FloorKind::Approval(Level::Read),
        FloorKind::Approval(Level::Run),
        version(true),
        version(false),
    ]);
    let layer = prop::sample::select(vec![Layer::Team, Layer::Global, Layer::User, Layer::Local]);
    (kind, layer).prop_map(|(kind, layer)| Floor { kind, origin: Origin::new(layer, "here"), why: None })
}

fn programs() -> impl Strategy<Value = Vec<ProgramTerms<'static>>> {
    let privilege = prop::sample::select(vec![Privilege::Reduced, Privilege::SameAsUser, Privilege::Elevated]);
    let network = prop::sample::select(vec![NetworkReach::None, NetworkReach::Declared, NetworkReach::Any]);
    let terms = (privilege, prop::bool::ANY, prop::bool::ANY, network).prop_map(
        |(privilege, is_confined, is_contained, network)| ProgramTerms {
            tool: "push",
            privilege,
            is_confined,
            is_contained,
            network,
        },
    );
    prop::collection::vec(terms, 0..3)
}

fn surfaces() -> impl Strategy<Value = Surface> {
    prop::sample::select(vec![Surface::Person, Surface::Mcp, Surface::Agent])
}

fn verdict(rules: Vec<Rule>, tool: &Tool, surface: Surface) -> Verdict {
    Policy::new(rules, Vec::new()).decide(&question(tool, surface)).verdict
}

proptest! {
    /// Whatever the machine, the user and the project say, what a layer denies stays denied, and what it asks about is asked.
    #[test]
    fn merging_layers_never_widens(
        rules in prop::collection::vec(rules(), 0..12), lists in prop::collection::vec(lists(), 0..4),
        floors in prop::collection::vec(floors(), 0..4), programs in programs(),
        tool in tools(), surface in surfaces()
    ) {
        let asked = Question { programs, ..question(&tool, surface) };
        let merged = Policy::new(rules.clone(), Vec::new()).limited_to(lists.clone()).above(floors.clone());
        let merged = merged.decide(&asked).verdict;
        for layer in LAYERS {
            let of_layer = rules.iter().filter(|rule| rule.origin.layer == layer && rule.verdict != Verdict::Allow);
            let listed = lists.iter().filter(|list| list.origin.layer == layer);
            let floors = floors.iter().filter(|floor| floor.origin.layer == layer).cloned().collect();
            let alone = Policy::new(of_layer.cloned().collect(), Vec::new());
            let alone = alone.limited_to(listed.cloned().collect()).above(floors);
            let explained = alone.explain(&asked);
            let own = explained.iter().filter(|found| found.origin.layer == layer).map(|found| found.verdict).max();
            prop_assert!(own.is_none_or(|own| merged >= own), "{layer:?}: {explained:?}");
        }
    }

    #[test]
    fn what_a_list_does_not_name_is_denied_whatever_allows_it(
        rules in prop::collection::vec(rules(), 0..12), list in lists(), tool in tools(), surface in surfaces()
    ) {
        let is_named = match list.kind {
            AllowedKind::Tools => list.names("push"),
            AllowedKind::Sources => list.names(if tool.remote.is_some() { "mcp" } else { "custom" }),
            AllowedKind::Servers => tool.remote.is_none() || list.names("git"),
            AllowedKind::Models => true,
            AllowedKind::Commands if tool.remote.is_some() => list.names("mcp:git"),
            AllowedKind::Commands => tool.starts_only(|program| list.names(program)),
        };
        let before = verdict(rules.clone(), &tool, surface);
        let decision = Policy::new(rules, Vec::new()).limited_to(vec![list]).decide(&question(&tool, surface));
        prop_assert_eq!(decision.verdict, if is_named { before } else { Verdict::Deny });
    }

    #[test]
    fn a_stricter_rule_never_weakens(
        rules in prop::collection::vec(rules(), 0..12), more in rules(), tool in tools(), surface in surfaces()
    ) {
        prop_assume!(more.verdict == Verdict::Deny);
        let before = verdict(rules.clone(), &tool, surface);
        let after = verdict(rules.into_iter().chain([more]).collect(), &tool, surface);
        prop_assert!(after >= before);
    }

    #[test]
    fn no_rule_that_allows_beats_one_that_denies_or_asks(
        rules in prop::collection::vec(rules(), 1..12), tool in tools(), surface in surfaces(), layers in prop::collection::vec(0..6_usize, 12)
    ) {
        let strict: Vec<Rule> = rules.iter().filter(|rule| rule.verdict != Verdict::Allow).cloned().collect();
        let least = |rules: &[Rule]| {
            let found = Policy::new(rules.to_vec(), Vec::new()).explain(&question(&tool, surface));
            found.iter().filter(|decision| decision.pattern.is_some()).map(|decision| decision.verdict).max()
        };
        if let Some(least) = least(&strict) {
            prop_assert!(verdict(rules.clone(), &tool, surface) >= least);
        }
        // Neither order nor layer matters to the verdict.
        let mut shuffled: Vec<Rule> = rules.iter().rev().cloned().collect();
        for (rule, layer) in shuffled.iter_mut().zip(layers) {
            rule.origin.layer = LAYERS[layer];
        }
        prop_assert_eq!(verdict(rules, &tool, surface), verdict(shuffled, &tool, surface));
    }

    #[test]
    fn the_index_misses_nothing(rules in prop::collection::vec(rules(), 0..40), tool in tools(), surface in surfaces()) {
        let asked = question(&tool, surface);
        let whole = Policy::new(rules, Vec::new());
        let naive: Vec<String> = whole
            .rules()
            .iter()
            .filter(|rule| rule.surfaces.contains(surface) && rule.pattern.matches(rule.verdict, &asked.tool, &asked.places))
            .map(ToString::to_string)
            .collect();
        let explained = whole.explain(&asked);
        let found: Vec<String> =
            explained.iter().filter(|decision| decision.pattern.is_some()).map(|decision| decision.rule.clone()).collect();
        prop_assert_eq!(naive, found);
        prop_assert_eq!(&whole.decide(&asked), &explained[0]);
    }

    #[test]
    fn what_is_unknown_or_elevated_is_never_allowed(
        rules in prop::collection::vec(rules(), 0..12), tool in tools(), surface in surfaces(), is_elevated in prop::bool::ANY
    ) {
        let mut asked = question(&tool, surface);
        if is_elevated { asked.privilege = Privilege::Elevated } else { asked.standing = Standing::Changed }
        prop_assert!(Policy::new(rules, Vec::new()).decide(&asked).verdict >= Verdict::Ask);
    }

    /// However a shell would be told `main` by quotes, escapes, blanks and neighbours, it is `main`.
    #[test]
    fn no_spelling_slips_past(
        quotes in prop::collection::vec(0..4_u8, 4), blanks in "[ \t\n]{0,3}", neighbour in prop::option::of("[a-z]{1,4}")
    ) {
        let spelt: String = "main".chars().zip(quotes).map(|(letter, quote)| match quote {
            0 => letter.to_string(),
            1 => format!("'{letter}'"),
            2 => format!("\"{letter}\""),
            _ => format!("\\{letter}"),
        }).collect();
        let spelt = match neighbour {
            Some(neighbour) => format!("{blanks}{neighbour} {spelt}{blanks}"),
            None => format!("{blanks}{spelt}{blanks}"),
        };
        let tool = Tool::new("push", Level::Write).with("B", text(&spelt));
        for rule in ["deny push(B=main)", "deny push(B~\"(^| )main( |$)\")"] {
            let decision = policy(&["allow *", rule]).decide(&question(&tool, Surface::Agent));
            prop_assert_eq!(decision.verdict, Verdict::Deny, "{:?} against {}", &spelt, rule);
        }
        prop_assert_eq!(policy(&["allow push(B!=main)"]).decide(&question(&tool, Surface::Agent)).verdict, Verdict::Ask);
    }

    #[test]
    fn reading_a_pattern_never_panics(text in "[a-z*:/(),=!~<>^\"' \\\\.é\n-]{0,24}") {
        if let Ok(pattern) = cycod_policy::Pattern::parse(&text) {
            let again = cycod_policy::Pattern::parse(&pattern.to_string());
            prop_assert!(again.is_ok());
        }
        for part in cycod_policy::Pattern::split(&text) {
            prop_assert_eq!(part.trim(), part);
        }
    }
}
