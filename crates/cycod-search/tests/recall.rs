//! How often the right tool is among the first eight, among tools of public collections.

use std::collections::HashSet;

use cycod_search::{Described, Index};
use proptest::prelude::*;

const TOOLS: &str = include_str!("collection/tools.tsv");
const QUESTIONS: &str = include_str!("collection/questions.txt");
const UNSEEN: &str = include_str!("collection/unseen.txt");

fn tools() -> Vec<Vec<&'static str>> {
    TOOLS.lines().map(|line| line.split('\t').collect()).collect()
}

fn index(tools: &[Vec<&'static str>]) -> Index {
    Index::new(tools.iter().map(|tool| Described {
        group: tool[1],
        name: tool[2],
        description: tool[3],
        parameters: tool[4],
        keywords: "",
    }))
}

/// Asks every question of a file. Returns how many there are, and those whose right tool is not among the first eight.
fn missed(questions: &str) -> (usize, Vec<String>) {
    let tools = tools();
    let index = index(&tools);
    let questions = questions.lines().filter(|line| !line.starts_with('#'));
    let questions: Vec<(&str, &str)> = questions.filter_map(|line| line.split_once(" = ")).collect();
    let missed = questions.iter().filter(|(question, right)| {
        let right: HashSet<&str> = right.split(' ').collect();
        let is_right = |at: usize| right.contains(format!("{}/{}", tools[at][1], tools[at][2]).as_str());
        !index.find(question, 8).into_iter().any(is_right)
    });
    (questions.len(), missed.map(|(question, _)| (*question).to_owned()).collect())
}

#[test]
fn the_right_tool_is_among_the_first_eight() {
    assert_eq!(tools().len(), 1187);
    let (asked, missed_of_them) = missed(QUESTIONS);
    assert!(asked == 100 && missed_of_them.len() <= 5, "{missed_of_them:#?}");
    let (asked, missed_of_them) = missed(UNSEEN);
    assert!(asked == 51 && missed_of_them.len() <= 8, "{missed_of_them:#?}");
}

#[test]
fn every_question_of_the_files_names_tools_that_exist() {
    let names: HashSet<String> = tools().iter().map(|tool| format!("{}/{}", tool[1], tool[2])).collect();
    for line in QUESTIONS.lines().chain(UNSEEN.lines()).filter(|line| !line.starts_with('#')) {
        let (_, right) = line.split_once(" = ").expect("a question and its answers");
        assert!(right.split(' ').all(|name| names.contains(name)), "{line}");
    }
}

#[test]
fn forms_and_spellings_of_a_word_find_the_same() {
    let tool = |name, description| Described { name, description, ..Described::default() };
    let index = Index::new([
        tool("listPullRequests", "List the pull requests of a repository"),
        tool("customer_create", "Add a customer"),
        tool("customize", "Customizations of a page"),
    ]);
    for question in ["pull request", "PULL_REQUESTS", "pullRequest", "what pull requests are there?", "PRs"] {
        assert_eq!(index.find(question, 8).first(), Some(&0), "{question}");
    }
    assert_eq!(index.find("customer", 8)[0], 1);
    assert_eq!(index.find("customization", 8)[0], 2);
    assert_eq!(index.find("which of the", 8), [] as [usize; 0], "no word of it says anything");
    assert_eq!(Index::new([]).find("customer", 8), [] as [usize; 0]);
}

proptest! {
    #[test]
    fn any_question_is_answered(question in any::<String>(), limit in 0..20_usize) {
        let tools = tools();
        let index = index(&tools[..50]);
        let found = index.find(&question, limit);
        prop_assert!(found.len() <= limit && found.iter().all(|at| *at < 50));
        prop_assert_eq!(&index.find(&question, limit), &found, "the same question has the same answer");
    }
}
