use std::time::{Duration, Instant};

use cycod_script::protocol::LogLevel;
use serde_json::json;

use crate::host::{Host, result, why_not};

#[test]
fn have_a_log() {
    let mut host = Host::new();
    host.run(
        "console.log('a', 1, { b: [true, null, undefined] }, [1n], 'x'); console.debug('%s is %d%%', 'c', 5, 'more'); console.warn(new Map([[1, 2]]));
        context.logger.info('info'); logger.error(new Error('gone').message); console.log(() => 1, Symbol('s'), new Date(0)); console.log();
        const cycle: any = {}; cycle.cycle = cycle; console.log(cycle); console.log('\\ud800')",
    )
    .expect("it runs");
    let lines: Vec<(LogLevel, &str)> = host.log.iter().map(|log| (log.level, log.message.as_str())).collect();
    assert_eq!(
        lines,
        [
            (LogLevel::Info, "a 1 {b: [true, null, undefined]} [1n] x"),
            (LogLevel::Debug, "c is 5% more"),
            (LogLevel::Warn, "Map {1 => 2}"),
            (LogLevel::Info, "info"),
            (LogLevel::Error, "gone"),
            (LogLevel::Info, "[function without a name] Symbol(s) 1970-01-01T00:00:00.000Z"),
            (LogLevel::Info, ""),
            (LogLevel::Info, "{cycle: {cycle: {cycle: {cycle: {cycle: {…}}}}}}"),
            (LogLevel::Info, "\u{fffd}"),
        ]
    );
}

#[test]
fn have_timers() {
    let body = "const order: any[] = [];
        setTimeout((a: any) => order.push(a), 30, 'late'); setTimeout(() => order.push('early'), 1); setImmediate(() => order.push('now'));
        const gone = setTimeout(() => order.push('never'), 5); clearTimeout(gone); clearTimeout(undefined);
        let n = 0; await new Promise<void>((done) => { const id = setInterval(() => { if (++n === 3) { clearInterval(id); done() } }, 2) });
        await new Promise((go) => setTimeout(go, 60)); return [order, n]";
    assert_eq!(result(body), json!([["now", "early", "late"], 3]));
    let began = Instant::now();
    assert_eq!(result("setTimeout(() => {}, 60000); return 'at once'"), json!("at once"));
    assert!(began.elapsed() < Duration::from_secs(30), "nobody waits for a timer that nobody awaits");
    assert_eq!(why_not("setTimeout('code')"), "TypeError: setTimeout needs a function, not \"code\"");
}

#[test]
fn have_text_and_bytes() {
    assert_eq!(result("return [...new TextEncoder().encode('aß😀')]"), json!([97, 195, 159, 240, 159, 152, 128]));
    assert_eq!(
        result("return new TextDecoder().decode(new Uint8Array([239, 187, 191, 97, 195, 159, 255]))"),
        json!("aß\u{fffd}")
    );
    assert_eq!(
        result(
            "const d = new TextDecoder(); return [d.decode(new Uint8Array([240, 159]), { stream: true }), d.decode(new Uint8Array([152, 128]))]"
        ),
        json!(["", "😀"])
    );
    assert_eq!(
        why_not("new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255]))"),
        "TypeError: the bytes are not utf-8"
    );
    assert_eq!(
        result("return new TextDecoder('utf-16le').decode(new Uint8Array([97, 0, 61, 216, 0, 222]))"),
        json!("a😀")
    );
    assert_eq!(
        result(
            "return [btoa('\\xffa'), atob('/2E='), atob('/2E'), new TextDecoder('latin1').decode(new Uint8Array([128, 233]))]"
        ),
        json!(["/2E=", "ÿa", "ÿa", "€é"])
    );
    assert!(why_not("btoa('€')").contains("U+00FF"));
    assert!(why_not("atob('*')").contains("not Base64"));
    assert_eq!(
        result("return new TextDecoder().decode(new TextEncoder().encode('ü'.repeat(100000))).length"),
        json!(100_000)
    );
}

#[test]
fn have_clones() {
    let body = "const a: any = { d: new Date(0), m: new Map([['k', new Set([1])]]), r: /x/gi, b: new Uint8Array([1, 2]), n: [1, , 3], e: new RangeError('e') };
        a.self = a; const c = structuredClone(a); a.b[0] = 9;
        return [c.self === c, c !== a, c.d.getTime(), [...c.m.get('k')], c.r.flags, [...c.b], 1 in c.n, c.e instanceof RangeError]";
    assert_eq!(result(body), json!([true, true, 0, [1], "gi", [1, 2], false, true]));
    assert_eq!(why_not("structuredClone({ f() {} })"), "DataCloneError: [function f] cannot be cloned");
}

#[test]
fn have_addresses() {
    let body = "const u = new URL('../b?x=1&x=2#h', 'https://User:pw@Example.com:8080/a/c'); u.searchParams.append('y', 'ä ö'); u.port = '443'; u.hash = '';
        return [u.href, u.host, u.origin, u.searchParams.getAll('x'), `${new URLSearchParams({ a: '1 2' })}`, URL.canParse('nothing'), JSON.stringify({ u })]";
    assert_eq!(
        result(body),
        json!([
            "https://User:pw@example.com/b?x=1&x=2&y=%C3%A4+%C3%B6",
            "example.com",
            "https://example.com",
            ["1", "2"],
            "a=1+2",
            false,
            "{\"u\":\"https://User:pw@example.com/b?x=1&x=2&y=%C3%A4+%C3%B6\"}"
        ])
    );
    assert_eq!(why_not("new URL('nothing')"), "TypeError: `nothing` is no URL");
}

#[test]
fn have_signals() {
    assert_eq!(result("return [context.signal.aborted, context.signal instanceof AbortSignal]"), json!([false, true]));
    let body = "const c = new AbortController(); const seen: any[] = []; c.signal.addEventListener('abort', (e: any) => seen.push(e.type)); c.abort(); c.abort();
        try { c.signal.throwIfAborted() } catch (error: any) { seen.push(error.name) } return seen";
    assert_eq!(result(body), json!(["abort", "AbortError"]));
    assert_eq!(
        result(
            "const s = AbortSignal.timeout(5); await new Promise((go) => s.addEventListener('abort', go)); return s.reason.name"
        ),
        json!("TimeoutError")
    );
}

#[test]
fn have_the_modern_language() {
    let body = "class A { #x = 1; static { (this as any).made = true } get x() { return this.#x } }
        const { a, ...rest } = { a: 1, b: 2, c: undefined as any }; async function* gen() { yield 1; yield 2 }
        const seen: number[] = []; for await (const n of gen()) seen.push(n);
        return [new A().x, rest.b ?? 0, rest.c?.d ?? 'none', 2n ** 70n > 1, [3, 1, 2].toSorted(), Object.groupBy([1, 2, 3], (n) => n % 2 ? 'odd' : 'even').odd,
            'aXbX'.replaceAll('X', '-'), [1, [2, [3]]].flat(Infinity), seen, 'abc'.at(-1), /(?<y>\\d{4})/.exec('in 2024')!.groups!.y, typeof queueMicrotask, typeof performance.now()]";
    assert_eq!(
        result(body),
        json!([1, 2, "none", true, [1, 2, 3], [1, 3], "a-b-", [1, 2, 3], [1, 2], "c", "2024", "function", "number"])
    );
}
