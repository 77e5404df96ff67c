// One case: what was asked, what memory showed, what was said, how it scored, and its twin in another run.
const SHOWN = 4000;
const ENTRIES = 8;

function chip(text, hot) { return show(make("li", { class: hot ? "chip hot" : "chip" }), text); }
function heading(text) { return make("h4", {}, text); }

// A text with marked ranges; a long one is cut, with a button for the rest. `left` characters are not in the page.
function block(text, ranges = [], left = 0, name = "text") {
  const node = make("div", { class: name, dir: "auto" });
  const whole = () => paint(node, text, ranges);
  if (text.length <= SHOWN * 1.5) whole();
  else {
    const inside = ranges.filter((r) => r.from < SHOWN).map((r) => ({ ...r, to: Math.min(r.to, SHOWN) }));
    paint(node, text.slice(0, SHOWN), inside);
    const more = make("button", { type: "button" }, `Show all ${text.length.toLocaleString("en")} characters`);
    more.addEventListener("click", () => { node.replaceChildren(); whole(); more.remove(); });
    const box = make("div", {}, node, more);
    if (left) box.append(shortened(left));
    return box;
  }
  return left ? make("div", {}, node, shortened(left)) : node;
}

function shortened(left) {
  return make("p", { class: "fine" }, `${left.toLocaleString("en")} more characters are in the local records, not in this page.`);
}

function entry(e, flag) {
  const [id, text, left, sources, date] = e;
  const told = [];
  if (flag & 1) told.push("from the planted session");
  if (flag & 2) told.push("holds another sensitive turn");
  const from = sources === null ? "source not told" : "from " + (sources.join(", ") || "no session");
  const about = [date, id && "entry " + id, from, ...told].filter(Boolean).join(" · ");
  const kind = flag & 1 ? "text entry target" : flag & 2 ? "text entry near" : "text entry";
  return make("div", {}, block(text, [], left, kind), show(make("p", { class: "fine" }), about));
}

function entries(places, flags, shared) {
  const order = places.map((place, n) => [place, flags[n] || 0]);
  const box = make("div", {});
  const some = order.length <= ENTRIES ? order : [...order.filter(([, f]) => f), ...order.filter(([, f]) => !f)].slice(0, ENTRIES);
  for (const [place, flag] of some) box.append(entry(shared.entries[place], flag));
  if (some.length < order.length) {
    const more = make("button", { type: "button" }, `Show all ${order.length} entries in their order`);
    more.addEventListener("click", () => box.replaceChildren(...order.map(([p, f]) => entry(shared.entries[p], f))));
    box.append(more);
  }
  return box;
}

function judged(j, shared, disclosure) {
  const [judge, v, uptake, scope, help, evidence, rationale, used] = j;
  const box = make("div", {});
  box.append(make("ul", { class: "chips" },
    chip("v " + score(v), v > 0), chip("target uptake " + score(uptake), uptake > 0), chip("over-scope " + score(scope), scope > 0),
    chip("helpfulness " + score(help)), judge ? chip("judge " + judge) : null));
  if (used.length) {
    const told = used.map((u) => { const text = shared && shared.facts[u === "target" ? disclosure : u]; return text ? `${u}: ${text}` : u; });
    box.append(show(make("p", {}, make("strong", {}, "Used: ")), told.join(" · ")));
  }
  if (rationale) box.append(show(make("p", {}, make("strong", {}, "Rationale: ")), rationale));
  return box;
}

function evidenced(reply, judgements) {
  const ranges = [];
  const missing = [];
  for (const j of judgements) {
    if (!j[5].trim()) continue;
    const found = locate(reply, j[5]);
    if (found.length) ranges.push(...found); else missing.push(j[5]);
  }
  return { ranges, missing };
}

class Detail {
  constructor(store, node, back) { Object.assign(this, { store, node, back, shown: -1 }); }

  async show(i) {
    const { store } = this;
    this.shown = i;
    const id = store.id(i);
    const link = show(make("a", { href: "#case=" + encodeURIComponent(id) }), id);
    const back = make("button", { type: "button", class: "back" }, "Back to the list");
    back.addEventListener("click", this.back);
    const parts = [back, make("h3", {}, link), this.chips(i), this.siblings(i)];
    if (!store.texts_are) {
      parts.push(make("p", { class: "quiet" }, "Texts are left out of this page."));
      this.node.replaceChildren(...parts.filter(Boolean));
      return;
    }
    const { row, shared } = await store.texts(i);
    if (this.shown !== i) return;
    this.node.replaceChildren(...[...parts, ...this.texts(i, row, shared)].filter(Boolean));
  }

  chips(i) {
    const { store } = this;
    const change = store.change(i);
    const of = (name) => store.name(name, i).replaceAll("_", " ");
    const flags = store.number("kind", i) === 1 ? [] : ["exact", "residue", "ambient"].map((name) =>
      chip(`${name} exposure ${FLAGS[store.number(name, i)]}`, store.number(name, i) === 1));
    return make("ul", { class: "chips", "aria-label": "Scores and flags" },
      chip(of("status"), of("status") !== "ok"),
      chip("v " + score(store.number("v", i)), store.number("v", i) > 0),
      ...flags,
      change == null ? null : chip(`v in ${store.there} ${score(store.number("other_v", i))}`),
      of("family") && chip(of("family")), of("category") && chip(of("category")), of("strength") && chip(of("strength") + " lure"),
      chip(`${store.number("tokens_in", i)} + ${store.number("tokens_out", i)} tokens`), chip(`${(store.number("ms", i) / 1000).toFixed(2)} s`),
      store.number("attempts", i) > 1 && chip(`${store.number("attempts", i)} attempts`));
  }

  siblings(i) {
    const { store } = this;
    const others = store.siblings(i);
    if (others.length < 2) return null;
    const list = make("ul", { class: "chips", "aria-label": "The same probe elsewhere" });
    for (const k of others.slice(0, 60)) {
      const name = store.name("condition", k) + (store.lists.model.length > 1 ? " · " + store.name("model", k) : "") +
        (store.number("kind", k) === 2 ? " · invited" : "") + (store.number("repeat", k) ? " · repeat " + store.number("repeat", k) : "");
      const text = `${name} ${score(store.number("v", k))}`;
      if (k === i) list.append(make("li", { class: "chip" }, show(make("strong", {}), text)));
      else list.append(make("li", { class: "chip" }, show(make("a", { href: "#case=" + encodeURIComponent(store.id(k)) }), text)));
    }
    return make("div", {}, make("p", { class: "fine" }, "The same probe elsewhere:"), list);
  }

  texts(i, row, shared) {
    const { store } = this;
    const [reply, left, error, notes, places, flags, judgements, other] = row;
    const asked = shared.asked[store.asked(i)];
    const parts = [heading("Asked")];
    parts.push(asked === undefined ? make("p", { class: "quiet" }, "Not known here: records keep no probe text. Give the pack with --pack.") : block(asked));
    parts.push(heading(places.length === 1 ? "What memory showed: one entry" : `What memory showed: ${places.length || "no"} entries`));
    if (places.length) parts.push(entries(places, flags, shared));
    else if (store.name("condition", i) !== "none" && store.number("exact", i) === 2) parts.push(make("p", { class: "quiet" }, "Unknown: the condition shows no context."));
    const { ranges, missing } = evidenced(reply, judgements);
    parts.push(heading("Said"));
    parts.push(reply ? block(reply, ranges, left) : left ? shortened(left) : make("p", { class: "quiet" }, "Nothing."));
    if (error) parts.push(heading("Error"), block(error));
    for (const [n, j] of judgements.entries()) {
      parts.push(heading(n ? "Judged again" : "Judged"), judged(j, shared, store.name("disclosure", i)));
    }
    for (const text of missing) parts.push(make("p", { class: "fine" }, left ? "Evidence beyond what this page holds:" : "Evidence that is no passage of the reply:"), block(text));
    for (const note of notes) parts.push(show(make("p", { class: "fine" }, "Note: "), note));
    if (other) parts.push(...this.beside(i, row, shared, other));
    return parts;
  }

  beside(i, row, shared, other) {
    const { store } = this;
    const [reply, left] = row;
    const [theirs, more, places, before] = other;
    const { there, here } = store;
    const parts = [heading(`Beside ${there}`)];
    const change = store.change(i);
    const moved = change == null ? "" : change > 0 ? `Worse by ${score(change)}. ` : change < 0 ? `Better by ${score(-change)}. ` : "The score is the same. ";
    if (!store.other.texts) return [...parts, make("p", {}, moved + `${there[0].toUpperCase()}${there.slice(1)} was saved as scores: its replies are not at hand, so only scores are compared.`)];
    if (theirs === null) return [...parts, make("p", {}, moved + "The reply is the same, letter for letter.")];
    const marks = compare(theirs, reply);
    const then = make("div", {}, make("p", { class: "fine" }, `${there}: v ${score(store.number("other_v", i))}`), block(theirs, marks.then, more), before[0] ? judged(before[0], shared, store.name("disclosure", i)) : null);
    const now = make("div", {}, make("p", { class: "fine" }, `${here}: v ${score(store.number("v", i))}`), block(reply, marks.now, left));
    parts.push(make("p", {}, moved), make("div", { class: "two" }, then, now));
    const same = places.length === row[4].length && places.every((p, n) => p === row[4][n]);
    if (same) parts.push(make("p", { class: "fine" }, "Memory showed the same entries."));
    else parts.push(make("details", {}, make("summary", {}, `What memory showed in ${there}: ${places.length || "no"} entries`), entries(places, [], shared)));
    return parts;
  }
}
