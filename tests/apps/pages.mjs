// Pages of tools in the bridge of MCP Apps, in a browser: they show real values, hostile values stay text, and nothing connects.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { client, cycod, equal, holds, scratch } from "./place.mjs";
import { launched } from "../page/checks.mjs";
import { load, NODE_MODULES, require } from "./load.mjs";

const { build } = require("esbuild");
const { getToolUiResourceUri, RESOURCE_MIME_TYPE } = await load("@modelcontextprotocol/ext-apps/app-bridge");

const project = path.join(scratch, "pages");
fs.mkdirSync(path.join(project, ".cycod/tools"), { recursive: true });
const tool = (name, text) => fs.writeFileSync(path.join(project, ".cycod/tools", `${name}.yaml`), text);
const evil = "<img src=x onerror='top.pwned=1;window.pwned=1'></script><script>window.pwned=1</script>";
const users = [
  { name: "Ada", logins: 30, note: evil },
  { name: "Grace", logins: 4, note: null },
  { name: "Linus", logins: 12, admin: true },
];
fs.writeFileSync(path.join(project, "users.json"), JSON.stringify(users));
fs.writeFileSync(path.join(project, "disk.json"), JSON.stringify({ free: 12.5, used: 40, [evil]: -8 }));
tool("users", `description: List the users
title: "Users ${evil.replaceAll('"', "")}"
bash: cat users.json
returns: {type: array, items: {type: object}}
page: table
tags: [read]
`);
tool("disk", `description: Show the disk
bash: cat disk.json
returns: {type: object, additionalProperties: {type: number}}
page: chart
tags: [read]
`);
tool("deploy", `description: Deploy
steps:
- {name: build, bash: echo built}
- {name: check, bash: "echo '<b>checked</b>'", wait-for: [build]}
page: graph
tags: [read]
`);
tool("greet", `description: Greet
bash: printf '%s %s\\n' {WORD} {WHO}
page: form
parameters:
  WHO: {description: "Whom ${evil.replaceAll('"', "")}", required: true}
  WORD: {description: Which word, validation: {enum: [Hello, Bye]}, default: Hello}
tags: [read]
`);
tool("plain", "description: Plain\nbash: echo plain\ntags: [read]\n");
tool("broken", `description: Fail
bash: echo '${evil.replaceAll("'", "\\x27")}' >&2; exit 3
returns: {type: array, items: {type: object}}
page: table
tags: [read]
`);

const env = { PATH: process.env.PATH, HOME: scratch, LANG: "C.UTF-8", CYCOD_TRUSTED_DIRECTORIES: project };
const server = { command: cycod, args: ["mcp", "serve"], env, cwd: project };
const extensions = { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } };
const hosts = {
  modern: await client(server, { extensions }),
  legacy: await client(server, { era: "legacy", extensions }),
};

// The host and the sandbox have different origins. Without `csp`, only the policy of the page itself counts.
const asked = [];
const script = await build({
  entryPoints: [path.join(import.meta.dirname, "host.mjs")], bundle: true, write: false, format: "esm",
  nodePaths: [NODE_MODULES], logLevel: "error",
});
const policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'none'";
const proxy = `<script>
  const inner = document.createElement("iframe");
  inner.sandbox = "allow-scripts";
  addEventListener("message", ({ source, data }) => {
    if (source === parent && data.method === "ui/notifications/sandbox-resource-ready") inner.srcdoc = data.params.html;
    else if (source === parent) inner.contentWindow.postMessage(data, "*");
    else if (source === inner.contentWindow) parent.postMessage(data, "*");
  });
  document.documentElement.append(inner);
  Object.assign(inner.style, { position: "fixed", inset: 0, width: "100%", height: "100%", border: 0 });
  parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, "*");
</script>`;
const files = http.createServer(({ url }, answer) => {
  asked.push(url);
  const headers = { "Content-Type": "text/html", ...(url === "/sandbox" ? { "Content-Security-Policy": policy } : {}) };
  answer.writeHead(200, headers);
  answer.end(url === "/" ? `<!DOCTYPE html><body><script type="module">${script.outputFiles[0].text.replaceAll("</script", "<\\/script")}</script>` : url.startsWith("/sandbox") ? `<!DOCTYPE html>${proxy}` : "");
});
await new Promise((done) => files.listen(0, "127.0.0.1", done));
const { port } = files.address();
const browser = await launched();
const page = await browser.newPage();
const problems = [];
page.on("pageerror", (error) => problems.push(`${error}`));
let calls = hosts.modern;
await page.exposeFunction("callTool", (params) => calls.callTool(params));

/** The page of a tool after a call, in a frame; `strict` is whether the sandbox has a policy of its own. */
const shown = async (name, { input = {}, era = "modern", strict = true, call = true, theme = "light" } = {}) => {
  const host = hosts[era];
  calls = host;
  const { tools } = await host.listTools();
  const uri = getToolUiResourceUri(tools.find((tool) => tool.name === name));
  const { contents } = await host.readResource({ uri });
  equal([contents.length, contents[0].uri, contents[0].mimeType], [1, uri, RESOURCE_MIME_TYPE]);
  const result = call ? await host.callTool({ name, arguments: input }) : undefined;
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.waitForFunction(() => window.show);
  const sandbox = `http://localhost:${port}/sandbox${strict ? "" : "?open"}`;
  const height = await page.evaluate((given) => window.show(given), { sandbox, html: contents[0].text, input, result, theme });
  holds(height > 20, `the page says that it is ${height} high`);
  const frame = page.frames().find((frame) => frame.parentFrame()?.parentFrame());
  if (process.env.PICTURES) await page.screenshot({ path: path.join(process.env.PICTURES, `${name}-${era}-${theme}.png`) });
  return frame;
};
const texts = (frame, selector) => frame.locator(selector).allTextContents();
/** Nothing of the values became an element or ran. */
const harmless = async (frame) => {
  equal(await frame.evaluate(() => [document.images.length, document.scripts.length, window.pwned ?? null]), [0, 2, null]);
  equal(await page.evaluate(() => window.pwned ?? null), null);
};

export const checks = {
  async "a host without the extension gets no page"() {
    const host = await client(server);
    const { tools } = await host.listTools();
    equal(tools.filter(({ _meta }) => _meta?.ui).map(({ name }) => name), []);
    const { content } = await host.callTool({ name: "users", arguments: {} });
    holds(content[0].text.includes("Ada"), JSON.stringify(content));
    await host.close();
  },
  async "only tools with a page have one"() {
    const { tools } = await hosts.modern.listTools();
    const pages = Object.fromEntries(tools.filter(({ _meta }) => _meta?.ui).map(({ name, _meta }) => [name, _meta.ui.resourceUri]));
    equal(Object.keys(pages).sort(), ["broken", "deploy", "disk", "greet", "users"]);
    for (const uri of ["ui://cycod/table/plain", "ui://cycod/chart/users", "ui://cycod/table/none"]) {
      const read = await hosts.modern.readResource({ uri }).then(() => "read", () => "refused");
      equal([uri, read], [uri, "refused"]);
    }
  },
  async "a table has the rows, sorts, and hostile values stay text"() {
    for (const era of ["modern", "legacy"]) {
      const frame = await shown("users", { era });
      equal(await texts(frame, "th"), ["name", "logins", "note", "admin"]);
      equal(await texts(frame, "tbody tr:first-child td"), ["Ada", "30", evil, ""]);
      equal(await texts(frame, "tbody tr:last-child td"), ["Linus", "12", "", "true"]);
      await frame.locator("th button", { hasText: "logins" }).click();
      equal(await texts(frame, "tbody td:first-child"), ["Grace", "Linus", "Ada"]);
      holds((await texts(frame, "h1"))[0].startsWith("Users <img"), "the title is not text");
      await harmless(frame);
    }
  },
  async "a chart has a bar for each number"() {
    const frame = await shown("disk", { theme: "dark" });
    equal(await texts(frame, ".bars span"), ["free", "12.5", "used", "40", evil, "-8"]);
    const widths = await frame.evaluate(() => [...document.querySelectorAll(".bar")].map((bar) => bar.style.width));
    equal(widths, ["31.25%", "100%", "20%"]);
    equal(await frame.evaluate(() => getComputedStyle(document.documentElement).colorScheme), "dark");
    await harmless(frame);
  },
  async "a graph has the steps, and the result below"() {
    const frame = await shown("deploy");
    const drawing = await texts(frame, "svg");
    holds(/build[^]*check/.test(drawing[0]), drawing[0]);
    holds((await texts(frame, "main pre"))[0].includes("<b>checked</b>"), "the result is missing");
    await harmless(frame);
  },
  async "a form calls its tool through the host"() {
    const frame = await shown("greet", { input: { WHO: "Ada" }, call: false });
    equal(await frame.locator("input[name=WHO]").inputValue(), "Ada");
    await frame.locator("input[name=WHO]").fill(evil);
    await frame.locator("select[name=WORD]").selectOption("Bye");
    await frame.locator("form button").click();
    await frame.locator("pre", { hasText: "Bye" }).waitFor();
    equal((await texts(frame, "pre"))[0].trim(), `Bye ${evil}`);
    await harmless(frame);
  },
  async "a failed call is shown as text"() {
    const frame = await shown("broken");
    holds((await texts(frame, "main pre"))[0].includes("onerror"), "the failure is not shown");
    await harmless(frame);
  },
  async "the policy of the page alone blocks every connection"() {
    for (const strict of [true, false]) {
      const frame = await shown("users", { strict });
      asked.length = 0;
      const tried = await frame.evaluate(async (base) => {
        const blocked = [];
        addEventListener("securitypolicyviolation", ({ effectiveDirective }) => blocked.push(effectiveDirective));
        const fetched = await fetch(`${base}/fetched`).then(() => "fetched", () => "blocked");
        const image = await new Promise((done) => {
          const image = new Image();
          image.onload = image.onerror = ({ type }) => done(type);
          image.src = `${base}/image`;
        });
        const frame = document.createElement("iframe");
        frame.src = `${base}/frame`;
        const script = Object.assign(document.createElement("script"), { textContent: "window.ran = 1" });
        document.body.append(frame, script);
        await new Promise((done) => setTimeout(done, 200));
        return { fetched, image, ran: window.ran ?? null, blocked: [...new Set(blocked)].sort() };
      }, `http://127.0.0.1:${port}`);
      equal(tried.fetched, "blocked");
      equal(tried.image, "error");
      equal(tried.ran, null);
      equal(tried.blocked, ["connect-src", "frame-src", "img-src", "script-src-elem"]);
      equal(asked, []);
    }
  },
  async "the page answers when it is closed"() {
    await shown("users");
    equal(await page.evaluate(() => window.teardown()), {});
    equal(problems, []);
  },
};

export const end = async () => {
  await browser.close();
  files.close();
  for (const host of Object.values(hosts)) await host.close();
};
