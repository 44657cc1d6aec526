interface Arguments {
  filepath: string;
  line: string;
  show: number;
}

export async function execute({ filepath, line, show }: Arguments, context: ToolContext): Promise<string> {
  // The engine has no files of its own: the host reads and writes, within what the tool may reach.
  const { fs } = context.platform;
  const isThere = await fs.exists(filepath);
  if (isThere && (await fs.stat(filepath)).isDirectory()) {
    throw new Error(`\`${filepath}\` is a directory, not a file`);
  }
  const linesOf = (text: string) => text.split('\n').filter((one, at, all) => one !== '' || at < all.length - 1);
  const before = isThere ? linesOf(await fs.readFile(filepath, 'utf-8')) : [];
  await fs.writeFile(filepath, [...before, line].join('\n') + '\n');
  const lines = linesOf(await fs.readFile(filepath, 'utf-8'));
  const count = `${lines.length} line${lines.length === 1 ? '' : 's'}`;
  return [`${filepath}: ${count}`, ...lines.slice(-show)].join('\n');
}
