// Bundles in the programs of others: `mcpb` unpacks and validates one, and starts it as a host does; npm, pip and uvx install the
// packages; a linter checks `server.json` against the schema that the registry publishes.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { client, cycod, equal, holds, ran, scratch } from "./place.mjs";
import { load, NODE_MODULES } from "./load.mjs";

const { getMcpConfigForManifest } = await load("@anthropic-ai/mcpb");
// The npm that came with this Node.
const npm = path.join(path.dirname(process.execPath), "../lib/node_modules/npm/bin/npm-cli.js");
const python = (name) => path.join(process.env.PYTHON, name);
const mcpb = path.join(NODE_MODULES, "@anthropic-ai/mcpb/dist/cli/cli.js");

const project = path.join(scratch, "shop");
const write = (name, text, mode) => {
  const file = path.join(project, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text, { mode });
};
write(".cycod/tools/status.yaml", `description: Show the state of the shop
bash: ./scripts/status.sh {SHOP}
parameters: {SHOP: {description: Which shop, required: true}}
tags: [read]
`);
write("scripts/status.sh", '#!/bin/sh\necho "$1 is open"\n', 0o755);
write(".env", "KEY=hunter2\n");

/** A home of its own, in which nothing is trusted, with cycod on the path. */
const home = (name) => {
  const HOME = path.join(scratch, name);
  fs.mkdirSync(path.join(HOME, "bin"), { recursive: true });
  fs.symlinkSync(cycod, path.join(HOME, "bin/cycod"));
  return { HOME, LANG: "C.UTF-8", PATH: `${path.join(HOME, "bin")}:${path.dirname(process.execPath)}:/usr/bin:/bin` };
};

/** The server offers nothing until its tools are trusted by hand; then the tool works. */
const waits = async (server, env, [program, args, cwd]) => {
  const names = async (host) => (await host.listTools()).tools.map(({ name }) => name);
  const before = await client({ ...server, env });
  holds(!(await names(before)).includes("status"), "an untrusted tool is offered");
  const refused = await before.callTool({ name: "status", arguments: { SHOP: "ours" } }).catch((error) => ({ error }));
  holds(refused.isError || refused.error, `an untrusted tool ran: ${JSON.stringify(refused)}`);
  holds(/cd \S+ && cycod trust --all/.test(before.log()), `the log says: ${before.log()}`);
  await before.close();
  ran(program, args, env, cwd);
  const after = await client({ ...server, env });
  holds((await names(after)).includes("status"), "a trusted tool is not offered");
  const { content } = await after.callTool({ name: "status", arguments: { SHOP: "ours" } });
  equal(content[0].text.trim(), "ours is open");
  await after.close();
};

export const checks = {
  "a bundle is written"() {
    const options = ["--name", "shop", "--bundle-version", "1.0.0", "--author", "Ada Lovelace", "--license", "MIT"];
    const more = ["--npm", "@ada/shop-tools", "--pypi", "shop-tools", "--registry", "io.github.ada/shop", "--url", "https://example.com/shop.mcpb"];
    ran(cycod, ["mcp", "bundle", ...options, ...more], home("author"), project);
    const server = JSON.parse(fs.readFileSync(path.join(project, "server.json"), "utf8"));
    equal(server.packages.map(({ registryType }) => registryType), ["npm", "pypi", "mcpb"]);
  },
  "the registry takes its description"() {
    // The schema and the rules of the registry are part of the linter.
    const directory = path.join(scratch, "registry");
    fs.mkdirSync(directory);
    const written = fs.readFileSync(path.join(project, "server.json"), "utf8");
    const env = home("registrar");
    const lint = (text) => {
      fs.writeFileSync(path.join(directory, "server.json"), text);
      const linted = spawnSync(python("skillsaw"), ["lint", "--strict", "--no-progress", directory], { env, encoding: "utf8" });
      return `${linted.stdout}${linted.stderr}`;
    };
    const said = lint(written);
    holds(/Repo type: *mcp-registry/.test(said) && /Errors: *0\n *Warnings: *0/.test(said), said);
    const wrong = JSON.parse(written);
    for (const member of wrong.packages) delete member.transport;
    holds(/does not conform to MCP Registry 2025-12-11/.test(lint(JSON.stringify(wrong))), "the linter takes anything");
  },
  async "mcpb unpacks and validates it, and a host starts it"() {
    const directory = path.join(scratch, "extension");
    const env = home("installed");
    ran(process.execPath, [mcpb, "unpack", path.join(project, "shop-1.0.0.mcpb"), directory], env);
    ran(process.execPath, [mcpb, "validate", path.join(directory, "manifest.json")], env);
    holds(!fs.existsSync(path.join(directory, "project/.env")), "a secret is in the bundle");
    const manifest = JSON.parse(fs.readFileSync(path.join(directory, "manifest.json"), "utf8"));
    const server = await getMcpConfigForManifest({
      manifest, extensionPath: directory, systemDirs: {}, userConfig: {}, pathSeparator: path.sep,
    });
    await waits(server, env, [cycod, ["trust", "--all", "--yes"], path.join(directory, "project")]);
  },
  async "npm installs it, and its program starts it"() {
    const directory = path.join(scratch, "package");
    const env = home("npm");
    fs.mkdirSync(directory);
    const install = ["install", "--offline", "--no-audit", "--no-fund", path.join(project, "shop-1.0.0.tgz")];
    ran(process.execPath, [npm, ...install], env, directory);
    const program = path.join(directory, "node_modules/.bin/shop-tools");
    const installed = JSON.parse(fs.readFileSync(path.join(directory, "node_modules/@ada/shop-tools/package.json"), "utf8"));
    equal(installed.mcpName, "io.github.ada/shop");
    await waits({ command: program, args: ["--level", "read"] }, env, [program, ["trust", "--yes"]]);
    const without = spawnSync(program, [], { env: { ...env, HOME: "/nonexistent", PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin` } });
    holds(`${without.stderr}`.includes("cycod is not installed"), `without cycod it says: ${without.stderr}`);
  },
  async "pip installs it, and its program starts it"() {
    const directory = path.join(scratch, "venv");
    const env = home("pip");
    ran("python3", ["-m", "venv", directory], env);
    const wheel = path.join(project, "shop_tools-1.0.0-py3-none-any.whl");
    ran(path.join(directory, "bin/pip"), ["install", "--quiet", "--no-index", "--disable-pip-version-check", wheel], env);
    const about = ran(path.join(directory, "bin/pip"), ["show", "--verbose", "shop-tools"], env);
    holds(/Author: Ada Lovelace/.test(about) && /License: MIT/.test(about), `pip shows: ${about}`);
    const program = path.join(directory, "bin/shop-tools");
    await waits({ command: program, args: ["--level", "read"] }, env, [program, ["trust", "--yes"]]);
    const without = spawnSync(program, [], { env: { ...env, HOME: "/nonexistent", PATH: "/usr/bin:/bin" } });
    holds(`${without.stderr}`.includes("cycod is not installed"), `without cycod it says: ${without.stderr}`);
    ran(path.join(directory, "bin/pip"), ["uninstall", "--quiet", "--yes", "shop-tools"], env);
    holds(!fs.existsSync(program), "pip leaves the program");
  },
  async "uvx starts it"() {
    const env = { ...home("uvx"), UV_PYTHON_DOWNLOADS: "never" };
    const wheel = path.join(project, "shop_tools-1.0.0-py3-none-any.whl");
    const from = ["--quiet", "--offline", "--no-index", "--from", wheel, "shop-tools"];
    await waits({ command: python("uvx"), args: [...from, "--level", "read"] }, env, [python("uvx"), [...from, "trust", "--yes"]]);
  },
};
