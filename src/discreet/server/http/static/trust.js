// Who asks: whether a task document is signed by its key, and whether that is the key that this device knows.

import { canonical, unhex } from "./report.js";

const SIGNED = "discreet-task\0"; // before the text under a signature
const HANDED = "discreet-key\0";

// The first example of RFC 8032, 7.1. A browser that finds it genuine can check signatures, and then has no excuse.
const EXAMPLE = {
  key: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
  signature:
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
};

async function genuine(key, signature, text) {
  if (!/^[0-9a-f]{64}$/.test(key) || !/^[0-9a-f]{128}$/.test(signature)) return false;
  try {
    const known = await crypto.subtle.importKey("raw", unhex(key), "Ed25519", false, ["verify"]);
    return await crypto.subtle.verify("Ed25519", known, unhex(signature), new TextEncoder().encode(text));
  } catch {
    return false;
  }
}

// "good", "bad", or "unknown" where this browser checks no signature at all.
export async function signature(task) {
  if (!(await genuine(EXAMPLE.key, EXAMPLE.signature, ""))) return "unknown";
  const { signature: signed, ...said } = task;
  return (await genuine(task.key, signed, SIGNED + canonical(said))) ? "good" : "bad";
}

// Those handovers that their old keys signed.
export async function handedOver(handovers) {
  const held = await Promise.all(handovers.map(({ signature: signed, ...said }) => genuine(said.old, signed, HANDED + canonical(said))));
  return handovers.filter((_, place) => held[place]);
}

// The keys that a device trusts once it has seen a document signed with `key`, the oldest first; null if a stranger
// signed it. `keys` are those of before, null at the first visit; `last` signed what was seen of this survey before.
//
// Only the present key, the last one, introduces a next. What an earlier key signed is still good, but a survey never
// goes back to an earlier key than it had. At the first visit all is taken as it is told, earlier keys as well: later
// nobody can add one, for an old key is not known by the new one's signature.
export function walked(keys, last, key, handovers) {
  const known = onward(keys ?? [...earlier(key, handovers), key], handovers);
  const place = known.indexOf(key);
  return place < 0 || place < known.indexOf(last) ? null : known;
}

function onward(keys, handovers) {
  const next = handovers.find((each) => each.old === keys.at(-1) && !keys.includes(each.new));
  return next ? onward([...keys, next.new], handovers) : keys;
}

function earlier(key, handovers, later = [key]) {
  const before = handovers.find((each) => each.new === key && !later.includes(each.old));
  return before ? [...earlier(before.old, handovers, [...later, before.old]), before.old] : [];
}
