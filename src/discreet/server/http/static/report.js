// How an answer becomes a report: pure functions of the task document, of coins, and of the answer. No page, no network.
// Numbers that carry the promise are BigInt; nothing here is a float.

const SCALE = 256n; // binary digits after the point while e^ε is bounded
const TERMS = 200n; // of its series: for ε ≤ 20 what is left out is below 2^-256

export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

const number = (bytes) => (bytes.length ? BigInt(`0x${hex(bytes)}`) : 0n);

// The law of a report as the page brings it, in whole numbers out of 2^bits.
export function law(dice) {
  if (dice.kind === "text") return textLaw(dice);
  const whole = { kind: dice.kind, bits: BigInt(dice.bits), choices: dice.choices };
  return { ...whole, holder: BigInt(dice.holder), other: BigInt(dice.other), all: 1n << BigInt(dice.bits) };
}

// Of a text: how likely a bit is flipped for good, and told as 1 if it is 0 (`quiet`) or 1 (`loud`).
function textLaw({ kind, bits, size, hashes, cohorts, flipped, quiet, loud }) {
  const coins = { flipped: BigInt(flipped), quiet: BigInt(quiet), loud: BigInt(loud), all: 1n << BigInt(bits) };
  return { kind, bits: BigInt(bits), choices: 0, size, hashes, cohorts, ...coins };
}

// Two texts differ in 2 · hashes bits at most: by which factor one makes a permanent response likelier than the other.
const apart = ({ hashes, flipped, all }) => [(all - flipped) ** BigInt(2 * hashes), flipped ** BigInt(2 * hashes)];

// A number not above e^ε · 2^SCALE. Every term is rounded down, and those left out are positive.
export function leastExp(epsilon) {
  const [top, bottom] = fraction(epsilon);
  let term = 1n << SCALE;
  let sum = term;
  for (let i = 1n; i <= TERMS; i += 1n) {
    term = (term * top) / (bottom * i);
    sum += term;
  }
  return sum;
}

// "0.5", "3/2" or "2" as two whole numbers.
export function fraction(text) {
  const found = /^(\d+)(?:\.(\d+)|\/(\d+))?$/.exec(String(text));
  if (!found) throw new Error("no number");
  const [, whole, digits, bottom] = found;
  if (bottom !== undefined) return [BigInt(whole), BigInt(bottom)];
  return [BigInt(whole + (digits ?? "")), 10n ** BigInt((digits ?? "").length)];
}

// Whether any two answers of a person make any report likely by factors of at most e^ε apart.
export function keeps(rule, epsilon) {
  if (rule.kind === "text") {
    const [top, bottom] = apart(rule);
    return 0n < rule.flipped && rule.quiet < rule.loud && top << SCALE <= leastExp(epsilon) * bottom;
  }
  const { kind, holder, other, all, choices } = rule;
  if (!(0n < other && other <= holder && holder < all)) return false;
  if (kind === "one") {
    return holder + BigInt(choices - 1) * other === all && holder << SCALE <= leastExp(epsilon) * other;
  }
  return (holder * (all - other)) << SCALE <= leastExp(epsilon) * other * (all - holder);
}

// In how many of 100 cases at most somebody guesses right which of two answers, one as likely as the other, made a
// report: r / (1 + r), rounded up, where r is the most by which one can make it likelier than the other.
export function bestGuess(rule) {
  const { kind, holder, other, all } = rule;
  const [top, bottom] = kind === "text" ? apart(rule) : kind === "one" ? [holder, other] : [holder * (all - other), other * (all - holder)];
  return Number((100n * top + top + bottom - 1n) / (top + bottom));
}

// So many in a hundred cases, in words.
export function outOf100(part, all) {
  if (100n * part < all) return "fewer than 1 of 100";
  if (100n * part > 99n * all) return part === all ? "100 of 100" : "more than 99 of 100";
  return `${(200n * part + all) / (2n * all)} of 100`;
}

// How many random bytes one report takes.
export function coinsNeeded(rule) {
  const each = Number((rule.bits + 7n) / 8n);
  return rule.kind === "one" ? each : each * rule.choices;
}

// Whether it is the number of one of the answers.
export const listed = (rule, answer) => Number.isInteger(answer) && 0 <= answer && answer < rule.choices;

// The report for an answer, given the coins: the same coins and the same answer always make the same report.
export function report(rule, coins, answer) {
  if (!listed(rule, answer)) throw new Error("no answer of this survey"); // nothing is rolled for another one
  return rule.kind === "one" ? oneOf(rule, coins, answer) : setOf(rule, coins, answer);
}

// One uniform number out of 2^bits, first byte highest. Below `holder` it tells the truth; the rest is cut into equal
// parts of `other`, one for each other answer. No draw is ever thrown away.
function oneOf({ bits, holder, other, all, choices }, coins, answer) {
  const drawn = number(coins) & (all - 1n);
  const step = drawn < holder ? 0 : 1 + Number((drawn - holder) / other);
  const said = (answer + step) % choices;
  const width = choices <= 1 << 8 ? 1 : choices <= 1 << 16 ? 2 : 4;
  return Uint8Array.from({ length: width }, (_, i) => Math.floor(said / 256 ** i) % 256);
}

// A coin for every answer: value v is bit v mod 8 of byte v div 8.
function setOf({ bits, holder, other, all, choices }, coins, answer) {
  const each = Number((bits + 7n) / 8n);
  const packed = new Uint8Array(Math.ceil(choices / 8));
  for (let v = 0; v < choices; v += 1) {
    const drawn = number(coins.subarray(v * each, (v + 1) * each)) & (all - 1n);
    if (drawn < (v === answer ? holder : other)) packed[v >> 3] |= 1 << v % 8;
  }
  return packed;
}

// Which answers a report says: exactly one, or any set of them.
export function saidBy(rule, bytes) {
  const values = Array.from({ length: rule.choices }, (_, v) => v);
  if (rule.kind === "set") return values.filter((v) => (bytes[v >> 3] >> v % 8) & 1);
  return [bytes.reduce((sum, byte, i) => sum + byte * 256 ** i, 0)];
}

// What is sent: a mark, the digest of the task document, how many reports, and each with an id of its own.
export function upload(digest, id, bytes) {
  const body = new Uint8Array(4 + 32 + 4 + 16 + bytes.length);
  body.set([0x44, 0x53, 0x52, 0x31]); // DSR1
  body.set(digest, 4);
  new DataView(body.buffer).setUint32(36, 1, true);
  body.set(id, 40);
  body.set(bytes, 56);
  return body;
}

export function uploadParts(body) {
  return { digest: body.slice(4, 36), id: body.slice(40, 56), report: body.slice(56) };
}

// The one text of a value: names sorted, no blanks, no fractions. All names in a task document are ASCII.
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const names = Object.keys(value).sort();
    return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
  }
  return JSON.stringify(value);
}
