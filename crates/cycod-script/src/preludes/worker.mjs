// Serves calls: reads lines of JSON from descriptor 4 and answers each on descriptor 3. All that is printed goes to the log.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { format } from 'node:util';
import vm from 'node:vm';

const LONGEST = 64 << 20;
const DEEPEST = 100;
const home = process.cwd();
const exit = process.exit.bind(process);

// ---- The channel.

// Writing waits, so that nothing is lost when the process ends, and nothing is mixed.
const write = (line) => {
  const bytes = Buffer.from(`${line}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += fs.writeSync(3, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') exit(70);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
};

// The call that is carried out: its number, what it asked the host for, and what ends it.
let current;

const wellFormed = (text) => text.toWellFormed?.() ?? text;
const tell = (message) => write(JSON.stringify(message, (key, value) => (typeof value === 'string' ? wellFormed(value) : value)));

// Whether the host says nothing more.
let isOver = false;
const UNANSWERED = 'the host answers nothing during this call: it is the only one of its process';

// What only the host can do, because it decides.
const ask = (what, ...values) =>
  new Promise((resolve, reject) => {
    if (!current || isOver) {
      reject(new Error(isOver ? UNANSWERED : `\`${what}\` is there during a call only`));
      return;
    }
    while (values.length > 0 && values.at(-1) === undefined) values.pop();
    current.asked += 1;
    current.waiting.set(current.asked, { resolve, reject });
    tell({ id: current.id, ask: { number: current.asked, what, with: values } });
  });

const settle = (id, { to, value, error }) => {
  const promise = current?.id === id ? current.waiting.get(to) : undefined;
  if (promise === undefined) return;
  current.waiting.delete(to);
  if (error === undefined) promise.resolve(value);
  else promise.reject(Object.assign(new Error(error.message), error.code === undefined ? {} : { code: error.code }));
};

// ---- Results.

class NoData extends Error {}

const text = (value, key) => {
  if (value.isWellFormed?.() === false) throw new NoData(`${place(key)} holds half of a surrogate pair, which is no text in UTF-8`);
  return value;
};
const place = (key) => (key === '' ? 'the result' : `\`${key}\` in the result`);

const decode = (bytes, key) => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new NoData(`${place(key)} holds bytes that are no text in UTF-8; decode them, or use \`toString('base64')\``);
  }
};

// What stands for a value where JSON has nothing, or `JSON.stringify` would say something else.
function stands(key, value) {
  const original = this[key];
  switch (typeof original) {
    case 'string':
      return text(original, key);
    case 'number':
      if (Number.isNaN(original)) return null;
      return Number.isFinite(original) ? original : original > 0 ? 'Infinity' : '-Infinity';
    case 'bigint':
      return Number.isSafeInteger(Number(original)) ? Number(original) : String(original);
    case 'object':
      break;
    default:
      return value;
  }
  if (original === null) return null;
  if (original instanceof Uint8Array) return decode(original, key);
  if (original instanceof ArrayBuffer) return decode(new Uint8Array(original), key);
  if (ArrayBuffer.isView(original) && !(original instanceof DataView)) return Array.from(original);
  if (original instanceof Set) return [...original];
  if (original instanceof Map) {
    const entries = [...original];
    return entries.every(([name]) => typeof name === 'string') ? Object.fromEntries(entries) : entries;
  }
  if (original instanceof RegExp) return String(original);
  if (original instanceof Error) return { name: original.name, message: original.message, ...original };
  if (original instanceof Promise) throw new NoData(`${place(key)} is a promise, which has to be awaited`);
  return value;
}

// How deeply arrays and objects are nested in a text of JSON.
const depthOf = (json) => {
  let depth = 0;
  let deepest = 0;
  for (const [mark] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (mark === '[' || mark === '{') deepest = Math.max(deepest, (depth += 1));
    else if (mark === ']' || mark === '}') depth -= 1;
  }
  return deepest;
};

const encode = (value) => {
  if (value === undefined) return 'null';
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw new NoData(`the result is a ${typeof value}, which is no data; return text, numbers, arrays or objects`);
  }
  const deep = `the result is nested more than ${DEEPEST} levels deep`;
  let json;
  try {
    json = JSON.stringify(value, stands) ?? 'null';
  } catch (error) {
    throw error instanceof RangeError ? new NoData(deep) : error;
  }
  if ((json.match(/[[{]/g)?.length ?? 0) > DEEPEST && depthOf(json) > DEEPEST) throw new NoData(deep);
  const size = Buffer.byteLength(json);
  if (size + 100 > LONGEST) {
    throw new NoData(`the result takes ${(size / (1 << 20)).toFixed(1)} MiB; a worker can answer with 64`);
  }
  return json;
};

// The bytes of the one file that a tool produces, in Base64; who says that the call failed says it as data.
const encodeFile = (value, type) => {
  if (value?.success === false) return encode(value);
  let bytes;
  if (typeof value === 'string') bytes = Buffer.from(value);
  else if (value instanceof ArrayBuffer) bytes = Buffer.from(value);
  else if (ArrayBuffer.isView(value)) bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (bytes === undefined) {
    const found = value === null || value === undefined ? 'nothing' : `a value of type ${value.constructor?.name ?? typeof value}`;
    throw new NoData(`the handler returned ${found}, and the tool produces ${type}; return a Buffer, a Uint8Array or text`);
  }
  return encode(bytes.toString('base64'));
};

// ---- Tools.

// By name: the key of the code, its function and the name under which its lines are known.
const tools = new Map();

// The engine tells the line of a syntax error for scripts only, so the code is made one: in the same lines, without what
// only modules have.
const lineOfSyntax = (error, { code, line }) => {
  const blank = (text) => text.replace(/[^\n]/g, ' ');
  const script = code
    .replace(/^[ \t]*import\b(?!\s*\()[^'"`;]*(['"])[^'"\n]*\1[^;\n]*;?/gm, blank)
    .replace(/^[ \t]*export\b(?:\s+default\b)?/gm, blank);
  try {
    new vm.Script(`(async () => {${script}\n})`, { filename: '<code>', lineOffset: line - 1 });
  } catch (again) {
    const found = /^<code>:(\d+)/.exec(again.stack);
    if (found && again.message === error.message) return Number(found[1]);
  }
  return undefined;
};

const load = async (call) => {
  const known = tools.get(call.tool);
  if (known?.key === call.key) return known;
  const { directory, workspace } = call.context;
  const file = call.file ?? path.join(workspace, `${call.tool}.mjs`);
  const url = pathToFileURL(file).href;
  const identifier = call.file ?? `<${call.tool}>`;
  current.identifier = identifier;

  // Modules are found from the tool's file, and else from where it works.
  const bases = [url, ...[directory, workspace].map((place) => pathToFileURL(path.join(place, 'module.mjs')).href)];
  const resolve = (specifier) => {
    let first;
    for (const base of bases) {
      try {
        return import.meta.resolve(specifier, base);
      } catch (error) {
        first ??= error;
      }
    }
    const places = new Set([path.dirname(file), directory, workspace]);
    throw new NoData(`cannot find the module \`${specifier}\` from ${[...places].join(', ')}`, { cause: first });
  };
  const bring = (specifier, attributes) => {
    const options = attributes && Object.keys(attributes).length > 0 ? { with: attributes } : undefined;
    return import(resolve(specifier), options);
  };
  const options = {
    lineOffset: call.line - 1,
    importModuleDynamically: (specifier, _module, attributes) => bring(specifier, attributes),
  };
  // What is put into `module.exports`, by code that is a module of that kind.
  const required = () => {
    const inside = { exports: {} };
    const names = ['exports', 'require', 'module', '__filename', '__dirname'];
    const run = vm.compileFunction(call.code, names, { ...options, filename: identifier });
    run(inside.exports, createRequire(bases[0]), inside, file, path.dirname(file));
    return typeof inside.exports === 'function' ? { default: inside.exports } : inside.exports;
  };
  const mentionsExports = /\bexports\b/.test(call.code);
  let module;
  try {
    module = new vm.SourceTextModule(call.code, {
      ...options,
      identifier,
      initializeImportMeta: (meta) => {
        meta.url = url;
        meta.filename = file;
        meta.dirname = path.dirname(file);
        meta.resolve = resolve;
      },
    });
  } catch (error) {
    // What is no module of the one kind may be one of the other, in which more is allowed.
    const isOther = () => {
      try {
        new vm.Script(`(function () {${call.code}\n})`);
        return true;
      } catch {
        return false;
      }
    };
    if (!mentionsExports || !isOther()) {
      throw Object.assign(new NoData(`the code is not JavaScript: ${error.message}`), { line: lineOfSyntax(error, call) });
    }
  }
  await module?.link(async (specifier, _module, extra) => {
    const namespace = await bring(specifier, extra.attributes ?? extra.assert);
    const names = Object.keys(namespace);
    return new vm.SyntheticModule(
      names,
      function () {
        for (const name of names) this.setExport(name, namespace[name]);
      },
      { identifier: specifier },
    );
  });
  let exported;
  if (module === undefined || (Object.getOwnPropertyNames(module.namespace).length === 0 && mentionsExports)) {
    exported = required();
  } else {
    await module.evaluate();
    exported = module.namespace;
  }
  const offered = exported.execute ?? exported.default;
  const entry = typeof offered?.execute === 'function' ? offered.execute.bind(offered) : offered;
  if (typeof entry !== 'function') {
    const names = Object.keys(exported).map((name) => `\`${name}\``);
    throw new NoData(
      `the code exports ${names.length === 0 ? 'nothing' : names.join(', ')}, and must export a function \`execute(args, context)\``,
    );
  }
  const tool = { key: call.key, entry, identifier };
  tools.set(call.tool, tool);
  return tool;
};

// ---- What a call finds in its context.

const encodingOf = (options) => (options !== null && typeof options === 'object' ? options.encoding : options);
const platform = Object.freeze({
  fs: Object.freeze({
    ...fs.promises,
    readFile: (name, options) => {
      const encoding = encodingOf(options);
      return encoding === null || encoding === 'buffer' ? fs.promises.readFile(name) : fs.promises.readFile(name, encoding ?? 'utf-8');
    },
    exists: (name) => fs.promises.access(name).then(() => true, () => false),
    join: path.join,
    ensureDir: (name) => fs.promises.mkdir(name, { recursive: true }).then(() => {}),
    remove: (name) => fs.promises.rm(name, { recursive: true, force: true }),
    glob: async (pattern, options) => ask('fs.glob', pattern, options),
  }),
  // What a tool may start is the host's to decide.
  executor: Object.freeze({
    execute: async (command, args, options) =>
      ask('executor.execute', command !== null && typeof command === 'object' ? command : { ...options, command, args: args ?? [] }),
  }),
  docker: Object.freeze(
    Object.fromEntries(['run', 'runContainer'].map((name) => [name, async (options) => ask('docker.run', options)])),
  ),
});
const llm = Object.freeze({ complete: async (prompt, options) => ask('llm.complete', prompt, options) });
const permissions = Object.freeze(
  Object.fromEntries(['check', 'checkPermission'].map((name) => [name, async (command) => ask('permissions.check', command)])),
);

const logger = Object.freeze(
  Object.fromEntries(
    Object.entries({ debug: 'debug', info: 'info', log: 'info', warn: 'warn', error: 'error' }).map(([name, level]) => [
      name,
      (...values) => {
        const message = format(...values);
        if (current) tell({ id: current.id, log: { level, message } });
        else console.error(message);
      },
    ]),
  ),
);

// ---- Calls.

const describe = (thrown, identifier) => {
  if (!(thrown instanceof Error)) {
    return { message: typeof thrown === 'string' ? thrown : `${format(thrown)} was thrown, which is no Error` };
  }
  const told = { message: thrown instanceof NoData || thrown.name === 'Error' ? String(thrown.message) : `${thrown.name}: ${thrown.message}` };
  if (told.message === '') told.message = 'an error without a message was thrown';
  const stack = typeof thrown.stack === 'string' ? thrown.stack : '';
  const lines = stack.split('\n');
  const found = lines.find((line) => line.includes(`${identifier}:`));
  const line = found && /^:(\d+)/.exec(found.slice(found.indexOf(`${identifier}:`) + identifier.length));
  if (line) told.line = Number(line[1]);
  if (thrown instanceof NoData) return { ...told, ...(thrown.line && { line: thrown.line }) };
  const ours = lines.findIndex((line) => line.includes(import.meta.url));
  const isNode = /\(node:internal|at node:internal/;
  const trace = lines.slice(0, ours < 0 ? undefined : ours).filter((line) => line.startsWith('    at ') && !isNode.test(line));
  for (let cause = thrown.cause, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth += 1) {
    trace.push(`caused by ${cause.name}: ${cause.message}`);
  }
  if (trace.length > 0) told.trace = trace.map((line) => line.trim()).join('\n');
  return told;
};

// Sets the directory and the environment of a call, and returns what undoes it.
const surround = ({ directory, environment = {} }) => {
  const before = Object.keys(environment).map((name) => [name, process.env[name]]);
  process.chdir(directory);
  Object.assign(process.env, environment);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    try {
      process.chdir(home);
    } catch {
      // It is gone; the next call has its own.
    }
  };
};

const carryOut = async (id, call) => {
  const controller = new AbortController();
  const ended = new Promise((_resolve, reject) => {
    current = { id, asked: 0, waiting: new Map(), identifier: `<${call.tool}>`, fail: reject };
  });
  ended.catch(() => {});
  // Who listens learns shortly before the host ends the process.
  const due = call.timeout === undefined ? undefined : Math.max(call.timeout - 250, call.timeout * 0.9);
  const timer = due === undefined ? undefined : setTimeout(() => controller.abort(new DOMException('the call takes too long', 'TimeoutError')), due);
  let undo = () => {};
  let answer;
  try {
    undo = surround(call.context);
    const run = async () => {
      const { entry, identifier } = await load(call);
      current.identifier = identifier;
      const { config = {}, conversation } = call.context;
      return entry(call.args, { platform, logger, llm, permissions, config, conversation, signal: controller.signal });
    };
    const value = await Promise.race([run(), ended]);
    answer = `"result":${call.produces === undefined ? encode(value) : encodeFile(value, call.produces)}`;
  } catch (error) {
    const told = describe(error, current.identifier);
    answer = `"error":${JSON.stringify({ ...told, message: wellFormed(told.message) })}`;
  }
  clearTimeout(timer);
  undo();
  current = undefined;
  write(`{"id":${id},${answer}}`);
};

// What goes wrong outside of every promise of a call is the call's failure all the same.
const stray = (error) => {
  if (current) current.fail(error);
  else console.error('after its call:', error);
};
process.on('uncaughtException', stray);
process.on('unhandledRejection', stray);
process.exit = (code) => {
  throw new NoData(`\`process.exit(${code ?? ''})\` is not for a handler: return a value, or throw an Error`);
};

let calls = Promise.resolve();
let partial = [];
const input = new net.Socket({ fd: 4, readable: true, writable: false });
input.on('data', (chunk) => {
  for (let end; (end = chunk.indexOf(10)) >= 0; chunk = chunk.subarray(end + 1)) {
    const { id, call, reply } = JSON.parse(Buffer.concat([...partial, chunk.subarray(0, end)]).toString());
    partial = [];
    if (call) calls = calls.then(() => carryOut(id, call));
    else if (reply) settle(id, reply);
  }
  if (chunk.length > 0) partial.push(chunk);
});
input.on('error', () => exit(70));
input.on('end', () => {
  // The last call is finished; what it asks for now, nobody answers.
  isOver = true;
  for (const { reject } of current?.waiting.values() ?? []) reject(new Error(UNANSWERED));
  calls.then(() => exit(0));
});
tell({ ready: { version: `Node.js ${process.versions.node}` } });
