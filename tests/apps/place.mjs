// What the checks share: a directory that is gone at the end, programs that must succeed, clients.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { load } from "./load.mjs";

const { Client } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

export const cycod = path.resolve(process.env.CYCOD);
export const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "cycod-apps-"));

export const equal = (left, right) => {
  if (JSON.stringify(left) !== JSON.stringify(right)) throw new Error(`${JSON.stringify(left)} is not ${JSON.stringify(right)}`);
};
export const holds = (is, what) => {
  if (!is) throw new Error(what);
};

/** What a program writes that must succeed. */
export const ran = (program, args, env, cwd = scratch) => {
  const done = spawnSync(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });
  holds(done.status === 0, `${program} ${args.join(" ")} ended with ${done.status}: ${done.stdout}${done.stderr}`);
  return done.stdout;
};

/** A client of a server that it starts, in an era of the protocol; `log` is what the server has written to its log. */
export const client = async ({ command, args, env, cwd = scratch }, { era = "auto", extensions } = {}) => {
  const transport = new StdioClientTransport({ command, args, env, cwd, stderr: "pipe" });
  let log = "";
  transport.stderr.on("data", (data) => (log += data));
  const capabilities = extensions ? { extensions } : {};
  const host = new Client({ name: "tests", version: "1" }, { capabilities, versionNegotiation: { mode: era } });
  await host.connect(transport);
  return Object.assign(host, { log: () => log });
};
