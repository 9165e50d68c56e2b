// The page on which somebody answers. The answer is randomised here; only what was rolled leaves this device.

import { added, fits, seen } from "./limit.js";
import { Memory } from "./memory.js";
import { canonical, hex, keeps, law, listed, uploadParts } from "./report.js";
import { button, byId, facts, form, gauge, heading, made, para, said, why } from "./sheet.js";
import { handedOver, signature } from "./trust.js";

const ASKED = "discreet-question\0"; // before what a question is known by
const MEANT = "discreet-meaning\0"; // however it is spelled
const TOKEN = /^[\w-]{1,256}$/; // of an invitation
export const OUTCOMES = {
  accepted: ["Received", "Your report was counted."],
  replayed: ["Received", "This very report had arrived before. It counts once."],
  early: ["Not open yet", "Nothing was counted. The same report can be sent again when the survey opens."],
  late: ["Closed", "The survey closed before your report arrived. Nothing was counted."],
  full: ["Full", "The survey has as many reports as it takes. Nothing was counted."],
  over_limit: ["Already used", "This invitation has sent all the reports that it may. Nothing was counted."],
  wrong_task: ["Changed meanwhile", "The survey has a new version. Load the page again to see it."],
  unlikely: ["Not counted", "Honest dice hardly ever show this, so the server takes it for made up. Nothing was counted."],
  malformed: ["Not understood", "The server did not understand the report. Nothing was counted."],
};
export const COUNTED = ["accepted", "replayed"];
const FINAL = [...COUNTED, "late", "full", "over_limit", "unlikely"]; // sent again it would come to the same
const SIGNED = {
  good: "The question and its terms are signed, and the signature holds.",
  unknown: "This browser cannot check the signature of the question. Everything else was checked.",
};
const SIGNERS = {
  first: "This device remembers the key, and will know if anybody else asks here.",
  known: "It is a key that this device knows from before.",
  next: "The key is new: the one that this device knew has handed over to it.",
};
const HELD = "What the dice showed is fixed, and is not rolled again. You see it once it has arrived.";
const STRANGER =
  "Surveys here used to be signed with another key, and nobody who holds that one has handed over to this. Somebody else " +
  "may be asking. Ask the people who run the survey, by another way than this page, before you answer anything here.";

const given = (id) => JSON.parse(byId(id).textContent);
const digestOf = async (text) => hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));

// The invitation behind the # of the address, which browsers send to nobody. It leaves the address line at once.
function invitation(survey) {
  const name = `discreet-invitation/${survey}`;
  const found = location.hash.slice(1);
  if (found) history.replaceState(null, "", location.pathname);
  if (TOKEN.test(found)) sessionStorage.setItem(name, found);
  return sessionStorage.getItem(name) ?? "";
}

export class Survey {
  constructor(task, rule, digest, memory, token) {
    Object.assign(this, { task, rule, digest, memory, token, sending: false });
  }

  async start() {
    const { send, report, another, changed } = await this.measure();
    if (send && FINAL.includes(send.outcome)) return this.receipt(send);
    if (send) return this.waiting(send.body, "Whether your report arrived is not known yet.");
    if (report) return this.again(report);
    if (another) return this.who(another);
    return this.ask(changed);
  }

  // How this question stands, and the gauge that shows how much was asked here.
  async measure() {
    const state = await this.memory.state();
    const { prices, limit, report } = state;
    this.full = !fits(prices, this.memory.price, limit);
    byId("gauge").replaceChildren(gauge({
      spent: added(prices), limit, price: report ? null : this.memory.price, full: this.full && !report,
    }, async (chosen) => {
      await this.memory.allow(chosen);
      return this.sending ? this.measure() : this.start();
    }));
    return state;
  }

  show(...parts) {
    byId("stage").replaceChildren(...parts.filter(Boolean));
    if (this.shown) byId("stage").querySelector("[tabindex]")?.focus();
    this.shown = true;
  }

  // asking ------------------------------------------------------------------------------------------------------------

  ask(changed) {
    if (this.full) return this.enough();
    const before = changed && para(
      "You answered an earlier form of this survey on this device. This one asks something else, or hides it otherwise. " +
      "Whoever reads both reports can guess better than from one.", "card notice");
    return this.show(before, form(this.task, this.rule, (answer) => this.sent({ answer })));
  }

  // Nothing is rolled beyond the limit, whatever the question is called.
  enough() {
    this.sending = false;
    this.show(made("section", { class: "card notice" }, heading("Enough was asked here"),
      para("Together with what was sent before, an answer to this question would give away more about you than this " +
        "device allows. Nothing is sent. If you want to answer all the same, raise the limit below: it is yours.")));
  }

  // The same question in a new version of the survey: nothing is rolled again.
  again(known) {
    this.show(made("section", { class: "card" }, heading("You answered this before"),
      para("The survey has a new version that asks the same. What was rolled then is sent again: " +
        "two rolls would hide less than one."),
      made("div", { class: "row" }, button("Send it again", () => this.sent({ known })))));
  }

  // The same question, answered on this device with another invitation, or with none.
  who(known) {
    this.show(made("section", { class: "card" }, heading("Was that you?"),
      para("Somebody answered this very question on this device before. If it was you, the same is sent again: " +
        "two rolls would hide less than one."),
      made("div", { class: "row" },
        button("It was me", () => this.sent({ known })),
        button("I am somebody else", () => this.ask(false), "plain"))));
  }

  // sending -----------------------------------------------------------------------------------------------------------

  // Roll, write down, send. Nobody sees what was rolled before it may have left: who could still decline would tell by it.
  async sent(what) {
    if (this.sending) return null;
    if (!what.known && !listed(this.rule, what.answer)) {
      return stop("Nothing was sent", "This is none of the answers of the survey. Load the page again and choose one.");
    }
    this.sending = true; // a second click comes too late
    const held = await this.memory.hold(this.rule, what).catch(() => null);
    if (held?.refused) return this.measure().then(() => this.enough());
    if (held !== null) {
      await this.measure().catch(() => null);
      return this.deliver(held.body);
    }
    return stop("Nothing was sent", "This device could not write down what it was about to send. Load the page again.");
  }

  async deliver(body) {
    this.waiting(body, "");
    const outcome = await this.posted(body);
    if (FINAL.includes(outcome)) {
      const send = { body, outcome, when: new Date().toISOString() };
      await this.memory.settle(send).catch(() => null); // else it is sent again some day, and counts once
      return this.receipt(send);
    }
    return this.waiting(body, outcome in OUTCOMES ? OUTCOMES[outcome].join(". ") : outcome);
  }

  // What became of it: the name of an outcome, or a sentence.
  async posted(body) {
    const headers = { "Content-Type": "application/octet-stream" };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    try {
      const answer = await fetch(`/survey/v1/${this.task.id}/reports`, { method: "POST", body, headers, cache: "no-store", credentials: "omit" });
      if (answer.status === 401 || answer.status === 403) return "This invitation is not known. Open the link that you got.";
      if (!answer.ok) return "The server could not take it now. Nothing is lost.";
      const counts = await answer.json();
      return Object.keys(OUTCOMES).find((name) => counts[name] > 0) ?? "malformed";
    } catch {
      return "There is no connection. Nothing is lost.";
    }
  }

  waiting(body, problem) {
    const send = button(problem ? "Send again" : "Sending…", () => this.deliver(body));
    send.disabled = !problem;
    this.show(made("section", { class: "card" },
      heading(problem ? "Not sent yet" : "Sending"),
      problem && made("p", { class: "wrong", role: "alert", text: problem }),
      para(HELD), made("div", { class: "row" }, send)));
  }

  receipt({ body, outcome, when }) {
    const { id, report: bytes } = uploadParts(body);
    const [title, words] = OUTCOMES[outcome];
    const counted = COUNTED.includes(outcome);
    this.show(made("section", { class: counted ? "card done" : "card" }, heading(title),
      para(counted ? `${words} This is what was sent:` : `${words} This is what left your device:`),
      said(this.task, this.rule, bytes),
      para("It is all that the server got of your answer, and all that this device still knows of it. " +
        "What you really answered is kept nowhere.", "after"),
      facts([["Sent", new Date(when).toLocaleString()], ["Receipt", hex(id)]]),
      made("p", {}, made("a", { href: `/survey/${this.task.id}/results`, text: "See the results when they are out" }))),
    why(this.task, this.rule, bytes, this.digest));
  }
}

export function stop(title, words, link) {
  const onward = link && made("p", {}, made("a", { href: `${location.pathname}/results`, text: link }));
  byId("stage").replaceChildren(made("section", { class: "card" }, heading(title), para(words), onward));
}

// Why nobody should answer on this device, in two texts; null if nothing speaks against it.
function danger(task, rule, state) {
  if (state === "bad") {
    return ["Do not answer", "The signature of this survey does not hold: somebody may have changed the question or its terms."];
  }
  if (!location.pathname.endsWith(task.id)) return ["Do not answer", "This is another survey than the one that you opened."];
  if (!keeps(rule, task.mechanism.parameters.epsilon) || task.domain.length !== rule.choices) {
    return ["Do not answer", "The dice of this page hide less than the survey promises."];
  }
  return null;
}

// Why nobody can answer now.
function obstacle(task, token, phase) {
  if (phase === "early") return ["Not open yet", "Come back when it opens."];
  if (phase === "late") return ["This survey is over", "Nothing can be sent any more.", "See the results"];
  if (task.invited && !token) {
    return ["By invitation", "This survey is for people who were invited. Open it with the whole link that you got."];
  }
  return null;
}

// What remembers and what asks, by the kind of the report. What texts need is loaded only for them.
async function kinds(rule) {
  if (rule.kind !== "text") return [Memory, Survey];
  const { TextMemory, TextSurvey } = await import("./text.js");
  return [TextMemory, TextSurvey];
}

async function begin() {
  const [task, dice] = [given("task"), given("dice")];
  if (!globalThis.crypto?.subtle) {
    return stop("This connection is not secure", "The page could be changed on its way to you. Open it through https.");
  }
  const file = await Memory.open();
  if (file === null) {
    return stop("This window remembers nothing",
      "Without memory a second visit would roll the dice again, and two rolls hide less than one. Use a window that is not private.");
  }
  const [rule, state, token] = [law(dice), await signature(task), task.invited ? invitation(task.id) : ""];
  const wrong = danger(task, rule, state);
  if (wrong) return stop(...wrong);
  const digest = await digestOf(canonical(task));
  const asked = await digestOf(ASKED + canonical({ question: task.question, domain: task.domain, mechanism: task.mechanism }));
  const spelled = { question: seen(task.question), domain: task.domain.map(seen), mechanism: task.mechanism };
  const meant = await digestOf(MEANT + canonical(spelled));
  const who = token ? (await digestOf(token)).slice(0, 32) : "open";
  const [Kept, Shown] = await kinds(rule);
  const memory = new Kept(file, { survey: task.id, asked, meant, digest, who, price: task.mechanism.parameters.epsilon });
  const signer = await memory.trust(task.key, state === "good" ? await handedOver(given("handovers")) : []);
  if (signer === "stranger") return stop("Do not answer", STRANGER);
  byId("question").textContent = task.question;
  byId("trust").textContent = `${SIGNED[state]} ${SIGNERS[signer]}`;
  const closed = obstacle(task, token, dice.phase);
  if (closed && !FINAL.includes((await memory.state()).send?.outcome)) return stop(...closed);
  if (task.invited) addEventListener("hashchange", () => location.reload()); // another invitation
  return new Shown(task, rule, digest, memory, token).start();
}

if (byId("stage")) {
  begin().catch(() => stop("This page does not work here", "Something in this browser kept it from starting. Nothing was sent."));
}
