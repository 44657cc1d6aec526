//! Programs that people use.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::bed::{Running, bed, secure_web, server, web};

const PLACEHOLDER: &str = "cycod-secret-0123456789abcdef0123456789abcdef";

/// Runs a program in an environment that says where the proxy is; what it wrote, and whether it was content.
fn run(running: &Running, bundle: Option<&Path>, program: &str, arguments: &[&str]) -> (String, bool) {
    let output = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", "/nonexistent")
        .env("GIT_TERMINAL_PROMPT", "0")
        .envs(running.environment(bundle))
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{program} is needed here: {error}"));
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&text).into_owned(), output.status.success())
}

const PYTHON: &str = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=20).read().decode())";

#[test]
fn curl_finds_the_proxy_by_its_variables() {
    let web = web();
    let running = bed(&["network:external:a.example:80"]).route(80, web.address).start();
    let (text, _) = run(&running, None, "curl", &["-sS", "http://a.example/x"]);
    assert!(text.starts_with("GET /x HTTP/1.1\r\nHost: a.example\r\n"), "{text}");
    let (text, _) = run(&running, None, "curl", &["-sS", "http://b.example/x"]);
    assert!(text.contains("  - network:external:b.example:80"), "{text}");
    let (text, fine) = run(&running, None, "curl", &["-sS", "https://b.example/x"]);
    assert!(!fine && text.contains("403"), "{text}");
    assert_eq!(running.denied().len(), 2);
}

#[test]
fn curl_comes_by_socks_and_in_tunnels() {
    let web = web();
    let running = bed(&["network:external:a.example:8080"]).route(8080, web.address).start();
    let socks = format!("socks5h://{}", running.socks());
    let (text, _) = run(&running, None, "curl", &["-sS", "--proxy", &socks, "http://a.example:8080/x"]);
    assert!(text.starts_with("GET /x HTTP/1.1\r\nHost: a.example:8080\r\n"), "{text}");
    let (text, _) = run(&running, None, "curl", &["-sS", "-p", "http://a.example:8080/y", "--data", "z"]);
    assert!(text.starts_with("POST /y ") && text.ends_with('z'), "{text}");
    let (text, fine) = run(&running, None, "curl", &["-sS", "--proxy", &socks, "http://b.example:8080/x"]);
    assert!(!fine && text.contains("SOCKS5") || text.contains("(2)"), "{text}");
}

#[test]
fn programs_trust_the_authority_of_the_run_and_hold_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = directory.path().join("trusted.pem");
    let (host, root) = secure_web(&["a.example", "b.example"]);
    let running = bed(&["network:external:a.example", "network:external:b.example"])
        .route(443, host.address)
        .swap(PLACEHOLDER, "the-value-itself", "a.example")
        .trusts(&root)
        .start();
    fs::write(&bundle, running.proxy.bundle_pem().unwrap()).unwrap();
    let bearer = format!("Authorization: Bearer {PLACEHOLDER}");
    let swapped = "Accept-Encoding: identity\r\n";
    let (text, _) = run(&running, Some(&bundle), "curl", &["-sS", "-H", &bearer, "https://a.example/x"]);
    assert!(text.contains(swapped) && text.contains(&bearer) && !text.contains("the-value"), "{text}");
    let (text, _) = run(&running, Some(&bundle), "curl", &["-sS", "-H", &bearer, "https://b.example/x"]);
    assert!(!text.contains(swapped) && text.contains(&bearer), "{text}");
    let (text, _) =
        run(&running, Some(&bundle), "python3", &["-c", PYTHON, &format!("https://a.example/?{PLACEHOLDER}")]);
    assert!(
        text.contains(&format!("GET /?{PLACEHOLDER} ")) && text.to_lowercase().contains("accept-encoding: identity"),
        "{text}"
    );
    let (port, placeholder) = (running.http().port(), PLACEHOLDER);
    // Node's `fetch` looks at the variables only from version 24 on; its authorities it finds in any.
    let script = format!(
        "const http = require('http'), tls = require('tls');
        http.request({{port: {port}, method: 'CONNECT', path: 'a.example:443'}}).on('connect', (_, socket) => {{
            const stream = tls.connect({{socket, servername: 'a.example'}}, () =>
                stream.write('GET /node HTTP/1.1\\r\\nHost: a.example\\r\\nX: {placeholder}\\r\\nConnection: close\\r\\n\\r\\n'));
            stream.pipe(process.stdout);
        }}).end();"
    );
    let (text, _) = run(&running, Some(&bundle), "node", &["-e", &script]);
    assert!(text.contains("GET /node ") && text.contains(swapped) && text.contains(PLACEHOLDER), "{text}");
}

#[test]
fn python_and_node_come_through() {
    let web = web();
    let running = bed(&["network:external:a.example:80"]).route(80, web.address).start();
    let (text, _) = run(&running, None, "python3", &["-c", PYTHON, "http://a.example/x"]);
    assert!(text.starts_with("GET /x HTTP/1.1"), "{text}");
    let (text, fine) = run(&running, None, "python3", &["-c", PYTHON, "http://b.example/x"]);
    assert!(!fine && text.contains("403"), "{text}");
    let script = format!(
        "require('http').get({{port: {}, path: 'http://a.example/n', headers: {{host: 'a.example'}}}}, r => r.pipe(process.stdout))",
        running.http().port()
    );
    let (text, _) = run(&running, None, "node", &["-e", &script]);
    assert!(text.starts_with("GET /n HTTP/1.1"), "{text}");
}

#[test]
fn git_clones_with_a_token_that_it_does_not_have() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example"])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git is needed here");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    git(&["init", "-q", &at("work")]);
    fs::write(directory.path().join("work/file"), "contents").unwrap();
    git(&["-C", &at("work"), "add", "file"]);
    git(&["-C", &at("work"), "commit", "-q", "-m", "one"]);
    git(&["clone", "-q", "--bare", &at("work"), &at("bare")]);
    git(&["-C", &at("bare"), "update-server-info"]);
    let served = directory.path().join("bare");
    let token = format!("authorization: basic {}", STANDARD.encode("x:the-value-itself").to_lowercase());
    let host = server(move |mut socket| {
        use std::io::Write;
        loop {
            let head = crate::bed::head(&mut socket);
            let Some(path) = head.split(' ').nth(1) else { return };
            let path = path.split('?').next().unwrap().trim_start_matches('/').to_owned();
            let found = if head.to_lowercase().contains(&token) { fs::read(served.join(path)).ok() } else { None };
            let status = if found.is_some() { "200 OK" } else { "404 Not Found" };
            let body = found.unwrap_or_default();
            write!(socket, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
            socket.write_all(&body).unwrap();
        }
    });
    let running = bed(&["network:external:a.example:80"])
        .route(80, host.address)
        .swap(PLACEHOLDER, "the-value-itself", "a.example:80")
        .start();
    let header = format!("http.extraHeader=Authorization: Basic {}", STANDARD.encode(format!("x:{PLACEHOLDER}")));
    let (text, fine) = run(&running, None, "git", &["-c", &header, "clone", "-q", "http://a.example/", &at("clone")]);
    assert!(fine, "{text}");
    assert_eq!(fs::read_to_string(directory.path().join("clone/file")).unwrap(), "contents");
}
