// The parts of the surroundings that few tools need.
({ host, ask, show, binary, unbinary, isBytes, bytesOf, text, freeze }) => {
  const dataError = (value) => new DOMException(`${show(value, 1)} cannot be cloned`, 'DataCloneError');

  const structuredClone = (value) => {
    const seen = new Map();
    const clone = (value) => {
      if (typeof value === 'function' || typeof value === 'symbol') throw dataError(value);
      if (value === null || typeof value !== 'object') return value;
      if (seen.has(value)) return seen.get(value);
      const keep = (copy) => (seen.set(value, copy), copy);
      if (value instanceof Date) return keep(new Date(value));
      if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
      if (value instanceof Boolean || value instanceof Number || value instanceof String) return keep(Object(value.valueOf()));
      if (value instanceof ArrayBuffer) return keep(value.slice(0));
      if (value instanceof DataView) return keep(new DataView(clone(value.buffer), value.byteOffset, value.byteLength));
      if (ArrayBuffer.isView(value)) return keep(new value.constructor(clone(value.buffer), value.byteOffset, value.length));
      if (value instanceof Map) {
        const copy = keep(new Map());
        for (const [key, item] of [...value]) copy.set(clone(key), clone(item));
        return copy;
      }
      if (value instanceof Set) {
        const copy = keep(new Set());
        for (const item of [...value]) copy.add(clone(item));
        return copy;
      }
      if (value instanceof Error) {
        const names = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
        const copy = keep(new (names[value.name] ?? Error)(value.message));
        if (value.cause !== undefined) copy.cause = clone(value.cause);
        return copy;
      }
      if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) {
        throw dataError(value);
      }
      const copy = keep(Array.isArray(value) ? new Array(value.length) : {});
      for (const key of Object.keys(value)) {
        Object.defineProperty(copy, key, { value: clone(value[key]), writable: true, enumerable: true, configurable: true });
      }
      return copy;
    };
    return clone(value);
  };

  class TextEncoder {
    get encoding() {
      return 'utf-8';
    }
    encode(value = '') {
      return host.encode(text(value));
    }
    encodeInto(source, target) {
      let read = 0;
      let written = 0;
      for (const character of text(source)) {
        const bytes = host.encode(character);
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        written += bytes.length;
        read += character.length;
      }
      return { read, written };
    }
  }

  class TextDecoder {
    #encoding;
    #fatal;
    #keepsMark;
    #rest = '';
    constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
      const name = String(label).trim().toLowerCase();
      if (['utf-8', 'utf8', 'unicode-1-1-utf-8'].includes(name)) this.#encoding = 'utf-8';
      else if (['latin1', 'iso-8859-1', 'ascii', 'us-ascii', 'windows-1252'].includes(name)) this.#encoding = 'windows-1252';
      else if (['utf-16le', 'utf-16'].includes(name)) this.#encoding = 'utf-16le';
      else throw new RangeError(`\`${label}\` is no encoding that is known here: utf-8, utf-16le, latin1`);
      this.#fatal = Boolean(fatal);
      this.#keepsMark = Boolean(ignoreBOM);
    }
    get encoding() {
      return this.#encoding;
    }
    get fatal() {
      return this.#fatal;
    }
    get ignoreBOM() {
      return this.#keepsMark;
    }
    decode(value = new Uint8Array(), { stream = false } = {}) {
      if (!isBytes(value)) throw new TypeError(`decode takes bytes, not ${show(value, 1)}`);
      const given = this.#rest + binary(value);
      const decoded = host.decode(given, this.#encoding, this.#fatal, Boolean(stream));
      if (decoded === undefined) {
        this.#rest = '';
        throw new TypeError(`the bytes are not ${this.#encoding}`);
      }
      const [whole, used] = decoded;
      this.#rest = stream ? given.slice(used) : '';
      return !this.#keepsMark && whole.startsWith('\ufeff') ? whole.slice(1) : whole;
    }
  }

  const INSIDE = Symbol('inside');
  class AbortSignal {
    #aborted = false;
    #reason;
    #listeners = new Set();
    onabort = null;
    constructor(key) {
      if (key !== INSIDE) throw new TypeError('a signal is made by an AbortController');
    }
    get aborted() {
      return this.#aborted;
    }
    get reason() {
      return this.#reason;
    }
    throwIfAborted() {
      if (this.#aborted) throw this.#reason;
    }
    addEventListener(kind, listener) {
      if (kind === 'abort') this.#listeners.add(listener);
    }
    removeEventListener(kind, listener) {
      if (kind === 'abort') this.#listeners.delete(listener);
    }
    static abort(reason) {
      const controller = new AbortController();
      controller.abort(reason);
      return controller.signal;
    }
    static timeout(milliseconds) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new DOMException('the time is over', 'TimeoutError')), milliseconds);
      return controller.signal;
    }
    static any(signals) {
      const controller = new AbortController();
      for (const signal of signals) {
        if (signal.aborted) controller.abort(signal.reason);
        else signal.addEventListener('abort', () => controller.abort(signal.reason));
      }
      return controller.signal;
    }
    static raise(signal, reason) {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason ?? new DOMException('it was aborted', 'AbortError');
      const event = { type: 'abort', target: signal };
      for (const listener of [signal.onabort, ...signal.#listeners]) {
        if (typeof listener === 'function') listener.call(signal, event);
        else listener?.handleEvent?.(event);
      }
    }
  }
  const { raise } = AbortSignal;
  delete AbortSignal.raise;
  class AbortController {
    signal = new AbortSignal(INSIDE);
    abort(reason) {
      raise(this.signal, reason);
    }
  }

  class Headers {
    #values = new Map();
    constructor(given = {}) {
      const pairs = typeof given[Symbol.iterator] === 'function' ? given : Object.entries(given);
      for (const [name, value] of pairs) this.append(name, value);
    }
    append(name, value) {
      const key = String(name).toLowerCase();
      this.#values.set(key, this.#values.has(key) ? `${this.#values.get(key)}, ${value}` : String(value));
    }
    set(name, value) {
      this.#values.set(String(name).toLowerCase(), String(value));
    }
    get(name) {
      return this.#values.get(String(name).toLowerCase()) ?? null;
    }
    has(name) {
      return this.#values.has(String(name).toLowerCase());
    }
    delete(name) {
      this.#values.delete(String(name).toLowerCase());
    }
    forEach(action) {
      this.#values.forEach((value, name) => action(value, name, this));
    }
    keys() {
      return this.#values.keys();
    }
    values() {
      return this.#values.values();
    }
    entries() {
      return this.#values.entries();
    }
    [Symbol.iterator]() {
      return this.#values.entries();
    }
  }

  class Response {
    #body;
    #used = false;
    constructor(body = '', { status = 200, statusText = '', headers = {}, url = '' } = {}) {
      this.#body = isBytes(body) ? bytesOf(body).slice() : String(body ?? '');
      Object.assign(this, { status, statusText, url, ok: status >= 200 && status < 300, headers: new Headers(headers) });
    }
    get bodyUsed() {
      return this.#used;
    }
    #take() {
      if (this.#used) throw new TypeError('the body has been read already');
      this.#used = true;
      return this.#body;
    }
    async text() {
      const body = this.#take();
      return typeof body === 'string' ? body : new TextDecoder().decode(body);
    }
    async json() {
      return JSON.parse(await this.text());
    }
    async bytes() {
      const body = this.#take();
      return typeof body === 'string' ? new TextEncoder().encode(body) : body;
    }
    async arrayBuffer() {
      return (await this.bytes()).buffer;
    }
  }

  const fetch = async (resource, options = {}) => {
    if (!host.network) {
      throw new Error(
        'fetch is not allowed: the tool declares no host; add "network:external:HOST" to its `required-permissions`',
      );
    }
    const { signal } = options;
    signal?.throwIfAborted();
    const headers = new Headers(options.headers);
    let { body } = options;
    if (body instanceof URLSearchParams) {
      if (!headers.has('content-type')) headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8');
      body = String(body);
    } else if (isBytes(body)) {
      body = new TextDecoder('utf-8', { fatal: true }).decode(body);
    } else if (body !== undefined && body !== null && typeof body !== 'string') {
      throw new TypeError(`the body of a request is text, not ${show(body, 1)}: give \`JSON.stringify(body)\``);
    }
    const asked = ask('fetch', String(resource), {
      method: String(options.method ?? 'GET').toUpperCase(),
      headers: Object.fromEntries(headers),
      body: body ?? undefined,
    });
    const answer = await (signal === undefined || signal === null
      ? asked
      : Promise.race([asked, new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))]));
    return new Response(answer.encoding === 'base64' ? unbinary(host.fromBase64(answer.body)) : answer.body, answer);
  };

  class URLSearchParams {
    #pairs = [];
    #changed = () => {};
    constructor(given = '', changed) {
      if (typeof given === 'object' && given !== null) {
        const pairs = typeof given[Symbol.iterator] === 'function' ? given : Object.entries(given);
        this.#pairs = [...pairs].map(([name, value]) => [text(name), text(value)]);
      } else {
        this.#pairs = JSON.parse(host.query(text(given).replace(/^\?/, '')));
      }
      if (changed?.[INSIDE]) this.#changed = changed[INSIDE];
    }
    append(name, value) {
      this.#pairs.push([text(name), text(value)]);
      this.#changed(String(this));
    }
    delete(name, value) {
      const goes = ([key, held]) => key === String(name) && (value === undefined || held === String(value));
      this.#pairs = this.#pairs.filter((pair) => !goes(pair));
      this.#changed(String(this));
    }
    get(name) {
      return this.#pairs.find(([key]) => key === String(name))?.[1] ?? null;
    }
    getAll(name) {
      return this.#pairs.filter(([key]) => key === String(name)).map(([, value]) => value);
    }
    has(name, value) {
      return this.#pairs.some(([key, held]) => key === String(name) && (value === undefined || held === String(value)));
    }
    set(name, value) {
      const first = this.#pairs.find(([key]) => key === String(name));
      if (first === undefined) return this.append(name, value);
      first[1] = text(value);
      this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== String(name));
      this.#changed(String(this));
    }
    sort() {
      this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      this.#changed(String(this));
    }
    forEach(action) {
      for (const [name, value] of this.#pairs) action(value, name, this);
    }
    get size() {
      return this.#pairs.length;
    }
    keys() {
      return this.#pairs.map(([name]) => name).values();
    }
    values() {
      return this.#pairs.map(([, value]) => value).values();
    }
    entries() {
      return this.#pairs.map((pair) => [...pair]).values();
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toString() {
      return host.unquery(JSON.stringify(this.#pairs));
    }
  }

  class URL {
    #parts;
    #query;
    constructor(address, base) {
      const parts = host.url(text(address), base === undefined ? undefined : text(base));
      if (parts === undefined) throw new TypeError(`\`${address}\` is no URL`);
      this.#parts = JSON.parse(parts);
    }
    static canParse(address, base) {
      return host.url(text(address), base === undefined ? undefined : text(base)) !== undefined;
    }
    static parse(address, base) {
      return URL.canParse(address, base) ? new URL(address, base) : null;
    }
    static {
      const names = ['protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'];
      for (const name of names) {
        Object.defineProperty(URL.prototype, name, {
          get() {
            return this.#parts[name];
          },
          set(value) {
            this.#parts = JSON.parse(host.urlWith(this.#parts.href, name, text(value)));
            if (name === 'search') this.#query = undefined;
          },
          enumerable: true,
          configurable: true,
        });
      }
    }
    get href() {
      return this.#parts.href;
    }
    set href(address) {
      this.#parts = new URL(address).#parts;
      this.#query = undefined;
    }
    get origin() {
      return this.#parts.origin;
    }
    get searchParams() {
      return (this.#query ??= new URLSearchParams(this.search, {
        [INSIDE]: (search) => {
          this.#parts = JSON.parse(host.urlWith(this.#parts.href, 'search', search));
        },
      }));
    }
    toString() {
      return this.href;
    }
    toJSON() {
      return this.href;
    }
  }

  return {
    fetch, Headers, Response, AbortController, AbortSignal, structuredClone, TextEncoder, TextDecoder, URL, URLSearchParams,
    signal: freeze(new AbortController().signal),
  };
}
