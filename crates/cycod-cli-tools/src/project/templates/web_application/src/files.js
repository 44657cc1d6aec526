import { readFile } from 'node:fs/promises';

/** The files that anybody may see, by their paths: what is not in here is not served, whatever a path says. */
const FILES = new Map([
  ['/', ['index.html', 'text/html; charset=utf-8']],
  ['/page.js', ['page.js', 'text/javascript; charset=utf-8']],
  ['/style.css', ['style.css', 'text/css; charset=utf-8']],
]);

/**
 * @param {string} path
 * @returns {Promise<{ type: string, body: Buffer } | undefined>}
 */
export async function readFileOfPage(path) {
  const known = FILES.get(path);
  if (!known) return undefined;
  const [name, type] = known;
  return { type, body: await readFile(new URL(`../public/${name}`, import.meta.url)) };
}
