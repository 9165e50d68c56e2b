// A survey that asks for any text, by RAPPOR: what this device remembers of it, and what the person is told.
//
//   text    for each person here (`who`): names of the texts that were told, which only this device can make, and for
//           each task document the very bytes that leave and what became of them
//   secret  of each question and person, from which permanent responses follow

import { fits, USUAL } from "./limit.js";
import { drawn, Memory } from "./memory.js";
import { agrees, coinsFor, counted, instant, permanent } from "./rappor.js";
import { bestGuess, hex, unhex, upload, uploadParts } from "./report.js";
import { button, facts, heading, made, para } from "./sheet.js";
import { COUNTED, OUTCOMES, stop, Survey } from "./survey.js";

const LONGEST = 200;
const CHANGE =
  "If your answer is another one some day and you tell that too, whoever reads both reports sees that it changed, and " +
  "the privacy price is paid once more.";

export class TextMemory extends Memory {
  constructor(file, known) {
    super(file, known);
    this.texts = this.question.replace("question/", "text/");
    this.secret = `secret/${this.purchase}`;
  }

  state() {
    return this.turn([this.texts, this.last, "spent", "limit"], (people = {}, last = this.asked, spent = {}, limit = USUAL) => {
      const mine = people[this.who];
      const told = { send: mine?.sends[this.digest] ?? null, report: mine ?? null, another: null };
      return { told: { ...told, changed: last !== this.asked, prices: Object.values(spent), limit } };
    });
  }

  // Drawn once, before the first text is told.
  own() {
    return this.turn([this.secret], (secret = drawn(32)) => ({ put: { [this.secret]: secret }, told: secret }));
  }

  // The bytes that leave, written down before they do. A text that was told before loses nothing more. Another one is
  // `changed`, and not rolled, until the person has agreed to that.
  hold(rule, { lasting, agreed }) {
    return this.turn([this.texts, "spent", "limit"], (people = {}, spent = {}, limit = USUAL) => {
      const mine = people[this.who] ?? { tags: [], sends: {} };
      const found = mine.sends[this.digest];
      if (found) return { told: { body: found.body } };
      const tag = hex(lasting.tag);
      const fresh = !mine.tags.includes(tag);
      if (fresh && mine.tags.length && !agreed) return { told: { changed: true } };
      if (fresh && !fits(Object.values(spent), this.price, limit)) return { told: { refused: true } };
      const body = upload(unhex(this.digest), drawn(16), instant(rule, lasting, drawn(coinsFor(rule))));
      const tags = fresh ? [...mine.tags, tag] : mine.tags;
      const next = { tags, sends: { ...mine.sends, [this.digest]: { body } } };
      const paid = fresh ? { spent: { ...spent, [`${this.purchase}/${tags.length}`]: this.price } } : {};
      return { put: { [this.texts]: { ...people, [this.who]: next }, [this.last]: this.asked, ...paid }, told: { body } };
    });
  }

  settle(send) {
    return this.turn([this.texts], (people = {}) => {
      const mine = people[this.who] ?? { tags: [], sends: {} };
      const next = { ...mine, sends: { ...mine.sends, [this.digest]: send } };
      return { put: { [this.texts]: { ...people, [this.who]: next } } };
    });
  }
}

export class TextSurvey extends Survey {
  // Coins and filters of the page are those that were signed.
  start() {
    if (agrees(this.rule, this.task.mechanism.parameters)) return super.start();
    return stop("Do not answer", "The filter of this page is not that of the survey.");
  }

  // A new version that asks the same gets a new report from the same permanent response, if the text is the same.
  again() {
    return this.ask(false, "You told a text here before. If it is the same, a new report of it loses nothing more: " +
      `what this device keeps for that text was drawn once, for good. ${CHANGE}`);
  }

  ask(changed, before = "") {
    if (this.full && !before) return this.enough();
    const field = made("input", { id: "text", name: "answer", maxlength: LONGEST, autocomplete: "off", dir: "auto" });
    const wrong = made("p", { class: "wrong", role: "alert" });
    const found = made("form", { class: "card", id: "form", autocomplete: "off" },
      made("label", { for: "text", text: "Your true answer", tabindex: "-1" }), made("div", { class: "limit" }, field),
      para("This device makes bits of your text, flips some of them once and for all, and tosses a coin for each before it is sent. " +
        "Write the truth: the coins do the hiding."),
      para(`You may be asked again. All reports of one text come from the same bits, and together never tell more. ${CHANGE}`, "muted"),
      wrong, made("button", { type: "submit", class: "main", text: "Toss the coins and send" }));
    found.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = counted(field.value);
      if (text) return this.sent({ text });
      wrong.textContent = "Write an answer first.";
      return field.focus();
    });
    const notice = before || (changed && "You answered an earlier form of this survey on this device. Whoever reads both reports can guess better than from one.");
    return this.show(notice && para(notice, "card notice"), found);
  }

  async sent({ text, agreed = false }) {
    if (this.sending) return null;
    this.sending = true;
    const held = await this.memory.own().then((secret) => permanent(this.rule, secret, text))
      .then((lasting) => this.memory.hold(this.rule, { lasting, agreed })).catch(() => null);
    if (held?.refused) return this.measure().then(() => this.enough());
    if (held?.changed) {
      this.sending = false;
      return this.changes(text);
    }
    if (held === null) return stop("Nothing was sent", "This device could not write down what it was about to send. Load the page again.");
    await this.measure().catch(() => null);
    return this.deliver(held.body);
  }

  // Before another text than before is told.
  changes(text) {
    this.show(made("section", { class: "card notice" }, heading("This is another text than before"),
      para(`${CHANGE} Nothing was sent yet.`),
      made("div", { class: "row" },
        button("Tell the new text all the same", () => this.sent({ text, agreed: true })),
        button("Go back", () => this.start(), "plain"))));
  }

  receipt({ body, outcome, when }) {
    const { id, report } = uploadParts(body);
    const [title, words] = OUTCOMES[outcome];
    const head = this.rule.cohorts <= 256 ? 1 : 2;
    const bits = Array.from(report.subarray(head), (byte) => byte.toString(2).padStart(8, "0").split("").reverse().join("")).join(" ");
    this.show(made("section", { class: COUNTED.includes(outcome) ? "card done" : "card" }, heading(title),
      para(`${words} These bits are all that left your device:`), made("p", { class: "said", id: "said", text: bits }),
      para("What you wrote is kept nowhere. Who gets hold of this device and guesses it can check the guess, as the device has to know it again.", "after"),
      facts([["Sent", new Date(when).toLocaleString()], ["Receipt", hex(id)], ["Task document", `version ${this.task.version}, SHA-256 ${this.digest}`]]),
      made("p", {}, made("a", { href: `/survey/${this.task.id}/results`, text: "See the results when they are out" }))),
    made("section", { class: "card" }, heading("Why nobody can be sure"),
      para("Somebody who wavers between two texts of yours, one as likely as the other, guesses right in at most " +
        `${bestGuess(this.rule)} of 100 cases, however many reports of the same text they read. A coin would be right in 50.`),
      para(CHANGE)));
  }
}
