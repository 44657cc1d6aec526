// The page of `cycod ui` in a real browser: what its users see and type, with and without a mouse, and what hostile texts try.
//
//     CYCOD=target/…/cycod NODE_MODULES=…/node_modules CHROMIUM=/usr/bin/chromium node tests/page/run.mjs [PICTURES]
//
// With a directory as its argument, it leaves a picture of each page there, in both themes.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { equal, holds, launched, require, until, wait } from "./checks.mjs";

const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const cycod = path.resolve(process.env.CYCOD);
const pictures = process.argv[2];

const root = fs.mkdtempSync(path.join(os.tmpdir(), "cycod-page-"));
const project = path.join(root, "project");
const tools = path.join(project, ".cycod/tools");
fs.mkdirSync(tools, { recursive: true });
const environment = { PATH: process.env.PATH, HOME: root, LANG: "C.UTF-8", CYCOD_TRUSTED_DIRECTORIES: project };
const children = [];
const start = (...args) => {
  const child = spawn(cycod, args, { cwd: project, env: environment, stdio: ["pipe", "pipe", "pipe"] });
  children.push(child);
  return child;
};
const tool = (name, text) => fs.writeFileSync(path.join(tools, `${name}.yaml`), text);

tool("greet", `description: Greet somebody
bash: echo "Hello, {WHO}" {TIMES}
parameters:
  WHO: {type: string, description: Whom, required: true}
  TIMES: {type: integer, description: How often, validation: {minimum: 1, maximum: 9}}
tags: [read]
`);
tool("nested", `description: Show what it is given
bash: printf '%s\\n' {SETTINGS} {NAMES} {MODE}
parameters:
  SETTINGS: {type: object, description: Settings, validation: {properties: {port: {type: integer}}}}
  NAMES: {type: array, description: Names, validation: {items: {type: string}}}
  MODE: {type: string, description: Mode, validation: {enum: [fast, safe]}, default: safe}
tags: [read]
`);
tool("flow", `description: Several steps
steps:
- {name: first, bash: echo one; sleep 0.5}
- {name: second, bash: 'for n in 1 2 3 4 5 6; do echo "line $n"; sleep 0.3; done'}
- {name: third, bash: echo three; sleep 2}
tags: [read]
`);
tool("flood", `description: Writes much
bash: seq 1 60000
tags: [read]
`);
tool("long", `description: Very many steps
steps:
${Array.from({ length: 1000 }, (_, n) => `- {name: s${n + 1}, bash: ":"}\n`).join("")}tags: [read]
`);
tool("mark", `description: Write a mark
bash: echo {WORD} >> marks
parameters: {WORD: {type: string, description: What, required: true}}
tags: [run]
`);
tool("evil", `description: "</p><script>window.pwned = 1</script><img src=x onerror='window.pwned=1'>"
title: "<b onmouseover='window.pwned=1'>evil</b>"
bash: printf '<script>window.pwned = 1</script>\\033]0;x\\007\\n'
tags: [read]
`);

/** A call of a model over MCP that waits for approval; resolves with its result. */
const called = (name, args) => {
  const server = start("mcp", "serve", "--wait-for-approval", "60");
  const send = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "page-test", version: "1" } };
  send({ id: 1, method: "initialize", params: hello });
  send({ method: "notifications/initialized" });
  send({ id: 2, method: "tools/call", params: { name, arguments: args } });
  let text = "";
  return new Promise((done) => {
    server.stdout.on("data", (data) => {
      text += data;
      for (const line of text.split("\n")) {
        if (line.includes('"id":2')) {
          server.stdin.end();
          return done(JSON.parse(line).result);
        }
      }
    });
  });
};

const ui = start("ui", "--without-terminal");
let said = "";
ui.stderr.on("data", (data) => (said += data));
await until("the page is there", () => /http:\S+/.test(said));
const wayIn = said.match(/http:\S+/)[0];
const site = new URL(wayIn).origin;

const ran = (...args) => spawnSync(cycod, args, { cwd: project, env: environment, encoding: "utf8" });

const browser = await launched();
const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
const problems = [];
const watched = async (of) => {
  const page = await of.newPage();
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => /Content Security Policy|Refused/.test(message.text()) && problems.push(message.text()));
  return page;
};
const page = await watched(context);

/** The page of a project that came from elsewhere, in a browser that came in. */
const opened = async (directory) => {
  const { CYCOD_TRUSTED_DIRECTORIES, ...bare } = environment;
  const served = spawn(cycod, ["ui", "--without-terminal"], { cwd: directory, env: bare, stdio: ["pipe", "pipe", "pipe"] });
  children.push(served);
  let text = "";
  served.stderr.on("data", (data) => (text += data));
  await until("the other page is there", () => /http:\S+/.test(text));
  const address = text.match(/http:\S+/)[0];
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  const page = await watched(context);
  await page.goto(address);
  await page.waitForURL(`${new URL(address).origin}/`);
  return { context, page, site: new URL(address).origin };
};

let passed = 0;
let failed = 0;
const test = async (name, run) => {
  problems.length = 0;
  try {
    await run();
    equal(problems, []);
    passed += 1;
    console.log(`  ok    ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`  FAIL  ${name}: ${error.message.split("\n").slice(0, 6).join("\n        ")}`);
    if (pictures) await page.screenshot({ path: path.join(pictures, `failed-${failed}.png`) });
  }
};

await test("the code opens the page, once, and leaves no trace in the address", async () => {
  await page.goto(wayIn);
  await page.waitForURL(`${site}/`);
  const other = await browser.newContext();
  const second = await other.newPage();
  await second.goto(wayIn);
  await second.waitForSelector(".problem");
  holds(/cannot be used/.test(await second.textContent(".problem")), "the code works twice");
  equal(new URL(second.url()).hash, "");
  await other.close();
});

await test("a form shows what would run while it is filled in, and runs it", async () => {
  await page.goto(`${site}/tool/greet`);
  await page.fill("[name='arg.WHO']", "it's $(reboot)");
  await page.waitForSelector("#preview .command");
  holds((await page.textContent("#preview")).includes(`cycod_WHO='it'\\''s $(reboot)'`), await page.textContent("#preview"));
  await page.fill("[name='arg.TIMES']", "500");
  await until("the problem is shown", async () => (await page.textContent("#preview")).includes("more than the maximum 9"));
  await page.click("button.primary");
  await page.waitForSelector("[aria-invalid=true]");
  equal(await page.inputValue("[name='arg.TIMES']"), "500");
  await page.fill("[name='arg.TIMES']", "3");
  await page.press("[name='arg.TIMES']", "Control+Enter");
  await page.waitForURL(/\/run\//);
  await until("it ends", async () => (await page.textContent("#head .chip")).includes("ok"));
  equal((await page.textContent("#log div")).trim(), "Hello, it's $(reboot) 3");
});

await test("lists, choices and objects arrive as they are typed", async () => {
  await page.goto(`${site}/tool/nested`);
  await page.fill("[name='arg.SETTINGS']", '{"port": 80}');
  await page.locator("[name='arg.NAMES']").nth(0).fill("a b");
  await page.locator("[name='arg.NAMES']").nth(1).fill("c");
  await page.click(".add");
  await page.keyboard.type("-d");
  await page.check("input[value=fast]");
  await page.click("button.primary");
  await page.waitForURL(/\/run\//);
  await until("it ends", async () => (await page.textContent("#head .chip")).includes("ok"));
  equal(await page.locator("#log div").allTextContents(), ['{"port":80}', "a b", "c", "-d", "fast"]);
  await page.click("text=Run again");
  equal(await page.inputValue("[name='arg.SETTINGS']"), '{"port":80}');
  equal(await page.locator("[name='arg.NAMES']").nth(2).inputValue(), "-d");
});

await test("a run is followed live, each line once, and its steps can be looked at alone", async () => {
  await page.goto(`${site}/tool/flow`);
  await page.click("button.primary");
  await page.waitForURL(/\/run\//);
  await until("a line comes while it runs", async () => (await page.textContent("#log")).includes("line 2"));
  holds((await page.textContent("#head .chip")).includes("running"), "it still runs");
  await until("it ends", async () => (await page.textContent("#head .chip")).includes("ok"));
  equal(await page.locator("#log div").allTextContents(), ["one", "line 1", "line 2", "line 3", "line 4", "line 5", "line 6", "three"]);
  equal(await page.locator(".step .name").allTextContents(), ["first", "second", "third"]);
  await page.click(".step >> nth=1");
  await page.waitForURL(/step=second/);
  equal(await page.locator("#log div").count(), 6);
});

await test("what is said of a selected step follows, too", async () => {
  await page.goto(`${site}/tool/flow`);
  await page.click("button.primary");
  await page.waitForURL(/\/run\//);
  await page.goto(`${page.url()}?step=second`);
  await until("it has ended", async () => (await page.textContent("#details")).includes("ok, exit code 0"));
  holds((await page.textContent("#head .chip")).includes("running"), "the run goes on");
  holds((await page.textContent("#details .command")).includes("line $n"), "its command is there");
});

await test("a run of a terminal appears in the list at once", async () => {
  await page.goto(`${site}/runs`);
  const before = await page.locator("#list tbody tr").count();
  start("run", "greet", "WHO=terminal");
  await until("it is there", async () => (await page.locator("#list tbody tr").count()) === before + 1);
});

await test("a flood leaves the page quick and small", async () => {
  await page.goto(`${site}/tool/flood`);
  await page.click("button.primary");
  await page.waitForURL(/\/run\//);
  await until("it ends", async () => (await page.textContent("#head .chip")).includes("ok"));
  holds((await page.locator("#log div").count()) <= 20000, "too many lines");
  holds((await page.textContent("#log div:last-child")) === "60000", "the last line is there");
  holds(await page.isVisible("#skipped"), "it says that something is not shown");
});

await test("a run of a thousand steps is followed a hundred rows at a time", async () => {
  await page.goto(`${site}/tool/long`);
  await page.click("button.primary");
  await page.waitForURL(/\/run\//);
  let most = 0;
  await until("it ends", async () => {
    most = Math.max(most, await page.locator(".step").count());
    return (await page.textContent("#head .chip")).includes("ok");
  }, 120000);
  holds(most <= 100, `${most} rows`);
  equal((await page.textContent("#steps .pages span")).trim(), "1–100 of 1,000");
  await page.click("#steps [rel=next]");
  await page.waitForURL(/steps=2/);
  equal(await page.locator(".step .name").first().textContent(), "s101");
  await page.click(".step >> nth=5");
  await page.waitForURL(/step=s106/);
  equal(await page.locator(".step[aria-current]").count(), 1);
  holds((await page.content()).length < 100_000, "the page is short");
});

await test("what a model waits for is approved in one of two tabs", async () => {
  await page.goto(`${site}/approvals`);
  const second = await watched(context);
  await second.goto(`${site}/runs`);
  const result = called("mark", { WORD: "approved" });
  await page.bringToFront();
  await page.waitForSelector(".ask");
  holds((await page.textContent(".ask .command")).includes("approved"), await page.textContent(".ask"));
  equal((await page.textContent("#waiting")).replace(/\D/g, ""), "1");
  await second.bringToFront();
  await second.goto(`${site}/approvals`);
  await second.click("[data-key=y]");
  equal((await result).isError ?? false, false);
  equal(fs.readFileSync(path.join(project, "marks"), "utf8"), "approved\n");
  await page.bringToFront();
  await until("the other tab knows", async () => (await page.locator(".ask").count()) === 0);
  await second.close();
});

await test("a request is denied by keyboard alone, with the card in focus", async () => {
  await page.goto(`${site}/approvals`);
  const result = called("mark", { WORD: "denied" });
  await page.waitForSelector(".ask");
  await page.keyboard.press("n");
  await wait(300);
  equal(await page.locator(".ask").count(), 1);
  await page.keyboard.press("j");
  // The caller has its answer before the browser has the next page.
  await Promise.all([page.waitForNavigation(), page.keyboard.press("n")]);
  equal((await result).isError, true);
  equal(fs.readFileSync(path.join(project, "marks"), "utf8"), "approved\n");
});

await test("a call is tested against the rules while its form is filled in", async () => {
  ran("policy", "add", "deny", "greet(WHO=evil)", "--user", "--why", "no evil");
  await page.goto(`${site}/policy`);
  holds((await page.textContent("#list")).includes("greet(WHO=evil)"), await page.textContent("#list"));
  await page.fill("#test-tool", "greet");
  await page.press("#test-tool", "Enter");
  await page.waitForURL(/test\?tool=greet/);
  await page.fill("[name='arg.WHO']", "evil");
  await until("it is denied", async () => (await page.textContent("#preview")).includes("no evil"));
  await page.fill("[name='arg.WHO']", "you");
  await until("it is allowed", async () => !(await page.textContent("#preview")).includes("no evil"));
});

await test("a change of the rules is compared with the calls that were made", async () => {
  await page.goto(`${site}/policy`);
  await page.check("[name=verdict][value=deny]");
  await page.fill("#pattern", "greet");
  await page.press("#pattern", "Enter");
  await page.waitForSelector("#outcome");
  holds(/\d+ of the last \d+ calls/.test(await page.textContent("#outcome")), await page.textContent("#outcome"));
  await page.click("#outcome table a");
  await page.waitForURL(/\/run\//);
});

await test("a tool that came with the project is trusted as it is shown, by keyboard", async () => {
  const other = path.join(root, "cloned");
  fs.mkdirSync(path.join(other, ".cycod/tools"), { recursive: true });
  const file = path.join(other, ".cycod/tools/theirs.yaml");
  fs.writeFileSync(file, "description: Theirs\nbash: echo one\ntags: [read]\n");
  const there = await opened(other);
  await there.page.goto(`${there.site}/trust`);
  await there.page.keyboard.press("j");
  await there.page.keyboard.press("Enter");
  await there.page.waitForURL(/theirs\/trust/);
  holds((await there.page.textContent(".ask .command")).includes("echo one"), "it is shown");
  const stale = await watched(there.context);
  await stale.goto(there.page.url());
  await there.page.focus(".ask button.primary");
  await there.page.keyboard.press("Enter");
  await there.page.waitForURL(`${there.site}/tool/theirs`);
  fs.writeFileSync(file, "description: Theirs\nbash: echo two\ntags: [read]\n");
  // What another tab still shows is not what is there.
  await stale.click(".ask button.primary");
  holds((await stale.textContent("body")).includes("it has changed"), await stale.textContent("body"));
  await there.page.goto(`${there.site}/tool/theirs/trust`);
  equal(await there.page.locator(".diff del").allTextContents(), ["-bash: echo one\n"]);
  equal(await there.page.locator(".diff ins").allTextContents(), ["+bash: echo two\n"]);
  await there.context.close();
});

await test("a mistake is shown next to its line while it is typed, fixed by its button, saved and tested", async () => {
  tool("edited", "description: Edited\nbash: echo {WORD}\nparameters: {WORD: {type: string, description: w, default: one}}\ntags: [read]\ntests:\n- {name: says, expected: {output-contains: one}}\n");
  await page.goto(`${site}/tool/edited`);
  await page.click("a[href$='/edit']");
  const text = await page.inputValue("[name=text]");
  await page.fill("[name=text]", `${text}timout: 5000\n`);
  await page.waitForSelector(".finding mark");
  equal(await page.textContent(".finding mark"), "timout");
  await page.click(".finding button");
  await until("it is fixed", async () => (await page.inputValue("[name=text]")).includes("timeout: 5000"));
  equal(await page.locator(".finding").count(), 0);
  await page.press("[name=text]", "Control+Enter");
  await page.waitForURL(/saved=1/);
  equal(fs.readFileSync(path.join(tools, "edited.yaml"), "utf8"), `${text}timeout: 5000\n`);
  await page.click("[name=test]");
  await page.waitForSelector("#tests .chip.ok");
});

await test("everything can be reached by keyboard", async () => {
  await page.goto(`${site}/runs`);
  await page.keyboard.press("g");
  await page.waitForURL(`${site}/`);
  await page.keyboard.press("/");
  equal(await page.evaluate(() => document.activeElement.id), "find");
  await page.keyboard.type("greet");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=greet/);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/tool\/greet/);
  await page.keyboard.press("?");
  holds(await page.isVisible("#keys"), "the keys are listed");
  await page.keyboard.press("Escape");
  await page.keyboard.press("r");
  await page.waitForURL(/\/runs/);
});

await test("hostile texts stay texts", async () => {
  await page.goto(`${site}/?q=evil`);
  await page.goto(`${site}/tool/evil`);
  await page.hover("h1");
  await page.click("button.primary");
  await page.waitForURL(/\/run\//);
  await until("it ends", async () => (await page.textContent("#head .chip")).includes("ok"));
  holds((await page.textContent("#log")).includes("<script>window.pwned = 1</script>"), await page.textContent("#log"));
  equal(await page.evaluate(() => window.pwned ?? 0), 0);
});

await test("without script, links and forms work", async () => {
  const plain = await browser.newContext({ javaScriptEnabled: false, storageState: await context.storageState() });
  const bare = await plain.newPage();
  await bare.goto(`${site}/tool/greet`);
  await bare.fill("[name='arg.WHO']", "plain");
  await bare.click("text=Plan only");
  holds((await bare.textContent("#preview")).includes("plain"), "the plan is shown");
  await bare.click("button.primary");
  await bare.waitForURL(/\/run\//);
  await plain.close();
});

// Runs in the page: the classes of its elements that neither a rule of its style nor a selector of its script names.
const classesWithoutUse = async () => {
  const script = await (await fetch(document.querySelector("head script").src)).text();
  const selectors = script.match(/"[^"\n]*"/g).join(" ");
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).flatMap((rule) => [rule, ...(rule.cssRules ?? [])]);
  const named = new Set([...rules.map((rule) => rule.selectorText ?? ""), selectors].flatMap((text) => text.match(/\.[\w-]+/g) ?? []));
  const classes = new Set([...document.querySelectorAll("body [class]")].filter((one) => !one.closest("svg")).flatMap((one) => [...one.classList]));
  return [...classes].filter((name) => !named.has(`.${name}`));
};

for (const colorScheme of ["light", "dark"]) {
  const themed = await browser.newContext({ colorScheme, bypassCSP: true, viewport: { width: 1280, height: 860 }, storageState: await context.storageState() });
  const shown = await themed.newPage();
  await shown.goto(`${site}/runs?tool=flow`);
  const run = await shown.getAttribute("#list a.row", "href");
  const pages = { tools: "/", tool: "/tool/nested", runs: "/runs", run, "no runs": "/runs?tool=nothing", approvals: "/approvals", rules: "/policy?verdict=deny&pattern=greet", "a test of rules": "/policy/test/greet", trust: "/trust", "one to trust": "/tool/greet/trust", servers: "/servers", costs: "/costs?max=500", machine: "/machine", editor: "/tool/edited/edit", step: `${run}?step=second`, "way in": "/in" };
  for (const [name, address] of Object.entries(pages)) {
    await test(`${name}, ${colorScheme}: no barriers, and nothing cut off at 320 px`, async () => {
      await shown.setViewportSize({ width: 1280, height: 860 });
      await shown.goto(site + address);
      await shown.evaluate(axe);
      const { violations } = await shown.evaluate(() => window.axe.run());
      equal(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target).join(" ")}`), []);
      equal(await shown.evaluate(classesWithoutUse), []);
      if (pictures) await shown.screenshot({ path: path.join(pictures, `${name.replaceAll(" ", "-")}-${colorScheme}.png`) });
      await shown.setViewportSize({ width: 320, height: 640 });
      equal(await shown.evaluate(() => document.documentElement.scrollWidth), 320);
    });
  }
  await themed.close();
}

await test("a page whose server is gone says so", async () => {
  await page.goto(`${site}/runs`);
  await page.waitForTimeout(300);
  ui.kill("SIGKILL");
  await page.waitForSelector("body[data-lost]");
});

await browser.close();
for (const child of children) child.kill("SIGKILL");
fs.rmSync(root, { recursive: true, force: true });
console.log(`page: ${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
