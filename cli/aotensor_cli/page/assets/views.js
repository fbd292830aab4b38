// Views other than texts and the graph: loops, remarks, pictures, what the file holds.

/** Text in which `names` between backticks stand out. */
function marked(text) {
  return text.split('`').map((part, n) => (n % 2 ? make('code', {}, part) : part));
}

/** Seconds as text: three digits of microseconds. */
const micro = (seconds) => `${Number((seconds * 1e6).toPrecision(3))} µs`;

class LoopsView {
  constructor() {
    Object.assign(this, { name: 'tree', closed: new Set(), chosen: null, hits: [] });
    this.tree = make('div', { class: 'tree', role: 'tree', tabindex: '0', 'aria-label': 'loops, with their share of the estimated time' });
    this.element = make('div', { class: 'body' }, this.tree);
    this.tree.addEventListener('keydown', (event) => this.pressed(event));
    this.load();
  }

  load() {
    this.data = DATA.loops[state.name];
    this.closed.clear();
    this.chosen = null;
    if (!this.data) return this.tree.replaceChildren(make('p', { class: 'none' }, 'No loops: ' + (DATA.absent.loops ?? 'this function has none.')));
    const total = this.data.seconds[state.set] || 1;
    const visit = (node, id, depth) => {
      node.id = id; node.depth = depth;
      if (node.kind === 'loop' && node.body.length && node.seconds[state.set] / total < 0.01) this.closed.add(id);
      node.body.forEach((x, n) => visit(x, `${id}.${n}`, depth + 1));
    };
    this.data.nodes.forEach((x, n) => visit(x, `${n}`, 0));
    this.draw();
  }

  visible() {
    const found = [];
    const visit = (node) => { found.push(node); if (!this.closed.has(node.id)) node.body.forEach(visit); };
    this.data?.nodes.forEach(visit);
    return found;
  }

  draw() {
    if (!this.data) return;
    const total = this.data.seconds[state.set] || 1, measured = this.data.measured?.[state.set];
    this.scale = measured ? measured / total : 1;
    const says = measured ? 'measured. Bars show how it divides by the estimate that' : 'by the estimate that';
    const rest = measured ? '' : ' Bars show where;';
    const head = make('p', { class: 'none' }, `${state.name} takes ${measured ? '' : 'about '}${micro(measured || this.data.seconds[state.set])} on one core at ${DATA.sizes[state.set] ?? ''}, ${says} the compiler divides work among cores with.${rest} × is the number of iterations. ⟨…⟩ is a value as the model writes it.`);
    this.tree.replaceChildren(head, ...this.visible().map((node) => this.row(node, node.seconds[state.set] / total)));
  }

  row(node, share) {
    const bar = make('i');
    bar.style.width = `${100 * share}%`;
    bar.style.opacity = 0.2 + 0.6 * share;
    const key = node.line ? keyOf(node.file, node.line) : '';
    const trips = node.kind === 'loop' ? [`× ${node.trips[state.set] ?? 'unknown'}`] : [];
    const how = [...trips, ...node.how];
    const folds = node.body.length > 0, isClosed = this.closed.has(node.id);
    const names = ['node', node.kind, key && key === state.key && 'picked', node === this.chosen && 'chosen', this.matches(node) && 'found'];
    const row = make('div', { class: names.filter(Boolean).join(' '), role: 'treeitem', 'aria-level': node.depth + 1, 'aria-expanded': folds ? String(!isClosed) : null, 'data-id': node.id, title: node.value || null },
      make('span', { class: 'share', title: micro(node.seconds[state.set] * this.scale) }, make('span', { class: 'track' }, bar), make('b', {}, percent(share))),
      make('span', { class: 'fold' }, folds ? (isClosed ? '▸' : '▾') : ''),
      make('span', { class: 'what' }, ...node.text.map((x) => make('div', { class: 'first' }, x)), how.length ? make('div', { class: 'how' }, ...how.map((x) => make('span', {}, x))) : null),
      make('span', { class: 'where' }, node.line ? `${node.line}` : ''));
    row.style.paddingLeft = '4px';
    row.children[1].style.marginLeft = `${node.depth * 16}px`;
    row.addEventListener('click', (event) => { if (event.target.closest('.fold') && folds) this.toggle(node); else this.choose(node); });
    return row;
  }

  matches(node) { return isFound(node.text.join('\n')) || isFound(node.value); }

  toggle(node) {
    if (!this.closed.delete(node.id)) this.closed.add(node.id);
    this.draw();
  }

  choose(node) {
    this.chosen = node;
    if (node.line) state.pick(keyOf(node.file, node.line), this, { at: node.at, value: node.value });
    else this.draw();
  }

  pressed(event) {
    const rows = this.visible(), here = rows.indexOf(this.chosen);
    const next = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (next !== undefined) this.chosen = rows[Math.min(Math.max(next, 0), rows.length - 1)];
    else if (event.key === 'ArrowLeft' && this.chosen) this.closed.add(this.chosen.id);
    else if (event.key === 'ArrowRight' && this.chosen) this.closed.delete(this.chosen.id);
    else if (event.key === 'Enter' && this.chosen) this.choose(this.chosen);
    else if (event.key === 'n' || event.key === 'N') return this.step(event.key === 'n' ? 1 : -1);
    else return;
    event.preventDefault();
    this.draw();
    this.reveal(this.chosen);
  }

  reveal(node) {
    if (node) this.tree.querySelector(`[data-id="${node.id}"]`)?.scrollIntoView({ block: 'nearest' });
  }

  pick(change) {
    if (!this.data) return 0;
    const all = [], visit = (node) => { all.push(node); node.body.forEach(visit); };
    this.data.nodes.forEach(visit);
    const found = all.filter((node) => node.line && keyOf(node.file, node.line) === state.key);
    if (change.origin !== this) {
      this.chosen = found.reduce((most, node) => (node.kind !== 'loop' && (!most || node.seconds[state.set] > most.seconds[state.set]) ? node : most), null) ?? found[0] ?? null;
      if (this.chosen) for (const node of all) if (this.chosen.id.startsWith(`${node.id}.`)) this.closed.delete(node.id);
    }
    this.draw();
    if (change.origin !== this) this.reveal(this.chosen);
    return found.length;
  }

  search() {
    const all = [], visit = (node) => { all.push(node); node.body.forEach(visit); };
    this.data?.nodes.forEach(visit);
    this.hits = state.query ? all.filter((node) => this.matches(node)) : [];
    for (const hit of this.hits) for (const node of all) if (hit.id.startsWith(`${node.id}.`)) this.closed.delete(node.id);
    this.draw();
    return this.hits.length;
  }

  step(direction) {
    if (!this.hits.length) return;
    this.chosen = this.hits[(this.hits.indexOf(this.chosen) + direction + this.hits.length) % this.hits.length];
    this.draw();
    this.reveal(this.chosen);
  }
}

class RemarksView {
  constructor(tools) {
    Object.assign(this, { name: 'remarks', kind: '', pass: '', only: true });
    this.element = make('div', { class: 'body', tabindex: '0', 'aria-label': 'remarks' });
    this.kinds = ['missed', 'applied', 'analysis'].map((kind) => make('button', { 'aria-pressed': 'false', 'data-kind': kind, onclick: () => { this.kind = this.kind === kind ? '' : kind; this.draw(); } }, kind));
    this.passes = make('select', { 'aria-label': 'pass', onchange: () => { this.pass = this.passes.value; this.draw(); } }, make('option', { value: '' }, 'every pass'));
    for (const pass of [...new Set(DATA.remarks.map((x) => x.pass))]) this.passes.append(make('option', { value: pass }, pass));
    this.all = make('button', { 'aria-pressed': 'false', onclick: () => { this.only = !this.only; this.draw(); } }, 'all lines');
    this.count = make('span', { class: 'count' });
    tools.append(...this.kinds, this.passes, this.all, this.count);
    this.load();
  }

  load() { this.draw(); }

  /** Those that are wanted, what is about the chosen value first, then what was not done. */
  wanted() {
    const mine = DATA.remarks.filter((x) => (!x.function || x.function === state.name) && (!this.kind || x.kind === this.kind) && (!this.pass || x.pass === this.pass));
    const here = state.key && this.only ? mine.filter((x) => x.line && keyOf(x.file, x.line) === state.key) : mine;
    const rank = (x) => (this.isNear(x) ? 0 : 2) + (x.kind === 'missed' ? 0 : 1);
    return here.map((x, n) => [x, n]).sort((a, b) => rank(a[0]) - rank(b[0]) || a[1] - b[1]).map(([x]) => x);
  }

  isNear(x) { return state.value !== '' && (x.value === state.value || x.message.includes('`' + state.value + '`')); }

  draw() {
    const wanted = this.wanted();
    for (const button of this.kinds) button.setAttribute('aria-pressed', String(button.dataset.kind === this.kind));
    this.all.setAttribute('aria-pressed', String(!this.only));
    this.count.textContent = state.key && this.only ? `${wanted.length} at ${state.key}` : `${wanted.length}`;
    this.shown = wanted;
    const rows = wanted.slice(0, 1500).map((x) => {
      const sizes = [x.bytes && `${x.bytes} bytes`, x.flops && `${x.flops} flops`, x.count > 1 && `${x.count} alike at this line`].filter(Boolean).join('; ');
      const classes = ['remark', this.isNear(x) && 'near', this.matches(x) && 'found'].filter(Boolean).join(' ');
      return make('div', { class: classes, tabindex: '0', role: 'button', onclick: () => this.choose(x), onkeydown: (event) => { if (event.key === 'Enter') this.choose(x); } },
        make('span', { class: `kind ${x.kind}` }, x.kind),
        make('div', {}, make('p', {}, ...marked(x.message)), x.hint ? make('p', { class: 'hint' }, 'to allow it: ', ...marked(x.hint)) : null, make('span', { class: 'source' }, [x.pass, x.line ? keyOf(x.file, x.line) : '', sizes].filter(Boolean).join('  ·  '))));
    });
    if (wanted.length > rows.length) rows.push(make('p', { class: 'none' }, `${wanted.length - rows.length} more: choose a line, a pass, or search`));
    this.element.replaceChildren(...(rows.length ? rows : [make('p', { class: 'none' }, DATA.remarks.length ? 'No such remark here.' : 'There are no remarks in this file.')]));
  }

  matches(x) { return isFound(x.message) || isFound(x.hint ?? '') || isFound(x.pass); }

  choose(x) { if (x.line) state.pick(keyOf(x.file, x.line), this, { value: x.value }); }

  pick(change) {
    if (change.origin !== this) { this.draw(); this.element.scrollTop = 0; }
    return this.wanted().length;
  }

  search() {
    this.draw();
    this.element.querySelector('.found')?.scrollIntoView({ block: 'nearest' });
    return state.query ? DATA.remarks.filter((x) => this.matches(x)).length : 0;
  }

  step() { this.element.querySelector('.found')?.scrollIntoView({ block: 'nearest' }); }
}

class PictureView {
  constructor(kind) {
    this.name = this.kind = kind;
    this.element = make('div', { class: 'body picture', tabindex: '0', 'aria-label': kind });
    this.element.addEventListener('click', (event) => this.choose(event.target.closest('.linked')));
    this.element.addEventListener('keydown', (event) => { if (event.key === 'Enter') this.choose(document.activeElement.closest('.linked')); });
    this.load();
  }

  load() {
    const found = document.querySelectorAll(`template[data-picture="${this.kind}"]`);
    const one = found[Math.min(state.set, found.length - 1)];
    this.element.replaceChildren(one ? one.content.cloneNode(true) : make('p', { class: 'none' }, DATA.absent[this.kind] ?? 'There is nothing to draw.'));
    this.pick({});
  }

  choose(part) { if (part) state.pick(keyOf(part.dataset.file, part.dataset.line), this); }

  pick() {
    let count = 0;
    for (const part of this.element.querySelectorAll('.linked')) {
      const isPicked = keyOf(part.dataset.file, part.dataset.line) === state.key;
      part.classList.toggle('picked', isPicked);
      count += isPicked;
    }
    return count;
  }

  search() { return 0; }
  step() {}
}

class AboutView {
  constructor() {
    this.name = 'about';
    this.element = make('div', { class: 'body about', tabindex: '0', 'aria-label': 'what the file holds' });
    this.load();
  }

  load() {
    const table = (rows) => make('table', {}, ...rows.map(([key, text]) => make('tr', {}, make('th', {}, key), make('td', {}, text))));
    const most = Math.max(...DATA.parts.map(([, size]) => size), 1);
    const parts = DATA.parts.map(([name, size]) => {
      const meter = make('span', { class: 'meter' });
      meter.style.width = `${Math.max((160 * size) / most, 1)}px`;
      return make('tr', {}, make('th', {}, name), make('td', { class: 'r' }, bytesText(size)), make('td', {}, meter));
    });
    const passes = DATA.passes.map((x) => make('tr', {}, make('th', {}, x.name), make('td', { class: 'r' }, x.before === x.after ? `${x.before}` : `${x.before} → ${x.after}`), make('td', { class: 'r' }, x.seconds === undefined ? '' : `${(1e3 * x.seconds).toFixed(1)} ms`)));
    this.element.replaceChildren(
      make('h3', {}, DATA.kind === 'library' ? 'This library' : 'What the model becomes'), table(DATA.facts),
      ...DATA.functions.flatMap((f) => [make('h3', {}, f.signature), table(f.rows)]),
      make('h3', {}, 'Sizes of parts'), make('table', {}, ...parts),
      make('h3', {}, 'Passes: operations, and time'), make('table', {}, ...passes));
  }

  pick() { return 0; }
  search() { return 0; }
  step() {}
}
