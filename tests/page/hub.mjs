// The pages of `cycod-hub` in a real browser: three members with keys and devices, what they propose, review and release, and
// what their pages show of it.
//
//     CYCOD=target/…/cycod HUB=target/…/cycod-hub NODE_MODULES=…/node_modules CHROMIUM=/usr/bin/chromium \
//         node tests/page/hub.mjs [PICTURES]
//
// With a directory as its argument, it leaves a picture of each page there, in both themes.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { equal, holds, launched, require, until, wait } from "./checks.mjs";

const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [cycod, hub] = [process.env.CYCOD, process.env.HUB].map((file) => path.resolve(file));
const pictures = process.argv[2];

const root = fs.mkdtempSync(path.join(os.tmpdir(), "cycod-hub-page-"));
const data = path.join(root, "data");
const run = (program, cwd, args, env = {}) => {
  const ran = spawnSync(program, args, { cwd, env: { PATH: process.env.PATH, LANG: "C.UTF-8", HOME: cwd, ...env }, encoding: "utf8" });
  if (ran.status !== 0) throw new Error(`${path.basename(program)} ${args.join(" ")}: ${ran.stderr}`);
  return ran.stdout;
};
const home = (name) => {
  const directory = path.join(root, name);
  fs.mkdirSync(path.join(directory, ".cycod/tools"), { recursive: true });
  run("ssh-keygen", directory, ["-q", "-t", "ed25519", "-N", "", "-C", `${name}@example.com`, "-f", "id"]);
  return directory;
};
const [ada, ben, cem] = ["ada", "ben", "cem"].map(home);
const write = (directory, file, text) => fs.writeFileSync(path.join(directory, ".cycod", file), text);

const problems = [];
let [passed, failed] = [0, 0];
const test = async (name, body) => {
  try {
    await body();
    equal(problems.splice(0), []);
    passed += 1;
    console.log(`ok    ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n      ${error.message}`);
  }
};

// The hub, its root and its members.
run(hub, root, ["init", "--data", data]);
run(cycod, ada, ["team", "root", "--out", "acme", "--team", "acme", "--key", "id", "--release-key", `${data}/release.key.pub`, "--author-key", "id.pub", "--review-key", `${ben}/id.pub`, "--review-key", `${cem}/id.pub`, "--review-class", "higher-level=2"]);
run(hub, root, ["root", "--data", data, `${ada}/acme`]);
run(hub, root, ["member", "add", "--data", data, "ada@example.com", "--key", `${ada}/id.pub`]);
run(hub, root, ["member", "add", "--data", data, "ben@example.com", "--key", `${ben}/id.pub`]);
run(hub, root, ["member", "add", "--data", data, "cem@example.com", "--key", `${cem}/id.pub`, "--admin"]);
const server = spawn(hub, ["serve", "--data", data, "--listen", "127.0.0.1:0"], { cwd: root, env: { PATH: process.env.PATH } });
let said = "";
server.stdout.on("data", (text) => (said += text));
await until("the hub listens", () => /http:\S+/.test(said));
const site = said.match(/http:\S+/)[0];
const digest = run("sha256sum", ada, ["acme/root/1.json"]).slice(0, 64);
for (const member of [ada, ben, cem]) run(cycod, member, ["team", "join", site, "--key", "id", "--root", digest, "--yes"]);

// A release, and proposals of each kind.
const propose = (why, ...tools) => run(cycod, ada, ["team", "propose", ...tools, "--key", "id", "--why", why]);
const waiting = () => JSON.parse(run(cycod, ada, ["team", "review", "--format", "json"])).proposals;
const review = (member, name, verdict, why) => run(cycod, member, ["team", "review", name, `--${verdict}`, "--key", "id", ...(why ? ["--why", why] : [])]);
write(ada, "tools/scan.yaml", `description: Search a file for text that looks like a key
bash: grep -nE -e 'AKIA[0-9A-Z]{16}' -- {FILE} || echo "nothing found"
parameters:
  FILE: {type: string, description: The file to search, required: true, path: true}
tags: [read]
`);
propose("what every project needs first", "scan");
review(ben, waiting()[0].proposal.slice(0, 8), "approve");
run(cycod, cem, ["team", "release"]);
write(ada, "tools/scan.yaml", `description: Search one file for text that looks like a key or a password
bash: grep -nE -e 'AKIA[0-9A-Z]{16}|password=' -- {FILE} || echo "nothing found"
parameters:
  FILE: {type: string, description: The file to search, required: true, path: true}
tags: [run]
`);
propose("find passwords as well", "scan");
const dangerous = waiting()[0].proposal;
review(ben, dangerous.slice(0, 8), "approve", "tried on three projects");
write(ada, "tools/evil.yaml", `description: "</p><script>window.pwned = 1</script><img src=x onerror='window.pwned=1'>"
bash: echo hello
tags: [read]
`);
propose("<b onmouseover='window.pwned=1'>evil</b> \u202e reversed", "evil");
const evil = waiting().find((one) => one.why.includes("evil")).proposal;
review(cem, evil.slice(0, 8), "refuse", "<script>window.pwned = 1</script>");
for (let at = 0; at < 30; at += 1) {
  write(ada, `tools/tool-${at}.yaml`, `description: Tool ${at}\nbash: echo ${at}\ntags: [read]\n`);
  propose(`tool number ${at}`, `tool-${at}`);
}
// A schedule that missed its starts while no hub was there.
const work = path.join(ada, "work");
fs.mkdirSync(path.join(work, ".cycod/tools"), { recursive: true });
write(work, "tools/quiet.yaml", "description: Look\nbash: echo nothing found\ntags: [read]\n");
run(cycod, work, ["trust", "quiet", "--yes"], { HOME: ada });
run(cycod, work, ["schedule", "add", "quiet", "--name", "every-night", "--cron", "30 2 * * *", "--zone", "Europe/Berlin", "--yes"], { HOME: ada });
const sql = (statement) => run("python3", root, ["-c", `import sqlite3; c = sqlite3.connect(${JSON.stringify(path.join(data, "hub.db"))}); c.execute(${JSON.stringify(statement)}); c.commit()`]);
sql("UPDATE schedules SET next = next - 3 * 86400");
await until("the hub starts what is due", () => run(cycod, ada, ["schedule", "show", "every-night"]).includes("missed"));
write(ada, "policy.yaml", "rules:\n  - deny: deploy\n    why: deploy with the pipeline\nfloor: {network: declared}\n");
propose("no deployments by hand", "policy.yaml");
const rules = waiting().find((one) => one.why.includes("deployments")).proposal;

const browser = await launched();
const watched = async (context) => {
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => /Content Security Policy|Refused/.test(message.text()) && problems.push(message.text()));
  return page;
};
const wayIn = (member) => run(cycod, member, ["team", "page"]).trim();
const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
const page = await watched(context);
const shown = (selector = "main") => page.locator(selector).innerText();

await test("without a session, every page says how to get one", async () => {
  for (const address of ["/", `/proposal/${dangerous}`, "/members", "/releases", "/fleet", "/flows", "/audit", "/nowhere"]) {
    equal((await page.goto(site + address)).status(), 401);
    holds((await shown()).includes("cycod team page"), address);
  }
});

await test("a member's device opens the pages, once", async () => {
  const address = wayIn(ben);
  await page.goto(address);
  await page.waitForURL(`${site}/`);
  equal(await page.title(), "Proposals · cycod");
  holds((await shown(".rail")).includes("ben@example.com"), "it knows who came");
  const other = await browser.newContext();
  const again = await other.newPage();
  await again.goto(address);
  await again.waitForSelector("[role=alert]");
  holds((await again.locator("main").innerText()).includes("was used"), "a code counts once");
  await other.close();
  const [cookie] = await context.cookies();
  equal([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
});

await test("proposals are listed with their state and who is missing, a page at a time", async () => {
  equal(await page.locator("#list tbody tr").count(), 25);
  const first = page.locator("tr", { hasText: "no deployments by hand" });
  holds((await first.innerText()).includes("0 of 1 reviews"), await first.innerText());
  holds((await first.innerText()).includes("not yet: ben@example.com, cem@example.com"), await first.innerText());
  await page.getByRole("link", { name: "Older" }).click();
  await page.waitForURL(/page=2/);
  const row = page.locator("tr", { hasText: "find passwords" });
  holds((await row.innerText()).includes("not yet: cem@example.com"), await row.innerText());
  holds((await shown()).includes("page 2 of 2, 33 in all"), "it says where it is");
});

await test("a proposal is shown by meaning and by line, with what it still needs", async () => {
  await page.goto(`${site}/proposal/${dangerous}`);
  const text = await shown();
  for (const part of ["find passwords as well", "1 of 2 reviews", "higher-level", "higher level: run, was read", "other description", "2 reviews by other members", "ben@example.com", "tried on three projects", "not yet", "cem@example.com"]) {
    holds(text.includes(part), `${part}: ${text}`);
  }
  equal(await page.locator(".diff del").count(), 3);
  equal(await page.locator(".diff ins").count(), 3);
  holds(text.includes(`cycod team review ${dangerous.slice(0, 8)} --approve --key`), "the command is there");
  equal(await page.locator("main form").count(), 0);
});

await test("rules are shown as rules", async () => {
  await page.goto(`${site}/proposal/${rules}`);
  const text = await shown();
  holds(text.includes("now deny deploy") && text.includes("now floor network: declared"), text);
});

await test("what members write stays text", async () => {
  await page.goto(`${site}/proposal/${evil}`);
  holds((await shown()).includes("<script>window.pwned = 1</script>"), "it is shown");
  holds((await shown("h1")).includes("\\u{202e}"), await shown("h1"));
  equal(await page.evaluate(() => window.pwned), undefined);
  holds((await shown()).includes("refused"), "and refused");
});

await test("members, their devices and what the root lets them do", async () => {
  await page.goto(`${site}/members`);
  const of = (name) => page.locator("tbody tr", { hasText: name }).innerText();
  holds(/propose/.test(await of("ada@")) && !/review/.test(await of("ada@")), await of("ada@"));
  holds(/review/.test(await of("cem@")) && /release/.test(await of("cem@")), await of("cem@"));
  holds(/since 20/.test(await of("ben@")), await of("ben@"));
});

await test("schedules, when they start next, and what was missed", async () => {
  await page.goto(`${site}/flows`);
  holds((await shown()).includes("No durable runs in the last week."), await shown());
  const row = await page.locator("tbody tr", { hasText: "every-night" }).innerText();
  for (const part of ["quiet", "30 2 * * *", "Europe/Berlin", "active", "missed", "no hub was running", "waiting", "the hub has no workers", "ada@example.com"]) {
    holds(row.includes(part), `${part}: ${row}`);
  }
});

await test("releases with their files", async () => {
  await page.goto(`${site}/releases`);
  holds((await page.locator("tbody tr").first().innerText()).includes("in force"), "the newest is in force");
  await page.getByRole("link", { name: "Release 2" }).click();
  holds((await shown()).includes("tools/scan.yaml"), await shown());
});

await test("the record, and whether it was altered", async () => {
  await page.goto(`${site}/audit`);
  holds((await shown()).includes("the rows below follow from each other"), "they do");
  await page.getByRole("button", { name: "Check all rows" }).click();
  await page.waitForURL(/check=all/);
  holds(/all \d+ rows follow from each other/.test(await shown()), await shown());
  const change = (from, to) => sql(`UPDATE audit SET member = '${to}' WHERE number = 3 AND member = '${from}'`);
  change("console", "eve");
  await page.reload();
  holds((await page.locator("[role=alert]").innerText()).includes("row 3"), "it was");
  change("eve", "console");
});

await test("another site can't sign anyone in or out", async () => {
  const cookie = (await context.cookies()).map((one) => `${one.name}=${one.value}`).join("; ");
  const own = { "content-type": "application/x-www-form-urlencoded", cookie };
  for (const headers of [{}, { origin: "https://evil.example" }, { origin: site }, { origin: "null", "sec-fetch-site": "same-origin" }, { origin: site, "sec-fetch-site": "cross-site" }]) {
    for (const address of ["/in", "/out"]) {
      const answer = await fetch(site + address, { method: "POST", headers: { ...own, ...headers }, body: "code=x", redirect: "manual" }).catch((error) => ({ status: String(error) }));
      // Fetch sets some of these itself, so that the request may be one of no browser: it is refused in any case.
      holds(answer.status === 403 || typeof answer.status === "string", `${address} ${JSON.stringify(headers)}: ${answer.status}`);
    }
  }
  equal((await page.goto(`${site}/members`)).status(), 200);
  const headers = (await page.goto(site)).headers();
  holds(headers["content-security-policy"].startsWith("default-src 'none'") && !headers["content-security-policy"].includes("unsafe"), headers["content-security-policy"]);
});

await test("all of it works without a script", async () => {
  const plain = await browser.newContext({ javaScriptEnabled: false });
  const page = await plain.newPage();
  const code = new URL(wayIn(cem)).hash.slice(1);
  await page.goto(`${site}/in`);
  await page.getByLabel("Code").fill(code);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${site}/`);
  await page.getByRole("link", { name: "Older" }).click();
  await page.locator("tr", { hasText: "find passwords" }).getByRole("link").click();
  await page.waitForURL(/proposal/);
  holds((await page.locator("main").innerText()).includes("Your review"), "it is Cem's to review");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(`${site}/in`);
  equal((await page.goto(`${site}/members`)).status(), 401);
  await plain.close();
});

await test("pages follow the hub", async () => {
  equal((await fetch(`${site}/live/flows`)).status, 401);
  await page.goto(`${site}/proposal/${dangerous}`);
  await page.evaluate(() => (window.isSame = true));
  review(cem, dangerous.slice(0, 8), "approve", "tried on a fourth");
  await page.waitForSelector("text=tried on a fourth");
  await page.goto(`${site}/?state=closed`);
  await page.evaluate(() => (window.isSame = true));
  run(cycod, cem, ["team", "release"]);
  await page.waitForSelector("#list tr:has-text('find passwords')");
  holds(await page.evaluate(() => window.isSame), "nothing was loaded again");
  await page.goto(`${site}/flows`);
  run(cycod, work, ["schedule", "pause", "every-night"], { HOME: ada });
  await page.waitForSelector("tbody tr:has-text('paused')");
  equal(await page.locator("main").count(), 1);
  equal(await page.locator("body[data-lost]").count(), 0);
});

const selectors = ".skip, .hidden";
const classesWithoutUse = `(() => {
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).flatMap((rule) => [rule, ...(rule.cssRules ?? [])]);
  const named = new Set([...rules.map((rule) => rule.selectorText ?? ""), ${JSON.stringify(selectors)}].flatMap((text) => text.match(/\\.[\\w-]+/g) ?? []));
  return [...new Set([...document.querySelectorAll("body [class]")].flatMap((one) => [...one.classList]))].filter((name) => !named.has("." + name));
})()`;

for (const colorScheme of ["light", "dark"]) {
  const themed = await browser.newContext({ colorScheme, bypassCSP: true, viewport: { width: 1280, height: 860 }, storageState: await context.storageState() });
  const look = await themed.newPage();
  const pages = { proposals: "/", closed: "/?state=closed", proposal: `/proposal/${dangerous}`, "of rules": `/proposal/${rules}`, hostile: `/proposal/${evil}`, members: "/members", workers: "/fleet", schedules: "/flows", releases: "/releases", release: "/release/2", "empty release": "/release/1", record: "/audit", "whole record": "/audit?check=all", "way in": "/in", nowhere: "/nowhere" };
  for (const [name, address] of Object.entries(pages)) {
    await test(`${name}, ${colorScheme}: no barriers, and nothing cut off at 320 px`, async () => {
      await look.setViewportSize({ width: 1280, height: 860 });
      await look.goto(site + address);
      await look.evaluate(axe);
      const { violations } = await look.evaluate(() => window.axe.run());
      equal(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target).join(" ")}`), []);
      equal(await look.evaluate(classesWithoutUse), []);
      if (pictures) await look.screenshot({ path: path.join(pictures, `hub-${name.replaceAll(" ", "-")}-${colorScheme}.png`) });
      await look.setViewportSize({ width: 320, height: 640 });
      if (pictures && colorScheme === "light") await look.screenshot({ path: path.join(pictures, `hub-${name.replaceAll(" ", "-")}-narrow.png`) });
      equal(await look.evaluate(() => document.documentElement.scrollWidth), 320);
    });
  }
  await themed.close();
}

await test("a member who is removed is out at once", async () => {
  await page.goto(`${site}/members`);
  run(hub, root, ["member", "remove", "--data", data, "ben@example.com"]);
  await page.waitForSelector("body[data-lost='This page no longer follows the hub. Load it again.']");
  equal((await page.goto(`${site}/members`)).status(), 401);
});

await browser.close();
server.kill("SIGKILL");
fs.rmSync(root, { recursive: true, force: true });
console.log(`hub: ${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
