const MOST_CHARACTERS = 1000;
const MOST_NOTES = 1000;

/** Why a note cannot be kept. */
export class NoteError extends Error {}

/** @typedef {{ id: number, text: string, added: string }} Note */

/** Notes, kept in memory. */
export class Notes {
  /** @type {Map<number, Note>} */
  #notes = new Map();
  #last = 0;

  /** @returns {Note[]} */
  all() {
    return [...this.#notes.values()];
  }

  /**
   * @param {unknown} given
   * @returns {Note}
   */
  add(given) {
    const text = given && typeof given === 'object' && 'text' in given ? given.text : undefined;
    if (typeof text !== 'string' || text.trim() === '') throw new NoteError('a note needs a `text`');
    if (text.length > MOST_CHARACTERS) throw new NoteError(`a note has at most ${MOST_CHARACTERS} characters`);
    if (this.#notes.size >= MOST_NOTES) throw new NoteError(`there are ${MOST_NOTES} notes: remove some first`);
    const note = { id: ++this.#last, text: text.trim(), added: new Date().toISOString() };
    this.#notes.set(note.id, note);
    return note;
  }

  /**
   * @param {number} id
   * @returns {boolean} whether it was there
   */
  remove(id) {
    return this.#notes.delete(id);
  }
}
