// What this device remembers. Never an answer, and never the dice: of a question only what was rolled, once.
//
//   question   for each person here (`who`): the report, and for each task document the very bytes that leave and what
//              became of them; a retry sends the same bytes, a new version that asks the same gets the same report
//   last       what a survey asked when something was last sent for it
//   spent      what each report that was rolled here costs, for the sum over all questions; `limit` is what it may reach
//   keys       the keys with which surveys are signed here, the oldest first; `signer` has the one of each survey
//
// A question is its text, its answers and its mechanism; spellings of one are one (`exact` finds what was kept before
// that was so). All is kept in a database of the browser, whose turns exclude
// each other: two windows that send in the same moment send the same bytes. A turn is on the disk before it is told.

import { fits, USUAL } from "./limit.js";
import { coinsNeeded, report, unhex, upload, uploadParts } from "./report.js";
import { walked } from "./trust.js";

const [NAME, STORE] = ["discreet-survey", "kept"];

export const drawn = (size) => crypto.getRandomValues(new Uint8Array(size));

// The report on an answer, by coins of the browser's own that are kept nowhere.
export const rolled = (rule, answer) => report(rule, drawn(coinsNeeded(rule)), answer);

export class Memory {
  #file;

  constructor(file, { survey, asked, meant, digest, who, price }) {
    this.#file = file;
    Object.assign(this, { survey, digest, who, asked, price });
    this.question = `question/${meant}`;
    this.exact = `question/${asked}`;
    this.last = `last/${survey}/${who}`;
    this.purchase = `${meant}/${who}`;
  }

  // The database, or null where this browser keeps nothing, as in private windows of some.
  static open() {
    return new Promise((resolve) => {
      try {
        const asking = indexedDB.open(NAME, 1);
        asking.onupgradeneeded = () => asking.result.createObjectStore(STORE);
        asking.onsuccess = () => resolve(asking.result);
        asking.onerror = () => resolve(null);
        asking.onblocked = () => resolve(null);
      } catch {
        resolve(null);
      }
    });
  }

  // How this question stands: `send` for this task document, the `report` if one was rolled, the report of `another`
  // person on this device, whether this survey asked something else before and a report on that may have left, and the
  // `prices` of all that was rolled here, with their `limit`.
  state() {
    const names = [this.question, this.exact, this.last, "spent", "limit"];
    return this.turn(names, (same, exact, last = this.asked, spent = {}, limit = USUAL) => {
      const people = { ...exact, ...same };
      const another = Object.entries(people).find(([who]) => who !== this.who)?.[1].report ?? null;
      const mine = people[this.who];
      const send = mine?.sends[this.digest] ?? null;
      const all = mine ? this.#with(spent) : spent; // it may be older than the sum
      const told = { send, report: mine?.report ?? null, another, changed: last !== this.asked, prices: Object.values(all), limit };
      return { put: all === spent ? {} : { spent: all }, told };
    });
  }

  // The bytes that leave. Rolled, fixed and written down in one turn, before the first of them does; what was fixed
  // before stays, whatever is answered now. `known` is a report that this person sent before. What would be more than
  // the limit of this device is `refused`, and not rolled.
  hold(rule, { answer, known = null }) {
    return this.turn([this.question, this.exact, "spent", "limit"], (same, exact, spent = {}, limit = USUAL) => {
      const people = { ...exact, ...same };
      const fresh = !people[this.who] && known === null;
      if (fresh && !fits(Object.values(spent), this.price, limit)) return { told: { refused: true } };
      const mine = people[this.who] ?? { report: known ?? rolled(rule, answer), sends: {} };
      const found = mine.sends[this.digest];
      if (found) return { told: { body: found.body } };
      const body = upload(unhex(this.digest), drawn(16), mine.report);
      const sends = { ...mine.sends, [this.digest]: { body } };
      const put = { [this.question]: { ...people, [this.who]: { ...mine, sends } }, [this.last]: this.asked };
      return { put: fresh ? { ...put, spent: this.#with(spent) } : put, told: { body } };
    });
  }

  // What became of it. Where somebody made the browser forget meanwhile, it remembers again.
  settle(send) {
    return this.turn([this.question, this.exact, "spent"], (same, exact, spent = {}) => {
      const people = { ...exact, ...same };
      const mine = people[this.who] ?? { report: uploadParts(send.body).report, sends: {} };
      const sends = { ...mine.sends, [this.digest]: send };
      const put = { [this.question]: { ...people, [this.who]: { ...mine, sends } } };
      return { put: people[this.who] ? put : { ...put, spent: this.#with(spent) } };
    });
  }

  // The most that the prices of all that is rolled here may add up to, as its owner says.
  allow(limit) {
    return this.turn(["limit"], () => ({ put: { limit } }));
  }

  #with(spent) {
    return this.purchase in spent ? spent : { ...spent, [this.purchase]: this.price };
  }

  // Whether this device trusts the key that signed: "first" if it knew none, "known", "next" if a known one handed
  // over to it, "stranger" otherwise. What is trusted is trusted from then on.
  trust(key, handovers) {
    const signer = `signer/${this.survey}`;
    return this.turn(["keys", signer], (keys = null, last = null) => {
      const known = walked(keys, last, key, handovers);
      if (known === null) return { told: "stranger" };
      const told = keys === null ? "first" : keys.includes(key) ? "known" : "next";
      return { put: { keys: known, [signer]: key }, told };
    });
  }

  // Look at what is kept under these names, and change it, so that nobody comes in between.
  turn(names, change) {
    return new Promise((resolve, reject) => {
      const turn = this.#file.transaction(STORE, "readwrite", { durability: "strict" });
      const kept = turn.objectStore(STORE);
      const asked = names.map((name) => kept.get(name));
      let outcome, broken;
      asked.at(-1).onsuccess = () => { // they are answered in order
        try {
          const { put = {}, told } = change(...asked.map((each) => each.result));
          for (const [name, value] of Object.entries(put)) kept.put(value, name);
          outcome = told;
        } catch (error) {
          broken = error;
          turn.abort();
        }
      };
      turn.oncomplete = () => resolve(outcome);
      turn.onabort = () => reject(broken ?? turn.error);
    });
  }
}
