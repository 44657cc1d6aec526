//! Reading a file takes no longer than its length allows: twice the file, at most three times the work.

use cycod_definition::{document_json, function_schema, level, load};
use cycod_diagnostic::{RenderStyle, SourceFile, SourceReport, apply_fixes, render_text, to_json};
use growth::Grown;

/// Tool files that grow in one dimension each.
const DIMENSIONS: &[(&str, Grown)] = &[
    ("placeholders", |n| one("X", &format!("echo {}", "{X} ".repeat(n)))),
    ("unknown placeholders", |n| one("X", &format!("echo {}", count(n, |i| format!("{{Y{i}}} "))))),
    ("placeholders of a document", |n| one("X", &format!("cat <<'E'\n  {}E\n", "{X} b\n  ".repeat(n)))),
    ("secrets in arguments", |n| {
        format!(
            "name: t\ndescription: d\nbash: curl {}\nparameters:\n  X: {{type: string, description: d, sensitive: true}}\n",
            "\"{X}\" ".repeat(n)
        )
    }),
    ("references to unknown steps", |n| steps(n, |i| format!("bash: echo {{t{i}.output}}"))),
    ("braces", |n| one("X", &"{".repeat(n))),
    ("conditional placeholders", |n| one("X", &format!("echo {}", "{X ? 'a' : 'b'} ".repeat(n)))),
    ("transformed placeholders", |n| one("X", &format!("echo {{X{}}}", ":uppercase".repeat(n)))),
    ("lines", |n| one("X", &"echo a\n  ".repeat(n))),
    ("words of run", |n| format!("name: t\ndescription: d\nrun: echo {}\n", "a ".repeat(n))),
    ("placeholders of run", |n| {
        format!(
            "name: t\ndescription: d\nrun: echo {}\nparameters:\n  X: {{type: string, description: d}}\n",
            "{X} ".repeat(n)
        )
    }),
    ("parameters", |n| {
        format!(
            "name: t\ndescription: d\nbash: echo {}\nparameters:\n{}",
            count(n, |i| format!("{{P{i}}} ")),
            count(n, |i| format!("  P{i}: {{type: string, description: d}}\n"))
        )
    }),
    ("unused parameters", |n| {
        format!(
            "name: t\ndescription: d\nbash: echo\nparameters:\n{}",
            count(n, |i| format!("  P{i}: {{type: string, description: d}}\n"))
        )
    }),
    ("parameters of long names", |n| {
        format!(
            "name: t\ndescription: d\nbash: echo\nparameters:\n{}",
            count(20, |i| { format!("  {}{i}: {{type: string, description: d}}\n", "P".repeat(n / 4)) })
        )
    }),
    ("choices", |n| parameter(&format!("validation: {{enum: [{}]}}", count(n, |i| format!("a{i}, "))))),
    ("numbers to choose from", |n| parameter(&format!("validation: {{enum: [{}]}}", count(n, |i| format!("{i}, "))))),
    ("examples", |n| parameter(&format!("examples: [{}]", count(n, |i| format!("a{i}, "))))),
    ("unknown keys of a parameter", |n| parameter(&count(n, |i| format!("patern{i}: a, ")))),
    ("properties", |n| {
        parameter(&format!("validation: {{properties: {{{}}}}}", count(n, |i| format!("a{i}: {{type: string}}, "))))
    }),
    ("nested properties", |n| {
        parameter(&format!("validation: {}{{}}{}", "{properties: {a: ".repeat(n), "}}".repeat(n)))
    }),
    ("required properties", |n| {
        parameter(&format!("validation: {{properties: {{a: {{}}}}, required: [{}]}}", count(n, |i| format!("a{i}, "))))
    }),
    ("a pattern", |n| parameter(&format!("validation: {{pattern: '{}'}}", "(a|b)".repeat(n)))),
    ("a default", |n| parameter(&format!("default: '{}'", "a".repeat(n)))),
    ("digits", |n| parameter(&format!("validation: {{minLength: {}}}", "1".repeat(n)))),
    ("steps", |n| steps(n, |i| format!("bash: echo {i}"))),
    ("steps of steps", |n| {
        steps(n, |i| match i {
            0 => "bash: echo".to_owned(),
            i => format!("bash: echo {{s{}.output}}", i - 1),
        })
    }),
    ("steps that wait", |n| {
        steps(n, |i| match i {
            0 => "bash: echo".to_owned(),
            i => format!("bash: echo\n    wait-for: s{}", i - 1),
        })
    }),
    ("steps that write files", |n| {
        steps(n, |i| format!("bash: echo {{TEXT}} > f{i}"))
            .replace("steps:\n", "parameters: {TEXT: {type: string, description: d}}\nsteps:\n")
    }),
    ("steps that write and read files beside each other", |n| {
        steps(n, |i| format!("bash: echo {{TEXT}} > f{i}; cat f{}\n    parallel: true", i / 2))
            .replace("steps:\n", "parameters: {TEXT: {type: string, description: d}}\nsteps:\n")
    }),
    ("steps that unpack", |n| {
        steps(n, |i| format!("bash: git clone {{TEXT}} r{i}; make -C other"))
            .replace("steps:\n", "parameters: {TEXT: {type: string, description: d}}\nsteps:\n")
    }),
    ("steps in a circle", |n| steps(n, |i| format!("bash: echo {i}\n    wait-for: s{}", (i + 1) % n))),
    ("steps that wait for the same", |n| {
        steps(n, |i| match i {
            0 => "bash: echo".to_owned(),
            _ => "bash: echo\n    wait-for: s0".to_owned(),
        })
    }),
    ("a step that waits for all", |n| {
        steps(n, |i| match i + 1 == n {
            true => format!("bash: echo\n    wait-for: [{}]", count(n - 1, |i| format!("s{i}, "))),
            false => "bash: echo".to_owned(),
        })
    }),
    ("conditions", |n| {
        steps(n, |i| match i {
            0 => "bash: echo".to_owned(),
            _ => "bash: echo\n    run-condition: '{s0.exit-code} == 0'".to_owned(),
        })
    }),
    ("one condition", |n| condition(&format!("{{X}} == 'a'{}", " && {X} == 'a'".repeat(n)))),
    ("one condition of choices", |n| {
        condition(&format!("{{X}} == 'a'{}", count(n, |i| format!(" || {{X}} == 'a{i}'"))))
    }),
    ("a nested condition", |n| condition(&format!("{}{{X}} == 'a'{}", "(".repeat(n), ")".repeat(n)))),
    ("a negated condition", |n| condition(&format!("{} {{X}} == 'a'", "! ".repeat(n)))),
    ("steps of one name", |n| {
        format!("name: t\ndescription: d\nsteps:\n{}", count(n, |_| "  - name: s\n    bash: echo\n".to_owned()))
    }),
    ("variables", |n| {
        format!(
            "name: t\ndescription: d\nbash: echo $A1\nenvironment:\n  variables:\n{}",
            count(n, |i| format!("    A{i}: 'b {{WORKSPACE}}'\n"))
        )
    }),
    ("secrets", |n| {
        format!(
            "name: t\ndescription: d\nbash: {}\nenvironment:\n  secrets: [{}]\n",
            count(n, |i| format!("$A{i} ")),
            count(n, |i| format!("A{i}, "))
        )
    }),
    ("tests", |n| {
        format!(
            "name: t\ndescription: d\nbash: echo {{X}}\nparameters:\n  X: {{type: string, description: d}}\ntests:\n{}",
            count(n, |i| format!("  - name: a{i}\n    parameters: {{X: b}}\n    expected: {{output-contains: b}}\n"))
        )
    }),
    ("tests of one name", |n| {
        format!(
            "name: t\ndescription: d\nbash: echo\ntests:\n{}",
            count(n, |_| "  - name: a\n    expected: {exit-code: 0}\n".to_owned())
        )
    }),
    ("unknown keys", |n| {
        format!("name: t\ndescription: d\nbash: echo\n{}", count(n, |i| format!("paramters{i}: a\n")))
    }),
    ("unknown keys of one word", |n| format!("name: t\ndescription: d\nbash: echo\n{}: a\n", "p".repeat(n))),
    ("keys that are there twice", |n| format!("name: t\ndescription: d\nbash: echo\n{}", "group: a\n".repeat(n))),
    ("wrong types", |n| {
        format!("name: t\ndescription: d\nbash: echo\nparameters:\n{}", count(n, |i| format!("  P{i}: [a]\n")))
    }),
    ("tags", |n| format!("name: t\ndescription: d\nbash: echo\ntags: [{}]\n", count(n, |i| format!("a{i}, ")))),
    ("commands", |n| {
        format!("name: t\ndescription: d\nbash: echo\nrequires: {{commands: [{}]}}\n", count(n, |i| format!("a{i}, ")))
    }),
    ("permissions", |n| {
        format!(
            "name: t\ndescription: d\nbash: echo\nsecurity: {{required-permissions: [{}]}}\n",
            count(n, |i| format!("'filesystem:read:/a{i}', "))
        )
    }),
    ("hosts", |n| {
        format!(
            "name: t\ndescription: d\nbash: echo\nsecurity: {{required-permissions: [{}]}}\n",
            count(n, |i| format!("'network:external:a{i}.org', "))
        )
    }),
    ("programs", |n| {
        format!(
            "name: t\ndescription: d\nbash: {}\nprograms: {{{}}}\n",
            count(n, |i| format!("p{i}; ")),
            count(n, |i| format!("p{i}: text, "))
        )
    }),
    ("a description", |n| format!("name: t\ndescription: '{}'\nbash: echo\n", "word ".repeat(n))),
    ("a description of lines", |n| format!("name: t\ndescription: |\n{}bash: echo\n", "  word\n".repeat(n))),
    ("comments", |n| format!("name: t\ndescription: d\nbash: echo\n{}", "# a\n".repeat(n))),
    ("empty lines", |n| format!("name: t\ndescription: d\n{}bash: echo\n", "\n".repeat(n))),
    ("nested lists", |n| format!("name: t\ndescription: d\nbash: echo\ntags: {}{}\n", "[".repeat(n), "]".repeat(n))),
    ("nested mappings", |n| format!("name: t\n{}", count(n.min(300), |i| format!("{}a:\n", " ".repeat(i))))),
    ("anchors", |n| {
        format!("name: t\ndescription: d\nbash: echo\ntags: [{}]\n", count(n, |i| format!("&a{i} a, *a{i}, ")))
    }),
    ("references to one anchor", |n| format!("name: &a t\ndescription: d\nbash: echo\ntags: [{}]\n", "*a, ".repeat(n))),
    ("documents", |n| format!("name: t\n{}", "---\nname: t\n".repeat(n))),
    ("syntax errors", |n| format!("name: t\n{}", "a: b: c\n".repeat(n))),
    ("tabs", |n| format!("name: t\n{}", "\ta: b\n".repeat(n))),
    ("quotes that are not closed", |n| format!("name: t\ndescription: d\nbash: echo {}\n", "'\" ".repeat(n))),
    ("options", |n| {
        format!("name: t\ndescription: d\nbash: echo\nshell-options: [{}]\n", count(n, |_| "e, ".to_owned()))
    }),
    ("questions", |n| {
        format!(
            "name: t\ndescription: d\nbash: echo\nasks:\n{}",
            count(n, |i| format!("  a{i}: {{person: 'Sure {{WORKSPACE}}?'}}\n"))
        )
    }),
    ("arguments of a tool", |n| {
        format!(
            "name: t\ndescription: d\nsteps:\n  - name: s\n    use-tool: other\n    with: {{{}}}\n",
            count(n, |i| format!("A{i}: b, "))
        )
    }),
    ("arguments of an alias", |n| {
        format!(
            "name: t\ntype: alias\nbase-tool: other\ndefault-parameters: {{{}}}\n",
            count(n, |i| format!("A{i}: b, "))
        )
    }),
    ("a list of a value", |n| parameter(&format!("default: [{}]", "a, ".repeat(n)))),
    ("lookalikes", |n| {
        format!(
            "name: t\ndescription: d\nbash: echo\nparameters:\n{}",
            count(n, |i| format!("  P{}О{i}: {{type: string, description: d}}\n", i % 7))
        )
    }),
];

/// Markdown tools that grow in one dimension each.
const PAGES: &[(&str, Grown)] = &[
    ("lines of code", |n| format!("{HEAD}```r\nf <- function(a) {{\n{}}}\n```\n", "  a\n".repeat(n))),
    ("arguments of a function", |n| {
        format!("{HEAD}```r\nf <- function({}) 1\n```\n", count(n, |i| format!("a{i} = {i}, ")))
    }),
    ("blocks", |n| format!("{HEAD}{}", "```r\nf <- function(a) 1\n```\n".repeat(n))),
    ("headings", |n| format!("{HEAD}{}", "## Handler Function\n".repeat(n))),
    ("parentheses", |n| format!("{HEAD}```r\nf <- function(a) {}{}\n```\n", "(".repeat(n), ")".repeat(n))),
    ("quotes", |n| format!("{HEAD}```r\nf <- function(a) {}\n```\n", "'".repeat(n))),
    ("lists", |n| format!("{HEAD}{}", count(n.min(2000), |i| format!("{}- a\n", " ".repeat(i))))),
    ("emphasis", |n| format!("{HEAD}{}", "*a **b _c ".repeat(n))),
    ("links", |n| format!("{HEAD}{}", "[a](".repeat(n))),
    ("backticks", |n| format!("{HEAD}{}", count(n.min(600), |i| format!("{} ", "`".repeat(i))))),
    ("quotations", |n| format!("{HEAD}{}a\n", "> ".repeat(n))),
    ("tables", |n| format!("{HEAD}|{}\n|{}\n", "a|".repeat(n), "-|".repeat(n))),
    ("what is before the front matter", |n| format!("{}{HEAD}```r\nf <- function(a) 1\n```\n", "\n".repeat(n))),
    ("markers", |n| format!("{HEAD}{}", "# TOOL BEGINS HERE\n".repeat(n))),
];

const HEAD: &str = "---\nname: t\ndescription: d\n---\n";

fn one(name: &str, command: &str) -> String {
    format!("name: t\ndescription: d\nparameters:\n  {name}: {{type: string, description: d}}\nbash: |\n  {command}\n")
}

fn parameter(rest: &str) -> String {
    format!("name: t\ndescription: d\nbash: echo {{X}}\nparameters:\n  X: {{type: string, description: d, {rest}}}\n")
}

fn steps(count: usize, step: impl Fn(usize) -> String) -> String {
    let steps: String = (0..count).map(|index| format!("  - name: s{index}\n    {}\n", step(index))).collect();
    format!("name: t\ndescription: d\nsteps:\n{steps}")
}

fn condition(condition: &str) -> String {
    let parameters = "parameters:\n  X: {type: string, description: d}\n";
    format!(
        "name: t\ndescription: d\n{parameters}steps:\n  - name: s\n    bash: echo\n    run-condition: \"{condition}\"\n"
    )
}

fn count(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect()
}

/// Reads a text in every way that a list, a check and a call do.
fn read(name: &str, text: &str) {
    let source = SourceFile::new(name, text);
    let loaded = load(&source, Some("t"));
    if let Some(tool) = &loaded.tool {
        function_schema(tool);
        level(tool, &|_| None);
    }
    document_json(&source);
    apply_fixes(&source, &loaded.diagnostics);
    let report = SourceReport { source, diagnostics: loaded.diagnostics };
    to_json(&report);
    render_text(&report, RenderStyle::Plain);
}

#[test]
fn a_tool_file_is_read_in_the_time_that_its_length_allows() {
    growth::check(DIMENSIONS, |text| read("t.yaml", text));
}

#[test]
fn a_markdown_tool_is_read_in_the_time_that_its_length_allows() {
    growth::check(PAGES, |text| read("t.md", text));
}
