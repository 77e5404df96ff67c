// The list: which cases are shown, in which order, and only those rows that can be seen.
const HEIGHT = 56;
const FLAGS = ["no", "yes", "unknown"];
const KINDS = ["probe", "positive control", "invited probe"];

// Filters by list name, and those that are computed: label, choices, and what a case gives.
function choices(store) {
  const found = [];
  for (const name of ["condition", "model", "family", "persona", "category", "strength", "status"]) {
    const names = store.lists[name];
    const shown = names.map((n, i) => [String(i), n.replaceAll("_", " ")]).filter(([, n]) => n);
    if (shown.length > 1) found.push({ name, label: name, options: shown, of: (i) => String(store.columns[name][i]) });
  }
  const scores = [["used", "something used (v above 0)"], ["silent", "silent (v = 0)"], ["none", "no score"]];
  const score = (i) => (store.number("v", i) > 0 ? "used" : store.number("v", i) === 0 ? "silent" : "none");
  found.push({ name: "score", label: "score", options: scores, of: score });
  const exposures = [["exact", "planted session shown"], ["residue", "residue shown"], ["ambient", "other sensitive turn shown"], ["no", "nothing sensitive shown"], ["unknown", "unknown"]];
  found.push({ name: "exposure", label: "exposure", options: exposures, of: (i) => exposed(store, i) });
  const kinds = KINDS.map((k, n) => [String(n), k]).filter(([n]) => store.columns.kind.includes(Number(n)));
  if (kinds.length > 1) found.push({ name: "kind", label: "kind", options: kinds, of: (i) => String(store.number("kind", i)) });
  if (store.other) {
    const changes = [["worse", "worse"], ["better", "better"], ["same", "same score"], ["new", "without a twin"]];
    const of = (i) => { const c = store.change(i); return c == null ? "new" : c > 0 ? "worse" : c < 0 ? "better" : "same"; };
    found.push({ name: "change", label: "beside " + store.there, options: changes, of });
  }
  return found;
}

function exposed(store, i) {
  for (const name of ["exact", "residue", "ambient"]) if (store.number(name, i) === 1) return name;
  return store.number("exact", i) === 2 ? "unknown" : "no";
}

function orders(store) {
  const by = (column) => (a, b) => store.number(column, b) - store.number(column, a);
  const worst = (a, b) => by("v")(a, b) || by("uptake")(a, b) || by("scope")(a, b) || a - b;
  const changed = (sign) => (a, b) => {
    const [x, y] = [store.change(a), store.change(b)];
    if (x == null || y == null) return (x == null) - (y == null) || worst(a, b);
    return sign * (y - x) || worst(a, b);
  };
  const found = [["worst", "worst first", worst]];
  if (store.other) {
    const size = (i) => { const c = store.change(i); return c == null ? -1 : Math.abs(c); };
    const largest = ["change", "largest change first", (a, b) => size(b) - size(a) || worst(a, b)];
    // Where the page is about the change of two runs, the largest one stands first.
    if (store.other.name) found.unshift(largest); else found.push(largest);
    found.push(["worse", `worse than ${store.there} first`, changed(1)]);
    found.push(["better", `better than ${store.there} first`, changed(-1)]);
  }
  found.push(["plan", "persona and probe", (a, b) => a - b]);
  found.push(["scope", "over-scope", (a, b) => by("scope")(a, b) || a - b]);
  found.push(["help", "least helpful", (a, b) => least(store, a) - least(store, b) || a - b]);
  found.push(["ms", "slowest", (a, b) => by("ms")(a, b) || a - b]);
  found.push(["micro", "dearest", (a, b) => by("micro")(a, b) || a - b]);
  return found;
}

function least(store, i) {
  const value = store.number("help", i);
  return value < 0 ? 1e6 : value;
}

function score(value) { return value < 0 ? "–" : (value / 1000).toFixed(2); }

class List {
  constructor(store, node, rows, choose) {
    Object.assign(this, { store, node, rows, choose, order: [], at: -1, drawn: new Map() });
    node.addEventListener("scroll", () => this.draw(), { passive: true });
    node.addEventListener("keydown", (event) => this.key(event));
    rows.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.move(Number(row.dataset.at), true);
    });
    new ResizeObserver(() => this.draw()).observe(node);
  }

  fill(order, chosen) {
    this.order = order;
    this.at = chosen < 0 ? -1 : order.indexOf(chosen);
    this.rows.replaceChildren();
    this.drawn.clear();
    this.rows.style.height = `${order.length * HEIGHT}px`;
    this.node.scrollTop = 0;
    this.draw();
  }

  mark(chosen) {
    const before = this.at;
    this.at = this.order.indexOf(chosen);
    if (this.at >= 0) this.reveal();
    for (const at of [before, this.at]) this.drawn.get(at)?.setAttribute("aria-selected", String(at === this.at));
    this.draw();
  }

  reveal() {
    const [top, view] = [this.at * HEIGHT, this.node.clientHeight];
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (top + HEIGHT > this.node.scrollTop + view) this.node.scrollTop = top + HEIGHT - view;
  }

  draw() {
    const first = Math.max(0, Math.floor(this.node.scrollTop / HEIGHT) - 6);
    const last = Math.min(this.order.length, Math.ceil((this.node.scrollTop + this.node.clientHeight) / HEIGHT) + 6);
    for (const [at, row] of this.drawn) {
      if ((at < first || at >= last) && at !== this.at) { row.remove(); this.drawn.delete(at); }
    }
    const wanted = this.at >= 0 && this.at < this.order.length ? [this.at] : [];
    for (let at = first; at < last; at++) wanted.push(at);
    for (const at of wanted) {
      if (!this.drawn.has(at)) { const row = this.row(at); this.drawn.set(at, row); this.rows.append(row); }
    }
    if (this.at >= 0) this.node.setAttribute("aria-activedescendant", "row-" + this.at);
    else this.node.removeAttribute("aria-activedescendant");
  }

  row(at) {
    const { store } = this;
    const i = this.order[at];
    const v = store.number("v", i);
    const change = store.change(i);
    const status = store.name("status", i);
    const parts = [store.name("condition", i)];
    if (store.lists.model.length > 1) parts.push(store.name("model", i));
    parts.push((store.name("family", i) || KINDS[store.number("kind", i)]).replaceAll("_", " "));
    if (store.number("exact", i) === 1) parts.push("exposed");
    if (status !== "ok") parts.push(status);
    const moved = change ? `${change > 0 ? "+" : "−"}${(Math.abs(change) / 1000).toFixed(2)}` : "";
    const tone = v > 500 ? "v2" : v > 0 ? "v1" : "v0";
    const tail = (store.number("kind", i) === 2 ? " invited" : "") + (store.number("repeat", i) ? ` repeat ${store.number("repeat", i)}` : "");
    const row = make("div", { class: "row", role: "option", id: "row-" + at, "data-at": at, "aria-selected": String(at === this.at), "aria-posinset": at + 1, "aria-setsize": this.order.length },
      make("span", { class: "v " + tone, "aria-label": v < 0 ? "no score" : "v " + score(v) }, score(v)),
      make("span", {}, show(make("span", {}), store.name("probe", i) + tail),
        moved && make("b", { class: change > 0 ? "worse" : "better", title: `beside ${store.there}` }, moved)),
      show(make("span", { class: "sub" }), parts.join(" · ")));
    row.style.top = `${at * HEIGHT}px`;
    return row;
  }

  move(at, show) {
    const to = Math.min(this.order.length - 1, Math.max(0, at));
    if (this.order.length) this.choose(this.order[to], show);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.node.clientHeight / HEIGHT) - 1);
    const steps = { ArrowDown: this.at + 1, ArrowUp: this.at - 1, PageDown: this.at + page, PageUp: this.at - page, Home: 0, End: this.order.length - 1 };
    if (event.key in steps && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      this.move(steps[event.key], false);
    } else if (event.key === "Enter" && this.at >= 0) {
      event.preventDefault();
      this.move(this.at, true);
    }
  }
}
