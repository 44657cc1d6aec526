use expect_test::{Expect, expect};

use super::*;

/// Reads code on a stack that is large enough.
fn read_it(code: &str) -> Result<Read, Vec<ScriptDiagnostic>> {
    let read = || read(code, Language::TypeScript);
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(READING_STACK).spawn_scoped(scope, read);
        thread.expect("a thread starts").join().expect("the parser does not panic")
    })
}

/// Strips code and checks that nothing moved, and that the engine takes what remains.
fn stripped(code: &str) -> String {
    let whole = format!("{code}\nexport function execute() {{}}");
    let script = read_it(&whole).unwrap_or_else(|problems| panic!("{code}\n{problems:#?}")).script;
    assert_eq!(script.len(), whole.len());
    assert_eq!(script.encode_utf16().count(), whole.encode_utf16().count());
    let ends = |text: &str| text.match_indices(['\n', '\r', '\u{2028}']).map(|(at, _)| at).collect::<Vec<_>>();
    assert_eq!(ends(&script), ends(&whole));
    // What is not left out stands where it stood.
    for (at, char) in script.char_indices().filter(|(_, char)| !char.is_whitespace()) {
        assert!(";()".contains(char) || whole[at..].starts_with(char), "{script}");
    }
    compile::compile(&script).unwrap_or_else(|problem| panic!("{script}\n{problem:?}"));
    script.strip_suffix("\nexport function execute() {}").expect("nothing there is a type").to_owned()
}

fn strips(code: &str, expected: &str) {
    let narrow = |text: &str| {
        text.lines()
            .map(|line| line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ") + "\n")
            .collect::<String>()
    };
    assert_eq!(narrow(&stripped(code)), narrow(expected), "{code}");
}

fn wrong(code: &str, expected: &Expect) {
    let problems = check(code, Language::TypeScript).expect_err("it is wrong");
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
fn annotations() {
    strips("const a: number = 1, b: string[] = [];", "const a         = 1, b           = [];");
    strips("let x!: Foo<Bar>;", "let x           ;");
    strips("function f(a?: number, ...b: string[]): void {}", "function f(a         , ...b          )       {}");
    strips("function f(this: Foo, a: Bar) {}", "function f(           a     ) {}");
    strips("function f(this: Foo) {}", "function f(         ) {}");
    strips("const f = ({ a, b }: { a: A; b: B } = {}) => a;", "const f = ({ a, b }                  = {}) => a;");
    strips("try {} catch (e: unknown) {}", "try {} catch (e         ) {}");
    strips("function is(x: any): x is string { return true }", "function is(x     )              { return true }");
    strips("for (const x of y as T[]) {}", "for (const x of y       ) {}");
}

#[test]
fn parameters_and_arguments_of_types() {
    strips("function f<T extends U = V>(x: T) {}", "function f                 (x   ) {}");
    strips("const f = <T,>(x: T) => x;", "const f =     (x   ) => x;");
    strips("f<number>(1); new Map<string, A<B>>(); t<X>`a`;", "f        (1); new Map              (); t   `a`;");
    strips("class A<T> extends B<T> implements C<T>, D {}", "class A    extends B                        {}");
    strips("const g = f<string>;", "const g = f        ;");
}

#[test]
fn assertions() {
    strips("const a = b as C as D;", "const a = b          ;");
    strips("const a = { b: 1 } as const satisfies C;", "const a = { b: 1 }                     ;");
    strips("a!.b![0]!;", "a .b [0] ;");
    strips("(a as any) = 1; a! += 2; [a as any] = b;", "(a       ) = 1; a  += 2; [a       ] = b;");
    strips("a! /* ! */ .b", "a  /* ! */ .b");
    strips("x = a < (b as any)", "x = a < (b       )");
}

#[test]
fn declarations() {
    strips("interface A { b: C }", ";                   ");
    strips("type A = {\n  b: C;\n};", ";         \n       \n  ");
    strips("export type A = B; export interface C {}", ";                  ;                    ");
    strips(
        "declare const a: number; declare function f(): void;",
        ";                        ;                         ",
    );
    strips("declare global { interface A {} }", ";                                ");
    strips("declare module 'x' { export const a: number }", ";                                            ");
    strips("namespace A { export type B = C; interface D {} }", ";                                                 ");
    strips(
        "import type { A } from 'a'; import { type B, type C } from 'b';",
        ";                           ;                                  ",
    );
    strips("const a = 1; type B = 1; export { a, type B };", "const a = 1; ;           export { a,        };");
    strips(
        "export type { A } from 'a'; export type * from 'b';",
        ";                           ;                      ",
    );
    strips(
        "function f(a: string): void;\nfunction f(a: any) {}",
        ";                           \nfunction f(a     ) {}",
    );
    strips("#!/usr/bin/env tsx\nconst a = 1;", "                  \nconst a = 1;");
}

#[test]
fn classes() {
    strips(
        "abstract class A { private readonly a: number = 1; static override b?: B; c!: C; declare d: D; abstract e(): void; f?(): void; [k: string]: any }",
        "         class A { ;                a         = 1; static          b    ; c    ; ;           ; ; ; }",
    );
}

#[test]
fn what_ends_a_statement_still_does() {
    strips("const a = b as C\n(d)", "const a = b ;   \n(d)");
    strips("const a = b satisfies C\n[d].e", "const a = b ;          \n[d].e");
    strips("const a = 1\ntype B = C\n(d)", "const a = 1\n;         \n(d)");
    strips("a = f<string>\nb", "a = f;       \nb");
    strips("if (a) b as C\nelse d", "if (a) b ;   \nelse d");
    strips("class A { get: B\n c() {} }", "class A { get;  \n c() {} }");
    strips("class A { a = 1\n private [b] = 2 }", "class A { a = 1\n ;       [b] = 2 }");
    strips("class A { a = b as C\n [d] = 2 }", "class A { a = b ;   \n [d] = 2 }");
    strips("const f = () => a as B\n(c)", "const f = () => a ;   \n(c)");
}

#[test]
fn lines_that_may_not_end_do_not() {
    strips("const f = (a: A)\n  : B => a;", "const f = (a    \n    ) => a;");
    strips("const f = (a): {\n  b: C\n} => a;", "const f = (a    \n      \n) => a;");
    strips("function f() { return <\n  T\n>(a: T) => a }", "function f() { return (\n   \n  a   ) => a }");
    strips("const f = async <\n  T\n>(a: T) => a", "const f = async (\n   \n  a   ) => a");
    strips("const f = (a) /* b */ : C /* d */ => a", "const f = (a) /* b */     /* d */ => a");
}

#[test]
fn other_alphabets_keep_their_width() {
    strips("const a: Größe = '✓'; b", "const a    \u{a0}\u{a0}  = '✓'; b");
    let script = stripped("const a: '✓😀' = b;\r\nconst c: /* \u{2028} */ D = 1;");
    assert!(!script.contains('✓') && !script.contains('😀'), "{script:?}");
}

#[test]
fn what_is_exported_is_known() {
    let exports = |code: &str| check(code, Language::TypeScript).expect("it is well").names;
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
    let found = check("export type A = 1; export default 1", Language::TypeScript).expect("it is well");
    assert_eq!(found, Exports { execute: false, default: true, names: vec!["default".to_owned()] });
}

#[test]
fn what_makes_code_is_refused_with_the_way_out() {
    wrong(
        "enum A { B }\nexport const enum C { D }\nexport function execute() {}",
        &expect![[r#"
        1:1: `enum A` makes code, which leaving types out cannot do
          at `enum A { B }`
          help: write an object with `as const`, and a union of its values as the type
        2:8: `enum C` makes code, which leaving types out cannot do
          at `const enum C { D }`
          help: write an object with `as const`, and a union of its values as the type
    "#]],
    );
    wrong(
        "namespace A { export const b = 1 }\nexport function execute() {}",
        &expect![[r#"
        1:1: `namespace A` makes code, which leaving types out cannot do
          at `namespace A { export const b = 1 }`
          help: write its functions and values at the top of the file, or in an object
    "#]],
    );
    wrong(
        "export class A { constructor(private a: string) {} }\nexport function execute() {}",
        &expect![[r#"
        1:30: a parameter that is also a field makes code, which leaving types out cannot do
          at `private a: string`
          help: declare the field in the class, and assign it in the constructor
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
        "export function execute() { return <any>1 }",
        &expect![[r#"
        1:36: a type before a value cannot be told from other code when it is left out
          at `<any>`
          help: write `value as Type`
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
        1:26: `import c = …` makes code, which leaving types out cannot do
          at `import c = d.e;`
          help: write `const` for a value and `type` for a type
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
        3:9: invalid redefinition of lexical identifier
          at `=`
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
    let problems = check("export function execute(a: string) {}", Language::JavaScript).expect_err("it has a type");
    assert_eq!(problems[0].to_string(), "1:26: expected `,` or `)` but found `:`");
    check("export function execute(a) { return f(a < b, c > (d)) }", Language::JavaScript).expect("it is JavaScript");
}

#[test]
fn bombs_are_refused() {
    let bomb = |code: String| {
        let problems = check(&code, Language::TypeScript).expect_err("it is too deep");
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
    let code = "import { readFile, type PathLike } from 'node:fs/promises';\nimport type { X } from 'x';\nexport async function execute(args: { path: PathLike }): Promise<string> {\n  const os = await import('node:os');\n  return os.EOL + await readFile(args.path as string, 'utf8');\n}\n";
    let script = crate::strip(code).expect("it is TypeScript");
    assert_eq!(script.len(), code.len());
    assert!(script.starts_with("import { readFile,               } from 'node:fs/promises';\n"), "{script}");
    assert!(
        !script.contains("import type") && !script.contains("PathLike") && script.contains("import('node:os')"),
        "{script}"
    );
    let wrong = crate::strip("enum E { A }\nexport default () => E.A;").expect_err("it makes code");
    assert!(!wrong.is_empty());
}

#[test]
fn code_that_is_read_twice_and_twice_again_is_refused_at_once() {
    let began = std::time::Instant::now();
    for open in ["f<(a=", "a<", "(a=", "async(a=", "f<{[", "<a>(b=", "({a=", "f<[a<("] {
        let code = format!("export default {}", open.repeat(40_000 / open.len()));
        assert!(check(&code, Language::TypeScript).is_err(), "{open}");
        // Just below the limit, over and over.
        let group = format!("{}1;\n", open.repeat(8));
        assert!(check(&group.repeat(200), Language::TypeScript).is_err(), "{open}");
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
        drop(check(&code, Language::TypeScript));
        let types =
            format!("type A = {}b; export default 1", open.replace('a', "keyof ").repeat((LONGEST_CODE - 40) / 10));
        drop(check(&types, Language::TypeScript));
    }
    for open in ["A extends B?C:", "keyof ", "readonly ", "()=>", "new()=>", "infer "] {
        let types = format!("type A = {}B; export default 1", open.repeat((LONGEST_CODE - 40) / open.len()));
        drop(check(&types, Language::TypeScript));
    }
}
