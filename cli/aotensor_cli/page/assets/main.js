// Panes and what they show, keys, and the address: #line=model.py:8&a=tree&b=asm names what is in sight.

const LANGUAGES = { graph: 'ir', 'graph-opt': 'ir', tensor: 'ir', 'tensor-opt': 'ir', nest: 'ir', loops: 'ir', llvm: 'llvm', 'llvm-opt': 'llvm', asm: 'asm' };
const texts = new Map();

/** The lines of a stage, taken apart once. */
function linesOf(name) {
  if (!texts.has(name)) { const stage = DATA.stages.find((x) => x.name === name); texts.set(name, new Lines(stage.text, stage.at, DATA.places)); }
  return texts.get(name);
}

/** Line of the text of the nest → share of time, for loops. */
function nestHeat() {
  const table = new Map(), data = DATA.loops[state.name], total = data?.seconds[state.set] || 1;
  const visit = (node) => { if (node.at >= 0 && node.kind !== 'statement') table.set(node.at, node.seconds[state.set] / total); node.body.forEach(visit); };
  data?.nodes.forEach(visit);
  return table;
}

const CHOICES = [...(DATA.profiles.length ? [['time by line', 'profile']] : []), ['loops by time', 'tree'], ['graph picture', 'graph-view'], ['memory', 'memory'], ['roofline', 'roofline'], ...DATA.stages.map((x) => [x.name, x.name]), ['about this file', 'about']];

function viewOf(name, tools) {
  if (name === 'profile') return new ProfileView(tools);
  if (name === 'tree') return new LoopsView();
  if (name === 'graph-view') return new GraphView(Object.keys(DATA.graphs)[0] ?? 'graph', tools);
  if (name === 'memory' || name === 'roofline') return new PictureView(name);
  if (name === 'about') return new AboutView();
  return new TextView(name, linesOf(name), LANGUAGES[name], name === 'nest' && DATA.loops[state.name] ? nestHeat : null);
}

class Pane {
  constructor(id, first) {
    this.element = document.getElementById(id);
    this.choice = make('select', { 'aria-label': 'view', onchange: () => this.show(this.choice.value) });
    for (const [text, value] of CHOICES) this.choice.append(make('option', { value }, text));
    this.show(first);
  }

  show(name) {
    this.choice.value = name;
    this.tools = make('span', { class: 'tools-own' });
    this.count = make('span', { class: 'count', 'aria-live': 'polite' });
    this.view = viewOf(name, this.tools);
    this.element.replaceChildren(make('div', { class: 'tools' }, this.choice, this.tools, this.count), this.view.element);
    if (state.key) this.tell({ kind: 'pick' });
    if (state.query) this.tell({ kind: 'search' });
    remember();
  }

  tell(change) {
    if (change.kind === 'pick') {
      const count = this.view.pick(change);
      this.count.textContent = state.key ? `${count} from ${state.key}` : '';
    } else if (change.kind === 'search') {
      const count = this.view.search();
      this.count.textContent = state.query ? `${count} found` : '';
    } else this.view.load ? this.view.load() : this.view.draw(true);
  }
}

// --- source and remarks ---

const source = {
  element: document.getElementById('pane-source'),
  show(name) {
    const file = DATA.sources.find((x) => x.name === name);
    const choice = make('select', { 'aria-label': 'file', onchange: () => this.show(choice.value) }, ...DATA.sources.map((x) => make('option', { value: x.name }, x.name)));
    if (name) choice.value = name;
    this.file = name;
    this.count = make('span', { class: 'count' });
    let body = make('p', { class: 'none' }, file?.problem || DATA.absent.source || 'No source is known.');
    this.view = null;
    if (file?.known) {
      const at = file.text.split('\n').flatMap((_, n) => [1, n]);
      const lines = new Lines(file.text, at, at.filter((_, n) => n % 2).map((n) => [file.name, n + 1]));
      this.view = new TextView('source', lines, 'python', DATA.loops[state.name] || measured() ? () => new Map([...shares()].filter(([key]) => key.startsWith(`${file.name}:`)).map(([key, share]) => [Number(key.slice(file.name.length + 1)) - 1, share])) : null);
      body = this.view.element;
    }
    this.columns = make('button', { 'aria-pressed': 'false', title: 'parts, rates and bounds of the measured time beside each line', onclick: () => this.widen(this.columns.getAttribute('aria-pressed') !== 'true') }, 'columns');
    this.heads = make('div', { class: 'l heads', hidden: true }, make('span', { class: 'n' }), make('span', { class: 'h' }, make('b', {}, 'time')), make('span', { class: 'cells' }, ...COLUMNS.map((x) => make('span', {}, x))));
    this.element.replaceChildren(make('div', { class: 'tools' }, make('h2', {}, 'source'), DATA.sources.length > 1 ? choice : make('span', {}, name ?? ''), ...(this.view && DATA.profiles.length ? [this.columns] : []), this.count), this.heads, body);
    if (this.isWide) this.widen(true);
  },
  /** Show, or hide, the columns of the profile. */
  widen(isOn) {
    this.isWide = isOn;
    if (!this.view || !DATA.profiles.length) return;
    this.columns.setAttribute('aria-pressed', String(isOn));
    this.heads.hidden = !isOn;
    this.view.cells = isOn ? (n) => cellsOf(measured()?.rows.find((x) => x.line === n + 1 && x.file === this.file)) : null;
    document.getElementById('columns').style.gridTemplateColumns = isOn ? '50fr 7px 28fr 7px 22fr' : '';
    this.view.draw(true);
  },
  tell(change) {
    const name = state.key.slice(0, state.key.lastIndexOf(':'));
    if (change.kind === 'pick' && state.key && name !== this.file && DATA.sources.some((x) => x.name === name)) this.show(name);
    if (!this.view) return;
    if (change.kind === 'pick') this.view.pick(change);
    else if (change.kind === 'search') this.count.textContent = [this.view.search()].map((n) => (state.query ? `${n} found` : ''))[0];
    else this.view.draw(true);
  },
  first() {
    if (!this.view) return;
    const hottest = [...shares()].sort((a, b) => b[1] - a[1])[0]?.[0] ?? DATA.remarks.find((x) => x.line && x.file === this.file && x.function === state.name);
    const key = typeof hottest === 'string' ? hottest : hottest && keyOf(hottest.file, hottest.line);
    if (key) requestAnimationFrame(() => { this.view.cursor = Number(key.slice(key.lastIndexOf(':') + 1)) - 1; this.view.reveal(this.view.cursor); this.view.draw(true); });
  },
};

const remarksTools = make('div', { class: 'tools' }, make('h2', {}, 'remarks'));
const remarks = new RemarksView(remarksTools);
document.getElementById("pane-remarks").append(remarksTools, remarks.element);

// --- the address ---

const address = new URLSearchParams(location.hash.slice(1));
const has = (name) => CHOICES.some(([, value]) => value === name);
let panes = [];

function remember() {
  if (panes.length < 2) return;
  const now = new URLSearchParams({ a: panes[0].choice.value, b: panes[1].choice.value });
  if (state.key) now.set('line', state.key);
  history.replaceState(null, '', `#${now}`);
}

// --- header ---

const byId = (id) => document.getElementById(id);
byId('kind').textContent = DATA.kind;
for (const f of DATA.functions) byId('function').append(make('option', { value: f.name }, f.name));
DATA.sizes.forEach((text, n) => byId('sizes').append(make('option', { value: n }, text)));
byId('sizes').parentElement.hidden = DATA.sizes.length === 0;
byId('sizes').parentElement.style.display = DATA.sizes.length ? '' : 'none';
for (const note of DATA.notes) byId('notes').append(make('li', {}, note));
const sign = () => { byId('signature').textContent = DATA.functions.find((f) => f.name === state.name)?.signature ?? ''; };
byId('function').addEventListener('change', (event) => { state.name = event.target.value; state.tell({ kind: 'load' }); sign(); });
byId('sizes').addEventListener('change', (event) => { state.set = Number(event.target.value); state.tell({ kind: 'load' }); });

function theme(name) {
  document.documentElement.dataset.theme = name;
  try { localStorage.setItem('aotensor-theme', name); } catch { /* a file may have no storage */ }
}
try { const kept = localStorage.getItem('aotensor-theme'); if (kept === 'light' || kept === 'dark') document.documentElement.dataset.theme = kept; } catch { /* as above */ }
const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
const switchTheme = () => theme(isDark() ? 'light' : 'dark');
byId('theme').addEventListener('click', switchTheme);

let typing = 0;
byId('search').addEventListener('input', (event) => {
  clearTimeout(typing);
  typing = setTimeout(() => { state.query = event.target.value.trim().toLowerCase(); state.tell({ kind: 'search' }); }, 120);
});
byId('search').addEventListener('keydown', (event) => {
  if (event.key === 'Enter') { for (const one of [...panes, source]) one.view?.step(event.shiftKey ? -1 : 1); event.preventDefault(); }
  if (event.key === 'Escape') { event.target.value = ''; state.query = ''; state.tell({ kind: 'search' }); event.target.blur(); }
});

const KEYS = [['click, Enter', 'choose a line: what comes from it lights up in every view, and the views scroll there'], ['Esc', 'choose nothing'], ['/', 'search in source, remarks and both views; Enter goes on'], ['n, N', 'the next and the previous line that is found, or comes from the chosen line'], ['arrows, PgUp, PgDn, Home, End', 'move in the view that has the focus; Tab goes to the next view'], ['left, right', 'fold and unfold a loop'], ['f, double click', 'fold and unfold in the graph; + - 0 and Ctrl with the wheel zoom it'], ['[ and ]', 'the previous and the next view in the right pane; { and } in the middle one'], ['t', 'light or dark']];
function help() {
  byId('keys').replaceChildren(make('h3', {}, 'Keys'), make('table', {}, ...KEYS.map(([key, text]) => make('tr', {}, make('td', {}, ...key.split(', ').flatMap((x, n) => (n ? [' ', make('kbd', {}, x)] : [make('kbd', {}, x)]))), make('td', {}, text)))),
    make('h3', {}, 'Reading it'), make('p', {}, 'Bars and percentages are estimates of time on one core at the sizes chosen above, but those of the source and of the view time by line are measured where there is a profile; what is behind ⟨ and ⟩ is a value as the model writes it. In remarks, applied is what a pass did, missed what it did not do and why. Choose a line of the source, read its remarks, then its loops and its machine code.'),
    make('button', { onclick: () => byId('keys').close() }, 'close'));
  byId('keys').showModal();
}
byId('help').addEventListener('click', help);

addEventListener('keydown', (event) => {
  if (event.target.matches('input, select') || event.ctrlKey || event.metaKey || event.altKey || byId('keys').open) return;
  const turn = (pane, by) => { const values = CHOICES.map(([, value]) => value); pane.show(values[(values.indexOf(pane.choice.value) + by + values.length) % values.length]); };
  const actions = { '/': () => { byId('search').focus(); byId('search').select(); }, Escape: () => state.pick(''), '?': help, t: switchTheme, '[': () => turn(panes[1], -1), ']': () => turn(panes[1], 1), '{': () => turn(panes[0], -1), '}': () => turn(panes[0], 1) };
  if (actions[event.key]) { actions[event.key](); event.preventDefault(); }
});

// --- widths ---

document.querySelectorAll('.splitter').forEach((splitter, number) => {
  const columns = byId('columns');
  const resize = (by) => {
    const widths = [...columns.querySelectorAll('.column')].map((x) => x.getBoundingClientRect().width);
    const [left, right] = [Math.max(widths[number] + by, 160), Math.max(widths[number + 1] - by, 160)];
    [widths[number], widths[number + 1]] = [left, right];
    columns.style.gridTemplateColumns = widths.map((x) => `minmax(0, ${x.toFixed(0)}fr)`).join(' 7px ');
  };
  let last = null;
  splitter.addEventListener('pointerdown', (event) => { last = event.clientX; splitter.setPointerCapture(event.pointerId); });
  splitter.addEventListener('pointermove', (event) => { if (last !== null) { resize(event.clientX - last); last = event.clientX; } });
  splitter.addEventListener('pointerup', () => { last = null; });
  splitter.addEventListener('keydown', (event) => { const by = { ArrowLeft: -24, ArrowRight: 24 }[event.key]; if (by) { resize(by); event.preventDefault(); } });
});

// --- begin ---

source.show(DATA.sources[0]?.name);
const usual = [measured() ? 'profile' : DATA.loops[state.name] ? 'tree' : DATA.stages.some((x) => x.name === 'nest') ? 'nest' : 'about', DATA.stages.some((x) => x.name === 'asm') ? 'asm' : 'about'];
panes = ['a', 'b'].map((letter, n) => new Pane(`pane-${letter}`, has(address.get(letter)) ? address.get(letter) : usual[n]));
state.on((change) => {
  for (const one of [source, ...panes]) one.tell(change);
  if (change.kind === 'pick') { remarks.pick(change); byId('selection').textContent = state.key; remember(); }
  else if (change.kind === 'search') remarks.search();
  else remarks.load();
});
sign();
if (address.get('line')) state.pick(address.get('line')); else source.first();
