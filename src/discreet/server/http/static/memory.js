// What this device remembers. Never an answer, and never the dice: of a question only what was rolled, once.
//
//   question   for each person here (`who`): the report, and for each task document the very bytes that leave and what
//              became of them; a retry sends the same bytes, a new version that asks the same gets the same report
//   last       what a survey asked when something was last sent for it
//   keys       the keys with which surveys are signed here, the oldest first; `signer` has the one of each survey
//
// A question is its text, its answers and its mechanism. All is kept in a database of the browser, whose turns exclude
// each other: two windows that send in the same moment send the same bytes. A turn is on the disk before it is told.

import { coinsNeeded, report, unhex, upload, uploadParts } from "./report.js";
import { walked } from "./trust.js";

const [NAME, STORE] = ["discreet-survey", "kept"];

const drawn = (size) => crypto.getRandomValues(new Uint8Array(size));

// The report on an answer, by coins of the browser's own that are kept nowhere.
export const rolled = (rule, answer) => report(rule, drawn(coinsNeeded(rule)), answer);

export class Memory {
  #file;

  constructor(file, { survey, asked, digest, who }) {
    this.#file = file;
    Object.assign(this, { survey, digest, who, asked });
    this.question = `question/${asked}`;
    this.last = `last/${survey}/${who}`;
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
  // person on this device, and whether this survey asked something else before and a report on that may have left.
  state() {
    return this.#turn([this.question, this.last], (people = {}, last = this.asked) => {
      const another = Object.entries(people).find(([who]) => who !== this.who)?.[1].report ?? null;
      const mine = people[this.who];
      const send = mine?.sends[this.digest] ?? null;
      return { told: { send, report: mine?.report ?? null, another, changed: last !== this.asked } };
    });
  }

  // The bytes that leave. Rolled, fixed and written down in one turn, before the first of them does; what was fixed
  // before stays, whatever is answered now. `known` is a report that this person sent before.
  hold(rule, { answer, known = null }) {
    return this.#turn([this.question], (people = {}) => {
      const mine = people[this.who] ?? { report: known ?? rolled(rule, answer), sends: {} };
      const found = mine.sends[this.digest];
      if (found) return { told: found.body };
      const body = upload(unhex(this.digest), drawn(16), mine.report);
      const sends = { ...mine.sends, [this.digest]: { body } };
      const put = { [this.question]: { ...people, [this.who]: { ...mine, sends } }, [this.last]: this.asked };
      return { put, told: body };
    });
  }

  // What became of it. Where somebody made the browser forget meanwhile, it remembers again.
  settle(send) {
    return this.#turn([this.question], (people = {}) => {
      const mine = people[this.who] ?? { report: uploadParts(send.body).report, sends: {} };
      const sends = { ...mine.sends, [this.digest]: send };
      return { put: { [this.question]: { ...people, [this.who]: { ...mine, sends } } } };
    });
  }

  // Whether this device trusts the key that signed: "first" if it knew none, "known", "next" if a known one handed
  // over to it, "stranger" otherwise. What is trusted is trusted from then on.
  trust(key, handovers) {
    const signer = `signer/${this.survey}`;
    return this.#turn(["keys", signer], (keys = null, last = null) => {
      const known = walked(keys, last, key, handovers);
      if (known === null) return { told: "stranger" };
      const told = keys === null ? "first" : keys.includes(key) ? "known" : "next";
      return { put: { keys: known, [signer]: key }, told };
    });
  }

  // Look at what is kept under these names, and change it, so that nobody comes in between.
  #turn(names, change) {
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
