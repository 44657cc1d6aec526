// What `cycod ui` costs, each figure beside its floor in the same run: times as medians, and what they are divided by.
//
//     CYCOD=target/release/cycod NODE_MODULES=…/node_modules CHROMIUM=/usr/bin/chromium node tests/page/figures.mjs
//
// Run it on a quiet machine with a release build. It only prints: what must not grow is held by tests that count.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";
import { launched, wait } from "./checks.mjs";

const cycod = path.resolve(process.env.CYCOD);
const root = fs.mkdtempSync(path.join(os.tmpdir(), "cycod-figures-"));
const children = [];
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  fs.rmSync(root, { recursive: true, force: true });
});

const now = () => performance.now();
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const repeated = async (times, measure) => {
  const values = [];
  for (let i = 0; i < times; i++) values.push(await measure());
  return median(values);
};
const told = (name, value, floor, unit, goal) => {
  const ratio = value / floor;
  console.log(`${name}: ${value.toFixed(2)} ${unit} / ${floor.toFixed(2)} ${unit} = ${ratio.toFixed(2)} (goal ${goal})`);
};

/// A user's home with these tools.
function home(name, tools) {
  const place = path.join(root, name);
  const directory = path.join(place, ".cycod/tools");
  fs.mkdirSync(directory, { recursive: true });
  for (const [tool, text] of tools) fs.writeFileSync(path.join(directory, `${tool}.yaml`), text);
  return { place, env: { PATH: process.env.PATH, HOME: place, LANG: "C.UTF-8" } };
}
const run = ({ place, env }, ...args) => spawnSync(cycod, args, { cwd: place, env, encoding: "utf8" });
const timed = async (user, ...args) => repeated(15, async () => {
  const begin = now();
  run(user, ...args);
  return now() - begin;
});

let port = 18500;
/// Starts a page, and gets in as a browser does.
async function open({ place, env }) {
  const begin = now();
  const child = spawn(cycod, ["ui", "--without-terminal", "--port", String(++port)], { cwd: place, env });
  children.push(child);
  const address = await new Promise((done) => {
    let said = "";
    child.stderr.on("data", (text) => {
      const found = /http:\/\/(\S+)\/in#(\S+)/.exec((said += text));
      if (found) done({ host: found[1], code: found[2] });
    });
  });
  const ask = (method, where, body, headers = {}) => new Promise((done, fail) => {
    const asked = now();
    const [hostname, number] = address.host.split(":");
    const request = http.request({ hostname, port: number, method, path: where, headers }, (answer) => {
      const first = now() - asked;
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => done({ answer, first, body: Buffer.concat(parts) }));
    });
    request.on("error", fail);
    request.end(body);
  });
  const origin = { Origin: `http://${address.host}`, "Sec-Fetch-Site": "same-origin" };
  const entered = await ask("POST", "/in", `code=${address.code}`, origin);
  const started = now() - begin;
  const cookie = { Cookie: entered.answer.headers["set-cookie"][0].split(";")[0] };
  return { child, host: address.host, code: address.code, cookie, started, get: (where) => ask("GET", where, undefined, cookie) };
}
const status = (pid, key) => Number(new RegExp(`${key}:\\s+(\\d+)`).exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]);
const wakeUps = (pid) => fs.readdirSync(`/proc/${pid}/task`).reduce((sum, task) => {
  const text = fs.readFileSync(`/proc/${pid}/task/${task}/status`, "utf8");
  return sum + Number(/\nvoluntary_ctxt_switches:\s+(\d+)/.exec(text)[1]);
}, 0);

const one = home("one", [
  ["hello", "description: Say hello\nbash: echo hello\ntags: [read]\n"],
  ["much", "description: Write much\nbash: seq 1 400000000\ntags: [read]\n"],
  ["steady", "description: Write 20,000 lines a second\nbash: for n in $(seq 100); do seq 1000; sleep 0.05; done\ntags: [read]\n"],
  ...[10, 1000].map((count) => [
    `steps${count}`,
    `description: Many steps\nsteps:\n${Array.from({ length: count }, (_, n) => `- {name: s${n}, bash: echo ${n}}\n`).join("")}tags: [read]\n`,
  ]),
]);

// Start, and what a browser loads first.
const version = await timed(one, "--version");
const pages = [];
for (let i = 0; i < 7; i++) {
  const page = await open(one);
  pages.push(page.started);
  page.child.kill();
}
told("start to the first answer, beside --version", median(pages), version, "ms", "≤ 10");
const page = await open(one);
const first = await page.get("/");
const parts = [...first.body.toString().matchAll(/(?:href|src)="(\/[^"]*\.(?:css|js|svg)[^"]*)"/g)].map((found) => found[1]);
let bytes = zlib.brotliCompressSync(first.body).length;
for (const part of new Set(parts)) bytes += zlib.brotliCompressSync((await page.get(part)).body).length;
console.log(`first load, ${1 + new Set(parts).size} parts, as brotli: ${(bytes / 1024).toFixed(1)} KiB (goal ≤ 20)`);

// A page that nobody looks at.
const server = spawn(cycod, ["mcp", "serve"], { cwd: one.place, env: one.env });
children.push(server);
server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } } })}\n`);
await wait(3000);
told("memory beside mcp serve", status(page.child.pid, "VmRSS") / 1024, status(server.pid, "VmRSS") / 1024, "MB", "≤ 1.3");
// The connections of the last answers end by themselves.
await wait(20_000);
const before = wakeUps(page.child.pid);
await wait(5000);
console.log(`idle without a tab: ${((wakeUps(page.child.pid) - before) / 5).toFixed(1)} wake-ups/s (goal 0)`);
server.kill();

// Long lists, many steps.
const many = home("many", Array.from({ length: 5000 }, (_, n) => [`hello_${n}`, "description: Says hello\nbash: echo hello\ntags: [read]\n"]));
run(many, "list");
const all = await open(many);
await all.get("/");
const listed = (await timed(many, "tools", "list", "--format", "json")) - version;
told("/ with 5,000 tools, beside the registry", await repeated(15, async () => (await all.get("/")).first), listed, "ms", "≤ 1.5");
all.child.kill();
const firstByte = {};
for (const count of [10, 1000]) {
  run(one, "tool", "run", `steps${count}`);
  const [{ id }] = JSON.parse(run(one, "runs", "list", "--all", "--limit", "1", "--format", "json").stdout);
  await page.get(`/run/${id}`);
  firstByte[count] = await repeated(15, async () => (await page.get(`/run/${id}`)).first);
}
told("first byte of a run of 1,000 steps, beside one of 10", firstByte[1000], firstByte[10], "ms", "≤ 2");

// A run that a browser follows.
const browser = await launched();
const context = await browser.newContext();
const [cookie, secret] = page.cookie.Cookie.split("=");
await context.addCookies([{ name: cookie, value: secret, url: `http://${page.host}` }]);
const tab = await context.newPage();
const begun = async (tool, isFollowed) => {
  const id = run(one, "run", tool, "--background").stdout.trim();
  if (isFollowed) await tab.goto(`http://${page.host}/run/${id}`);
  return id;
};
const duration = async (tool, isFollowed) => {
  const id = await begun(tool, isFollowed);
  const waited = spawn(cycod, ["runs", "wait", id], { cwd: one.place, env: one.env, stdio: "ignore" });
  await new Promise((done) => waited.on("exit", done));
  return JSON.parse(run(one, "runs", "show", id, "--format", "json").stdout).duration_us / 1000;
};
const alone = await repeated(5, () => duration("much", false));
const followed = await repeated(5, () => duration("much", true));
told("a run of 400,000,000 lines that is followed, beside one that isn't", followed, alone, "ms", "≤ 1.03");
await begun("steady", true);
const pauses = await tab.evaluate(async () => {
  // How long the page does nothing else, and how long a key takes to be seen.
  let longest = 0;
  let last = performance.now();
  const keys = [];
  document.addEventListener("keydown", (event) => keys.push(performance.now() - event.timeStamp));
  const end = last + 4000;
  while (last < end) {
    await new Promise((done) => setTimeout(done, 0));
    const at = performance.now();
    longest = Math.max(longest, at - last);
    last = at;
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "Shift" }));
  }
  return { longest, key: Math.max(...keys) };
});
console.log(`20,000 lines a second: longest pause ${pauses.longest.toFixed(0)} ms (goal ≤ 100), a key within ${pauses.key.toFixed(0)} ms (goal ≤ 50)`);
await browser.close();
process.exit(0);
