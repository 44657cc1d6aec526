// What hosts install, show and follow: bundles with the program `mcpb`, pages with the bridge of MCP Apps in a browser, and skills with
// the client of their extension.
//
//     CYCOD=target/…/cycod NODE_MODULES=…/node_modules CHROMIUM=/usr/bin/chromium node tests/apps/run.mjs [PART…]
import fs from "node:fs";
import { scratch } from "./place.mjs";

const wanted = process.argv.slice(2);
let passed = 0;
let failed = 0;
for (const part of ["bundle", "pages", "skills"].filter((part) => !wanted.length || wanted.includes(part))) {
  const { checks, end } = await import(`./${part}.mjs`);
  for (const [name, check] of Object.entries(checks)) {
    const start = Date.now();
    try {
      await check();
      passed++;
      console.log(`ok    ${part}: ${name} (${Date.now() - start} ms)`);
    } catch (error) {
      failed++;
      console.log(`FAIL  ${part}: ${name}\n      ${`${error.stack}`.replaceAll("\n", "\n      ")}`);
    }
  }
  await end?.();
}
fs.rmSync(scratch, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
