use serde_json::json;

use crate::host::{Host, call, whole};

#[test]
fn nothing_of_one_call_is_there_for_the_next() {
    let mut host = Host::new();
    let spoil = "let n = 0;
        export default () => {
            Object.prototype.polluted = 'yes'; Array.prototype.map = () => 'mine'; globalThis.left = 1; n++;
            JSON.stringify = () => '\"mine\"'; Promise.prototype.then = () => {}; String.prototype.toString = () => 'mine';
            console.log = null; Function.prototype.call = null; Date.now = () => 0; delete globalThis.Map;
            return n;
        }";
    for _ in 0..3 {
        assert_eq!(host.carry_out(whole(spoil), &mut |_| unreachable!()), Ok(json!(1)));
        let look = "return [({} as any).polluted, [1].map((x) => x + 1), typeof left, typeof Map, Date.now() > 0, JSON.stringify([1])]";
        assert_eq!(host.run(look), Ok(json!([null, [2], "undefined", "function", true, "[1]"])));
    }
}

#[test]
fn a_call_that_breaks_its_own_world_has_a_clean_end() {
    let mut host = Host::new();
    let spoils = [
        "Promise.prototype.then = () => {}; await null; return 1",
        "Object.defineProperty(Promise.prototype, 'constructor', { get() { throw new Error('no') } }); await null; return 1",
        "JSON.stringify = () => { throw 1 }; Object.prototype.toJSON = () => 'polluted'; return { a: 1 }",
        "Map.prototype.get = () => { throw new Error('no map') }; return (await platform.fs.readFile('x')).length",
        "Array.prototype[Symbol.iterator] = function* () {}; console.log('a', 'b'); return 1",
        "Object.defineProperty(Object.prototype, 'then', { get() { throw new Error('then') }, configurable: true }); return {}",
        "Error.prototype.toString = () => { throw 1 }; Error.prepareStackTrace = () => { throw 2 }; throw new Error('x')",
        "String.prototype.toWellFormed = null; Reflect.apply = null; throw new Error('y')",
    ];
    for body in spoils {
        // Whatever it is, it is an answer.
        drop(host.carry_out(call(body), &mut |_| Ok(json!("answer"))));
        assert_eq!(host.run("return 'well'"), Ok(json!("well")), "{body}");
    }
}

#[test]
fn host_objects_cannot_be_changed() {
    let body = "'use strict';
        const tries = [() => { context.platform = 1 }, () => { context.platform.fs.readFile = 1 }, () => { context.logger.info = 1 },
            () => { context.config.workingDirectory = '/' }, () => { delete context.permissions.check }, () => { context.new = 1 }];
        return tries.map((attempt) => { try { attempt(); return 'done' } catch (error: any) { return error.name } })";
    assert_eq!(Host::new().run(body), Ok(json!(vec!["TypeError"; 6])));
}

#[test]
fn there_is_no_way_out_of_the_engine() {
    let mut host = Host::new();
    let body = "const found = (what: string) => { try { return typeof Function(`return ${what}`)() } catch (error: any) { return error.name } };
        return ['process', 'require', 'module', 'Deno', 'Bun', 'std', 'os', 'WebAssembly', 'Atomics', 'SharedArrayBuffer', 'Worker',
            'XMLHttpRequest', 'host', 'this.host', 'importScripts', 'gc', 'print', 'scriptArgs', 'navigator'].map(found)";
    let found = host.run(body).expect("it runs");
    for kind in found.as_array().expect("a list") {
        assert!(kind == "ReferenceError" || kind == "undefined", "{found}");
    }
    let chains = [
        "return typeof context.platform.fs.readFile.constructor('return this')().process",
        "return typeof console.log.constructor.constructor('return host')",
        "return typeof args.constructor.constructor('return this')().require",
        "return typeof (() => {}).constructor('return globalThis')().process",
        "return typeof Object.getPrototypeOf(async function () {}).constructor('return this')",
        "return typeof (platform.fs.readFile as any).caller",
        "return typeof (function f() { return (f as any).caller })()",
        "return typeof Reflect.ownKeys(globalThis).find((key) => String(key).includes('host'))",
    ];
    for body in chains {
        let outcome = host.run(body);
        match &outcome {
            Ok(kind) => {
                assert!(["undefined", "function", "object"].iter().any(|known| kind == known), "{body}: {outcome:?}");
            }
            Err(failure) => assert!(
                failure.message.starts_with("TypeError") || failure.message.starts_with("ReferenceError"),
                "{failure:?}"
            ),
        }
    }
    // What the engine's own functions hand out leads nowhere: no frame of the surroundings is reachable by name.
    assert_eq!(
        host.run("try { return await Function('return import(\"fs\")')() } catch (error: any) { return error.name }"),
        Ok(json!("ReferenceError"))
    );
}

#[test]
fn arguments_with_tricks_are_copied_before_anybody_looks() {
    let body = "let looks = 0;
        const trick = { get path() { looks++; return 'a' }, toJSON() { looks++; return 'copied' } };
        await platform.fs.exists(trick as any);
        await platform.fs.exists(new Proxy({ a: 1 }, { get: (target: any, key) => key === 'toJSON' ? undefined : target[key] }) as any);
        return looks";
    let mut asks = Vec::new();
    let outcome = Host::new().carry_out(call(body), &mut |ask| {
        asks.push(ask.with[0].clone());
        Ok(json!(true))
    });
    assert_eq!((outcome, asks), (Ok(json!(1)), vec![json!("copied"), json!({ "a": 1 })]));
}
