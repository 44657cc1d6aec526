/** @template {Element} T @param {string} selector @param {new () => T} kind */
function find(selector, kind) {
  const element = document.querySelector(selector);
  if (!(element instanceof kind)) throw new Error(`the page has no ${selector}`);
  return element;
}

const form = find('form', HTMLFormElement);
const list = find('ul', HTMLUListElement);
const status = find('[role=status]', HTMLElement);

/** @param {string} path @param {RequestInit} [options] */
async function call(path, options) {
  const response = await fetch(path, options);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

async function show() {
  /** @type {{ id: number, text: string }[]} */
  const notes = await call('api/notes');
  list.replaceChildren(
    ...notes.map((note) => {
      const item = document.createElement('li');
      const remove = document.createElement('button');
      remove.textContent = 'Remove';
      remove.addEventListener('click', () => attempt(() => call(`api/notes/${note.id}`, { method: 'DELETE' })));
      item.append(note.text, ' ', remove);
      return item;
    }),
  );
}

/** Does something, shows what came of it, and says what went wrong. @param {() => Promise<unknown>} [action] */
async function attempt(action) {
  try {
    await action?.();
    await show();
    status.textContent = '';
  } catch (error) {
    status.textContent = error instanceof Error ? error.message : String(error);
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const text = new FormData(form).get('text');
  const headers = { 'Content-Type': 'application/json' };
  attempt(async () => {
    await call('api/notes', { method: 'POST', headers, body: JSON.stringify({ text }) });
    form.reset();
  });
});

attempt();
