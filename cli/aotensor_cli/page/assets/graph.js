// The graph: folded by function of the model or by line, zoomed and moved; only what is in sight is in the document.

const SVG = 'http://www.w3.org/2000/svg';

function shape(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

class GraphView {
  constructor(stage, tools) {
    Object.assign(this, { stage, name: 'graph', open: new Set(), at: -1, hits: [], view: { x: 0, y: 0, scale: 1 }, level: 'ops' });
    this.canvas = shape('svg', { id: 'graph-canvas' });
    this.detail = make('div', { id: 'graph-detail', 'aria-live': 'polite' });
    this.element = make('div', { class: 'body', tabindex: '0', role: 'application', 'aria-label': 'graph: arrows move from node to node, Enter chooses, f folds, + and - zoom' }, this.canvas, this.detail);
    this.levels = make('select', { 'aria-label': 'fold the graph by', onchange: () => this.fold(this.levels.value) });
    for (const [value, text] of [['ops', 'every op'], ['line', 'folded by line'], ['function', 'folded by function']]) this.levels.append(make('option', { value }, text));
    this.stages = make('select', { 'aria-label': 'stage of the graph', onchange: () => { this.stage = this.stages.value; this.load(); } });
    for (const stage of Object.keys(DATA.graphs)) this.stages.append(make('option', { value: stage }, stage));
    this.count = make('span', { class: 'count' });
    tools.append(this.stages, this.levels, make('button', { onclick: () => this.zoom(1.3) , title: 'nearer (+)' }, '+'), make('button', { onclick: () => this.zoom(1 / 1.3), title: 'farther (-)' }, '−'), make('button', { onclick: () => this.whole(), title: 'all of it (0)' }, 'fit'), this.count);
    this.listen();
    new ResizeObserver(() => { if (!this.fitted) this.whole(); else this.draw(); }).observe(this.element);
    this.load();
  }

  load() {
    this.nodes = DATA.graphs[this.stage]?.[state.name] ?? [];
    this.at = -1;
    this.open.clear();
    this.fold(this.nodes.length > 400 ? 'line' : 'ops');
  }

  /** The `def` of the model that a line stands in. */
  functionOf(node) {
    const source = DATA.sources.find((x) => x.name === node.file);
    const around = source?.functions.filter(([first, last]) => first <= node.line && node.line <= last) ?? [];
    return around.length ? `${node.file}: ${around.at(-1)[2]}` : node.line ? `${node.file}: top level` : null;
  }

  groupOf(node) {
    if (node.kind === 'input' || node.kind === 'output' || !node.line || this.level === 'ops') return null;
    const key = this.level === 'line' ? keyOf(node.file, node.line) : this.functionOf(node);
    return this.open.has(key) ? null : key;
  }

  fold(level) {
    if (level) { this.level = this.levels.value = level; this.open.clear(); }
    this.arrange();
    this.whole();
  }

  arrange() {
    this.boxes = folded(this.nodes, (node) => this.groupOf(node)).map((group) => {
      const first = this.nodes[group.members[0]];
      const many = group.members.length > 1;
      const label = many ? group.key : first.label;
      const below = many ? `${group.members.length} ops` : first.line ? keyOf(first.file, first.line) : first.detail;
      return { ...group, many, label: clip(label, 36), below: clip(below, 38), kind: many ? 'folded' : first.kind, keys: new Set(group.members.map((n) => this.keyAt(n))) };
    });
    this.widths = this.boxes.map((box) => Math.min(Math.max(box.label.length, box.below.length * 0.92, 6) * 6.7 + 18, 270));
    Object.assign(this, placed(this.boxes.map((box) => box.inputs), this.widths));
    this.at = Math.min(this.at, this.boxes.length - 1);
    this.bounds = this.boxes.reduce((b, _, n) => ({ left: Math.min(b.left, this.x[n] - this.widths[n] / 2), right: Math.max(b.right, this.x[n] + this.widths[n] / 2), bottom: Math.max(b.bottom, this.y[n] + BOX) }), { left: 0, right: 100, bottom: 60 });
    this.order = this.boxes.map((_, n) => n).sort((a, b) => this.y[a] - this.y[b]);
    this.count.textContent = `${this.boxes.length} of ${this.nodes.length} nodes`;
    this.search();
  }

  keyAt(n) { const node = this.nodes[n]; return node.line ? keyOf(node.file, node.line) : ''; }

  /** All of it in sight; of what is tall, the top at a size that can be read. */
  whole() {
    const { clientWidth: width, clientHeight: height } = this.element;
    this.fitted = width > 0;
    if (!width) return;
    const across = width / (this.bounds.right - this.bounds.left + 40), down = height / (this.bounds.bottom + 40);
    const scale = Math.min(Math.max(Math.min(across, down), 0.5), 1.2);
    const isAll = this.bounds.bottom * scale <= height && (this.bounds.right - this.bounds.left) * scale <= width;
    const middle = isAll || !this.order.length ? (this.bounds.left + this.bounds.right) / 2 : this.x[this.order[0]];
    this.view = { scale, x: middle - width / 2 / scale, y: this.order.length ? this.y[this.order[0]] - 20 : -20 };
    this.draw();
  }

  zoom(by, cx = this.element.clientWidth / 2, cy = this.element.clientHeight / 2) {
    const scale = Math.min(Math.max(this.view.scale * by, 0.01), 3);
    this.view.x += cx / this.view.scale - cx / scale;
    this.view.y += cy / this.view.scale - cy / scale;
    this.view.scale = scale;
    this.draw();
  }

  centre(n) {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (this.view.scale < 0.45) this.view.scale = 0.8;
    this.view.x = this.x[n] - width / 2 / this.view.scale;
    this.view.y = this.y[n] - height / 2 / this.view.scale;
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
  }

  paint() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !this.boxes) return;
    const { x: left, y: top, scale } = this.view;
    const [right, bottom] = [left + width / scale, top + height / scale];
    this.canvas.setAttribute('viewBox', `${left} ${top} ${width / scale} ${height / scale}`);
    const isIn = (n) => this.y[n] + BOX >= top - STEP && this.y[n] <= bottom + STEP && this.x[n] + this.widths[n] / 2 >= left && this.x[n] - this.widths[n] / 2 <= right;
    const share = shares(), total = (box) => { let sum = 0; for (const key of box.keys) sum += share.get(key) ?? 0; return Math.min(sum, 1); };
    let edges = '', near = '', far = '';
    const drawn = [];
    this.boxes.forEach((box, n) => {
      for (const k of box.inputs) {
        if (this.y[n] < top || this.y[k] > bottom) continue;
        const y = this.y[k] + BOX, middle = (y + this.y[n]) / 2;
        const line = `M${this.x[k]} ${y}C${this.x[k]} ${middle} ${this.x[n]} ${middle} ${this.x[n]} ${this.y[n]}`;
        if (n === this.at || k === this.at) near += line; else edges += line;
      }
      if (!isIn(n)) return;
      if (scale < 0.22 && n !== this.at && !box.keys.has(state.key)) far += `M${this.x[n] - this.widths[n] / 2} ${this.y[n]}h${this.widths[n]}v${BOX}h${-this.widths[n]}z`;
      else if (drawn.length < 1500) drawn.push(this.box(box, n, total(box)));
    });
    this.canvas.replaceChildren(shape('path', { class: 'edge', d: edges, 'stroke-width': Math.max(1, 0.6 / scale) }), shape('path', { class: 'edge near', d: near }), shape('path', { class: 'node-box', d: far, 'stroke-width': 0.6 / scale }), ...drawn);
    const box = this.boxes[this.at];
    this.detail.textContent = box ? (box.many ? `${box.label}: ${this.summary(box)}` : `${this.nodes[box.members[0]].label}: ${this.nodes[box.members[0]].detail}`) : '';
  }

  summary(box) {
    const counts = new Map();
    for (const n of box.members) counts.set(this.nodes[n].label, (counts.get(this.nodes[n].label) ?? 0) + 1);
    return [...counts].slice(0, 12).map(([label, count]) => (count > 1 ? `${count} ${label}` : label)).join(', ');
  }

  box(box, n, share) {
    const classes = [box.kind, box.keys.has(state.key) && state.key && 'picked', n === this.at && 'at', this.hits.includes(n) && 'found'].filter(Boolean).join(' ');
    const left = this.x[n] - this.widths[n] / 2;
    const group = shape('g', { class: classes, 'data-n': n }, shape('rect', { class: 'node-box', x: left, y: this.y[n], width: this.widths[n], height: BOX, rx: box.kind === 'input' || box.kind === 'output' ? 12 : 4 }));
    if (share >= 0.005 && box.kind !== 'input') group.append(shape('rect', { class: 'heat', x: left, y: this.y[n], width: 4, height: BOX, opacity: 0.25 + 0.75 * share }));
    const title = shape('text', { x: this.x[n], y: this.y[n] + 14 }), below = shape('text', { x: this.x[n], y: this.y[n] + 27, class: 'soft' });
    title.textContent = box.many ? `⊞ ${box.label}` : box.label;
    below.textContent = box.below;
    group.append(title, below);
    return group;
  }

  // --- what the user does ---

  listen() {
    let start = null;
    this.canvas.addEventListener('pointerdown', (event) => { start = { x: event.clientX, y: event.clientY, view: { ...this.view }, moved: false }; });
    this.canvas.addEventListener('pointermove', (event) => {
      if (!start || !event.buttons) return;
      const [dx, dy] = [event.clientX - start.x, event.clientY - start.y];
      if (Math.abs(dx) + Math.abs(dy) > 4) start.moved = true;
      if (start.moved) { this.view.x = start.view.x - dx / this.view.scale; this.view.y = start.view.y - dy / this.view.scale; this.draw(); }
    });
    this.canvas.addEventListener('pointerup', (event) => {
      const group = event.target.closest?.('g[data-n]');
      if (start && !start.moved && group) this.choose(Number(group.dataset.n));
      start = null;
    });
    this.canvas.addEventListener('dblclick', (event) => { const group = event.target.closest?.('g[data-n]'); if (group) this.toggle(Number(group.dataset.n)); });
    this.element.addEventListener('wheel', (event) => {
      const box = this.element.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey || event.altKey) this.zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
      else { this.view.x += event.deltaX / this.view.scale; this.view.y += event.deltaY / this.view.scale; this.draw(); }
      event.preventDefault();
    }, { passive: false });
    this.element.addEventListener('keydown', (event) => this.pressed(event));
  }

  choose(n) {
    this.at = n;
    const key = this.keyAt(this.boxes[n].members[0]);
    if (key && (!this.boxes[n].many || this.level === 'line')) state.pick(key, this);
    this.draw();
  }

  /** Fold or unfold what a node belongs to. */
  toggle(n) {
    const box = this.boxes[n];
    if (!box || (this.level === 'ops')) return;
    const member = box.members[0], node = this.nodes[member];
    if (box.many) this.open.add(box.key);
    else this.open.delete(this.level === 'line' ? keyOf(node.file, node.line) : this.functionOf(node));
    this.arrange();
    this.at = this.boxes.findIndex((x) => x.members.includes(member));
    this.centre(this.at);
    this.draw();
  }

  pressed(event) {
    const key = event.key;
    if (key === '+' || key === '=') this.zoom(1.3);
    else if (key === '-') this.zoom(1 / 1.3);
    else if (key === '0') this.whole();
    else if (key === 'f') this.toggle(this.at);
    else if (key === 'Enter' && this.at >= 0) this.choose(this.at);
    else if (key === 'n' || key === 'N') this.step(key === 'n' ? 1 : -1);
    else if (key.startsWith('Arrow')) this.walk(key);
    else return;
    event.preventDefault();
  }

  /** To the node that is next in a direction. */
  walk(key) {
    if (this.at < 0) this.at = this.order[0] ?? -1;
    else {
      const here = this.at, across = key === 'ArrowLeft' || key === 'ArrowRight';
      const forward = key === 'ArrowRight' || key === 'ArrowDown' ? 1 : -1;
      let best = -1, least = Infinity;
      this.boxes.forEach((_, n) => {
        const [dx, dy] = [this.x[n] - this.x[here], this.y[n] - this.y[here]];
        if (across ? dy !== 0 || dx * forward <= 0 : dy * forward <= 0) return;
        const far = across ? Math.abs(dx) : Math.abs(dy) * 4 + Math.abs(dx);
        if (far < least) [least, best] = [far, n];
      });
      if (best >= 0) this.at = best;
    }
    if (this.at >= 0) this.centre(this.at);
    this.draw();
  }

  pick(change) {
    const found = this.boxes.map((box, n) => (box.keys.has(state.key) ? n : -1)).filter((n) => n >= 0);
    if (state.key && change.origin !== this && found.length) {
      this.at = found.find((n) => this.boxes[n].kind !== 'input') ?? found[0];
      this.centre(this.at);
    }
    this.draw();
    return found.reduce((sum, n) => sum + this.boxes[n].members.filter((m) => this.keyAt(m) === state.key).length, 0);
  }

  search() {
    const matches = (n) => isFound(this.nodes[n].label) || isFound(this.nodes[n].detail.split('   ')[0]) || isFound(this.keyAt(n));
    this.hits = state.query ? this.boxes.map((box, n) => (box.members.some(matches) ? n : -1)).filter((n) => n >= 0) : [];
    this.draw();
    return state.query ? this.nodes.filter((_, n) => matches(n)).length : 0;
  }

  step(direction) {
    if (!this.hits.length) return;
    const here = this.hits.indexOf(this.at);
    this.at = this.hits[(here + direction + this.hits.length) % this.hits.length];
    this.centre(this.at);
    this.draw();
  }
}
