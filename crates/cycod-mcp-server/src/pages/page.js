"use strict";
// A page of MCP Apps (2026-01-26). Values of tools only ever become text: nothing here parses HTML.
const tool = JSON.parse(document.getElementById("tool").textContent);
const main = document.querySelector("main");
const pending = new Map();
let next = 1;

const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const notify = (method, params = {}) => send({ method, params });
const ask = (method, params) =>
  new Promise((resolve, reject) => {
    const id = next++;
    pending.set(id, { resolve, reject });
    send({ id, method, params });
  });

const make = (name, attributes = {}, ...children) => {
  const element = Object.assign(document.createElement(name), attributes);
  element.append(...children);
  return element;
};
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const written = (value) =>
  value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
const show = (...parts) => main.replaceChildren(...parts);
const text = (result) => (result.content ?? []).filter(({ type }) => type === "text").map((block) => block.text).join("\n");

/** What a tool returned. Clients up to 2025-11-25 get what is no object as `{"result": …}`. */
const value = (result) => {
  const structured = result.structuredContent;
  if (structured === undefined) {
    try {
      return JSON.parse(text(result));
    } catch {
      return undefined;
    }
  }
  const names = isObject(structured) ? Object.keys(structured) : [];
  return names.length === 1 && names[0] === "result" ? structured.result : structured;
};

/** The rows of an answer: the list of objects that it is, or the first one that it has. */
const rows = (answer) => {
  const isRows = (list) => Array.isArray(list) && list.length > 0 && list.every(isObject);
  if (isRows(answer)) return answer;
  return isObject(answer) ? Object.values(answer).find(isRows) : undefined;
};

const table = (answer) => {
  const list = rows(answer);
  if (!list) return undefined;
  const names = [...new Set(list.flatMap(Object.keys))];
  const body = make("tbody");
  const fill = (sorted) =>
    body.replaceChildren(
      ...sorted.map((row) =>
        make("tr", {}, ...names.map((name) => make("td", { className: typeof row[name] === "number" ? "number" : "" }, written(row[name])))),
      ),
    );
  let last = { name: undefined, way: 1 };
  const heads = names.map((name) => {
    const button = make("button", { type: "button" }, name);
    const head = make("th", { scope: "col" }, button);
    button.onclick = () => {
      last = { name, way: last.name === name ? -last.way : 1 };
      const compare = (one, other) =>
        typeof one === "number" && typeof other === "number" ? one - other : written(one).localeCompare(written(other));
      fill([...list].sort((one, other) => last.way * compare(one[name], other[name])));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", last.way === 1 ? "ascending" : "descending");
    };
    return head;
  });
  fill(list);
  const whole = make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body);
  return [make("div", { className: "scroll", tabIndex: 0 }, whole), make("p", { className: "note" }, `${list.length} row${list.length === 1 ? "" : "s"}`)];
};

/** The numbers of an answer by their keys: of an object, or of rows with one text and one number each. */
const numbers = (answer) => {
  if (isObject(answer)) {
    const own = Object.entries(answer).filter(([, number]) => typeof number === "number");
    if (own.length) return own;
    const inner = Object.values(answer).find((one) => isObject(one) && Object.values(one).some((number) => typeof number === "number"));
    if (inner) return numbers(inner);
  }
  const list = rows(answer);
  if (!list) return undefined;
  const key = Object.keys(list[0]).find((name) => typeof list[0][name] === "string");
  const of = Object.keys(list[0]).find((name) => typeof list[0][name] === "number");
  return of && list.map((row, at) => [key ? written(row[key]) : `${at + 1}`, Number(row[of])]);
};

const chart = (answer) => {
  const list = numbers(answer);
  if (!list) return undefined;
  const most = Math.max(...list.map(([, number]) => Math.abs(number)), 0) || 1;
  const bars = list.flatMap(([key, number]) => {
    const bar = make("div", { className: number < 0 ? "bar below" : "bar" });
    bar.style.width = `${(100 * Math.abs(number)) / most}%`;
    return [make("span", {}, key), bar, make("span", {}, String(number))];
  });
  return [make("div", { className: "bars", role: "figure", ariaLabel: list.map(([key, number]) => `${key}: ${number}`).join(", ") }, ...bars)];
};

/** The drawing of the steps, which the page has. */
const graph = () => [document.querySelector("template").content.cloneNode(true)];

/** One field for each parameter, with what the model gave. */
const form = (given) => {
  const required = new Set(tool.schema.required ?? []);
  const fields = Object.entries(tool.schema.properties ?? {}).map(([name, schema]) => {
    const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
    const first = given[name] ?? schema.default;
    const isRequired = required.has(name);
    let input;
    let read;
    if (Array.isArray(schema.enum)) {
      const options = schema.enum.map((choice) => make("option", {}, written(choice)));
      input = make("select", { required: isRequired }, ...(isRequired ? [] : [make("option", { value: "" })]), ...options);
      input.value = written(first ?? (isRequired ? schema.enum[0] : undefined));
      read = () => schema.enum.find((choice) => written(choice) === input.value);
    } else if (type === "boolean") {
      input = make("input", { type: "checkbox", checked: first === true });
      read = () => (input.checked || isRequired || first !== undefined ? input.checked : undefined);
    } else if (type === "number" || type === "integer") {
      input = make("input", { type: "number", step: type === "integer" ? "1" : "any", required: isRequired, value: written(first) });
      read = () => (input.value === "" ? undefined : Number(input.value));
    } else if (type === "string" || type === undefined) {
      input = make("input", { type: "text", required: isRequired, value: written(first) });
      read = () => (input.value === "" && !isRequired ? undefined : input.value);
    } else {
      input = make("textarea", { rows: 3, required: isRequired, value: first === undefined ? "" : JSON.stringify(first) });
      read = () => (input.value.trim() === "" ? undefined : JSON.parse(input.value));
    }
    input.name = name;
    const about = schema.description ? [make("small", {}, schema.description)] : [];
    return { name, read, element: make("label", {}, make("span", {}, name), ...about, input) };
  });
  const answer = make("pre", { role: "status" });
  // Hosts need not allow a form to be submitted, so nothing is.
  const button = make("button", { type: "button" }, "Run");
  const whole = make("form", {}, ...fields.map(({ element }) => element), button);
  whole.onsubmit = (event) => event.preventDefault();
  button.onclick = async () => {
    if (!whole.reportValidity()) return;
    button.disabled = true;
    answer.textContent = "";
    try {
      const values = fields.map(({ name, read }) => {
        try {
          return [name, read()];
        } catch (error) {
          throw new Error(`${name}: ${error.message}`);
        }
      });
      const given = Object.fromEntries(values.filter(([, one]) => one !== undefined));
      answer.textContent = text(await ask("tools/call", { name: tool.name, arguments: given }));
    } catch (error) {
      answer.textContent = `error: ${error.message}`;
    }
    button.disabled = false;
  };
  return [whole, answer];
};

const finished = (result) => {
  const draw = { table, chart }[tool.page];
  const drawn = result.isError || !draw ? undefined : draw(value(result));
  const after = make("pre", {}, text(result));
  if (tool.page === "graph") return show(...graph(), after);
  if (tool.page === "form") return main.querySelector("pre")?.replaceChildren(text(result));
  show(...(drawn ?? [after]));
};

const dressed = ({ theme, styles } = {}) => {
  const root = document.documentElement;
  if (theme === "light" || theme === "dark") root.style.colorScheme = theme;
  for (const [name, one] of Object.entries(styles?.variables ?? {})) {
    if (/^--[a-z0-9-]+$/.test(name) && typeof one === "string") root.style.setProperty(name, one);
  }
};

const told = {
  "ui/notifications/tool-input": (params) => tool.page === "form" && show(...form(params.arguments ?? {})),
  "ui/notifications/tool-result": finished,
  "ui/notifications/tool-cancelled": () => show(make("p", { className: "note" }, "The call was canceled.")),
  "ui/notifications/host-context-changed": dressed,
};

addEventListener("message", ({ source, data }) => {
  if (source !== parent || !isObject(data) || data.jsonrpc !== "2.0") return;
  if (data.method === undefined) {
    const waiting = pending.get(data.id);
    pending.delete(data.id);
    if (data.error) waiting?.reject(new Error(written(data.error.message)));
    else waiting?.resolve(data.result ?? {});
  } else if (data.id === undefined) {
    told[data.method]?.(data.params ?? {});
  } else if (data.method === "ping" || data.method === "ui/resource-teardown") {
    send({ id: data.id, result: {} });
  } else {
    send({ id: data.id, error: { code: -32601, message: "Method not found" } });
  }
});

const start = { graph, form: () => form({}) }[tool.page];
show(...(start ? start() : [make("p", { className: "note" }, "Waiting for the result.")]));
ask("ui/initialize", {
  appInfo: { name: "cycod", version: tool.version },
  appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
  protocolVersion: "2026-01-26",
}).then(({ hostContext }) => {
  dressed(hostContext);
  notify("ui/notifications/initialized");
  new ResizeObserver(() => {
    const { width, height } = document.documentElement.getBoundingClientRect();
    notify("ui/notifications/size-changed", { width: Math.ceil(width), height: Math.ceil(height) });
  }).observe(document.documentElement);
});
