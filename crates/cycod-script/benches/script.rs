//! What a call of a warm script costs beside starting Node.js for the same, in one run.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "the standard library's `Command` is what we measure against")]

use std::process::Command;

use cycod_script::check;
use divan::{Bencher, black_box};
use host::{Host, whole};
use serde_json::{Map, Value, json};

#[path = "../tests/worker/host.rs"]
#[allow(dead_code, unreachable_pub, reason = "the tests use the rest")]
mod host;

const CODE: &str = "interface Args { text: string; count: number }
interface Line { name: string; total: number }
export async function execute(args: Args, context: any): Promise<Line[]> {
  const lines: Line[] = [];
  for (let n = 0; n < args.count; n++) lines.push({ name: args.text.toUpperCase() + n, total: n * 2 });
  return lines.filter((line) => line.total % 4 === 0);
}";

const SCRIPT: &str = "const args = JSON.parse(process.argv[1]); const lines = [];
for (let n = 0; n < args.count; n++) lines.push({ name: args.text.toUpperCase() + n, total: n * 2 });
console.log(JSON.stringify(lines.filter((line) => line.total % 4 === 0)));";

fn main() {
    divan::main();
}

fn args() -> Map<String, Value> {
    json!({ "text": "some text", "count": 20 }).as_object().expect("it is one").clone()
}

#[divan::bench]
fn warm_call(bencher: Bencher<'_, '_>) {
    let mut host = Host::new();
    let mut call = whole(CODE);
    call.args = args();
    bencher.bench_local(|| host.carry_out(call.clone(), &mut |_| unreachable!()).expect("it runs"));
}

#[divan::bench]
fn warm_call_with_a_file(bencher: Bencher<'_, '_>) {
    let mut host = Host::new();
    let call = host::call("return (await context.platform.fs.readFile('a')).length");
    bencher.bench_local(|| host.carry_out(call.clone(), &mut |_| Ok("text".into())).expect("it runs"));
}

#[divan::bench]
fn code_is_checked() {
    drop(black_box(check(CODE, cycod_script::protocol::ScriptLanguage::TypeScript)));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn node_is_started() {
    let output = Command::new("node").args(["-e", SCRIPT, &Value::Object(args()).to_string()]).output();
    assert!(black_box(output).is_ok_and(|output| output.status.success()), "node runs");
}
