// The data of the page: an index that is read at once, and pieces of text that are unpacked when they are asked for.
async function unpack(id) {
  const text = document.getElementById(id).textContent;
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

class Store {
  static async open() {
    const store = new Store();
    Object.assign(store, await unpack("index"));
    store.size = store.columns.kind.length;
    store.kept = new Map();
    store.places = null;
    return store;
  }

  // What the run beside this one is called, and this one.
  get there() { return this.other.name || "the " + this.other.role; }
  get here() { return this.other.here || "this run"; }

  // One value of one case: a name of a list, or a number.
  name(list, i) { return this.lists[list][this.columns[list][i]]; }
  number(column, i) { return this.columns[column][i]; }

  id(i) {
    const repeat = this.number("repeat", i);
    const tail = (this.number("kind", i) === 2 ? "-invited" : "") + (repeat ? "-r" + repeat : "");
    return `${this.name("model", i)}-${this.name("condition", i)}-${this.name("probe", i)}${tail}`;
  }

  // The case with this id, or -1. The table is made when it is first needed.
  find(id) {
    if (!this.places) this.places = new Map(Array.from({ length: this.size }, (_, i) => [this.id(i), i]));
    return this.places.get(id) ?? -1;
  }

  // Cases of the same probe, as places, this one among them.
  siblings(i) {
    const probe = this.number("probe", i);
    const found = [];
    // Cases are ordered by persona and probe: siblings stand side by side.
    for (let k = i; k >= 0 && this.columns.probe[k] === probe; k--) found.unshift(k);
    for (let k = i + 1; k < this.size && this.columns.probe[k] === probe; k++) found.push(k);
    return found;
  }

  change(i) {
    const [now, then] = [this.number("v", i), this.number("other_v", i)];
    return this.number("paired", i) && now >= 0 && then >= 0 ? now - then : null;
  }

  // A piece, kept for a while: the last ones stay unpacked.
  async piece(n) {
    if (this.kept.has(n)) {
      const found = this.kept.get(n);
      this.kept.delete(n);
      this.kept.set(n, found);
      return found;
    }
    const found = unpack("piece-" + n);
    this.kept.set(n, found);
    if (this.kept.size > 24) this.kept.delete(this.kept.keys().next().value);
    return found;
  }

  async texts(i) {
    const place = this.pieces.find(([start, count]) => i >= start && i < start + count);
    const shared = await this.piece(this.shared[this.columns.persona[i]]);
    const rows = await this.piece(place[2]);
    return { row: rows[i - place[0]], shared };
  }

  // Every case whose id or texts hold all of `wanted` (lower case), piece by piece. `report` gets the matches so far
  // and the share searched; it returns false to stop.
  async search(wanted, report) {
    const hits = new Uint8Array(this.size);
    const holds = (text) => wanted.every((w) => text.includes(w));
    if (!this.texts_are) {
      for (let i = 0; i < this.size; i++) hits[i] = holds(this.id(i).toLowerCase()) ? 1 : 0;
      report(hits, 1);
      return;
    }
    for (const [n, [start, count, piece]] of this.pieces.entries()) {
      const shared = await this.piece(this.shared[this.columns.persona[start]]);
      const rows = await unpack("piece-" + piece);
      for (let k = 0; k < count; k++) {
        const i = start + k;
        const [reply, , error, notes, , , judged] = rows[k];
        const asked = shared.asked[this.asked(i)] || "";
        const told = judged.flatMap((j) => [j[5], j[6]]);
        hits[i] = holds([this.id(i), asked, reply, error, ...notes, ...told].join("\n").toLowerCase()) ? 1 : 0;
      }
      if (report(hits, (n + 1) / this.pieces.length) === false) return;
    }
  }

  asked(i) { return this.name("probe", i) + (this.number("kind", i) === 2 ? "+" : ""); }
}
