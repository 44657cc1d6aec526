//! Listing tools and looking for one takes no longer than their number allows.

use cycod_catalog::ScopeFilter;
use growth::Grown;
#[expect(dead_code, reason = "the other tests need all of it")]
mod place;

use place::{Place, named, tool};

/// Files below a place, each in a line; `path = name` for a tool that says its name.
const FILES: &[(&str, Grown)] = &[
    ("tools", |n| lines(n, |i| format!("home/.cycod/tools/tool{i}.yaml"))),
    ("tools of one name", |n| lines(n, |i| format!("home/.cycod/tools/tool{i}.yaml = tool"))),
    ("tools in directories", |n| lines(n, |i| format!("home/.cycod/tools/d{i}/tool{i}.yaml"))),
    ("names that differ in case", |n| lines(n, |i| format!("home/.cycod/tools/{}.yaml", cased(i)))),
    ("names that begin alike", |n| lines(n, |i| format!("home/.cycod/tools/{}{i}.yaml", "a".repeat(50)))),
    ("files that are no tools", |n| lines(n, |i| format!("home/.cycod/tools/note{i}.txt"))),
    ("hidden files", |n| lines(n, |i| format!("home/.cycod/tools/.tool{i}.yaml"))),
    ("tools in two scopes", |n| {
        lines(n / 2, |i| format!("home/.cycod/tools/tool{i}.yaml"))
            + &lines(n / 2, |i| format!("home/project/.cycod/tools/tool{i}.yaml"))
    }),
];

/// Of more files the file system would be measured.
const MOST: usize = 800;

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count.min(MOST)).map(|index| line(index) + "\n").collect()
}

fn cased(number: usize) -> String {
    (0..12).map(|bit| if number >> bit & 1 == 0 { 'a' } else { 'A' }).collect()
}

#[test]
fn tools_are_listed_in_the_time_that_their_number_allows() {
    for dimension in FILES {
        let place = std::cell::RefCell::new((String::new(), Place::new()));
        growth::check(&[*dimension], |files| {
            let mut place = place.borrow_mut();
            if place.0 != files {
                *place = (files.to_owned(), Place::new());
                for line in files.lines() {
                    match line.split_once(" = ") {
                        Some((path, name)) => place.1.write(path, named(name)),
                        None => place.1.write(line, tool("d")),
                    };
                }
            }
            let catalog = place.1.open();
            catalog.entries();
            for name in ["aaaaaaaaaaaa", "tool", "nothing-like-it"] {
                drop(catalog.find(name, ScopeFilter::Any));
            }
        });
    }
}
