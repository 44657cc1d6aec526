use cycod_script::protocol::{FromWorker, HostReply, HostRequest, ReplyError, ToWorker};
use expect_test::expect;
use serde_json::{Value, json};

use crate::host::{Host, call};

/// Runs a body whose asks are all answered alike, and returns them with the outcome.
fn asked(body: &str, network: bool, answer: &Value) -> (Vec<String>, Result<Value, String>) {
    let mut asks = Vec::new();
    let mut call = call(body);
    call.context.network = network;
    let outcome = Host::new().carry_out(call, &mut |ask: &HostRequest| {
        asks.push(format!("{} {}", ask.what, Value::from(ask.with.clone())));
        Ok(answer.clone())
    });
    (asks, outcome.map_err(|failure| failure.message))
}

#[test]
fn have_the_shapes_that_tools_use() {
    let (asks, outcome) = asked(
        "const { fs, executor, docker } = context.platform;
        await fs.readFile('a'); await fs.readFile('a', 'utf-8'); await fs.readFile('a', { encoding: 'latin1' });
        await fs.writeFile('b', 'text'); await fs.writeFile('b', new Uint8Array([0, 255])); await fs.appendFile('b', 'x', 'utf-8');
        await fs.exists('c'); await fs.readdir('.'); await fs.mkdir('d', { recursive: true }); await fs.unlink('e');
        await fs.rm('e', { recursive: true }); await fs.ensureDir(fs.join('d', '..', 'e', './f')); await fs.remove('e'); await fs.rename('a', 'b'); await fs.copyFile('a', 'b'); await fs.glob('**/*.ts', { cwd: 'src' });
        await executor.execute({ command: 'yarn', args: ['test'], cwd: context.conversation?.workingDirectory, timeout: 5 });
        await executor.execute('git', ['status']); await executor.execute('ls', undefined, { cwd: 'src' });
        await docker.run({ image: 'a', command: ['b'] }); await context.llm.complete('hello', { maxTokens: 5 });
        await context.permissions.checkPermission('git push'); await platform.fs.exists('global');
        return 'done'",
        false,
        &json!(null),
    );
    assert_eq!(outcome, Ok(json!("done")));
    expect![[r#"
        fs.readFile ["a","utf-8"]
        fs.readFile ["a","utf-8"]
        fs.readFile ["a","latin1"]
        fs.writeFile ["b","text"]
        fs.writeFile ["b","AP8=","base64"]
        fs.appendFile ["b","x","utf-8"]
        fs.exists ["c"]
        fs.readdir ["."]
        fs.mkdir ["d",{"recursive":true}]
        fs.unlink ["e"]
        fs.rm ["e",{"recursive":true}]
        fs.ensureDir ["e/f"]
        fs.remove ["e"]
        fs.rename ["a","b"]
        fs.copyFile ["a","b"]
        fs.glob ["**/*.ts",{"cwd":"src"}]
        executor.execute [{"command":"yarn","args":["test"],"timeout":5}]
        executor.execute [{"command":"git","args":["status"]}]
        executor.execute [{"cwd":"src","command":"ls","args":[]}]
        docker.run [{"image":"a","command":["b"]}]
        llm.complete ["hello",{"maxTokens":5}]
        permissions.check ["git push"]
        fs.exists ["global"]
    "#]]
    .assert_eq(&(asks.join("\n") + "\n"));
}

#[test]
fn are_answered_in_any_order() {
    let mut host = Host::new();
    let id = host.begin(call(
        "return Promise.all(['a', 'b', 'c'].map(async (name) => `${name}=${await platform.fs.readFile(name)}`))",
    ));
    let mut asks = Vec::new();
    while asks.len() < 3 {
        match host.receive() {
            FromWorker::Ask { ask, .. } => asks.push(ask),
            other => panic!("{other:?}"),
        }
    }
    for ask in asks.into_iter().rev() {
        let reply =
            HostReply { to: ask.number, answer: Ok(format!("{}!", ask.with[0].as_str().expect("a name")).into()) };
        host.send(&ToWorker::Reply { id, reply });
    }
    let FromWorker::Result { value, .. } = host.receive() else { panic!("no result") };
    assert_eq!(value, json!(["a=a!", "b=b!", "c=c!"]));
}

#[test]
fn that_are_refused_reject_with_message_and_code() {
    let body = "try { await platform.fs.readFile('x') } catch (error: any) { return [error instanceof Error, error.message, error.code] }";
    let error = ReplyError { message: "no such file".to_owned(), code: Some("ENOENT".to_owned()) };
    let outcome = Host::new().carry_out(call(body), &mut |_| Err(error.clone()));
    assert_eq!(outcome, Ok(json!([true, "no such file", "ENOENT"])));
    let body = "await platform.fs.readFile('x')";
    let error = ReplyError { message: "no such file".to_owned(), code: None };
    let failure = Host::new().carry_out(call(body), &mut |_| Err(error.clone())).expect_err("it rejects");
    assert_eq!(failure.message, "no such file");
}

#[test]
fn carry_values_both_ways() {
    let stat = json!({ "size": 3, "isFile": true, "isDirectory": false, "mtimeMs": 0 });
    let (_, outcome) = asked(
        "const stat = await platform.fs.stat('a'); return [stat.size, stat.isFile(), stat.isDirectory(), stat.mtime]",
        false,
        &stat,
    );
    assert_eq!(outcome, Ok(json!([3, true, false, "1970-01-01T00:00:00.000Z"])));
    let (_, outcome) = asked("return [...await platform.fs.readFile('a', null)]", false, &json!("AP8="));
    assert_eq!(outcome, Ok(json!([0, 255])));
    let (asks, outcome) = asked("return platform.fs.writeFile('a', 1n)", false, &json!(null));
    assert!(asks.is_empty());
    assert!(outcome.expect_err("it is no text").contains("an argument of `fs.writeFile` holds a BigInt"));
}

#[test]
fn for_the_network_need_its_permission() {
    let body = "const answer = await fetch('https://a.example/b', { method: 'post', headers: { 'X-A': '1' }, body: JSON.stringify({ c: 2 }) });
        return [answer.ok, answer.status, answer.headers.get('Content-Type'), await answer.json()]";
    let answer = json!({ "status": 201, "url": "https://a.example/b", "headers": { "content-type": "application/json" }, "body": "{\"d\":3}" });
    let (asks, outcome) = asked(body, true, &answer);
    assert_eq!(asks, [r#"fetch ["https://a.example/b",{"method":"POST","headers":{"x-a":"1"},"body":"{\"c\":2}"}]"#]);
    assert_eq!(outcome, Ok(json!([true, 201, "application/json", { "d": 3 }])));
    let (asks, outcome) = asked(body, false, &answer);
    assert!(asks.is_empty());
    let why = outcome.expect_err("it is not allowed");
    assert_eq!(
        why,
        "fetch is not allowed: the tool declares no host; add \"network:external:HOST\" to its `required-permissions`"
    );
}

#[test]
fn may_be_many_and_large_without_anybody_waiting_for_ever() {
    // Neither side's pipe holds them all: a side that waited for the other before it went on would wait for ever.
    let body = "const big = 'x'.repeat(300000);
        const all = await Promise.all(Array.from({ length: 40 }, (_, i) => platform.fs.writeFile(`f${i}`, big)));
        return all.map((answer) => answer.length).reduce((a, b) => a + b)";
    let outcome = Host::new().carry_out(call(body), &mut |ask| Ok(ask.with[1].clone()));
    assert_eq!(outcome, Ok(json!(40 * 300_000)));
}

#[test]
fn paths_are_joined_without_asking() {
    // As `path.posix.join` of Node.js does it.
    let cases = [
        ("'a', 'b'", "a/b"),
        ("'a/', '/b/'", "a/b/"),
        ("'/a', '../../b'", "/b"),
        ("'..', 'a', '..', '..', 'b'", "../../b"),
        ("'', ''", "."),
        ("", "."),
        ("'.', './'", "./"),
        ("'/'", "/"),
        ("'a', '', '.', 'b//c'", "a/b/c"),
    ];
    let list: Vec<String> = cases.iter().map(|(given, _)| format!("context.platform.fs.join({given})")).collect();
    let (asks, outcome) = asked(&format!("return [{}]", list.join(", ")), false, &json!(null));
    assert!(asks.is_empty(), "{asks:?}");
    assert_eq!(outcome, Ok(json!(cases.map(|(_, joined)| joined))));
    let (_, outcome) = asked("return context.platform.fs.join('a', 1)", false, &json!(null));
    assert!(outcome.as_ref().is_err_and(|why| why.contains("must be a text, not 1")), "{outcome:?}");
}
