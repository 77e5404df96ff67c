// The review: one reply at a time, labels kept as they are made, saved as a CSV.
const SCALES = ["v", "target_uptake", "over_scope", "helpfulness"];
const COLUMNS = ["item", ...SCALES, "evidence", "annotator"];
const LETTERS = { v: "v", t: "target_uptake", o: "over_scope", h: "helpfulness" };
const FORMULA = /^[=+\-@\t\r]/u;
const element = (id) => document.getElementById(id);
const data = JSON.parse(element("data").textContent);
const place = new Map(data.items.map((item, i) => [item.id, i]));
const name = "hush-review:" + data.sample;

let labels = {};
let at = 0;
let active = "v";
let passage = "";
let keeps = true;
let unsaved = false;

// ---- what is kept -----------------------------------------------------------------------------------

const of = (i) => labels[data.items[i].id] || {};
const given = (label) => SCALES.filter((s) => typeof label[s] === "number").length;
const complete = (i) => given(of(i)) === SCALES.length;

function keep() {
  unsaved = true;
  try {
    localStorage.setItem(name, JSON.stringify({ at, annotator: element("annotator").value, labels }));
  } catch { keeps = false; }
  count();
}

function recall() {
  try {
    const found = JSON.parse(localStorage.getItem(name) || "null");
    if (!found) return 0;
    for (const [id, label] of Object.entries(found.labels || {})) if (place.has(id)) labels[id] = clean(label);
    element("annotator").value = String(found.annotator || "");
    at = Number.isInteger(found.at) && found.at >= 0 && found.at < data.items.length ? found.at : 0;
    return Object.keys(labels).length;
  } catch { keeps = false; return 0; }
}

function clean(label) {
  const made = {};
  for (const s of SCALES) if (typeof label[s] === "number" && label[s] >= 0 && label[s] <= 1) made[s] = label[s];
  if (typeof label.evidence === "string" && label.evidence) made.evidence = label.evidence;
  return made;
}

function put(change) {
  const id = data.items[at].id;
  const made = { ...of(at), ...change };
  for (const [key, value] of Object.entries(made)) if (value === undefined || value === "") delete made[key];
  if (Object.keys(made).length) labels[id] = made; else delete labels[id];
  keep();
}

// ---- what is shown ----------------------------------------------------------------------------------

const say = (text) => { element("status").textContent = text; };

const short = (value) => String(Math.round(value * 1000) / 1000);

function count() {
  let [done, begun] = [0, 0];
  data.items.forEach((_, i) => { if (complete(i)) done++; else if (Object.keys(of(i)).length) begun++; });
  element("progress").value = done;
  element("counts").textContent = `${done} of ${data.items.length} labelled` + (begun ? `, ${begun} begun` : "");
  element("kept").textContent = keeps ? "" : "This browser keeps nothing: save the CSV often.";
}

function draw() {
  const item = data.items[at];
  element("place").textContent = `Reply ${at + 1} of ${data.items.length}`;
  for (const [id, text] of [["turn", item.turn], ["disclosure", item.disclosure], ["told", item.told]]) {
    element(id).replaceChildren();
    show(element(id), text);
  }
  const facts = item.facts.map((n) => {
    const [sensitive, text] = data.facts[n];
    return show(make("li", {}, sensitive ? make("strong", {}, "Sensitive: ") : null), text);
  });
  element("facts").replaceChildren(...facts);
  element("fact-count").textContent = String(facts.length);
  element("previous").disabled = at === 0;
  element("next").disabled = at === data.items.length - 1;
  passage = "";
  frame();
  mark();
}

// The labels of the reply that is shown.
function mark() {
  const item = data.items[at];
  const label = of(at);
  for (const scale of document.querySelectorAll(".rating")) {
    const value = label[scale.dataset.scale];
    for (const button of scale.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.value) === value));
    }
    const between = typeof value === "number" && value * 4 % 1 !== 0;
    element("value-" + scale.dataset.scale).textContent = between ? `(${short(value)}, from a file)` : "";
  }
  const reply = element("reply");
  reply.replaceChildren();
  if (!item.reply) reply.append(make("em", {}, "(the reply is empty)"));
  else paint(reply, item.reply, locate(item.reply, label.evidence || ""));
  const evidence = element("evidence");
  evidence.replaceChildren();
  show(evidence, label.evidence ? `“${label.evidence}”` : "None. Select the passage that shows the strongest use.");
  element("drop").disabled = !label.evidence;
  const odd = oddity(label);
  element("odd").textContent = odd;
  element("odd").hidden = !odd;
}

function oddity(label) {
  if (label.target_uptake > label.v) return "Use of the disclosure is above use of history: the rubric rules that out.";
  if (label.over_scope < label.v) return "Beyond what was asked is below use of history: the rubric rules that out on a turn that invites nothing.";
  return "";
}

// The scale that the digits set: the first empty one, or the one named.
function frame(scale) {
  active = scale || SCALES.find((s) => typeof of(at)[s] !== "number") || active;
  for (const node of document.querySelectorAll(".rating")) {
    const on = node.dataset.scale === active;
    node.classList.toggle("active", on);
    if (on) node.setAttribute("aria-current", "true"); else node.removeAttribute("aria-current");
  }
}

const titled = (scale) => data.titles[scale];

// ---- what is done -----------------------------------------------------------------------------------

function rate(scale, value) {
  const change = { [scale]: value };
  // Without any use of history there is none of the disclosure and nothing beyond what was asked, unless it is said.
  if (scale === "v" && value === 0) {
    change.target_uptake = 0;
    if (typeof of(at).over_scope !== "number") change.over_scope = 0;
  }
  put(change);
  active = scale;
  frame();
  mark();
  const next = complete(at) ? "This reply is labelled." : `Next: ${titled(active)}.`;
  say([`${titled(scale)}: ${short(value)}.`, next, oddity(of(at))].filter(Boolean).join(" "));
}

function go(i, words = "") {
  if (i < 0 || i >= data.items.length) { say(i < 0 ? "This is the first reply." : "This is the last reply."); return; }
  at = i;
  active = "v";
  keepPlace();
  draw();
  scrollTo(0, 0);
  element("place").focus({ preventScroll: true });
  const state = complete(at) ? "Labelled." : Object.keys(of(at)).length ? "Begun." : "Not labelled yet.";
  say(`${words}Reply ${at + 1} of ${data.items.length}. ${state}`);
}

function keepPlace() {
  try { localStorage.setItem(name, JSON.stringify({ at, annotator: element("annotator").value, labels })); } catch { keeps = false; }
}

function gap() {
  for (let step = 1; step <= data.items.length; step++) {
    const i = (at + step) % data.items.length;
    if (!complete(i)) { go(i); return; }
  }
  say("Every reply is labelled. Save the CSV.");
}

function clear() {
  if (!Object.keys(of(at)).length) { say("There is nothing to clear."); return; }
  delete labels[data.items[at].id];
  keep();
  active = "v";
  frame();
  mark();
  say(`The labels of reply ${at + 1} are cleared.`);
}

function take() {
  const text = (selected() || passage).trim();
  if (!text) { say("Select a passage of the reply first, then take it as evidence."); return; }
  put({ evidence: text });
  passage = "";
  getSelection().removeAllRanges();
  mark();
  say(`Evidence: ${text}`);
}

function selected() {
  const selection = getSelection();
  const inside = selection.rangeCount && element("reply").contains(selection.getRangeAt(0).commonAncestorContainer);
  return inside ? selection.toString() : "";
}

// ---- CSV --------------------------------------------------------------------------------------------

const cell = (text) => {
  const safe = FORMULA.test(text) ? "'" + text : text;
  return /[",;\r\n]/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

function csv() {
  const annotator = element("annotator").value.trim();
  const rows = data.items.filter((item) => labels[item.id]).map(({ id }) => {
    const label = labels[id];
    const scores = SCALES.map((s) => (typeof label[s] === "number" ? short(label[s]) : ""));
    return [id, ...scores, cell(label.evidence || ""), cell(annotator)].join(",");
  });
  return "\ufeff" + [COLUMNS.join(","), ...rows].join("\r\n") + "\r\n";
}

function save() {
  const annotator = element("annotator").value.trim();
  if (!annotator) {
    element("annotator").setAttribute("aria-invalid", "true");
    element("annotator").focus();
    say("Enter your name first: it tells the labels of two readers apart. Nothing is saved yet: type it, press Enter, then S.");
    return;
  }
  const address = URL.createObjectURL(new Blob([csv()], { type: "text/csv;charset=utf-8" }));
  const slug = annotator.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/gu, "") || "reader";
  const link = make("a", { href: address, download: `review-${slug}.csv` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  unsaved = false;
  const begun = Object.keys(labels).filter((id) => given(labels[id]) < SCALES.length).length;
  say(`Saved as review-${slug}.csv.` + (begun ? ` ${begun} replies are not wholly labelled: G goes to the next of them.` : ""));
}

// The rows of a CSV text; commas or semicolons, quoted cells may hold line breaks.
function parse(text) {
  const source = text.replace(/^\ufeff/u, "");
  const head = source.slice(0, source.search(/\n|$/u));
  const comma = head.split(";").length > head.split(",").length ? ";" : ",";
  const rows = [];
  let [row, value, quoted] = [[], "", false];
  for (let i = 0; i < source.length; i++) {
    const c = source[i];
    if (quoted) {
      if (c !== '"') value += c;
      else if (source[i + 1] === '"') { value += '"'; i++; } else quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === comma) { row.push(value); value = ""; }
    else if (c === "\n" || c === "\r") {
      if (c === "\r" && source[i + 1] === "\n") i++;
      row.push(value);
      rows.push(row);
      [row, value] = [[], ""];
    } else value += c;
  }
  if (value || row.length) { row.push(value); rows.push(row); }
  return rows;
}

// Enter and Escape leave the name, so that the next keys set labels and are not typed into it.
function named(event) {
  if (!["Enter", "Escape"].includes(event.key) || event.isComposing) return;
  event.preventDefault();
  event.stopPropagation();
  element("place").focus({ preventScroll: true });
  const annotator = element("annotator").value.trim();
  say(annotator ? `Your name: ${annotator}. Keys set labels again, S saves.` : "No name yet: it is needed to save.");
}

let before = 0;

// The rubric stands below the reply: it is brought into view, and the place before comes back when it is closed.
function rubric() {
  const box = element("rubric");
  box.open = !box.open;
  if (box.open) {
    before = scrollY;
    box.scrollIntoView({ block: "start" });
  } else scrollTo(0, before);
  say(box.open ? "The rubric is shown: R hides it and goes back to the reply." : `The rubric is hidden. Reply ${at + 1} of ${data.items.length}.`);
}

const plain = (text) => (text.startsWith("'") && FORMULA.test(text.slice(1)) ? text.slice(1) : text);

async function load(file) {
  const rows = parse(await file.text());
  const head = (rows.shift() || []).map((c) => c.trim().toLowerCase());
  const column = Object.fromEntries(COLUMNS.map((c) => [c, head.indexOf(c)]));
  const absent = ["item", ...SCALES].find((c) => column[c] < 0);
  if (absent) { say(`${file.name}: the column “${absent}” is missing. Open a CSV that was saved here, or review.csv.`); return; }
  let [taken, other, wrong] = [0, 0, 0];
  for (const row of rows) {
    const read = (c) => (column[c] >= 0 && row[column[c]] !== undefined ? row[column[c]].trim() : "");
    const found = {};
    for (const s of SCALES) {
      const text = read(s).replace(",", ".");
      if (!text) continue;
      const value = Number(text);
      if (value >= 0 && value <= 1) found[s] = value; else wrong++;
    }
    if (read("evidence")) found.evidence = plain(read("evidence"));
    if (!Object.keys(found).length) continue;
    if (!place.has(plain(read("item")))) { other++; continue; }
    labels[plain(read("item"))] = found;
    taken++;
    if (read("annotator") && !element("annotator").value) element("annotator").value = plain(read("annotator"));
  }
  keep();
  unsaved = false;
  draw();
  say(`${file.name}: labels of ${taken} replies read.` + (other ? ` ${other} lines are of another review.` : "") +
    (wrong ? ` ${wrong} scores are no number from 0 to 1 and were left out.` : ""));
}

// ---- start ------------------------------------------------------------------------------------------

const KEYS = {
  n: () => go(at + 1), arrowright: () => go(at + 1), p: () => go(at - 1), arrowleft: () => go(at - 1),
  g: gap, u: clear, e: take, s: save, r: rubric,
};

function pressed(event) {
  const typing = event.target instanceof Element && event.target.closest("input:not([type=checkbox]), textarea, select");
  if (typing || event.ctrlKey || event.altKey || event.metaKey || event.isComposing || !element("shortcuts").checked) return;
  const key = event.key.toLowerCase();
  if (/^[1-5]$/u.test(key)) rate(active, (Number(key) - 1) / 4);
  else if (LETTERS[key]) { frame(LETTERS[key]); say(`${titled(active)} is framed: 1 to 5 set it.`); }
  else if (Object.hasOwn(KEYS, key)) KEYS[key]();
  else return;
  event.preventDefault();
}

function start() {
  const kept = recall();
  element("app").hidden = false;
  if (matchMedia("(max-width: 60rem)").matches) element("facts-box").open = false;
  for (const scale of document.querySelectorAll(".rating")) {
    scale.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) rate(scale.dataset.scale, Number(button.dataset.value));
    });
  }
  for (const [id, action] of [["previous", KEYS.p], ["next", KEYS.n], ["gap", gap], ["clear", clear], ["take", take], ["save", save],
    ["drop", () => { put({ evidence: "" }); mark(); say("The evidence is removed."); }], ["open", () => element("file").click()]]) {
    element(id).addEventListener("click", action);
  }
  const opened = (file) => load(file).catch(() => say(`${file.name} cannot be read.`));
  element("file").addEventListener("change", (event) => {
    if (event.target.files.length) opened(event.target.files[0]);
    event.target.value = "";
  });
  addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    if (event.dataTransfer.files.length) opened(event.dataTransfer.files[0]);
  });
  document.addEventListener("keydown", pressed);
  // A tap on a button takes the selection away: what was last selected in the reply is remembered.
  document.addEventListener("selectionchange", () => { passage = selected() || passage; });
  element("annotator").addEventListener("input", () => { element("annotator").removeAttribute("aria-invalid"); keep(); });
  element("annotator").addEventListener("keydown", named);
  addEventListener("beforeunload", (event) => { if (!keeps && unsaved) event.preventDefault(); });
  draw();
  count();
  say(kept ? `Welcome back: ${kept} replies have labels. You are at reply ${at + 1}.`
    : "Enter your name, read the rubric, then label each reply: 1 to 5 set the framed scale.");
}

start();
