//! Counting the tokens of tools, and making tools fit.

use cycod_schema::{Dialect, Function};
use cycod_tokens::{Candidate, Counter, CutKind, Measure, estimate, fit, turnings};
use proptest::prelude::*;
use serde_json::{Value, json};

fn function(name: &str, description: &str, parameters: Value) -> Function {
    Function { name: name.to_owned(), description: description.to_owned(), parameters }
}

fn candidate(function: Function) -> Candidate {
    Candidate { function, family: None, uses: 0, must_stay: false, is_ours: true }
}

fn weather() -> Function {
    function(
        "weather",
        "Get the weather. It is of the last hour (or so). Nobody is told who asks.",
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "city_name": {"type": "string", "title": "City Name", "description": "The city name"},
                "unit": {"type": "string", "description": "Which unit (C or F). It is of the last hour (or so). C is for Celsius.", "examples": ["C"]}
            },
            "required": ["city_name"]
        }),
    )
}

#[test]
fn an_estimate_is_a_quarter_of_the_characters() {
    for (text, expect) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("äöüß", 1), ("😀😀", 1), ("😀😀😀", 2)]
    {
        assert_eq!(estimate(text), expect, "{text}");
    }
    let run_tests = function("x", &"d".repeat(93), json!({"type": "object"}));
    assert_eq!(Measure::ESTIMATE.of(&run_tests), 24 + 5);
}

#[test]
fn a_dialect_is_counted_as_it_is_written() {
    let whole = |dialect| Measure { counter: Counter::Estimate, dialect: Some(dialect) }.of(&weather());
    assert!(whole(Dialect::Openai) > Measure::ESTIMATE.of(&weather()));
    let refused = function("x", "", json!({"type": "array"}));
    assert_eq!(Measure { counter: Counter::Estimate, dialect: Some(Dialect::Openai) }.of(&refused), 0);
}

#[cfg(feature = "exact")]
#[test]
fn exact_counts_are_those_of_the_vocabulary() {
    let counter = Counter::exact().expect("it is built in");
    // Figures of OpenAI's own tokenizer.
    for (text, expect) in [("", 0), ("hello world", 2), ("tiktoken is great!", 6), ("<|endoftext|>", 7)] {
        assert_eq!(counter.count(text), expect, "{text}");
    }
    assert_eq!(counter.name(), "o200k_base");
}

#[test]
fn what_fits_stays_as_it_is() {
    let answer = fit(vec![candidate(weather())], 10_000, Measure::ESTIMATE);
    assert_eq!((answer.before, answer.after, answer.missing()), (answer.after, answer.before, 0));
    assert!(answer.shortened.is_empty() && answer.off.is_empty() && answer.kept == ["weather"]);
}

#[test]
fn what_says_nothing_goes_first() {
    let before = Measure::ESTIMATE.of(&weather());
    let answer = fit(vec![candidate(weather())], before - 20, Measure::ESTIMATE);
    let kinds: Vec<CutKind> = answer.shortened[0].cuts.iter().map(|cut| cut.kind).collect();
    assert!(answer.missing() == 0 && answer.off.is_empty(), "{answer:?}");
    assert!(kinds.iter().all(|kind| *kind <= CutKind::SaysTheName), "{kinds:?}");
    assert_eq!((answer.shortened[0].before, answer.shortened[0].after), (before, answer.after));
}

#[test]
fn texts_are_cut_where_sentences_end() {
    let answer = fit(vec![candidate(weather())], 0, Measure::ESTIMATE);
    assert!(answer.shortened.is_empty(), "a tool that is turned off is not shortened");
    let mut must_stay = candidate(weather());
    must_stay.must_stay = true;
    let answer = fit(vec![must_stay], 0, Measure::ESTIMATE);
    let to = |pointer: &str| {
        let cut = answer.shortened[0].cuts.iter().find(|cut| cut.pointer == pointer).expect("it is cut");
        cut.to.clone()
    };
    assert_eq!(to("/description"), Some("Get the weather.".to_owned()));
    assert_eq!(to("/parameters/properties/unit/description"), Some("Which unit.".to_owned()));
    assert_eq!(to("/parameters/properties/city_name/description"), None);
    assert_eq!(answer.missing(), answer.after, "nothing else can go, and that is said");
}

#[test]
fn tools_that_belong_together_become_one() {
    let one = |name: &str| {
        let parameters = json!({"type": "object", "properties": {
            "repository": {"type": "string", "description": "Where the repository lies on this machine"},
            "branch": {"type": "string", "description": "Which of its branches is meant by that"}
        }, "required": ["repository"]});
        Candidate { family: Some("git".to_owned()), ..candidate(function(&format!("git_{name}"), "Do it", parameters)) }
    };
    let tools = vec![one("push"), one("pull"), one("status")];
    let before: usize = tools.iter().map(|tool| Measure::ESTIMATE.of(&tool.function)).sum();
    let answer = fit(tools, before * 6 / 10, Measure::ESTIMATE);
    let [merged] = answer.merged.as_slice() else { panic!("{answer:?}") };
    assert_eq!(merged.tools, ["git_push", "git_pull", "git_status"]);
    assert_eq!(merged.into.parameters["properties"]["operation"]["enum"], json!(["push", "pull", "status"]));
    assert_eq!(merged.into.parameters["required"], json!(["operation", "repository"]));
    assert!((merged.before, merged.after) == (before, Measure::ESTIMATE.of(&merged.into)) && answer.missing() == 0);
}

#[test]
fn what_is_used_stays() {
    let tool = |name: &str, uses| Candidate { uses, ..candidate(function(name, &"word ".repeat(40), json!({}))) };
    let tools = vec![tool("never", 0), tool("often", 9), tool("once", 1), tool("also-never", 0)];
    let answer = fit(tools, 110, Measure::ESTIMATE);
    assert_eq!(answer.kept, ["often", "once"]);
    assert_eq!(answer.off.iter().map(|off| off.tool.as_str()).collect::<Vec<_>>(), ["never", "also-never"]);
}

#[test]
fn few_words_turn_off_many() {
    let off = ["mcp_a_x", "mcp_a_y", "git", "mcp_b_x"];
    let turning = turnings(&off, &["mcp_b_y"]);
    assert_eq!((turning.off, turning.on), (vec!["*".to_owned()], vec!["mcp_b_y".to_owned()]));
    let turning = turnings(&off, &["mcp_b_y", "git-lfs", "z1", "z2", "z3"]);
    assert_eq!((turning.off, turning.on), (vec!["git".to_owned(), "mcp_a_*".to_owned(), "mcp_b_x".to_owned()], vec![]));
}

fn any_tool() -> impl Strategy<Value = Candidate> {
    let text = "([A-Z][a-z]{1,8} [a-z]{1,8}( \\([a-z]{1,6}\\))?\\. ){0,4}";
    let properties = prop::collection::btree_map("[a-z_]{1,8}", (text, any::<bool>()), 0..4);
    ("[a-z]{1,3}_[a-z]{1,6}", text, properties, 0..3_u64, any::<bool>(), any::<bool>()).prop_map(
        |(name, description, properties, uses, must_stay, is_ours)| {
            let properties: serde_json::Map<String, Value> = properties
                .into_iter()
                .map(|(name, (text, has_title))| {
                    let mut property = json!({"type": "string", "description": text});
                    if has_title {
                        property["title"] = json!(name);
                    }
                    (name, property)
                })
                .collect();
            let family = name.split('_').next().map(str::to_owned);
            let parameters = json!({"type": "object", "properties": properties});
            Candidate { function: function(&name, &description, parameters), family, uses, must_stay, is_ours }
        },
    )
}

proptest! {
    #[test]
    fn what_is_proposed_adds_up(tools in prop::collection::vec(any_tool(), 0..12), most in 0..400_usize) {
        let costs: Vec<usize> = tools.iter().map(|tool| Measure::ESTIMATE.of(&tool.function)).collect();
        let answer = fit(tools.clone(), most, Measure::ESTIMATE);
        prop_assert_eq!(answer.before, costs.iter().sum::<usize>());
        let won: usize = answer.shortened.iter().map(|one| one.before - one.after).sum::<usize>()
            + answer.merged.iter().map(|one| one.before - one.after).sum::<usize>()
            + answer.off.iter().map(|one| one.tokens).sum::<usize>();
        prop_assert_eq!(answer.after, answer.before - won);
        let in_merges: usize = answer.merged.iter().map(|one| one.tools.len()).sum();
        prop_assert_eq!(answer.kept.len() + answer.off.len() + in_merges, tools.len());
        // Only what must stay can be too much.
        if tools.iter().all(|tool| !tool.must_stay) {
            prop_assert_eq!(answer.missing(), 0);
        }
    }

    #[test]
    fn patterns_turn_off_what_they_should(names in prop::collection::btree_set("[a-c]{1,2}(_[a-c]{1,2}){0,2}", 0..14), split in any::<u16>()) {
        let is_off_at = |index: usize| split >> (index % 16) & 1 == 1;
        let part = |off: bool| {
            let wanted = names.iter().enumerate().filter(move |(index, _)| is_off_at(*index) == off);
            wanted.map(|(_, name)| name.as_str()).collect::<Vec<_>>()
        };
        let (off, kept) = (part(true), part(false));
        let turning = turnings(&off, &kept);
        let stands_for = |pattern: &str, name: &str| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => pattern == name,
        };
        let is_off = |name: &str| {
            turning.off.iter().any(|pattern| stands_for(pattern, name)) && !turning.on.iter().any(|on| on == name)
        };
        prop_assert!(off.iter().all(|name| is_off(name)) && !kept.iter().any(|name| is_off(name)), "{:?}", turning);
    }
}
