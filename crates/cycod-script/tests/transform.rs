//! What expressions can do, what they cannot, and that the limits hold.

use std::time::{Duration, Instant};

use cycod_definition::Value;
use cycod_script::{EvaluationLimits, Evaluator, ScriptError};
use expect_test::{Expect, expect};

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn evaluate(script: &str, value: &Value) -> String {
    match Evaluator::default().transform(script, value) {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("error: {error}"),
    }
}

#[track_caller]
fn check(cases: &[(&str, Value)], expect: &Expect) {
    let lines: Vec<String> =
        cases.iter().map(|(script, value)| format!("{script}  ->  {}\n", evaluate(script, value))).collect();
    expect.assert_eq(&lines.concat());
}

#[track_caller]
fn check_text(scripts: &[&str], expect: &Expect) {
    let cases: Vec<(&str, Value)> = scripts.iter().map(|script| (*script, text("Hello World"))).collect();
    check(&cases, expect);
}

#[test]
fn expressions_give_values() {
    check_text(
        &[
            r"value.toUpperCase().replace(/\s+/g, '-')",
            "value.length",
            "value.length / 2",
            "value.includes('W')",
            "value.split(' ')",
            "{a: value, b: [1, 2.5, null]}",
            "value;",
            "value // a comment",
            "[...new Set(value.toLowerCase())].length",
            "JSON.stringify([value])",
            "new Date(0).toISOString()",
            "value + '\u{1f600}é'",
            "2n ** 70n",
            "1e21",
        ],
        &expect![[r#"
            value.toUpperCase().replace(/\s+/g, '-')  ->  Text("HELLO-WORLD")
            value.length  ->  Number("11")
            value.length / 2  ->  Number("5.5")
            value.includes('W')  ->  Bool(true)
            value.split(' ')  ->  List([Text("Hello"), Text("World")])
            {a: value, b: [1, 2.5, null]}  ->  Object([("a", Text("Hello World")), ("b", List([Number("1"), Number("2.5"), Null]))])
            value;  ->  Text("Hello World")
            value // a comment  ->  Text("Hello World")
            [...new Set(value.toLowerCase())].length  ->  Number("8")
            JSON.stringify([value])  ->  Text("[\"Hello World\"]")
            new Date(0).toISOString()  ->  Text("1970-01-01T00:00:00.000Z")
            value + '😀é'  ->  Text("Hello World😀é")
            2n ** 70n  ->  Number("1180591620717411303424")
            1e21  ->  Number("1e+21")
        "#]],
    );
}

#[test]
fn values_come_in_with_their_type() {
    check(
        &[
            ("typeof value + value", Value::Number("5.50".to_owned())),
            ("typeof value + value", Value::Bool(true)),
            ("value.map(x => x * 2)", Value::List(vec![Value::Number("1".to_owned()), Value::Number("2".to_owned())])),
            (
                "Object.keys(value)",
                Value::Object(vec![("__proto__".to_owned(), text("x")), ("b".to_owned(), Value::Null)]),
            ),
            ("value === null", Value::Null),
            ("value.length", text("a\0b")),
        ],
        &expect![[r#"
            typeof value + value  ->  Text("number5.5")
            typeof value + value  ->  Text("booleantrue")
            value.map(x => x * 2)  ->  List([Number("2"), Number("4")])
            Object.keys(value)  ->  List([Text("__proto__"), Text("b")])
            value === null  ->  Bool(true)
            value.length  ->  Number("3")
        "#]],
    );
}

#[test]
fn failures_are_told_in_the_words_of_the_script() {
    check_text(
        &[
            "value.nope()",
            "nope",
            "value.(",
            "const x = 1; x",
            "return value",
            "",
            " ; ",
            "undefined",
            "null",
            "NaN",
            "1 / 0",
            "x => x",
            "Symbol()",
            "(() => { throw new Error('own words') })()",
            "(() => { throw 'text' })()",
            "(() => { throw {a: 1} })()",
            "'\\ud800'",
            "(() => { const a = []; a.push(a); return a })()",
        ],
        &expect![[r#"
            value.nope()  ->  error: not a function
            nope  ->  error: nope is not defined
            value.(  ->  error: expecting field name
            const x = 1; x  ->  error: unexpected token in expression: 'const'
            return value  ->  error: unexpected token in expression: 'return'
              ->  error: the script is empty
             ;   ->  error: the script is empty
            undefined  ->  error: the result is undefined; a string, number, boolean, array or object is needed
            null  ->  error: the result is null; a string, number, boolean, array or object is needed
            NaN  ->  error: the result is NaN; a string, number, boolean, array or object is needed
            1 / 0  ->  error: the result is Infinity; a string, number, boolean, array or object is needed
            x => x  ->  error: the result is a function; a string, number, boolean, array or object is needed
            Symbol()  ->  error: the result is a symbol; a string, number, boolean, array or object is needed
            (() => { throw new Error('own words') })()  ->  error: own words
            (() => { throw 'text' })()  ->  error: text
            (() => { throw {a: 1} })()  ->  error: the script threw object
            '\ud800'  ->  error: the result is text with half a surrogate pair; a string, number, boolean, array or object is needed
            (() => { const a = []; a.push(a); return a })()  ->  error: circular reference
        "#]],
    );
}

#[test]
fn there_is_no_power() {
    for name in [
        "fetch",
        "require",
        "process",
        "Deno",
        "Bun",
        "XMLHttpRequest",
        "WebSocket",
        "Worker",
        "setTimeout",
        "setInterval",
        "queueMicrotask",
        "console",
        "print",
        "std",
        "os",
        "load",
        "import.meta",
        "eval",
        "Proxy",
        "Promise",
        "Atomics",
        "SharedArrayBuffer",
        "WebAssembly",
        "WeakRef",
        "module",
        "exports",
        "Buffer",
        "navigator",
        "performance",
        "gc",
        "scriptArgs",
    ] {
        let result = Evaluator::default().transform(&format!("typeof {name}"), &text(""));
        assert!(
            matches!(&result, Ok(Value::Text(kind)) if kind == "undefined")
                || matches!(&result, Err(ScriptError::Syntax { .. })),
            "{name}: {result:?}"
        );
    }
}

#[test]
fn the_globals_are_those_of_the_language() {
    check_text(
        &["Object.getOwnPropertyNames(globalThis).sort().join(' ')"],
        &expect![[r#"
        Object.getOwnPropertyNames(globalThis).sort().join(' ')  ->  Text("AggregateError Array AsyncDisposableStack BigInt Boolean Date DisposableStack Error EvalError Function Infinity InternalError Iterator JSON Map Math NaN Number Object RangeError ReferenceError Reflect RegExp Set String SuppressedError Symbol SyntaxError TypeError URIError WeakMap WeakSet decodeURI decodeURIComponent encodeURI encodeURIComponent escape globalThis isFinite isNaN parseFloat parseInt undefined unescape")
    "#]],
    );
}

#[test]
fn code_made_from_text_has_no_more_power_and_the_same_limits() {
    check_text(
        &[
            "eval('1')",
            "globalThis.eval",
            "Function('return typeof process + typeof fetch')()",
            "(() => {}).constructor('return this.process')()",
            "import('std')",
            "(async () => 1)()",
            "(function* () { yield 1 })().next().value",
            "[...(function* () { yield 1; yield 2 })()]",
        ],
        &expect![[r#"
            eval('1')  ->  error: eval is not defined
            globalThis.eval  ->  error: the result is undefined; a string, number, boolean, array or object is needed
            Function('return typeof process + typeof fetch')()  ->  Text("undefinedundefined")
            (() => {}).constructor('return this.process')()  ->  error: the result is undefined; a string, number, boolean, array or object is needed
            import('std')  ->  error: the result is a promise; a string, number, boolean, array or object is needed
            (async () => 1)()  ->  error: the result is a promise; a string, number, boolean, array or object is needed
            (function* () { yield 1 })().next().value  ->  Number("1")
            [...(function* () { yield 1; yield 2 })()]  ->  List([Number("1"), Number("2")])
        "#]],
    );
}

#[test]
fn nothing_leaks_into_the_next_evaluation() {
    let engine = Evaluator::default();
    let pollute =
        "(Object.prototype.polluted = 'yes', String.prototype.trim = () => 'taken', globalThis.kept = 1, value)";
    assert_eq!(engine.transform(pollute, &text("a")), Ok(text("a")));
    let probe = "[({}).polluted === undefined, value.trim(), typeof kept]";
    let expected = Value::List(vec![Value::Bool(true), text("a"), text("undefined")]);
    assert_eq!(engine.transform(probe, &text(" a ")), Ok(expected));
}

/// Evaluates something hostile and returns its error; it must end soon.
#[track_caller]
fn hostile(script: &str, value: &Value) -> ScriptError {
    let start = Instant::now();
    let error = Evaluator::default().transform(script, value).expect_err("a hostile script has no result");
    // Soft for native functions, and the machine may be busy; without a limit each of these takes minutes.
    assert!(start.elapsed() < Duration::from_secs(10), "{script} took {:?}", start.elapsed());
    error
}

#[test]
fn time_is_limited() {
    for script in [
        "(() => { while (true) {} })()",
        "(() => { for (;;) { try { for (;;) {} } catch {} finally { for (;;) {} } } })()",
        "/^(a+)+$/.test(value + '!')",
        "/^(.*)*x$/.test(value)",
        "value.replace(/^(a|a)*b/, '')",
        "[1].map(function f() { return [1].map(f) && f() })",
        "Function('for (;;) {}')()",
        "({ toJSON() { for (;;) {} } })",
        "(function f() { try { f() } finally { f() } })()",
    ] {
        let error = hostile(script, &text(&"a".repeat(40)));
        let is_limit = matches!(error, ScriptError::Time { .. })
            || matches!(&error, ScriptError::Thrown { message } if message.contains("stack"));
        assert!(is_limit, "{script}: {error:?}");
    }
    assert_eq!(
        hostile("(() => { while (true) {} })()", &text("")),
        ScriptError::Time { limit: Duration::from_millis(100) }
    );
}

#[test]
fn memory_is_limited() {
    for script in [
        "(() => { const a = []; for (;;) a.push('x'.repeat(1000) + a.length) })()",
        "(() => { let s = 'x'; for (;;) s += s })()",
        "'x'.repeat(1 << 29)",
        "Array(2e6).fill({a: 1}).map(x => ({...x}))",
        "JSON.stringify(Array(2e6).fill({a: 1}))",
        "[...Array(3e6)].sort()",
        "value.padEnd(2 ** 29)",
        "new Array(2 ** 32 - 1).fill(0)",
        "(() => { const m = new Map(); for (;;) m.set({}, {}) })()",
    ] {
        let error = hostile(script, &text(""));
        assert!(
            matches!(error, ScriptError::Memory { .. } | ScriptError::Time { .. } | ScriptError::Thrown { .. }),
            "{script}: {error:?}"
        );
    }
    assert_eq!(hostile("[...Array(3e6)].sort()", &text("")), ScriptError::Memory { limit: 16 << 20 });
}

#[test]
fn recursion_ends_in_an_error() {
    let error = hostile("(function f() { return f() + 1 })()", &text(""));
    assert!(matches!(&error, ScriptError::Thrown { message } if message.contains("stack")), "{error:?}");
    let error = hostile(&format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000)), &text(""));
    assert!(matches!(error, ScriptError::Syntax { .. }), "{error:?}");
}

#[test]
fn large_values_are_refused_and_those_allowed_pass() {
    let limit = 1 << 20;
    let largest = text(&"é".repeat(limit / 2));
    assert_eq!(Evaluator::default().transform("value.length", &largest), Ok(Value::Number((limit / 2).to_string())));
    assert_eq!(Evaluator::default().transform("value", &largest), Ok(largest));
    let larger = text(&"x".repeat(limit + 1));
    assert_eq!(Evaluator::default().transform("value", &larger), Err(ScriptError::Input { size: limit + 1, limit }));
}

#[test]
fn a_script_can_be_checked_without_being_run() {
    let engine = Evaluator::default();
    assert_eq!(engine.check("value.nope()"), Ok(()));
    assert_eq!(engine.check("(() => { while (true) {} })()"), Ok(()));
    assert!(matches!(engine.check("value.("), Err(ScriptError::Syntax { .. })));
}

#[test]
fn threads_do_not_share() {
    std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                for _ in 0..20 {
                    let value = Value::Number(number.to_string());
                    assert_eq!(
                        Evaluator::default().transform("value + 1", &value),
                        Ok(Value::Number((number + 1).to_string()))
                    );
                }
            });
        }
    });
}

/// Running out of memory at any allocation must end in an error, not in a broken or leaking engine, which would
/// end the process when the runtime is dropped.
#[test]
fn memory_may_run_out_anywhere() {
    let scripts = [
        r"value.toUpperCase().replace(/(?<word>\w+)\s+/gu, (all, word) => `${word}-${2n ** 100n}`)",
        "(async () => { await import('x'); await 1 })()",
        "(async function* () { yield await 1; for await (const x of [1]) yield x })().next()",
        "[...(function* () { yield 1; yield* [2, {a: value}] })(), ...new Map([[1, {a: 2}], [value, 3]])]",
        "(() => { class A { #x = 1; static y = value; get z() { return this.#x } } return [new A().z, A.y] })()",
        "(() => { try { null.x } catch (error) { return error.stack + error.message } finally { eval('1') } })()",
        "JSON.parse(JSON.stringify({x: value.split('').map((c, i) => c.codePointAt(0) + i).sort((a, b) => b - a)}))",
        "({ toJSON() { throw new RangeError(new Date(0).toISOString()) } })",
        "Function('return `${this}`')()",
    ];
    for script in scripts {
        let mut exhausted = 0;
        for memory in (80_000..200_000).step_by(211) {
            let engine = Evaluator::new(EvaluationLimits { memory, ..EvaluationLimits::default() });
            exhausted += usize::from(
                engine.transform(script, &text("Hello World")) == Err(ScriptError::Memory { limit: memory }),
            );
        }
        assert!(exhausted > 10, "{script} ran out of memory only {exhausted} times");
    }
}
