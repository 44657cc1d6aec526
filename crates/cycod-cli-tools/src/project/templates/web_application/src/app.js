import { createServer } from 'node:http';

import { readFileOfPage } from './files.js';
import { Notes, NoteError } from './notes.js';

const MOST_BYTES = 64 * 1024;

const HEADERS = {
  'Content-Security-Policy': "default-src 'self'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** What is answered when a request cannot be done as asked. */
class RequestError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * A server that does not listen yet.
 *
 * @param {Notes} [notes]
 */
export function createApp(notes = new Notes()) {
  return createServer(async (request, response) => {
    /** @type {(status: number, type: string, body: string | Buffer) => void} */
    const send = (status, type, body) => {
      response.writeHead(status, { ...HEADERS, 'Content-Type': type });
      response.end(request.method === 'HEAD' ? undefined : body);
    };
    try {
      const answer = await respond(request, notes);
      send(answer.status ?? 200, answer.type ?? 'application/json', answer.body ?? JSON.stringify(answer.json));
    } catch (error) {
      const known = error instanceof RequestError ? error.status : error instanceof NoteError ? 400 : 500;
      if (known === 500) console.error(error);
      const message = known === 500 ? 'something went wrong here' : /** @type {Error} */ (error).message;
      // What is left of a body that was refused is not read.
      if (!request.complete) response.setHeader('Connection', 'close');
      send(known, 'application/json', JSON.stringify({ error: message }));
    }
  });
}

/**
 * @typedef {{ status?: number, type?: string, body?: string | Buffer, json?: unknown }} Answer
 *
 * @param {import('node:http').IncomingMessage} request
 * @param {Notes} notes
 * @returns {Promise<Answer>}
 */
async function respond(request, notes) {
  const path = (request.url ?? '/').split('?', 1)[0];
  const isReading = request.method === 'GET' || request.method === 'HEAD';
  if (path === '/api/notes') {
    if (isReading) return { json: notes.all() };
    if (request.method === 'POST') return { status: 201, json: notes.add(await readJson(request)) };
    throw new RequestError(405, 'notes can be read and added');
  }
  const id = /^\/api\/notes\/(\d{1,15})$/.exec(path)?.[1];
  if (id) {
    if (request.method !== 'DELETE') throw new RequestError(405, 'a note can be removed');
    if (!notes.remove(Number(id))) throw new RequestError(404, `there is no note ${id}`);
    return { json: { removed: Number(id) } };
  }
  const file = isReading ? await readFileOfPage(path) : undefined;
  if (!file) throw new RequestError(404, 'there is nothing here');
  return file;
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @returns {Promise<unknown>}
 */
async function readJson(request) {
  // A page of another site can send texts and forms without asking, but no JSON.
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) {
    throw new RequestError(415, 'send JSON, with `Content-Type: application/json`');
  }
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > MOST_BYTES) throw new RequestError(413, `send at most ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new RequestError(400, 'this is not JSON');
  }
}
