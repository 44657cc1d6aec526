// What surrounds a tool's code: made anew for each call, before any of that code is there. `host` holds the few functions
// that leave the engine; nobody but this text ever sees them, and only texts pass through them.
(host) => {
  const { Error, Map, Object, Promise, RangeError, Set, String, TypeError, Uint8Array } = globalThis;
  const { stringify, parse } = JSON;
  const { freeze, defineProperty } = Object;
  const { isView } = ArrayBuffer;
  const { fromCharCode } = String;
  const wellFormed = String.prototype.toWellFormed;
  const apply = Reflect.apply;
  const text = (value) => apply(wellFormed, String(value), []);

  // ---- What crosses the border is JSON.

  const cannot = (where, key, what, advice) => {
    throw new TypeError(`${where} holds ${what}${key === '' ? '' : ` as \`${key}\``}, and JSON knows none: ${advice}`);
  };
  const serialize = (value, where) => {
    const look = (key, inner) => {
      switch (typeof inner) {
        case 'bigint':
          return cannot(where, key, 'a BigInt', 'give `String(value)` or `Number(value)`');
        case 'function':
          return cannot(where, key, 'a function', 'leave it out, or give what it returns');
        case 'symbol':
          return cannot(where, key, 'a symbol', 'give its `description`');
        case 'object':
          if (inner instanceof Promise) return cannot(where, key, 'a promise', '`await` it first');
          if (inner instanceof Map) return cannot(where, key, 'a Map', 'give `Object.fromEntries(map)`');
          if (inner instanceof Set) return cannot(where, key, 'a Set', 'give `[...set]`');
          if (inner instanceof Error) return { name: inner.name, message: inner.message };
      }
      return inner;
    };
    let json;
    try {
      json = stringify(value, look);
    } catch (error) {
      if (error instanceof TypeError && error.message === 'circular reference') {
        throw new TypeError(`${where} contains itself, which JSON cannot say: give a copy of what is needed`);
      }
      throw error;
    }
    return json === undefined ? 'null' : json;
  };

  const bytesOf = (value) =>
    isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value);
  const isBytes = (value) => isView(value) || value instanceof ArrayBuffer;
  /** One character for each byte. */
  const binary = (value) => {
    const bytes = bytesOf(value);
    let whole = '';
    for (let at = 0; at < bytes.length; at += 8192) whole += apply(fromCharCode, null, bytes.subarray(at, at + 8192));
    return whole;
  };
  const unbinary = (whole) => {
    const bytes = new Uint8Array(whole.length);
    for (let at = 0; at < whole.length; at++) bytes[at] = whole.charCodeAt(at);
    return bytes;
  };

  // ---- What is said about errors.

  const show = (value, depth = 0) => {
    switch (typeof value) {
      case 'string':
        return depth === 0 ? value : stringify(value);
      case 'bigint':
        return `${value}n`;
      case 'function':
        return `[function ${value.name || 'without a name'}]`;
      case 'object':
        break;
      default:
        return String(value);
    }
    if (value === null) return 'null';
    try {
      if (value instanceof Error) return depth === 0 && value.stack ? `${sentence(value)}\n${value.stack}` : sentence(value);
      if (depth > 4) return Array.isArray(value) ? '[…]' : '{…}';
      const some = (items, open, close) =>
        items.length > 100
          ? `${open}${items.slice(0, 100).join(', ')}, … ${items.length - 100} more${close}`
          : `${open}${items.join(', ')}${close}`;
      if (Array.isArray(value)) return some(value.slice(0, 101).map((item) => show(item, depth + 1)), '[', ']');
      if (value instanceof Map) {
        return some([...value].map(([key, item]) => `${show(key, depth + 1)} => ${show(item, depth + 1)}`), 'Map {', '}');
      }
      if (value instanceof Set) return some([...value].map((item) => show(item, depth + 1)), 'Set {', '}');
      if (value instanceof Date) return value.toJSON() ?? 'Invalid Date';
      if (value instanceof RegExp) return String(value);
      if (value instanceof Promise) return '[promise]';
      if (isBytes(value)) return `[${value.byteLength} bytes]`;
      const name = Object.getPrototypeOf(value)?.constructor?.name;
      const shown = some(Object.keys(value).map((key) => `${key}: ${show(value[key], depth + 1)}`), '{', '}');
      return name && name !== 'Object' ? `${name} ${shown}` : shown;
    } catch {
      return '[object]';
    }
  };
  const sentence = (error) => {
    const name = String(error.name);
    const message = String(error.message);
    if (message === '') return name === 'Error' ? 'an error without a message was thrown' : name;
    return name === 'Error' || name === '' ? message : `${name}: ${message}`;
  };
  const ofNode = /^'?(require|process|Buffer|module|exports|__dirname|__filename|global)'? is not defined/;
  const describe = (thrown) => {
    try {
      if (thrown instanceof Error) {
        let message = sentence(thrown);
        const missing = ofNode.exec(thrown.message);
        if (missing) message += `: \`${missing[1]}\` is a part of Node.js, which this engine is not; \`runtime: node\` is`;
        let trace = typeof thrown.stack === 'string' ? thrown.stack : '';
        for (let cause = thrown.cause, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth++) {
          trace += `caused by ${sentence(cause)}\n${cause.stack ?? ''}`;
        }
        return stringify({ message: text(message), trace: text(trace) });
      }
      if (thrown === null) {
        return stringify({ message: '`null` was thrown, which is also what happens when no memory is left', trace: '' });
      }
      const message = typeof thrown === 'string' ? thrown : `${show(thrown, 1)} was thrown, which is no Error`;
      return stringify({ message: text(message), trace: '' });
    } catch {
      return '{"message":"what was thrown cannot be described","trace":""}';
    }
  };

  // ---- What the host does for the code.

  const waiting = new Map();
  const ask = (what, ...values) =>
    new Promise((resolve, reject) => {
      while (values.length > 0 && values[values.length - 1] === undefined) values.pop();
      waiting.set(host.ask(what, serialize(values, `an argument of \`${what}\``)), { resolve, reject });
    });
  const settle = (number, value, message, code) => {
    const promise = waiting.get(number);
    if (promise === undefined) return;
    waiting.delete(number);
    if (message === undefined) {
      promise.resolve(value);
    } else {
      const error = new Error(message);
      if (code !== undefined) error.code = code;
      promise.reject(error);
    }
  };

  const encodingOf = (options) => (options !== null && typeof options === 'object' ? options.encoding : options);
  /** Joins the parts of a path, as `path.posix.join` of Node.js does. It looks at no file. */
  const join = (...parts) => {
    for (const part of parts) {
      if (typeof part !== 'string') throw new TypeError(`a part of a path must be a text, not ${show(part, 1)}`);
    }
    const joined = parts.filter((part) => part !== '').join('/');
    if (joined === '') return '.';
    const isAbsolute = joined.startsWith('/');
    const names = [];
    for (const name of joined.split('/')) {
      if (name === '' || name === '.') continue;
      if (name !== '..') names.push(name);
      else if (names.length > 0 && names.at(-1) !== '..') names.pop();
      else if (!isAbsolute) names.push(name);
    }
    const inside = names.join('/');
    const end = joined.endsWith('/') && inside !== '' ? '/' : '';
    return (isAbsolute ? '/' : '') + inside + end || (joined.endsWith('/') ? './' : '.');
  };
  const fs = freeze({
    join,
    async readFile(path, options) {
      const encoding = encodingOf(options);
      if (encoding === null || encoding === 'buffer') {
        return unbinary(host.fromBase64(await ask('fs.readFile', path, 'base64')));
      }
      return ask('fs.readFile', path, encoding ?? 'utf-8');
    },
    async writeFile(path, content, options) {
      return isBytes(content)
        ? ask('fs.writeFile', path, host.toBase64(binary(content)), 'base64')
        : ask('fs.writeFile', path, content, encodingOf(options));
    },
    async appendFile(path, content, options) {
      return isBytes(content)
        ? ask('fs.appendFile', path, host.toBase64(binary(content)), 'base64')
        : ask('fs.appendFile', path, content, encodingOf(options));
    },
    exists: async (path) => ask('fs.exists', path),
    readdir: async (path) => ask('fs.readdir', path),
    async stat(path) {
      const { isFile, isDirectory, ...rest } = await ask('fs.stat', path);
      return freeze({ ...rest, mtime: new Date(rest.mtimeMs ?? NaN), isFile: () => isFile, isDirectory: () => isDirectory });
    },
    mkdir: async (path, options) => ask('fs.mkdir', path, options),
    ensureDir: async (path) => ask('fs.ensureDir', path),
    remove: async (path) => ask('fs.remove', path),
    unlink: async (path) => ask('fs.unlink', path),
    rm: async (path, options) => ask('fs.rm', path, options),
    rename: async (from, to) => ask('fs.rename', from, to),
    copyFile: async (from, to) => ask('fs.copyFile', from, to),
    glob: async (pattern, options) => ask('fs.glob', pattern, options),
  });
  const executor = freeze({
    execute: async (command, args, options) =>
      ask(
        'executor.execute',
        command !== null && typeof command === 'object' ? command : { ...options, command, args: args ?? [] },
      ),
  });
  const run = async (options) => ask('docker.run', options);
  const docker = freeze({ run, runContainer: run });
  const platform = freeze({ fs, executor, docker });
  const llm = freeze({ complete: async (prompt, options) => ask('llm.complete', prompt, options) });
  const check = async (command) => ask('permissions.check', command);
  const permissions = freeze({ check, checkPermission: check });

  // ---- The log.

  const log = (level, values) => {
    let line = '';
    const rest = [...values];
    if (typeof rest[0] === 'string' && rest.length > 1) {
      line = rest.shift().replace(/%[sdifoOj%]/g, (mark) => {
        if (mark === '%%') return '%';
        return rest.length === 0 ? mark : show(rest.shift());
      });
      if (rest.length > 0) line += ' ';
    }
    host.log(level, text(line + rest.map((value) => show(value)).join(' ')));
  };
  const at = (level) => (...values) => log(level, values);
  const logger = freeze({ debug: at('debug'), info: at('info'), log: at('info'), warn: at('warn'), error: at('error') });
  const labels = new Map();
  const since = (label) => `${label}: ${(host.now() - (labels.get(String(label)) ?? host.now())).toFixed(3)}ms`;
  const console = {
    debug: at('debug'),
    log: at('info'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    dir: (value) => log('info', [value]),
    table: (value) => log('info', [value]),
    trace: (...values) => log('debug', [...values, new Error('trace').stack]),
    assert: (holds, ...values) => holds || log('error', ['assertion failed', ...values]),
    group: at('info'),
    groupEnd() {},
    time: (label = 'default') => void labels.set(String(label), host.now()),
    timeLog: (label = 'default') => log('info', [since(label)]),
    timeEnd(label = 'default') {
      log('info', [since(label)]);
      labels.delete(String(label));
    },
    count(label = 'default') {
      const key = `#${label}`;
      labels.set(key, (labels.get(key) ?? 0) + 1);
      log('info', [`${label}: ${labels.get(key)}`]);
    },
  };

  // ---- Timers. The host knows when one is due, and who it is.

  const timers = new Map();
  const begin = (name, action, delay, repeats, values) => {
    if (typeof action !== 'function') throw new TypeError(`${name} needs a function, not ${show(action, 1)}`);
    if (timers.size >= 10000) throw new RangeError('10000 timers are running, and no more are allowed');
    const wait = Math.min(Math.max(Number(delay) || 0, 0), 2 ** 31 - 1);
    const id = host.begin(wait);
    timers.set(id, { action, values, wait, repeats });
    return id;
  };
  const end = (id) => {
    if (timers.delete(id)) host.end(id);
  };
  const fire = (id) => {
    const timer = timers.get(id);
    if (timer === undefined) return;
    if (timer.repeats) host.again(id, timer.wait);
    else timers.delete(id);
    apply(timer.action, undefined, timer.values);
  };

  // ---- What the code finds in its world.

  const give = (name, value) => defineProperty(globalThis, name, { value, writable: true, configurable: true });
  for (const [name, value] of Object.entries({
    console,
    logger,
    platform,
    setTimeout: (action, delay, ...values) => begin('setTimeout', action, delay, false, values),
    setInterval: (action, delay, ...values) => begin('setInterval', action, delay, true, values),
    setImmediate: (action, ...values) => begin('setImmediate', action, 0, false, values),
    clearTimeout: end,
    clearInterval: end,
    clearImmediate: end,
    btoa(value) {
      const whole = String(value);
      if (/[^\0-\xff]/.test(whole)) {
        throw new DOMException('btoa takes characters up to U+00FF: encode the text with TextEncoder first', 'InvalidCharacterError');
      }
      return host.toBase64(whole);
    },
    atob(value) {
      const whole = host.fromBase64(String(value).replace(/[\t\n\f\r ]/g, ''));
      if (whole === undefined) throw new DOMException('the text is not Base64', 'InvalidCharacterError');
      return whole;
    },
  })) {
    give(name, value);
  }
  // Shared memory has nobody to share it with.
  delete globalThis.SharedArrayBuffer;
  delete globalThis.Atomics;

  // What few tools need is made when it is first looked at.
  let more;
  const extras = () => (more ??= host.extras()({ host, ask, show, binary, unbinary, isBytes, bytesOf, text, freeze }));
  for (const name of [
    'fetch', 'Headers', 'Response', 'AbortController', 'AbortSignal', 'structuredClone', 'TextEncoder', 'TextDecoder',
    'URL', 'URLSearchParams',
  ]) {
    defineProperty(globalThis, name, {
      get: () => (give(name, extras()[name]), extras()[name]),
      set: (value) => give(name, value),
      configurable: true,
    });
  }

  const contextOf = ({ config, conversation }) => {
    const deep = (value) => {
      if (value !== null && typeof value === 'object') Object.values(freeze(value)).forEach(deep);
      return value;
    };
    const context = { platform, logger, llm, config: deep(config), conversation: deep(conversation), permissions };
    return freeze(defineProperty(context, 'signal', { get: () => extras().signal, enumerable: true }));
  };

  const carryOut = async (ready, exports, args, context) => {
    try {
      await ready;
      const offered = exports.execute ?? exports.default;
      const entry = typeof offered?.execute === 'function' ? offered.execute : offered;
      if (typeof entry !== 'function') {
        throw new TypeError(`${exports.execute === undefined ? 'the default export' : '`execute`'} is no function, but ${show(entry, 1)}`);
      }
      const result = await apply(entry, offered, [args, contextOf(context)]);
      host.done(serialize(result, 'the result'));
    } catch (error) {
      host.failed(describe(error));
    }
  };

  return { carryOut, settle, fire, describe };
}
