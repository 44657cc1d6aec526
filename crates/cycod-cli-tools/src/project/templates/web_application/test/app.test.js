import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, beforeEach, test } from 'node:test';

import { createApp } from '../src/app.js';
import { Notes } from '../src/notes.js';

let notes = new Notes();
const server = createApp(/** @type {Notes} */ ({ all: () => notes.all(), add: (given) => notes.add(given), remove: (id) => notes.remove(id) }));
let address = '';

before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  assert(bound && typeof bound === 'object');
  address = `http://127.0.0.1:${bound.port}`;
});
beforeEach(() => {
  notes = new Notes();
});
after(() => {
  server.close();
  server.closeAllConnections();
});

/** @param {string} path @param {RequestInit} [options] */
const call = async (path, options) => {
  const response = await fetch(address + path, options);
  return { status: response.status, body: await response.json() };
};
/** @param {string} body @param {string} [type] */
const post = (body, type = 'application/json') => call('/api/notes', { method: 'POST', headers: { 'Content-Type': type }, body });

test('notes are added, read and removed', async () => {
  const added = await post('{"text": " Buy <b>milk</b> "}');
  assert.equal(added.status, 201);
  assert.equal(added.body.text, 'Buy <b>milk</b>');
  assert.deepEqual((await call('/api/notes')).body, [added.body]);
  assert.deepEqual(await call('/api/notes/1', { method: 'DELETE' }), { status: 200, body: { removed: 1 } });
  assert.equal((await call('/api/notes/1', { method: 'DELETE' })).status, 404);
});

test('what is wrong with a request is said', async () => {
  for (const body of ['{}', '{"text": ""}', '{"text": 1}', '[]', 'null', 'text', `{"text": "${'x'.repeat(1001)}"}`]) {
    const { status, body: answer } = await post(body);
    assert.equal(status, 400, body);
    assert.equal(typeof answer.error, 'string');
  }
  assert.equal((await post('text=x', 'application/x-www-form-urlencoded')).status, 415);
  assert.equal((await post(`"${'x'.repeat(70_000)}"`)).status, 413);
  assert.equal((await call('/api/notes', { method: 'PUT' })).status, 405);
});

test('the page is served, and nothing beside it', async () => {
  const page = await fetch(`${address}/?from=test`);
  assert.match(page.headers.get('Content-Type') ?? '', /^text\/html/);
  assert.match(page.headers.get('Content-Security-Policy') ?? '', /default-src 'self'/);
  assert.match(await page.text(), /<title>@@name@@<\/title>/);
  for (const path of ['/page.js', '/style.css']) {
    assert.equal((await fetch(address + path, { method: 'HEAD' })).status, 200);
  }
  for (const path of ['/package.json', '/%2e%2e/package.json', '/../src/main.js', '//', '/api/notes/x']) {
    assert.equal((await call(path)).status, 404, path);
  }
});
