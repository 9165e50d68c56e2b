// What this device remembers of a question. Never the answer: first the coins, then what was rolled and nothing else.
//
//   coins    drawn once for a question; whatever is answered is rolled with these, so that asking again never rolls anew
//   report   what was rolled, fixed before it leaves; the coins are forgotten
//   sends    for each task document the very bytes that leave, and what became of them; a retry sends the same bytes
//
// A question is its text, its answers and its mechanism: a new version of a survey that asks the same gets the same report.

import { coinsNeeded, hex, report, unhex, upload } from "./report.js";

const PREFIX = "discreet-survey";

export class Memory {
  constructor({ survey, asked, digest, who }) {
    Object.assign(this, { asked, digest });
    this.name = `${PREFIX}/question/${asked}/${who}`;
    this.last = `${PREFIX}/last/${survey}/${who}`;
  }

  // Whether this browser keeps anything: private windows of some do not.
  static works() {
    try {
      localStorage.setItem(PREFIX, "1");
      localStorage.removeItem(PREFIX);
      return true;
    } catch {
      return false;
    }
  }

  // What was rolled for this question, or null while it can still be answered otherwise.
  get report() {
    const found = this.#read();
    return found?.report === undefined ? null : unhex(found.report);
  }

  // What was sent, or is to be sent, for this task document.
  get send() {
    return this.#read()?.sends?.[this.digest] ?? null;
  }

  // Whether this survey asked something else before, and a report on that may have left.
  get changed() {
    return ![null, this.asked].includes(localStorage.getItem(this.last));
  }

  // The report on an answer, by coins that are drawn at the first call and never again.
  rolled(rule, answer) {
    if (this.#read() === null) {
      this.#write({ coins: hex(crypto.getRandomValues(new Uint8Array(coinsNeeded(rule)))) });
    }
    const { coins } = this.#read(); // as it is kept: another tab may have written meanwhile
    return coins === undefined ? this.report : report(rule, unhex(coins), answer);
  }

  // Fix the bytes that leave, before the first of them does. What was fixed before stays.
  hold(bytes) {
    const found = this.#read();
    if (this.send === null) {
      const rolled = this.report ?? bytes;
      const body = upload(unhex(this.digest), crypto.getRandomValues(new Uint8Array(16)), rolled);
      const sends = { ...found?.sends, [this.digest]: { body: hex(body) } };
      this.#write({ report: hex(rolled), sends });
      localStorage.setItem(this.last, this.asked);
    }
    return unhex(this.send.body);
  }

  // What became of it.
  settle(outcome) {
    const found = this.#read();
    const send = { ...found.sends[this.digest], outcome, when: new Date().toISOString() };
    this.#write({ ...found, sends: { ...found.sends, [this.digest]: send } });
  }

  #read() {
    return JSON.parse(localStorage.getItem(this.name) ?? "null");
  }

  #write(value) {
    localStorage.setItem(this.name, JSON.stringify(value));
  }
}
