// Pure functions on text: word-by-word differences, code point offsets, names of terms.

const WORDS = /\s+|[\p{L}\p{N}\p{M}_]+(?:['’](?=[\p{L}\p{N}]))?|[^\s\p{L}\p{N}\p{M}_]/gu;
const MOST_CELLS = 4_000_000; // table of the longest common subsequence: above this a sentence is shown as replaced

/** Splits a text into words, spaces and punctuation marks; joined, they are the text. */
export function words(text) {
  return text.match(WORDS) ?? [];
}

/** Returns [["same" | "removed" | "added", text], ...] that turns one text into the other, word by word. */
export function difference(before, after) {
  const a = words(before);
  const b = words(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const middle = commonSubsequence(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const parts = [["same", a.slice(0, start).join("")], ...middle, ["same", a.slice(a.length - end).join("")]];
  return tidy(parts);
}

function commonSubsequence(a, b) {
  if (!a.length || !b.length || a.length * b.length > MOST_CELLS) {
    return [
      ["removed", a.join("")],
      ["added", b.join("")],
    ];
  }
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const parts = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      parts.push(["same", a[i++]]);
      j++;
    } else if (i < a.length && (j === b.length || lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) {
      parts.push(["removed", a[i++]]);
    } else parts.push(["added", b[j++]]);
  }
  return parts;
}

/** Joins neighbours of one kind, and changes that only a space separates, so that phrases read as phrases. */
function tidy(parts) {
  const joined = [];
  let run = { removed: "", added: "" };
  const flush = () => {
    for (const kind of ["removed", "added"]) if (run[kind]) joined.push([kind, run[kind]]);
    run = { removed: "", added: "" };
  };
  parts.forEach(([kind, text], place) => {
    if (!text) return;
    const changes = (each) => each && each[0] !== "same" && each[1].trim();
    const between = kind === "same" && !text.trim() && (run.removed || run.added) && changes(parts[place + 1]);
    if (between) {
      run.removed += text;
      run.added += text;
    } else if (kind === "same") {
      flush();
      const last = joined.at(-1);
      if (last?.[0] === "same") last[1] += text;
      else joined.push(["same", text]);
    } else run[kind] += text;
  });
  flush();
  return joined;
}

/** Converts an offset in code points (the server's) to UTF-16 units (the browser's). */
export function codeUnits(text, codePoints) {
  let units = 0;
  for (let i = 0; i < codePoints && units < text.length; i++) units += text.codePointAt(units) > 0xffff ? 2 : 1;
  return units;
}

/** Returns [start, end) of every place where a text contains a query, whatever its case and accents. */
export function occurrences(text, query) {
  const [wanted, places] = [folded(query), []];
  if (!wanted) return [];
  let all = "";
  const origin = []; // for each unit of the folded text, where it comes from
  for (let start = 0; start < text.length; ) {
    const char = String.fromCodePoint(text.codePointAt(start));
    const part = folded(char);
    for (let i = 0; i < part.length; i++) origin.push(start);
    all += part;
    start += char.length;
  }
  origin.push(text.length);
  for (let at = all.indexOf(wanted); at >= 0; at = all.indexOf(wanted, at + wanted.length)) {
    places.push([origin[at], origin[at + wanted.length]]);
  }
  return places;
}

/** Folds case and accents, for searching. */
export function folded(text) {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

/** Returns the commonest value; ties go to the first one. */
export function commonest(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "";
}
