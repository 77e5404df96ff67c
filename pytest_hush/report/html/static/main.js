// The page's start: open the data, bind filters and list, follow the address.
const element = (id) => document.getElementById(id);

const narrow = () => matchMedia("(max-width: 56rem)").matches;

async function start() {
  if (typeof DecompressionStream === "undefined") {
    trouble("This browser cannot unpack the cases (it needs DecompressionStream: Chrome or Edge 80, Firefox 113, Safari 16.4, or newer). " +
      "Everything else is complete; open the file in a newer browser, or use `hush show`.");
    return;
  }
  const store = await Store.open();
  if (!store.size) { trouble("This run holds no case."); return; }
  element("app").hidden = false;
  const filters = choices(store);
  const sorts = orders(store);
  for (const [name, label] of sorts) element("sort").append(make("option", { value: name }, label));
  for (const f of filters) {
    const select = make("select", { id: "f-" + f.name, name: f.name }, make("option", { value: "" }, "all"));
    for (const [value, label] of f.options) select.append(show(make("option", { value }), label));
    element("choices").append(make("label", {}, f.label[0].toUpperCase() + f.label.slice(1), select));
  }
  let hits = null;
  let share = 1;
  let run = 0;
  const choose = (i, enter) => {
    list.mark(i);
    history.replaceState(null, "", "#case=" + encodeURIComponent(store.id(i)));
    detail.show(i).then(() => { if (enter) look(); }).catch(failed);
  };
  const look = () => {
    element("detail").focus({ preventScroll: true });
    if (narrow()) element("detail").scrollIntoView({ block: "start" });
  };
  const list = new List(store, element("list"), element("rows"), choose);
  const detail = new Detail(store, element("detail"), () => { element("list").focus(); element("list").scrollIntoView({ block: "center" }); });

  function refresh() {
    const wanted = filters.map((f) => [f, element("f-" + f.name).value]).filter(([, value]) => value);
    const order = [];
    for (let i = 0; i < store.size; i++) {
      if ((!hits || hits[i]) && wanted.every(([f, value]) => f.of(i) === value)) order.push(i);
    }
    order.sort(sorts.find(([name]) => name === element("sort").value)[2]);
    list.fill(order, detail.shown);
    const searched = share < 1 ? `, ${Math.round(100 * share)} % searched` : "";
    element("count").textContent = `${order.length.toLocaleString("en")} of ${store.size.toLocaleString("en")} cases${searched}`;
  }

  let timer = 0;
  function search() {
    const mine = ++run;
    const wanted = element("query").value.toLowerCase().split(/\s+/u).filter(Boolean);
    if (!wanted.length) { hits = null; share = 1; refresh(); return; }
    let drawn = 0;
    store.search(wanted, (found, done) => {
      if (mine !== run) return false;
      [hits, share] = [found, done];
      if (done === 1 || performance.now() - drawn > 250) { refresh(); drawn = performance.now(); }
      return true;
    }).catch(failed);
  }

  function follow() {
    const named = /^#case=(.+)$/u.exec(location.hash);
    if (!named) return;
    let id = named[1];
    try { id = decodeURIComponent(id); } catch { /* a broken address is taken as it is */ }
    const i = store.find(id);
    if (i < 0) {
      element("detail").replaceChildren(show(make("p", { class: "alert" }, "There is no such case in this run: "), id));
    } else {
      list.mark(i);
      detail.show(i).then(() => { element("cases").scrollIntoView(); look(); }).catch(failed);
    }
  }

  element("filters").addEventListener("submit", (event) => event.preventDefault());
  element("filters").addEventListener("change", (event) => { if (event.target.id !== "query") refresh(); });
  element("filters").addEventListener("reset", () => setTimeout(search));
  element("query").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 200); });
  addEventListener("hashchange", follow);
  refresh();
  follow();
  // Beside a list on a wide page, an empty pane says nothing: the first case stands there.
  if (detail.shown < 0 && !location.hash && !narrow()) { list.mark(list.order[0]); await detail.show(list.order[0]); }
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

function trouble(text) {
  element("trouble").textContent = text;
  element("trouble").hidden = false;
}

function failed(error) {
  trouble("The cases cannot be shown: the page is damaged (" + (error && error.name) + "). Make it again with `hush report RUN`.");
}

addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
// A long page of a narrow window: what passed is counted, and opens on demand.
if (narrow()) for (const d of document.querySelectorAll("details.passed")) d.open = false;
start().catch(failed);
