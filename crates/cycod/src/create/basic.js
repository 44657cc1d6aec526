export function execute({ text, label }) {
  const words = text.split(/\s+/).filter((word) => word !== '');
  if (words.length === 0) {
    throw new Error('there is nothing to measure: `text` is empty');
  }
  const lines = text.replace(/\n$/, '').split('\n');
  return [
    label,
    `characters: ${[...text].length}`,
    `words: ${words.length}`,
    `lines: ${lines.length}`,
  ].join('\n');
}
