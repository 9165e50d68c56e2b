// What the page shows: elements made of texts, which are never read as HTML.

import { limitOf, part, read } from "./limit.js";
import { bestGuess, fraction, hex, outOf100, saidBy } from "./report.js";

export const byId = (id) => document.getElementById(id);

// An element with a text or with children.
export function made(name, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  element.append(...children.filter(Boolean));
  return element;
}

export const para = (text, kind) => made("p", kind ? { text, class: kind } : { text });

export const heading = (text) => made("h2", { text, tabindex: "-1" });

export function button(text, done, kind = "main") {
  const found = made("button", { type: "button", class: kind, text });
  found.addEventListener("click", done);
  return found;
}

// A list of names and what they are.
export const facts = (pairs, kind = "facts") =>
  made("dl", { class: kind }, ...pairs.flatMap(([name, value]) => [made("dt", { text: name }), made("dd", { text: value })]));

// Whatever somebody wrote, in its own direction: Hebrew from the right, and nothing around it is turned.
const own = (name, text, kind) => made(name, { text, dir: "auto", ...(kind && { class: kind }) });

// The form. `done` gets the number of the answer.
export function form(task, rule, done) {
  const choices = task.domain.map((label, value) => {
    const input = made("input", { type: "radio", name: "answer", id: `answer-${value}`, value });
    return made("label", { class: "choice", for: input.id }, input, own("span", label));
  });
  const wrong = made("p", { class: "wrong", role: "alert" });
  const found = made("form", { class: "card", id: "form", autocomplete: "off" },
    made("fieldset", { "aria-describedby": "question" }, made("legend", { text: "Your true answer", tabindex: "-1" }), ...choices),
    para(odds(rule)),
    para("You see what was sent right after. The dice are cast once and what they show is sent, whatever it is: " +
      "to look first and then decide would give you away.", "muted"),
    wrong,
    made("button", { type: "submit", class: "main", text: "Roll the dice and send" }));
  found.addEventListener("submit", (event) => {
    event.preventDefault();
    const answer = new FormData(found).get("answer");
    if (answer !== null) return done(Number(answer));
    wrong.textContent = "Choose an answer first.";
    return found.querySelector("input").focus();
  });
  return found;
}

function odds({ kind, holder, other, all }) {
  if (kind === "set") {
    return "This device tosses a coin for every answer, and sends a yes or no to each: a yes to yours in " +
      `${outOf100(holder, all)} cases, and to any other in ${outOf100(other, all)}. Answer truthfully: the coins do the hiding.`;
  }
  return `Dice on this device decide what is sent: your answer in ${outOf100(holder, all)} cases, each other one in ` +
    `${outOf100(other, all)}. Answer truthfully: the dice do the hiding.`;
}

// What a report says.
export function said(task, rule, bytes) {
  const values = saidBy(rule, bytes);
  if (rule.kind === "one") return made("p", { class: "said", id: "said", dir: "auto", text: task.domain[values[0]] });
  const items = task.domain.map((label, v) => {
    const word = values.includes(v) ? "yes" : "no";
    return made("li", { class: word }, own("span", label), made("strong", { text: word }));
  });
  return made("ul", { class: "said-set", id: "said" }, ...items);
}

// Why nobody can be sure what somebody answered who sent this.
export function why(task, rule, bytes, digest) {
  const { kind, holder, other, all } = rule;
  const values = saidBy(rule, bytes);
  const reasons = kind === "one" ? [
    para(`Whoever reads “${task.domain[values[0]]}” cannot tell why it was sent. Of 100 people with each true answer, ` +
      "this many send the same:"),
    bars(task.domain.map((label, v) => [label, v === values[0] ? holder : other]), all),
  ] : [
    para(`A “yes” comes from ${outOf100(holder, all)} people whose answer it is, and from ${outOf100(other, all)} of ` +
      "all others."),
  ];
  const guess = bestGuess(rule);
  return made("section", { class: "card" }, heading("Why nobody can be sure"), ...reasons,
    para("Somebody who wavers between two answers of yours, one as likely as the other, guesses right in at most " +
      `${guess} of 100 cases after reading it, whatever they know or find out later. A coin would be right in 50.`),
    experts(task, rule, bytes, digest));
}

function bars(rows, all) {
  const most = rows.reduce((high, [, part]) => (part > high ? part : high), 0n);
  const items = rows.map(([label, part]) => {
    const meter = made("span", { class: "meter", "aria-hidden": "true" }, made("span", {}));
    meter.firstChild.style.width = `${Number((part * 1000n) / most) / 10}%`;
    return made("li", {}, own("span", label, "of"), meter, made("span", { class: "often", text: outOf100(part, all) }));
  });
  return made("ul", { class: "bars" }, ...items);
}

function experts(task, { holder, other, bits }, bytes, digest) {
  const { name, parameters } = task.mechanism;
  return made("details", {}, made("summary", { text: "For experts" }), facts([
    ["Mechanism", name],
    ["Guarantee", `ε = ${parameters.epsilon}, pure, for any two answers; checked on this device in whole numbers`],
    ["Report", hex(bytes)],
    ["Own answer", `${holder} of 2^${bits}`],
    ["Each other", `${other} of 2^${bits}`],
    ["Task document", `version ${task.version}, SHA-256 ${digest}`],
    ["Signed by", task.key],
  ]));
}

// How much of its owner this device gave away here, of the most that it may. `chosen` gets another limit.
export function gauge({ spent, limit, price, full }, chosen) {
  const most = read(fraction(limit));
  const meter = made("meter", {
    min: 0, max: 1, value: part(spent, limit), "aria-label": "Privacy price so far", "aria-valuetext": `${read(spent)} of at most ${most}`,
  });
  const more = price === null ? "" : ` This question takes ${read(fraction(price))}.`;
  const field = made("input", { id: "limit", inputmode: "decimal", autocomplete: "off", value: most });
  const wrong = made("p", { class: "wrong", role: "alert" });
  const choose = () => {
    const found = limitOf(field.value);
    if (found !== null) return chosen(found);
    wrong.textContent = "A limit is a number above 0 and below 1000, as in 5 or 2.5.";
    return field.focus();
  };
  field.addEventListener("keydown", (event) => event.key === "Enter" && choose());
  const set = made("div", { class: "limit" }, made("label", { for: "limit", text: "At most" }), field,
    button("Set the limit", choose, "plain"));
  const change = made("details", full ? { open: "" } : {}, made("summary", { text: "Change the limit" }),
    para("A higher limit lets those who ask here learn more about you, for good: what was sent cannot be taken back."), set, wrong);
  return made("section", { class: "card" }, heading("What you gave away here"), meter,
    para(`Privacy price ${read(spent)} of at most ${most}.${more}`, "after"),
    para("Answers hide less together than one by one. This device adds up what all surveys here asked, whatever they call " +
      "their questions, and sends nothing beyond your limit.", "muted"), change);
}
