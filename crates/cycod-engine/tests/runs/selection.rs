//! Which tools are meant: by a list, a server and a model in the same way.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use cycod_diagnostic::Code;
use cycod_engine::{
    AnyOf, BuiltInCall, BuiltIns, Engine, Selection, ToolOutcome,
    definition::{Level, Tool, ToolName, load_built_in},
    diagnostic::{Refusal, SourceFile},
    tokens::Measure,
};

use crate::support::Place;

fn engine() -> Engine {
    Place::new("description: Reads\nbash: cat x\ntags: [read, Git]\n")
        .tool("wipe", "description: Wipes\nbash: rm x\ntags: [write, disk]\ngroup: Files\n")
        .tool("count", "description: Zählt\nbash: wc x\ntags: [read, git, disk]\nmetadata: {tags: [math]}\n")
        .tool("gone", "description: Needs\nbash: x\nplatforms: [windows]\ntags: [read]\n")
        .engine()
}

/// The tools that `selection` means, by name.
fn check(selection: &Selection, names: &[&str]) {
    let engine = engine();
    let entries = engine.catalog().every_entry();
    let meant = entries.iter().filter(|entry| selection.admits(entry)).map(|entry| entry.name.as_str());
    assert_eq!(meant.collect::<Vec<_>>(), names, "{selection:?}");
}

/// A built-in tool that counts how often its definition is read.
#[derive(Debug, Default)]
struct Counted(AtomicUsize);

impl BuiltIns for Counted {
    fn names(&self) -> Vec<ToolName> {
        ToolName::new("counted").into_iter().collect()
    }

    fn tools(&self) -> Vec<Tool> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let text = "name: counted\ndescription: Counts\nhints: {read-only: true}\n";
        load_built_in(&SourceFile::new("built-in tool", text)).tool.into_iter().collect()
    }

    fn call(&self, _call: &BuiltInCall<'_>, _follow: &mut dyn FnMut(&str)) -> Result<ToolOutcome, Refusal> {
        Ok(ToolOutcome::default())
    }
}

/// Reading the definitions of all built-in tools takes longer than a call.
#[test]
fn built_in_tools_are_read_only_when_they_may_be_meant() {
    let selected = |selection: &Selection| {
        let counted = Arc::new(Counted::default());
        let place = Place::new("description: d\nbash: true\n");
        let engine = place.builder().built_ins(Arc::clone(&counted) as Arc<dyn BuiltIns>).build();
        let names: Vec<String> = engine.selected(selection).into_iter().map(|one| one.entry.name).collect();
        (names.join(" "), counted.0.load(Ordering::Relaxed))
    };
    let named = |names: &[&str]| Selection { names: Some(texts(names)), ..Selection::default() };
    let with_built_in = Selection { built_in: true, ..Selection::default() };
    assert_eq!(selected(&Selection::default()), ("t".to_owned(), 0));
    assert_eq!(selected(&named(&["t", "other"])), ("t".to_owned(), 0));
    assert_eq!(selected(&named(&["Counted"])), ("counted".to_owned(), 1));
    assert_eq!(selected(&with_built_in), ("counted t".to_owned(), 1));
    assert_eq!(selected(&with_built_in.clone().narrowed(named(&["t"]))), ("t".to_owned(), 0));
    assert_eq!(selected(&with_built_in.narrowed(named(&["counted"]))), ("counted".to_owned(), 1));
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn what_is_not_said_is_not_asked_for() {
    check(&Selection::default(), &["count", "gone", "t", "wipe"]);
}

#[test]
fn a_list_of_tags_means_one_of_them_and_several_lists_all() {
    let tags = |lists: &[&str]| Selection {
        tags: lists.iter().map(|list| AnyOf::parse(list)).collect(),
        ..Selection::default()
    };
    check(&tags(&["git"]), &["count", "t"]);
    check(&tags(&["git", "DISK"]), &["count"]);
    check(&tags(&["git, disk"]), &["count", "t", "wipe"]);
    check(&tags(&["math"]), &["count"]);
    check(&tags(&[""]), &[]);
}

#[test]
fn a_group_is_the_one_that_a_tool_is_listed_under() {
    let groups = |groups: &[&str]| Selection { groups: AnyOf(texts(groups)), ..Selection::default() };
    check(&groups(&["files"]), &["wipe"]);
    check(&groups(&["CUSTOM"]), &["count", "gone", "t"]);
    check(&groups(&["custom", "files"]), &["count", "gone", "t", "wipe"]);
}

#[test]
fn what_is_built_in_is_meant_when_it_is_named_or_asked_for() {
    let names = |names: &[&str]| Selection { names: Some(texts(names)), ..Selection::default() };
    check(&names(&["T", "none"]), &["t"]);
    // Nobody means every tool by naming none.
    check(&names(&[]), &[]);
}

#[test]
fn several_kinds_narrow_each_other() {
    check(
        &Selection { level: Some(Level::Read), tags: vec![AnyOf::parse("disk")], ..Selection::default() },
        &["count"],
    );
    check(&Selection { available: true, words: texts(&["ZÄHLT"]), ..Selection::default() }, &["count"]);
    check(&Selection { available: true, level: Some(Level::Read), ..Selection::default() }, &["count", "t"]);
}

#[test]
fn what_is_named_and_no_model_is_told_of_is_refused_at_once() {
    let engine = engine();
    let registry = engine.registry(Measure::ESTIMATE);
    let chosen = |selection: &Selection| {
        let chosen = registry.choose(&engine, selection);
        chosen.map(|tools| tools.into_iter().map(|tool| tool.entry.name.clone()).collect::<Vec<_>>())
    };
    let names = |names: &[&str]| Selection { names: Some(texts(names)), ..Selection::default() };
    assert_eq!(chosen(&names(&["wipe", "T", "t"])).expect("they are there"), ["wipe", "t"]);
    let refused = chosen(&names(&["wipf", "t", "gone"])).expect_err("two are not");
    let codes: Vec<Code> = refused.iter().map(|refusal| refusal.code).collect();
    assert_eq!(codes, [Code::UnknownTool, Code::BrokenTool]);
    let refused =
        chosen(&Selection { groups: AnyOf::parse("file"), ..Selection::default() }).expect_err("there is none");
    assert_eq!(refused[0].attempt.as_deref(), Some("did you mean `Files`?"));
}
