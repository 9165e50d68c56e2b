// How much of its owner this device gives away to those who ask here: privacy prices in whole numbers, added up exactly.

import { fraction } from "./report.js";

export const USUAL = "5"; // of an owner who says nothing: few questions at the usual prices of 1 or 2, and not many
const WRITTEN = /^\d{1,3}(?:[.,]\d{1,3})?$/; // a limit as people write it

const plus = ([top, bottom], [more, under]) => [top * under + more * bottom, bottom * under];
const below = ([top, bottom], [other, under]) => top * under <= other * bottom;

// The sum of prices such as "1/2" and "0.5".
export const added = (prices) => prices.map(fraction).reduce(plus, [0n, 1n]);

// Whether one price more stays within the limit.
export const fits = (prices, price, limit) => below(added([...prices, price]), fraction(limit));

// A sum as people read it: with at most three digits after the point, rounded up.
export function read([top, bottom]) {
  const thousandths = (1000n * top + bottom - 1n) / bottom;
  const digits = String(thousandths % 1000n).padStart(3, "0").replace(/0+$/, "");
  return `${thousandths / 1000n}${digits && "."}${digits}`;
}

// A part of the limit, from 0 to 1.
export function part([top, bottom], limit) {
  const [most, under] = fraction(limit);
  const thousandths = most === 0n ? 1000n : (1000n * top * under) / (bottom * most);
  return Number(thousandths > 1000n ? 1000n : thousandths) / 1000;
}

// What somebody wrote as a limit; null if it is none.
export function limitOf(text) {
  const found = text.trim();
  const plain = found.replace(",", ".");
  return WRITTEN.test(found) && fraction(plain)[0] > 0n ? plain : null;
}

// A text without what nobody sees: one form of each letter, small, with one blank between words.
export const seen = (text) =>
  text.normalize("NFKC").toLowerCase().normalize("NFKC").replace(/\p{Cf}/gu, "").replace(/[\s\p{Z}\p{Cc}]+/gu, " ").trim();
