// How a text becomes a report by RAPPOR: pure functions of the task document, of a secret of this device, and of coins.
// The same secret and the same text always give the same permanent response; only the coins of a report are new.

import { fraction } from "./report.js";

const WORD = 8; // bytes of a coin
const LANES = 8; // numbers of 32 bits in a SHA-256
const NONE = new Uint8Array();

const ascii = (text) => new TextEncoder().encode(text);
const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
const four = (number) => new Uint8Array(Uint32Array.of(number).buffer); // little end first, as every browser's is
const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
const digits = (number) => number.toString(2).length * (number > 0); // of n: how many bits name the numbers up to n
const gcd = (a, b) => (b ? gcd(b, a % b) : a);

async function hmac(key, bytes) {
  const known = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", known, bytes));
}

// A text as it is counted: without blanks around it, with one form of each letter.
export const counted = (text) => text.trim().normalize("NFC");

// What the permanent response depends on, as the package writes it.
function shape({ size, hashes, cohorts, flipped, all }) {
  const shared = gcd(flipped, all);
  return `{"bits": ${size}, "cohorts": ${cohorts}, "flipped": "${flipped / shared}/${all / shared}", "hashes": ${hashes}, "key": 0}`;
}

// Where a text has its bits, in one cohort.
export async function filter({ size, hashes }, text, cohort) {
  const bits = new Uint8Array(size);
  const digest = await sha256(joined(ascii("discreet-text-1"), new Uint8Array(16), ascii(text)));
  for (let i = cohort * hashes; i < (cohort + 1) * hashes; i += 1) bits[await cell(digest, i, size)] = 1;
  return bits;
}

async function cell(digest, i, size) {
  for (let attempt = 0; ; attempt += 1) { // every cell is equally likely: no remainder is taken
    const hashed = await sha256(joined(digest, four(Math.floor(i / LANES)), four(attempt)));
    const lane = new DataView(hashed.buffer).getUint32(4 * (i % LANES), true);
    const found = Math.floor(lane / 2 ** (32 - digits(size - 1)));
    if (found < size) return found;
  }
}

// What this device tells of a text for good: its cohort, the filter with the bits that are flipped once and for all, and
// a name of the text that only this device can make.
export async function permanent(rule, secret, text) {
  const key = await hmac(secret, ascii(shape(rule)));
  const cohort = await cohortOf(rule, key);
  const kept = await filter(rule, text, cohort);
  const block = Math.floor(32 / WORD);
  for (let first = 0; first < rule.size; first += block) {
    const view = new DataView((await hmac(key, joined(four(first / block), ascii("text:"), ascii(text)))).buffer);
    for (let i = first; i < Math.min(rule.size, first + block); i += 1) {
      if (view.getBigUint64(WORD * (i - first), true) < rule.flipped) kept[i] ^= 1;
    }
  }
  return { cohort, kept, tag: await hmac(key, joined(ascii("name:"), ascii(text))) };
}

async function cohortOf({ cohorts }, key) {
  for (let block = 0; ; block += 1) {
    const bytes = await hmac(key, joined(four(block), ascii("cohort"), NONE));
    const drawn = new DataView(bytes.buffer).getUint32(28, true); // the highest of its 256 bits
    const found = Math.floor(drawn / 2 ** (32 - digits(cohorts - 1)));
    if (found < cohorts) return found;
  }
}

// How many random bytes one report takes.
export const coinsFor = ({ size }) => WORD * size;

// One report: every bit of the permanent response is told through a coin of its own.
export function instant({ size, cohorts, quiet, loud }, { cohort, kept }, coins) {
  const head = cohorts <= 256 ? 1 : 2;
  const bytes = new Uint8Array(head + Math.ceil(size / 8));
  for (let i = 0; i < head; i += 1) bytes[i] = (cohort >> (8 * i)) & 255;
  const view = new DataView(coins.buffer, coins.byteOffset);
  kept.forEach((bit, i) => {
    if (view.getBigUint64(WORD * i, true) < (bit ? loud : quiet)) bytes[head + (i >> 3)] |= 1 << i % 8;
  });
  return bytes;
}

// Whether the page's filter is that of the task that was signed.
export function agrees({ size, hashes, cohorts, quiet, loud, all }, parameters) {
  const same = ([top, bottom], part) => top * all === part * bottom;
  return size === parameters.bits && hashes === parameters.hashes && cohorts === parameters.cohorts && !parameters.key &&
    same(fraction(parameters.quiet), quiet) && same(fraction(parameters.loud), loud);
}
