// What the tests of pages share: waiting, comparing, and the browser.
import { createRequire } from "node:module";
import path from "node:path";

/** What a test needs of a package in NODE_MODULES. */
export const require = createRequire(path.join(process.env.NODE_MODULES, "x.js"));

export const wait = (ms) => new Promise((done) => setTimeout(done, ms));
export const until = async (what, is, patience = 30000) => {
  for (const end = Date.now() + patience; Date.now() < end; await wait(50)) if (await is()) return;
  throw new Error(`not so after ${patience} ms: ${what}`);
};
export const equal = (left, right) => {
  if (JSON.stringify(left) !== JSON.stringify(right)) throw new Error(`${JSON.stringify(left)} is not ${JSON.stringify(right)}`);
};
export const holds = (is, what) => {
  if (!is) throw new Error(what);
};

/** A browser that asks nobody else for anything. */
export const launched = () => require("playwright-core").chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
