//! What TypeScript and JavaScript become, and what is wrong with them, where.

use expect_test::{Expect, expect};

use super::*;

/// Reads code on a stack that is large enough.
fn read_it(code: &str) -> Result<Read, Vec<ScriptDiagnostic>> {
    let read = || read(code, ScriptLanguage::TypeScript);
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(READING_STACK).spawn_scoped(scope, read);
        thread.expect("a thread starts").join().expect("the parser does not panic")
    })
}

/// Makes JavaScript of code, and checks that the engine takes it.
fn script(code: &str) -> String {
    let whole = format!("{code}\nexport function execute() {{}}");
    let read = read_it(&whole).unwrap_or_else(|problems| panic!("{code}\n{problems:#?}"));
    compile::compile(&read.script).unwrap_or_else(|problem| panic!("{}\n{problem:?}", read.script));
    read.script.strip_suffix("export function execute() {}\n").expect("nothing there is a type").to_owned()
}

/// What code becomes, with any space as one.
fn becomes(code: &str, expected: &str) {
    let narrow = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(narrow(&script(code)), narrow(expected), "{code}");
}

fn wrong(code: &str, expected: &Expect) {
    let problems = check(code, ScriptLanguage::TypeScript).expect_err("it is wrong");
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| {
            let help = problem.help.as_deref().map(|help| format!("\n  help: {help}")).unwrap_or_default();
            format!("{problem}\n  at `{}`{help}\n", code[problem.span.clone()].lines().next().unwrap_or_default())
        })
        .collect();
    expected.assert_eq(&lines.concat());
}

#[test]
fn types_are_left_out() {
    becomes("const a: number = 1, b: string[] = [];", "const a = 1, b = [];");
    becomes("function is(x: any): x is string { return true }", "function is(x) { return true; }");
    becomes(
        "const f = <T,>(x: T) => x; f<number>(1); new Map<string, A<B>>();",
        "const f = (x) => x; f(1); new Map();",
    );
    becomes("const a = { b: 1 } as const satisfies C;", "const a = { b: 1 };");
    becomes("a!.b![0]!; (a as any) = 1; const x = <any>y;", "a.b[0]; a = 1; const x = y;");
    becomes("interface A { b: C }\ntype D = A; declare const e: number; export type F = D;", "");
    becomes("function f(a: string): void;\nfunction f(a: any) {}", "function f(a) {}");
    becomes("namespace A { export type B = C; interface D {} }", "");
    becomes("import type { A } from 'a'; import { type B } from 'b';", "");
    becomes("#!/usr/bin/env tsx\nconst a = 1;", "const a = 1;");
    becomes(
        "abstract class A { private readonly a: number = 1; static b?: B; declare d: D; abstract e(): void; [k: string]: any }",
        "class A { a = 1; static b; }",
    );
    becomes(
        "const f = (a: A)\n  : B => a;\nconst g = async <\n  T\n>(a: T) => a",
        "const f = (a) => a; const g = async (a) => a;",
    );
    becomes("const a = b as C\n;[d].e", "const a = b; [d].e;");
}

#[test]
fn what_makes_code_makes_it() {
    becomes(
        "enum Color { Red, Green = 5, Blue }",
        "var Color = function(Color) { Color[Color[\"Red\"] = 0] = \"Red\"; Color[Color[\"Green\"] = 5] = \"Green\"; \
         Color[Color[\"Blue\"] = 6] = \"Blue\"; return Color; }(Color || {});",
    );
    for code in [
        "export enum Text { A = 'a', B = `${A}b` } const b: Text = Text.B;",
        "const enum C { D = 1 << 3, E = D | 1 } const e = C.E;",
        "class Point { constructor(private readonly x: number, public y = 2) {} sum() { return this.x + this.y } } new Point(1).sum();",
        "namespace Tools { export const twice = (n: number) => n * 2; export namespace Inner { export function f() { return twice(2) } } } Tools.Inner.f();",
        "namespace A.B { export const c = 1 } import d = A.B; const e = d.c;",
        "class A { private a: number = 1; constructor(readonly b: string, c?: number) { c; } }",
    ] {
        drop(script(code));
    }
}

/// Where the mark `HERE` of code stands in what is made of it, taken back to the code.
#[test]
fn places_are_those_of_the_code() {
    let code = "enum Color { Red, Green }\n\ninterface A {\n  b: string;\n}\n\nclass P {\n  constructor(private x: Color) {}\n}\n\n\
                export function execute(args: A) {\n  const p = new P(Color.Green);\n  const list = [\n    1,\n    args.b,\n    \
                fail(Color.Red),\n  ];\n  return `${\n    other(list)\n  }`;\n}\n";
    let read = read_it(code).expect("it is TypeScript");
    let place = |text: &str, word: &str| {
        let at = text.find(word).unwrap_or_else(|| panic!("{word} in {text}"));
        let line = text[..at].matches('\n').count() + 1;
        (line, at - text[..at].rfind('\n').map_or(0, |end| end + 1) + 1)
    };
    for word in ["new P", "args.b", "fail(", "other(", "execute("] {
        let (line, column) = place(&read.script, word);
        assert_eq!(read.places.original(line, column), place(code, word), "{word}\n{}", read.script);
    }
    // In a file that has lines before it, and with a name in which there are colons.
    let (line, column) = place(&read.script, "fail(");
    let trace = format!("    at fail (C:/a.md:{}:{column})\n    at other.md:1:1", line + 9);
    let (line, column) = place(code, "fail(");
    let expected = format!("    at fail (C:/a.md:{}:{column})\n    at other.md:1:1", line + 9);
    assert_eq!(read.places.in_trace(&trace, "C:/a.md", 10), expected);
}

#[test]
fn what_is_exported_is_known() {
    let exports = |code: &str| check(code, ScriptLanguage::TypeScript).expect("it is well").names;
    assert_eq!(
        exports("export async function execute(args: A, context: C): Promise<string> { return '' }"),
        ["execute"]
    );
    assert_eq!(exports("export default async (args: A) => args"), ["default"]);
    assert_eq!(
        exports("const a = 1; export { a as execute, a as b }; export const { c, d: [e] } = x;"),
        ["execute", "b", "c", "e"]
    );
    assert_eq!(exports("export default class {} export class A {}"), ["default", "A"]);
    let found = check("export type A = 1; export default 1", ScriptLanguage::TypeScript).expect("it is well");
    assert_eq!(found, Exports { execute: false, default: true, names: vec!["default".to_owned()], is_open: false });
}

#[test]
fn what_cannot_run_is_refused_with_the_way_out() {
    wrong(
        "namespace A { export let b = 1 }\nexport function execute() {}",
        &expect![[r#"
            1:15: a namespace exports no `let` and no `var`, because they could change
              at `export let b = 1`
              help: write `export const`, or export functions that read and change the variable
        "#]],
    );
    wrong(
        "export function execute() { @a class B { @c d() {} } }",
        &expect![[r#"
        1:29: the engine knows no decorators
          at `@a`
          help: call the function on the class or the method yourself
        1:42: the engine knows no decorators
          at `@c`
          help: call the function on the class or the method yourself
    "#]],
    );
    wrong(
        "export function execute() { return <div>a</div> }",
        &expect![[r#"
        1:43: unterminated regular expression
          at `/div> }`
    "#]],
    );
    wrong(
        "import a = require('b'); import c = d.e; export function execute() {}",
        &expect![[r#"
            1:1: a tool's code stands alone and imports nothing
              at `import a = require('b');`
              help: write `import type` if only types are meant, reach files and programs through `context.platform`, and put other code into the file
        "#]],
    );
    wrong(
        "export = 1",
        &expect![[r#"
        1:1: `export =` belongs to modules of another kind
          at `export = 1`
          help: write `export default`
    "#]],
    );
}

#[test]
fn imports_are_refused_with_the_reason() {
    wrong(
        "import fs from 'fs';\nexport * from 'a'; export { b } from 'b';\nexport function execute() { return import('c') }",
        &expect![[r#"
        1:1: a tool's code stands alone and imports nothing
          at `import fs from 'fs';`
          help: write `import type` if only types are meant, reach files and programs through `context.platform`, and put other code into the file
        2:1: a tool's code stands alone and imports nothing
          at `export * from 'a';`
          help: write `import type` if only types are meant, reach files and programs through `context.platform`, and put other code into the file
        2:20: a tool's code stands alone and imports nothing
          at `export { b } from 'b';`
          help: write `import type` if only types are meant, reach files and programs through `context.platform`, and put other code into the file
        3:36: a tool's code stands alone and imports nothing
          at `import('c')`
          help: write `import type` if only types are meant, reach files and programs through `context.platform`, and put other code into the file
    "#]],
    );
    wrong(
        "import 'a'; import data from './a.json' with { type: 'json' };\nexport function execute() {}",
        &expect![[r#"
        1:1: a tool's code stands alone and imports nothing
          at `import 'a';`
          help: write `import type` if only types are meant, reach files and programs through `context.platform`, and put other code into the file
        1:13: a tool's code stands alone and imports nothing
          at `import data from './a.json' with { type: 'json' };`
          help: write `import type` if only types are meant, reach files and programs through `context.platform`, and put other code into the file
    "#]],
    );
}

#[test]
fn mistakes_have_a_place() {
    wrong(
        "export function execute() {\n  const é = ;\n}",
        &expect![[r#"
        2:13: unexpected token
          at `;`
    "#]],
    );
    wrong(
        "export function execute() {\n  let a = 1;\n  let a = 2;\n}",
        &expect![[r#"
            3:7: identifier `a` has already been declared
              at `a`
        "#]],
    );
    wrong(
        "export function execute( {",
        &expect![[r#"
        1:27: expected `}` but found `EOF`
          at ``
    "#]],
    );
    wrong(
        "export function execute() { return /(/ }",
        &expect![[r#"
            1:1: expecting ')'
              at `e`
        "#]],
    );
    wrong(
        "export function execute() { await 1 }",
        &expect![[r#"
        1:29: `await` is only allowed within async functions and at the top levels of modules
          at `await`
          help: Either remove this `await` or add the `async` keyword to the enclosing function
    "#]],
    );
}

#[test]
fn something_to_call_must_be_exported() {
    wrong(
        "",
        &expect![[r#"
        1:1: the code exports no function that could be called
          at ``
          help: write `export async function execute(args, context) { … }`
    "#]],
    );
    wrong(
        "function a() {}\nasync function execute() {}",
        &expect![[r#"
        2:16: the code exports no function that could be called
          at `execute`
          help: write `export` before the declaration of `execute`
    "#]],
    );
    wrong(
        "const execute = () => 1",
        &expect![[r#"
        1:7: the code exports no function that could be called
          at `execute`
          help: write `export` before the declaration of `execute`
    "#]],
    );
    wrong(
        "module.exports = { execute() {} }",
        &expect![[r#"
        1:1: the code exports no function that could be called
          at ``
          help: the code is an ES module: write `export async function execute(args, context) { … }` instead of assigning to `exports`
    "#]],
    );
    wrong(
        "export const run = 1",
        &expect![[r#"
        1:1: the code exports no function that could be called
          at ``
          help: write `export async function execute(args, context) { … }`
    "#]],
    );
}

#[test]
fn types_belong_to_typescript_only() {
    let problems =
        check("export function execute(a: string) {}", ScriptLanguage::JavaScript).expect_err("it has a type");
    assert_eq!(problems[0].to_string(), "1:26: expected `,` or `)` but found `:`");
    check("export function execute(a) { return f(a < b, c > (d)) }", ScriptLanguage::JavaScript)
        .expect("it is JavaScript");
}

#[test]
fn bombs_are_refused() {
    let bomb = |code: String| {
        let problems = check(&code, ScriptLanguage::TypeScript).expect_err("it is too deep");
        problems[0].message.clone()
    };
    let deep = 10_000;
    for (open, close) in [
        ("[", "]"),
        ("(", ")"),
        ("{a:", "}"),
        ("!", ""),
        ("a=>", ""),
        ("1+", ""),
        ("a?b:", ""),
        ("`${", "}`"),
        ("f(", ")"),
    ] {
        let code = format!("export const a = {}1{}", open.repeat(deep), close.repeat(deep));
        assert_eq!(bomb(code), "the code is nested too deeply", "{open}");
    }
    for (open, close) in [("{", "}"), ("if(a)", ";"), ("a:", ";")] {
        let close = if close == "}" { close.repeat(deep) } else { close.to_owned() };
        let message = bomb(format!("{}{}", open.repeat(deep), close));
        assert!(!message.is_empty(), "{open}");
    }
    let types = format!("export function execute(a: {}b{}) {{}}", "Array<".repeat(deep), ">".repeat(deep));
    assert_eq!(bomb(types), "the code is nested too deeply");
    assert!(bomb("1;".repeat(LONGEST_CODE)).contains("bytes"));
}

#[test]
fn what_runs_elsewhere_keeps_its_imports() {
    let code = "import { readFile, type PathLike } from 'node:fs/promises';\nimport { Stats } from 'node:fs';\nenum E { A = 'utf8' }\nexport async function execute(args: { path: PathLike }): Promise<string> {\n  const os = await import('node:os');\n  const known: Stats | undefined = undefined;\n  return os.EOL + await readFile(args.path as string, E.A);\n}\n";
    let (script, _) = crate::lower(code).expect("it is TypeScript");
    assert!(script.starts_with("import { readFile } from \"node:fs/promises\";\n"), "{script}");
    // What is used as a type alone need not be there.
    assert!(
        !script.contains("PathLike") && !script.contains("Stats") && script.contains("import(\"node:os\")"),
        "{script}"
    );
}

#[test]
fn modules_of_both_kinds_run_in_node() {
    for code in [
        "module.exports = async (args) => args;",
        "exports.execute = () => 1;",
        "const fs = require('fs');\nmodule.exports = { execute() { return fs.EOL } };",
        "Object.assign(exports, { execute() {} });",
        "with ({}) {}\nmodule.exports = () => 010;",
        "export * from './other.mjs';",
        "export { execute } from './other.mjs';",
    ] {
        assert!(check_for_node(code, ScriptLanguage::JavaScript).is_ok(), "{code}");
    }
    assert!(check_for_node("const f: () => void = () => {};\nmodule.exports = f;", ScriptLanguage::TypeScript).is_ok());
    for code in ["const execute = () => 1;", "module.exports = (", "export const a = 1;", "with ({}) {}"] {
        assert!(check_for_node(code, ScriptLanguage::JavaScript).is_err(), "{code}");
    }
}

#[test]
fn code_that_is_read_twice_and_twice_again_is_refused_at_once() {
    let began = std::time::Instant::now();
    for open in ["f<(a=", "a<", "(a=", "async(a=", "f<{[", "<a>(b=", "({a=", "f<[a<("] {
        let code = format!("export default {}", open.repeat(40_000 / open.len()));
        assert!(check(&code, ScriptLanguage::TypeScript).is_err(), "{open}");
        // Just below the limit, over and over.
        let group = format!("{}1;\n", open.repeat(8));
        assert!(check(&group.repeat(200), ScriptLanguage::TypeScript).is_err(), "{open}");
    }
    assert!(began.elapsed() < std::time::Duration::from_secs(120), "the parser was kept busy");
}

#[test]
fn code_that_is_deep_without_brackets_fits_the_stack() {
    for open in [
        "!", "a=>", "a=", "new ", "a?b:", "1+", "x as ", "await ", "- ", "a,", "a:", "if(a)", "else ", "a??", "typeof ",
    ] {
        let code = format!("export default {}", open.repeat((LONGEST_CODE - 20) / open.len()));
        // Whatever is said about it, it is said.
        drop(check(&code, ScriptLanguage::TypeScript));
        let types =
            format!("type A = {}b; export default 1", open.replace('a', "keyof ").repeat((LONGEST_CODE - 40) / 10));
        drop(check(&types, ScriptLanguage::TypeScript));
    }
    for open in ["A extends B?C:", "keyof ", "readonly ", "()=>", "new()=>", "infer "] {
        let types = format!("type A = {}B; export default 1", open.repeat((LONGEST_CODE - 40) / open.len()));
        drop(check(&types, ScriptLanguage::TypeScript));
    }
}
