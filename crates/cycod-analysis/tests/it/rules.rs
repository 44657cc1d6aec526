use expect_test::expect;

use crate::support::{check, examined, found};

/// What breaks rules, in every language. Nothing in the second part of each may be found.
#[test]
fn python() {
    check(
        "a.py",
        r#"import os, subprocess as sp, pickle, yaml, requests, hashlib, tempfile, ssl, jwt, torch
from os import system as run
from yaml import load
eval(x)
os.system("ls " + name)
run(f"ls {name}")
os.system("ls")
sp.run(command, shell=True)
sp.Popen(args="ls", shell=True)
pickle.loads(data)
yaml.load(data)
load(data, Loader=yaml.FullLoader)
requests.get(url, verify=False)
hashlib.md5(data)
tempfile.mktemp()
context = ssl._create_unverified_context()
jwt.decode(token, options={"verify_signature": False})
app.run(debug=True)
cursor.execute("SELECT * FROM t WHERE a = '%s'" % name)
cursor.execute(f"DELETE FROM {table}")
torch.load(path)
client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
"#,
        &expect![[r#"
            4:1 error[dangerous-eval] `eval` runs text as code
            5:1 error[shell-command] `os.system` gives a shell a command line that is put together
            6:1 error[shell-command] `os.system` gives a shell a command line that is put together
            7:1 info[shell-used] `os.system` goes through a shell
            8:1 error[shell-command] `subprocess.run` gives a shell a command line that is put together
            9:1 error[shell-command] `subprocess.Popen` gives a shell a command line that is put together
            10:1 warning[unsafe-deserialization] `pickle.loads` runs what the data names
            11:1 warning[unsafe-deserialization] `yaml.load` without a safe loader makes any object
            12:1 warning[unsafe-deserialization] `yaml.load` without a safe loader makes any object
            13:1 error[tls-verification-off] `requests.get` believes any certificate
            14:1 info[weak-hash] `hashlib.md5` can be forged
            15:1 warning[insecure-temporary-file] `tempfile.mktemp` only makes up a name
            16:11 error[tls-verification-off] a context of TLS that verifies nothing
            17:1 error[token-not-verified] `jwt.decode` does not look at the signature
            18:1 warning[debug-mode] `app.run` serves a debugger
            19:1 error[sql-injection] values are put into a command of SQL
            20:1 error[sql-injection] values are put into a command of SQL
            21:1 warning[unsafe-deserialization] `torch.load` without `weights_only=True` runs what the data names
            22:1 warning[ssh-host-key-ignored] any host is accepted as the right one
        "#]],
    );
    let harmless = r##"
import os, subprocess, yaml, re, hashlib, torch
# eval(x); os.system(name)
"""os.system("ls " + name)"""
text = "pickle.loads(data)"
eval("1 + 1")
subprocess.run(["ls", name])
subprocess.run(command, shell=False)
yaml.load(data, Loader=yaml.SafeLoader)
yaml.load(data, yaml.CSafeLoader)
yaml.safe_load(data)
hashlib.md5(data, usedforsecurity=False)
model.eval()
torch.load(path, weights_only=True)
cursor.execute("SELECT * FROM t WHERE a = ?", (name,))
cursor.execute("SELECT a " + "FROM t")
cursor.execute(query)
requests.get(url, verify="/etc/ca.pem")
self.run(debug=False)
my.os.system(name)
"##;
    assert_eq!(found("a.py", harmless), "");
    assert_eq!(found("a.py", "from ruamel.yaml import YAML\nyaml = YAML()\nyaml.load(data)\n"), "");
}

#[test]
fn javascript() {
    check(
        "a.ts",
        r#"import { exec as run } from "node:child_process";
import * as cp from "child_process";
const { execSync } = require("child_process");
eval(code);
new Function("a", body);
setTimeout("f()", 1);
run(`ls ${name}`);
cp.exec("ls " + name);
execSync(command);
cp.exec("ls");
cp.spawn(program, list, { shell: true });
element.innerHTML = text;
document.write(text);
element.insertAdjacentHTML("beforeend", text);
https.request({ rejectUnauthorized: false });
process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
db.query(`SELECT * FROM t WHERE a = ${name}`);
db.query("SELECT * FROM t WHERE a = " + name);
"#,
        &expect![[r#"
            4:1 error[dangerous-eval] `eval` runs text as code
            5:1 error[dangerous-eval] `Function` makes code of text
            6:1 error[dangerous-eval] `setTimeout` runs text as code
            7:1 error[shell-command] `child_process.exec` gives a shell a command line that is put together
            8:1 error[shell-command] `child_process.exec` gives a shell a command line that is put together
            9:1 error[shell-command] `child_process.execSync` gives a shell a command line that is put together
            10:1 info[shell-used] `child_process.exec` goes through a shell
            11:1 error[shell-command] `child_process.spawn` with `shell: true` lets a shell read the arguments
            12:1 warning[html-injection] `innerHTML` puts markup into the page
            13:1 warning[html-injection] `document.write` puts markup into the page
            14:1 warning[html-injection] `insertAdjacentHTML` puts markup into the page
            15:17 error[tls-verification-off] `rejectUnauthorized: false` believes any certificate
            16:1 error[tls-verification-off] every connection of the process believes any certificate
            17:1 error[sql-injection] values are put into a command of SQL
            18:1 error[sql-injection] values are put into a command of SQL
        "#]],
    );
    check(
        "a.jsx",
        "const a = <div dangerouslySetInnerHTML={{ __html: text }} />;\n",
        &expect![[r#"
        1:16 warning[html-injection] `dangerouslySetInnerHTML` puts markup into the page
    "#]],
    );
    let harmless = r#"
import cp from "child_process";
// eval(code)
const text = "eval(code)";
/a+/.exec(text);
pattern.exec(text);
setTimeout(() => f(), 1);
cp.spawn("ls", [name], { shell: false });
cp.execFile("ls", [name]);
element.textContent = text;
element.innerHTML = "";
db.query("SELECT * FROM t WHERE a = ?", [name]);
db.query(`SELECT 1`);
https.request({ rejectUnauthorized: true });
"#;
    assert_eq!(found("a.js", harmless), "");
}

#[test]
fn c() {
    check(
        "a.c",
        r#"void f(char *a, char *b) {
  gets(a);
  strcpy(a, b);
  sprintf(a, "%s", b);
  scanf("%s", a);
  system(a);
  system("ls");
  printf(a);
  mktemp(a);
}
"#,
        &expect![[r#"
            2:3 warning[buffer-overflow] `gets` writes as much as it is sent
            3:3 warning[buffer-overflow] `strcpy` writes as much as its source has
            4:3 warning[buffer-overflow] `sprintf` writes as much as comes of its format
            5:3 warning[buffer-overflow] `scanf` with `%s` writes as much as it is sent
            6:3 error[shell-command] `system` gives a shell a command line that is put together
            7:3 info[shell-used] `system` goes through a shell
            8:3 warning[format-string] `printf` reads a text as its format
            9:3 warning[insecure-temporary-file] `mktemp` only makes up a name
        "#]],
    );
    let harmless = r#"/* gets(a); */
void f(char *a, char *b) {
  fgets(a, 10, stdin);
  strcpy(a, "ok");
  sprintf(a, "%d", 1);
  snprintf(a, 10, "%s", b);
  scanf("%9s", a);
  printf("%s", a);
  puts("system(a)");
  mkstemp(a);
}
"#;
    assert_eq!(found("a.c", harmless), "");
    assert_eq!(found("a.cpp", harmless), "");
}

#[test]
fn go() {
    check(
        "a.go",
        r#"package main

import (
	run "os/exec"
	"crypto/md5"
)

func f(name string) {
	run.Command("sh", "-c", "ls "+name)
	run.CommandContext(ctx, "bash", "-c", line)
	run.Command("sh", "-c", "ls")
	_ = &tls.Config{InsecureSkipVerify: true}
	md5.Sum(data)
	db.Query(fmt.Sprintf("SELECT * FROM t WHERE a = '%s'", name))
	db.ExecContext(ctx, "DELETE FROM t WHERE a = "+name)
	template.HTML(name)
}
"#,
        &expect![[r#"
            9:2 error[shell-command] `exec.Command` gives a shell a command line that is put together
            10:2 error[shell-command] `exec.CommandContext` gives a shell a command line that is put together
            11:2 info[shell-used] `exec.Command` goes through a shell
            12:18 error[tls-verification-off] `InsecureSkipVerify: true` believes any certificate
            13:2 info[weak-hash] `md5.Sum` can be forged
            14:2 error[sql-injection] values are put into a command of SQL
            15:2 error[sql-injection] values are put into a command of SQL
            16:2 warning[html-injection] `template.HTML` says that a text is safe as it is
        "#]],
    );
    let harmless = "package main\n\nfunc f(name string) {\n\texec.Command(\"ls\", name)\n\texec.Command(\"sh\", script)\n\t_ = &tls.Config{InsecureSkipVerify: false}\n\tdb.Query(\"SELECT * FROM t WHERE a = ?\", name)\n\tsha256.Sum256(data)\n}\n";
    assert_eq!(found("a.go", harmless), "");
}

#[test]
fn rust() {
    check(
        "a.rs",
        r#"fn f(name: &str) {
    unsafe{ g() }
    reqwest::Client::builder().danger_accept_invalid_certs(true).build();
    Command::new("sh").arg("-c").arg(format!("ls {name}")).status();
}
"#,
        &expect![[r#"
            2:5 info[undocumented-unsafe] nothing says why this is sound
            3:5 error[tls-verification-off] `danger_accept_invalid_certs` believes any certificate
            4:5 error[shell-command] a shell is given a command line that is put together
        "#]],
    );
    let harmless = r#"fn f(name: &str) {
    // SAFETY: it holds.
    unsafe{ g() };
    // SAFETY: it holds, and
    // this is the second line.
    let a = unsafe{ g() };
    unsafe{
        // SAFETY: it holds.
        g()
    }
    Command::new("ls").arg(name).status();
    builder.danger_accept_invalid_certs(false);
    let text = "unsafe{ g() }";
}
"#;
    assert_eq!(found("a.rs", harmless), "");
}

#[test]
fn java() {
    check(
        "A.java",
        r#"class A {
  void f(String name) {
    Runtime.getRuntime().exec("ls " + name);
    new ObjectInputStream(in).readObject();
    MessageDigest.getInstance("MD5");
    Cipher.getInstance("AES/ECB/PKCS5Padding");
    statement.executeQuery("SELECT * FROM t WHERE a = " + name);
  }
}
"#,
        &expect![[r#"
            3:5 error[shell-command] `Runtime.exec` splits a command line that is put together
            4:5 warning[unsafe-deserialization] `ObjectInputStream` makes any object
            5:5 info[weak-hash] `MD5` can be forged
            6:5 warning[weak-cipher] `AES/ECB/PKCS5PADDING` can be broken
            7:5 error[sql-injection] values are put into a command of SQL
        "#]],
    );
    let harmless = "class A {\n  void f(String name) {\n    new ProcessBuilder(\"ls\", name);\n    MessageDigest.getInstance(\"SHA-256\");\n    Cipher.getInstance(\"AES/GCM/NoPadding\");\n    statement.executeQuery(sql);\n    executor.execute(task);\n  }\n}\n";
    assert_eq!(found("A.java", harmless), "");
}

#[test]
fn shell() {
    check(
        "a.sh",
        "eval \"$1\"\ncurl -k https://a.b/c\ncurl -sL https://a.b/c | sudo bash -s\nwget -qO- https://a.b/c | sh\nchmod 777 file\nssh -o StrictHostKeyChecking=no host\n",
        &expect![[r#"
            1:1 error[dangerous-eval] `eval` reads what variables hold as code
            2:1 error[tls-verification-off] `curl` believes any certificate
            3:1 warning[pipe-to-shell] what is fetched is run unseen
            4:1 warning[pipe-to-shell] what is fetched is run unseen
            5:1 warning[world-writable] everybody may write what this names
            6:1 warning[ssh-host-key-ignored] any host is accepted as the right one
        "#]],
    );
    let harmless = "# eval \"$1\"\necho 'curl https://a.b/c | sh'\ncurl https://a.b/c | jq .\nchmod 755 file\ncat file | sh\neval 'a=1'\n";
    assert_eq!(found("a.sh", harmless), "");
}

#[test]
fn comments_leave_findings_alone() {
    let text = "eval(a)  # cycod: ignore\n# cycod: ignore[dangerous-eval]: it is our own\neval(b)\neval(c)  # cycod: ignore[weak-hash]\n\"\"\"cycod: ignore\"\"\"; eval(d)\neval(e)  # cycod: ignored by nobody\n";
    check(
        "a.py",
        text,
        &expect![[r#"
        4:1 error[dangerous-eval] `eval` runs text as code
        5:22 error[dangerous-eval] `eval` runs text as code
        6:1 error[dangerous-eval] `eval` runs text as code
    "#]],
    );
    assert_eq!(examined("a.py", text).ignored, 2);
}

/// The shapes of applications that are vulnerable on purpose, in files of our own.
#[test]
fn what_a_request_chooses() {
    check(
        "routes.ts",
        r#"import axios from "axios";
const needle = require("needle");
export function go({ query }: Request, res: Response) {
  const to: string = query.to as string;
  res.redirect(to);
}
app.get("/out", (req, res) => res.redirect(302, req.query.url));
app.get("/login", (req, res) => res.redirect("https://" + req.headers.host + "/login"));
app.get("/head", (req, res) => res.writeHead(302, { Location: req.query.next }));
this.show = (req, res) => {
  const url = req.query.url + req.query.symbol;
  return needle.get(url, (error, answer) => answer);
};
async function load(req, res) {
  const { address } = req.body;
  await fetch(`${address}/status`);
  await axios({ method: "get", url: req.body.url });
  await axios.get(new URL(req.params.target));
}
function reviews(req) {
  const id = trunc(req.params.id, 40);
  return db.reviews.find({ $where: "this.product == " + id });
}
function above(user, threshold) {
  const known = parseInt(user);
  return all.find({ $where: `this.user == ${known} && this.stocks > '${threshold}'` });
}
function later(req) {
  const query = {};
  query["$where"] = req.query.code;
  query.$where = "this.a == " + req.query.a;
  require("node:child_process").exec("ls " + req.query.folder);
}
"#,
        &expect![[r#"
            5:3 error[open-redirect] `res.redirect` redirects to an address that the request chooses
            7:31 error[open-redirect] `res.redirect` redirects to an address that the request chooses
            8:33 error[open-redirect] `res.redirect` redirects to an address that the request chooses
            9:53 error[open-redirect] `Location` redirects to an address that the request chooses
            12:10 error[request-forgery] `needle.get` sends a request to a server that the request chooses
            16:9 error[request-forgery] `fetch` sends a request to a server that the request chooses
            17:9 error[request-forgery] `axios` sends a request to a server that the request chooses
            18:9 error[request-forgery] `axios.get` sends a request to a server that the request chooses
            22:28 error[nosql-injection] `$where` runs text as code in the database
            26:21 error[nosql-injection] `$where` runs text as code in the database
            30:3 error[nosql-injection] `$where` runs text as code in the database
            31:3 error[nosql-injection] `$where` runs text as code in the database
            32:3 error[shell-command] `child_process.exec` gives a shell a command line that is put together
        "#]],
    );
    let harmless = r#"
import axios from "axios";
app.get("/a", (req, res) => res.redirect("/"));
app.get("/b", (req, res) => res.redirect(req.user.isAdmin ? "/benefits" : "/dashboard"));
app.get("/c", (req, res) => res.redirect("/search?q=" + req.query.q));
app.get("/d", (req, res) => res.redirect(req.query.page === "2" ? "/two" : "/one"));
app.get("/e", (req, res) => res.redirect(addresses[Number(req.query.at)]));
function load(req) {
  const id = req.params.id;
  return axios.get("https://api.example.com/users/" + id);
}
function other(url) { return fetch(url); }
function reviews(req) {
  const id = Number(req.params.id);
  return db.reviews.find({ $where: "this.product == " + id });
}
db.all.find({ $where: "this.products.length > 0" });
db.all.find({ $where: function () { return this.a > this.b; } });
db.all.find({ product: id });
"#;
    assert_eq!(found("routes.js", harmless), "");
    check(
        "views.py",
        r#"from flask import Flask, request, redirect
import requests, urllib.request
def out():
    to = request.args.get("to")
    return redirect(to)
def load():
    requests.get(request.form["url"])
    host = request.args["host"]
    requests.get(f"https://{host}/x")
    urllib.request.urlopen(url=request.values["u"])
def fine():
    redirect("/home?next=" + request.args["next"])
    requests.get("https://api.example.com/" + request.args["id"])
    requests.post(settings.url, data=request.form)
    redirect(url_for("home"))
    users.find({"$where": "this.a == 1"})
def search():
    users.find({"$where": "this.a == '" + request.args["a"] + "'"})
    query["$where"] = f"this.b == {request.args['b']}"
"#,
        &expect![[r#"
            5:12 error[open-redirect] `flask.redirect` redirects to an address that the request chooses
            7:5 error[request-forgery] `requests.get` sends a request to a server that the request chooses
            9:5 error[request-forgery] `requests.get` sends a request to a server that the request chooses
            10:5 error[request-forgery] `urllib.request.urlopen` sends a request to a server that the request chooses
            18:17 error[nosql-injection] `$where` runs text as code in the database
            19:5 error[nosql-injection] `$where` runs text as code in the database
        "#]],
    );
}
