#!/usr/bin/env node
// Starts cycod with the tools next to this file. `cycod mcp bundle` wrote it.
"use strict";
const { spawn } = require("node:child_process");
const { accessSync, constants } = require("node:fs");
const { homedir } = require("node:os");
const { delimiter, join } = require("node:path");

const project = join(__dirname, "..", "project");
const words = process.argv.slice(2);
const isTrust = words[0] === "trust";
const args = isTrust ? ["trust", "--all", ...words.slice(1)] : ["mcp", "serve", "--directory", project, ...words];

// Desktop programs often start servers with a shorter PATH than a terminal has.
const usual = [join(homedir(), ".local", "bin"), join(homedir(), ".cargo", "bin"), "/opt/homebrew/bin", "/usr/local/bin"];
const directories = [...(process.env.PATH || "").split(delimiter), ...usual].filter(Boolean);
const name = process.platform === "win32" ? "cycod.exe" : "cycod";
const program = directories
  .map((directory) => join(directory, name))
  .find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
if (!program) {
  console.error("error: cycod is not installed; these tools run with it");
  process.exit(127);
}
const child = spawn(program, args, { stdio: "inherit", cwd: isTrust ? project : undefined });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: cycod does not start: ${error.message}`);
  process.exit(127);
});
child.on("exit", (code, signal) => process.exit(signal ? 1 : code));
