use serde_json::json;

use crate::host::{Host, call, result, whole, why_not};

#[test]
fn are_json() {
    assert_eq!(result("return 'text'"), json!("text"));
    assert_eq!(
        result("return { a: [1, 2.5, -3e300, true, null], 'ü': 'ß😀' }"),
        json!({ "a": [1, 2.5, -3e300, true, null], "ü": "ß😀" })
    );
    assert_eq!(result(""), json!(null));
    assert_eq!(result("return undefined"), json!(null));
    assert_eq!(result("return { a: undefined, b: [undefined, NaN] }"), json!({ "b": [null, null] }));
    assert_eq!(result("return new Date(0)"), json!("1970-01-01T00:00:00.000Z"));
    assert_eq!(result("return { e: new TypeError('m') }"), json!({ "e": { "name": "TypeError", "message": "m" } }));
    assert_eq!(
        result("return '😀'.slice(0, 1) + '\\\\ud800' + JSON.stringify(['\\ud83d'])"),
        json!("\u{fffd}\\ud800[\"\\ud83d\"]")
    );
    assert_eq!(result("return { ['\\udfff']: 1 }"), json!({ "\u{fffd}": 1 }));
}

#[test]
fn that_json_cannot_hold_are_explained() {
    assert_eq!(
        why_not("return 1n"),
        "TypeError: the result holds a BigInt, and JSON knows none: give `String(value)` or `Number(value)`"
    );
    assert_eq!(
        why_not("return { a: [() => 1] }"),
        "TypeError: the result holds a function as `0`, and JSON knows none: leave it out, or give what it returns"
    );
    assert_eq!(
        why_not("return [new Map()]"),
        "TypeError: the result holds a Map as `0`, and JSON knows none: give `Object.fromEntries(map)`"
    );
    assert_eq!(
        why_not("return { a: Promise.resolve(1) }"),
        "TypeError: the result holds a promise as `a`, and JSON knows none: `await` it first"
    );
    assert_eq!(
        why_not("const a: any = {}; a.a = a; return a"),
        "TypeError: the result contains itself, which JSON cannot say: give a copy of what is needed"
    );
    assert_eq!(
        why_not("let a: any = []; for (let i = 0; i < 150; i++) a = [a]; return a"),
        "the result is nested more than 100 deep, which the host does not take"
    );
    assert_eq!(why_not("return { toJSON() { throw new Error('no') } }"), "no");
    assert_eq!(why_not("return 'x'.repeat(70 << 20)"), "the result has 70 MiB, and may have 64: write it to a file");
}

#[test]
fn come_from_execute_or_the_default_export() {
    let mut host = Host::new();
    let mut run = |code: &str| host.carry_out(whole(code), &mut |_| unreachable!()).map_err(|failure| failure.message);
    assert_eq!(run("export const execute = () => 1; export default () => 2"), Ok(json!(1)));
    assert_eq!(run("export default () => 2"), Ok(json!(2)));
    assert_eq!(run("export default { a: 3, execute() { return this.a } }"), Ok(json!(3)));
    assert_eq!(
        run("const b = await Promise.resolve(4); export { f as execute }; function f() { return b }"),
        Ok(json!(4))
    );
    assert_eq!(run("export const execute = 5"), Err("TypeError: `execute` is no function, but 5".to_owned()));
    assert_eq!(run("export default {}"), Err("TypeError: the default export is no function, but {}".to_owned()));
}

#[test]
fn see_their_arguments() {
    let mut host = Host::new();
    let code = "return [args.__proto__, Object.keys(args), typeof args.n, context.config, context.conversation?.id]";
    let args = json!({ "__proto__": "p", "n": 1 });
    let mut call = call(code);
    call.args = args.as_object().expect("it is one").clone();
    let conversation = json!({ "id": "c1" });
    let expected =
        json!(["p", ["__proto__", "n"], "number", { "workingDirectory": "/here", "workspace": "/space" }, null]);
    assert_eq!(host.carry_out(call.clone(), &mut |_| unreachable!()), Ok(expected));
    call.context.conversation = conversation.as_object().cloned();
    let value = host.carry_out(call, &mut |_| unreachable!()).expect("it runs");
    assert_eq!(value[4], "c1");
}
