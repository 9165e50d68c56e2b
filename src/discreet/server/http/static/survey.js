// The page on which somebody answers. The answer is randomised here; only what was rolled leaves this device.

import { Memory } from "./memory.js";
import { canonical, hex, keeps, law, saidBy, unhex, uploadParts } from "./report.js";

const SIGNED = "discreet-task\0"; // before the text under the signature
const ASKED = "discreet-question\0"; // before what a question is known by
const OUTCOMES = {
  accepted: ["Received", "Your report was counted."],
  replayed: ["Received", "This very report had arrived before. It counts once."],
  early: ["Not open yet", "Nothing was counted. The same report can be sent again when the survey opens."],
  late: ["Closed", "The survey closed before your report arrived. Nothing was counted."],
  full: ["Full", "The survey has as many reports as it takes. Nothing was counted."],
  over_limit: ["Already used", "This invitation has sent all the reports that it may. Nothing was counted."],
  wrong_task: ["Changed meanwhile", "The survey has a new version. Load the page again to see it."],
  malformed: ["Not understood", "The server did not understand the report. Nothing was counted."],
};
const TRUST = {
  good: "The question and its terms are signed, and the signature holds.",
  unknown: "This browser cannot check the signature of the question. Everything else was checked.",
};
const FINAL = ["accepted", "replayed"];

const byId = (id) => document.getElementById(id);
const given = (id) => JSON.parse(byId(id).textContent);

// An element with a text or with children. Texts are never read as HTML.
function made(name, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  element.append(...children.filter(Boolean));
  return element;
}

const para = (text, kind) => made("p", kind ? { text, class: kind } : { text });

async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

// "good", "bad", or "unknown" where this browser cannot check.
async function signature(task) {
  const { signature: signed, ...said } = task;
  const text = new TextEncoder().encode(SIGNED + canonical(said));
  try {
    const key = await crypto.subtle.importKey("raw", unhex(task.key), "Ed25519", false, ["verify"]);
    return (await crypto.subtle.verify("Ed25519", key, unhex(signed), text)) ? "good" : "bad";
  } catch {
    return "unknown";
  }
}

// The invitation behind the # of the address, which browsers send to nobody. It leaves the address line at once.
function invitation(survey) {
  const name = `discreet-invitation/${survey}`;
  const found = decodeURIComponent(location.hash.slice(1));
  if (found) {
    sessionStorage.setItem(name, found);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(name) ?? "";
}

function outOf100(part, all) {
  const share = Number((part * 10000n) / all) / 100;
  return share >= 1 ? `${Math.round(share)} of 100` : "fewer than 1 of 100";
}

class Survey {
  constructor(task, rule, digest, memory, token) {
    Object.assign(this, { task, rule, digest, memory, token });
    this.stage = byId("stage");
  }

  start() {
    const { send, report } = this.memory;
    if (send?.outcome) return this.receipt(send);
    if (send) return this.waiting(unhex(send.body), "Your report is ready. Whether it arrived is not known yet.");
    if (report) return this.again(report);
    return this.ask();
  }

  show(...parts) {
    this.stage.replaceChildren(...parts.filter(Boolean));
    const heading = this.stage.querySelector("h2");
    if (heading && this.shown) heading.focus();
    this.shown = true;
  }

  // asking ------------------------------------------------------------------------------------------------------------

  ask(chosen = null) {
    const choices = this.task.domain.map((label, value) => {
      const input = made("input", { type: "radio", name: "answer", id: `answer-${value}`, value });
      input.checked = value === chosen;
      return made("label", { class: "choice", for: input.id }, input, made("span", { text: label }));
    });
    const form = made(
      "form",
      { class: "card", id: "form", autocomplete: "off" },
      made("fieldset", {}, made("legend", { text: "Your true answer" }), ...choices),
      para("It stays on this device. Tap it truthfully: the dice do the hiding.", "muted"),
      para("", "wrong"),
      made("button", { type: "submit", class: "main", text: "Roll the dice" }),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const answer = new FormData(form).get("answer");
      if (answer === null) form.querySelector(".wrong").textContent = "Choose an answer first.";
      else this.roll(Number(answer));
    });
    const before = this.memory.changed && para(
      "You answered an earlier form of this survey on this device. This one asks something else, or hides it otherwise. " +
      "Whoever reads both reports can guess better than from one.", "card notice");
    this.show(before, form);
  }

  roll(answer) {
    if (this.memory.report) return this.start(); // another tab has sent meanwhile
    const bytes = this.memory.rolled(this.rule, answer);
    const send = made("button", { type: "button", class: "main", text: "Send this" });
    send.addEventListener("click", () => this.send(this.memory.hold(bytes)));
    const back = made("button", { type: "button", class: "plain", text: "Change my answer" });
    back.addEventListener("click", () => this.ask(answer));
    this.show(
      made("section", { class: "card" },
        made("h2", { text: "What leaves your device", tabindex: "-1" }),
        this.rolled(bytes, answer), this.said(bytes), made("div", { class: "row" }, send, back)),
      this.why(bytes));
  }

  // The same question in a new version of the survey: nothing is rolled again.
  again(bytes) {
    const send = made("button", { type: "button", class: "main", text: "Send this" });
    send.addEventListener("click", () => this.send(this.memory.hold(bytes)));
    this.show(
      made("section", { class: "card" },
        made("h2", { text: "You answered this before", tabindex: "-1" }),
        para("The survey has a new version that asks the same. What was rolled then is sent again: " +
          "two rolls would hide less than one."),
        this.said(bytes), made("div", { class: "row" }, send)),
      this.why(bytes));
  }

  rolled(bytes, answer) {
    const { kind, holder, all } = this.rule;
    const chance = outOf100(holder, all);
    if (kind === "set") {
      return para("We tossed a coin for every answer, yours and all others. The coins show:");
    }
    const truth = saidBy(this.rule, bytes)[0] === answer;
    const came = truth ? "This time they said: tell the truth." : "This time they said: tell another one.";
    return para(`We rolled dice that let the true answer through in ${chance} cases. ${came} We send:`);
  }

  said(bytes) {
    const values = saidBy(this.rule, bytes);
    if (this.rule.kind === "one") return made("p", { class: "said", id: "said", text: this.task.domain[values[0]] });
    const items = this.task.domain.map((label, v) =>
      made("li", { class: values.includes(v) ? "yes" : "no" },
        made("span", { text: label }), made("strong", { text: values.includes(v) ? "yes" : "no" })));
    return made("ul", { class: "said-set", id: "said" }, ...items);
  }

  // why nobody can be sure --------------------------------------------------------------------------------------------

  why(bytes) {
    const { kind, holder, other, all } = this.rule;
    const said = saidBy(this.rule, bytes);
    const section = made("section", { class: "card" }, made("h2", { text: "Why nobody can be sure" }));
    if (kind === "one") {
      section.append(
        para(`Whoever reads “${this.task.domain[said[0]]}” does not know who sent it for which reason. ` +
          "It comes this often from people whose true answer is:"),
        this.bars(this.task.domain.map((label, v) => [label, v === said[0] ? holder : other])));
    } else {
      section.append(
        para(`A “yes” comes in ${outOf100(holder, all)} cases from somebody whose answer it is, ` +
          `and in ${outOf100(other, all)} from anybody else.`));
    }
    section.append(para(this.bound()), this.experts(bytes));
    return section;
  }

  bound() {
    const factor = Math.exp(this.epsilon());
    const best = Math.floor((100 * factor) / (1 + factor)) + (this.epsilon() > 0 ? 1 : 0);
    return `Somebody who wavers between two answers of yours, one as likely as the other, ` +
      `guesses right in at most ${Math.min(100, best)} of 100 cases after reading it, whatever they know or find out later.`;
  }

  epsilon() {
    const [top, bottom = "1"] = String(this.task.mechanism.parameters.epsilon).split("/");
    return Number(top) / Number(bottom);
  }

  bars(rows) {
    const most = rows.reduce((high, [, part]) => (part > high ? part : high), 0n);
    const items = rows.map(([label, part]) => {
      const meter = made("span", { class: "meter", "aria-hidden": "true" }, made("span", {}));
      meter.firstChild.style.width = `${Number((part * 1000n) / most) / 10}%`;
      return made("li", {}, made("span", { class: "of", text: label }), meter,
        made("span", { class: "often", text: outOf100(part, this.rule.all) }));
    });
    return made("ul", { class: "bars" }, ...items);
  }

  experts(bytes) {
    const { holder, other, bits } = this.rule;
    const fact = (name, value) => [made("dt", { text: name }), made("dd", { text: value })];
    return made("details", {}, made("summary", { text: "For experts" }), made("dl", {},
      ...fact("Mechanism", this.task.mechanism.name),
      ...fact("Guarantee", `ε = ${this.task.mechanism.parameters.epsilon}, pure, for any two answers; checked on this device in whole numbers`),
      ...fact("Report", hex(bytes)),
      ...fact("Own answer", `${holder} of 2^${bits}`),
      ...fact("Each other", `${other} of 2^${bits}`),
      ...fact("Task document", `version ${this.task.version}, SHA-256 ${this.digest}`),
      ...fact("Signed by", this.task.key)));
  }

  // sending -----------------------------------------------------------------------------------------------------------

  async send(body) {
    this.waiting(body, "");
    const button = byId("send");
    button.disabled = true;
    button.textContent = "Sending…";
    const headers = { "Content-Type": "application/octet-stream" };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    try {
      const answer = await fetch(`/survey/v1/${this.task.id}/reports`, { method: "POST", body, headers, cache: "no-store", credentials: "omit" });
      if (answer.status === 401 || answer.status === 403) return this.waiting(body, "This invitation is not known. Open the link that you got.");
      if (!answer.ok) return this.waiting(body, "The server could not take it now. Nothing is lost.");
      const counts = await answer.json();
      const outcome = Object.keys(OUTCOMES).find((name) => counts[name] > 0) ?? "malformed";
      if (FINAL.includes(outcome)) {
        this.memory.settle(outcome);
        return this.receipt(this.memory.send);
      }
      return this.waiting(body, `${OUTCOMES[outcome][0]}. ${OUTCOMES[outcome][1]}`);
    } catch {
      return this.waiting(body, "There is no connection. Nothing is lost.");
    }
  }

  waiting(body, problem) {
    const send = made("button", { type: "button", class: "main", id: "send", text: problem ? "Send again" : "Send" });
    send.addEventListener("click", () => this.send(body));
    this.show(made("section", { class: "card" },
      made("h2", { text: "Not sent yet", tabindex: "-1" }),
      made("p", { class: "wrong", role: "alert", text: problem }),
      para("This is what leaves your device, now or later. It was rolled once, and is not rolled again."),
      this.said(uploadParts(body).report), made("div", { class: "row" }, send)),
    this.why(uploadParts(body).report));
  }

  receipt(known) {
    const { id, report: bytes } = uploadParts(unhex(known.body));
    const [title, words] = OUTCOMES[known.outcome];
    const fact = (name, value) => [made("dt", { text: name }), made("dd", { text: value })];
    this.show(made("section", { class: "card done" },
      made("h2", { text: title, tabindex: "-1" }), para(words),
      para("This is all that the server has, and all that this device still knows. Your true answer is kept nowhere."),
      this.said(bytes),
      made("dl", { class: "receipt" },
        ...fact("Sent", new Date(known.when).toLocaleString()),
        ...fact("Receipt", hex(id))),
      made("p", {}, made("a", { href: `/survey/${this.task.id}/results`, text: "See the results when they are out" }))),
    this.why(bytes));
  }
}

function stop(title, words, link) {
  const onward = link && made("p", {}, made("a", { href: `${location.pathname}/results`, text: link }));
  byId("stage").replaceChildren(made("section", { class: "card" }, made("h2", { text: title }), para(words), onward));
}

const digestOf = async (text) => hex(await sha256(new TextEncoder().encode(text)));

// Why nobody should answer on this device, in two texts; null if nothing speaks against it.
function obstacle(task, rule, state, token, phase) {
  if (state === "bad") {
    return ["Do not answer", "The signature of this survey does not hold: somebody may have changed the question or its terms."];
  }
  if (!keeps(rule, task.mechanism.parameters.epsilon) || task.domain.length !== rule.choices) {
    return ["Do not answer", "The dice of this page hide less than the survey promises."];
  }
  if (phase === "early") return ["Not open yet", "Come back when it opens."];
  if (phase === "late") return ["This survey is over", "Nothing can be sent any more.", "See the results"];
  if (task.invited && !token) {
    return ["By invitation", "This survey is for people who were invited. Open it with the whole link that you got."];
  }
  return null;
}

async function begin() {
  const [task, dice] = [given("task"), given("dice")];
  if (!globalThis.crypto?.subtle) {
    return stop("This connection is not secure", "The page could be changed on its way to you. Open it through https.");
  }
  if (!Memory.works()) {
    return stop("This window remembers nothing",
      "Without memory a second visit would roll the dice again, and two rolls hide less than one. Use a window that is not private.");
  }
  const [rule, state, token] = [law(dice), await signature(task), invitation(task.id)];
  const digest = await digestOf(canonical(task));
  const asked = await digestOf(ASKED + canonical({ question: task.question, domain: task.domain, mechanism: task.mechanism }));
  const who = token ? (await digestOf(token)).slice(0, 32) : "open";
  const memory = new Memory({ survey: task.id, asked, digest, who });
  const wrong = obstacle(task, rule, state, token, dice.phase);
  if (wrong && !(memory.send?.outcome && state !== "bad")) return stop(...wrong);
  byId("question").textContent = task.question;
  byId("trust").textContent = TRUST[state];
  return new Survey(task, rule, digest, memory, token).start();
}

if (byId("stage")) begin();
