import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';

export function execute({ filepath, line, show }) {
  const isThere = existsSync(filepath);
  if (isThere && statSync(filepath).isDirectory()) {
    throw new Error(`\`${filepath}\` is a directory, not a file`);
  }
  const linesOf = (text) => text.split('\n').filter((one, at, all) => one !== '' || at < all.length - 1);
  const before = isThere ? linesOf(readFileSync(filepath, 'utf8')) : [];
  // Written as a whole, so that the last line ends even if it did not before.
  writeFileSync(filepath, [...before, line].join('\n') + '\n');
  const lines = linesOf(readFileSync(filepath, 'utf8'));
  const count = `${lines.length} line${lines.length === 1 ? '' : 's'}`;
  return [`${filepath}: ${count}`, ...lines.slice(-show)].join('\n');
}
