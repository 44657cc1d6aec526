//! `cycod mcp serve --http`: its options, its token file and what it says. What it lets in is tested where it is decided.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    process::Stdio,
};

use expect_test::{Expect, expect};

use crate::support::Place;

fn refused(options: &[&str], expected: Expect) {
    expected.assert_eq(&Place::new().run(&[&["mcp", "serve"], options].concat()).block());
}

#[test]
fn others_are_not_let_in_without_a_token() {
    refused(
        &["--http", "0.0.0.0:0", "--no-auth"],
        expect![[r#"
            exit: 2
            --- stdout
            --- stderr
            error: cannot serve: other machines can reach `0.0.0.0:0`, and no one would be asked for a token
              try: leave out --no-auth, and give clients the token
              or: serve at 127.0.0.1, for this machine only
        "#]],
    );
}

#[test]
fn options_that_cannot_work_are_refused() {
    refused(
        &["--http", "127.0.0.1:0", "--no-auth", "--allow-origin", "app.example"],
        expect![[r#"
            exit: 2
            --- stdout
            --- stderr
            error: cannot serve: `app.example` is not an origin as SCHEME://HOST or SCHEME://HOST:PORT
        "#]],
    );
    let issuer = ["--http", "127.0.0.1:0", "--oauth-issuer", "https://login.example"];
    refused(
        &issuer,
        expect![[r#"
            exit: 2
            --- stdout
            --- stderr
            error: `--oauth-audience` is missing
              see: cycod help mcp serve
        "#]],
    );
    refused(
        &[&issuer[..], &["--oauth-audience", "https://tools.example/mcp", "--oauth-jwks", "keys.json"]].concat(),
        expect![[r#"
            exit: 2
            --- stdout
            --- stderr
            error: cannot serve: no keys for access tokens in `keys.json`: No such file or directory (os error 2)
        "#]],
    );
    refused(
        &["--allow-host", "tools.example"],
        expect![[r#"
            exit: 2
            --- stdout
            --- stderr
            error: `--http` is missing
              see: cycod help mcp serve
        "#]],
    );
}

#[test]
fn the_token_is_made_on_first_use_and_lets_in() {
    let place = Place::new();
    let mut server =
        place.command(&["mcp", "serve", "--http", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = BufReader::new(server.stderr.take().expect("a pipe")).lines().map(|line| line.expect("a line"));
    let file = place.home().join(".cycod/mcp/token");
    assert_eq!(said.next().expect("where the token is"), format!("token file: {}", file.display()));
    let listening = said.next().expect("where it listens");
    let address = listening.strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
    assert_eq!(fs::metadata(&file).expect("the token").permissions().mode() & 0o777, 0o600);
    let token = fs::read_to_string(&file).expect("the token");

    let ask = |header: &str| {
        let mut stream = TcpStream::connect(address.expect(&listening)).expect("it listens");
        let head = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n{header}\r\n");
        stream.write_all(head.as_bytes()).expect("it is read");
        let mut status = [0; 12];
        stream.read_exact(&mut status).expect("an answer");
        String::from_utf8_lossy(&status).into_owned()
    };
    assert_eq!(ask(""), "HTTP/1.1 401");
    // Let in, and told that this is no message.
    assert_eq!(ask(&format!("Authorization: Bearer {}\r\n", token.trim())), "HTTP/1.1 415");
    server.kill().expect("it runs");
    server.wait().expect("it ends");
}

/// With the program itself, whose threads have stacks of their own.
#[test]
fn requests_without_a_handshake_fit_on_the_stack() {
    let place = Place::new();
    place.tool("hi", "description: Greets\ntags: [read]\nbash: echo hello\n");
    let mut server = place
        .command(&["mcp", "serve", "--http", "127.0.0.1:0", "--no-auth"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = BufReader::new(server.stderr.take().expect("a pipe")).lines().map(|line| line.expect("a line"));
    let listening = said.next().expect("where it listens");
    let address = listening.strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
    let address = address.expect("an address").to_owned();

    let ask = |method: &str, name: &str, params: &str| {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params},{meta}}}}}"#);
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: {method}\r\nMcp-Name: {name}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(&address).expect("it listens");
        stream.write_all((head + &body).as_bytes()).expect("it is read");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    let called = ask("tools/call", "hi", r#""name":"hi","arguments":{}"#);
    assert!(called.contains(r#""text":"hello\n""#), "{called}");
    let read = ask("resources/read", "words://nowhere", r#""uri":"words://nowhere""#);
    assert!(read.contains("there is no such resource"), "{read}");
    let prompt = ask("prompts/get", "hi", r#""name":"hi""#);
    assert!(prompt.contains(r#""jsonrpc":"2.0""#), "{prompt}");
    assert!(server.try_wait().expect("its state").is_none(), "it goes on");
    server.kill().expect("it ends");
    server.wait().expect("it is gone");
}
