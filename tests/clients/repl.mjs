// One client, driven line by line; see repl.py, which does the same for the clients in Python.
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

export const settings = JSON.parse(process.argv[2]);

// Who sits before the client: answers what is asked, and notices what changes.
export const person = {
  action: "accept",
  asked: [],
  changes: 0,
  reply({ message, requestedSchema }) {
    this.asked.push(message);
    if (this.action !== "accept") return { action: this.action };
    const fields = Object.entries(requestedSchema.properties ?? {});
    return { action: "accept", content: Object.fromEntries(fields.map(([name, field]) => [name, answer(field)])) };
  },
};

// Answers a field as an agreeable person would.
function answer(field) {
  const choices = field.enum ?? field.oneOf?.map((choice) => choice.const);
  return choices?.[0] ?? { boolean: true, integer: 1, number: 1 }[field.type] ?? "yes";
}

// Calls a tool by `send(params, options)`, and gives up when the file `cancel` appears.
async function call(send, request) {
  const progress = [];
  const patience = new AbortController();
  Object.assign(person, { action: request.answer ?? "accept", asked: [] });
  const waiting = request.cancel && setInterval(() => {
    if (existsSync(request.cancel) && readFileSync(request.cancel, "utf8").trim()) patience.abort();
  }, 20);
  try {
    const params = { name: request.tool, arguments: request.arguments ?? {} };
    const result = await send(params, { signal: patience.signal, onprogress: (report) => progress.push(report) });
    return { result, progress, asked: person.asked };
  } catch (error) {
    if (!patience.signal.aborted) throw error;
    return { result: null, progress, asked: person.asked };
  } finally {
    clearInterval(waiting);
  }
}

// Answers requests until there are no more.
export async function serve(client, version, send) {
  const operations = {
    tools: () => client.listTools(),
    call: (request) => call(send, request),
    prompts: () => client.listPrompts(),
    prompt: ({ name, arguments: given }) => client.getPrompt({ name, arguments: given }),
    resources: () => client.listResources(),
    templates: () => client.listResourceTemplates(),
    read: ({ uri }) => client.readResource({ uri }),
    complete: ({ prompt, argument, value }) =>
      client.complete({ ref: { type: "ref/prompt", name: prompt }, argument: { name: argument, value } }),
    changed: () => person.changes,
  };
  const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");
  say({ version, server: client.getServerVersion() });
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    try {
      say({ ok: await operations[request.do](request) });
    } catch (error) {
      say({ error: { code: error.code ?? null, message: error.message, trace: error.stack } });
    }
  }
  await client.close();
}
