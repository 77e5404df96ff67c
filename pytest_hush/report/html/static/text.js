// Text of others on the page: only ever as text nodes, with what cannot be seen made visible.
const PICTURE = "[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f]";
// Joiners and selectors within an emoji are no disguise and stay.
const HIDDEN = new RegExp("[^\\P{C}\\n\\t\\u200d]|(?<!" + PICTURE + ")\\u200d|\\u200d(?!\\p{Extended_Pictographic})" +
  "|(?<!\\p{Emoji})\\ufe0f|[\\p{Zl}\\p{Zp}\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u2800\\u3164\\uffa0\\ufe00-\\ufe0e\\u180b-\\u180f\\u{e0000}-\\u{e0fff}]", "gu");

// An element with text and children. Attributes are set by name; nothing is ever parsed as markup.
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  for (const child of children) {
    if (child != null && child !== false) node.append(child.nodeType ? child : document.createTextNode(String(child)));
  }
  return node;
}

// `text` appended to `parent`: control, bidirectional and zero-width characters as a box with their number.
function show(parent, text) {
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > from) parent.append(text.slice(from, found.index));
    const code = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    parent.append(make("span", { class: "esc", title: "a character that cannot be seen" }, "U+" + code));
    from = found.index + found[0].length;
  }
  if (from < text.length) parent.append(text.slice(from));
  return parent;
}

// `text` with ranges of it in elements: [{from, to, tag, class}], which may overlap.
function paint(parent, text, ranges) {
  const cuts = [...new Set([0, text.length, ...ranges.flatMap((r) => [r.from, r.to])])].sort((a, b) => a - b);
  for (let i = 0; i + 1 < cuts.length; i++) {
    const [from, to] = [cuts[i], cuts[i + 1]];
    let target = parent;
    for (const r of ranges) {
      if (r.from <= from && to <= r.to) {
        const inner = make(r.tag, { class: r.class });
        target.append(inner);
        target = inner;
      }
    }
    show(target, text.slice(from, to));
  }
  return parent;
}

// Where the evidence stands in the reply: as it is, else letter for letter without regard to blanks and case.
function locate(reply, evidence) {
  if (!evidence.trim()) return [];
  const at = reply.indexOf(evidence);
  if (at >= 0) return [{ from: at, to: at + evidence.length, tag: "mark" }];
  const places = [];
  let folded = "";
  for (let i = 0; i < reply.length; i++) {
    if (/\S/u.test(reply[i])) {
      const lower = reply[i].toLowerCase();
      folded += lower;
      for (let k = 0; k < lower.length; k++) places.push(i);
    }
  }
  const wanted = evidence.replace(/\s+/gu, "").toLowerCase();
  const start = folded.indexOf(wanted);
  return start < 0 ? [] : [{ from: places[start], to: places[start + wanted.length - 1] + 1, tag: "mark" }];
}

// The words of `now` that `then` lacks, and the other way round, as ranges. Long texts are left unmarked.
function compare(then, now) {
  const [a, b] = [words(then), words(now)];
  if (a.length * b.length > 4e6) return { then: [], now: [] };
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let k = b.length - 1; k >= 0; k--) {
      table[i * width + k] = a[i].word === b[k].word
        ? table[(i + 1) * width + k + 1] + 1
        : Math.max(table[(i + 1) * width + k], table[i * width + k + 1]);
    }
  }
  const [gone, added] = [[], []];
  let [i, k] = [0, 0];
  while (i < a.length || k < b.length) {
    if (i < a.length && k < b.length && a[i].word === b[k].word) { i++; k++; continue; }
    const drop = k >= b.length || (i < a.length && table[(i + 1) * width + k] >= table[i * width + k + 1]);
    if (drop) grow(gone, a[i++], "gone"); else grow(added, b[k++], "new");
  }
  return { then: gone, now: added };
}

function words(text) {
  return [...text.matchAll(/\S+/gu)].map((m) => ({ word: m[0], from: m.index, to: m.index + m[0].length }));
}

function grow(ranges, word, name) {
  const last = ranges[ranges.length - 1];
  if (last && word.from - last.to <= 1) last.to = word.to;
  else ranges.push({ from: word.from, to: word.to, tag: "span", class: name });
}
