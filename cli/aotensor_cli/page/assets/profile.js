// Measured time by line: a bar of each line, its forward and derivative parts, rates, and the limit that it reaches.

const rateText = (x) => (x === null ? '' : (x / 1e9).toFixed(2));
const tenths = (x) => (x ? `${(100 * x).toFixed(1)} %` : '');

const COLUMNS = ['forward', 'derivative', 'GB/s', 'GFLOP/s', 'bound by'];

/** The texts of a row, one for each of COLUMNS. */
function cellsOf(row) {
  if (!row) return COLUMNS.map(() => '');
  const bound = row.of_limit === null ? row.bound : `${row.bound}, ${Math.round(100 * row.of_limit)} % of a limit`;
  return [tenths(row.forward), tenths(row.derivative), ...row.rates.map(rateText), bound];
}

/** The bar of a row: the forward part, then the derivative part, as parts of the longest row. */
function stackedBar(row, most) {
  const rest = row.share - row.forward - row.derivative;
  const parts = [['forward', row.forward], ['derivative', row.derivative], ['other', rest]].filter(([, share]) => share > 1e-6);
  return make('span', { class: 'stack' }, ...parts.map(([kind, share]) => {
    const part = make('i', { class: kind });
    part.style.width = `${(100 * share) / most}%`;
    return part;
  }));
}

class ProfileView {
  constructor(tools) {
    Object.assign(this, { name: 'profile', order: 'time', chosen: null, hits: [] });
    this.element = make('div', { class: 'body profile', tabindex: '0', role: 'listbox', 'aria-label': 'measured time by line' });
    this.element.addEventListener('keydown', (event) => this.pressed(event));
    this.orders = ['time', 'line'].map((order) => make('button', { 'data-order': order, onclick: () => { this.order = order; this.draw(); } }, `by ${order}`));
    tools.append(...this.orders);
    this.load();
  }

  load() { this.data = measured(); this.chosen = null; this.draw(); }

  rows() {
    const rows = this.data.rows.filter((x) => x.share >= 0.003);
    const place = (x) => [x.line ? 0 : 1, x.file, x.line];
    const compare = (a, b) => { for (let k = 0; k < 3; k++) if (a[k] !== b[k]) return a[k] < b[k] ? -1 : 1; return 0; };
    return this.order === 'time' ? rows : rows.sort((a, b) => compare(place(a), place(b)));
  }

  draw() {
    for (const button of this.orders) button.setAttribute('aria-pressed', String(button.dataset.order === this.order));
    if (!this.data) return this.element.replaceChildren(make('p', { class: 'none' }, 'This function is not in the profile.'));
    const { sizes, threads, seconds, samples } = this.data;
    const most = Math.max(...this.data.rows.map((x) => x.share), 1e-9);
    const head = make('p', { class: 'none' }, `${state.name}${sizes ? ` at ${sizes}` : ''} on ${threads} thread${threads > 1 ? 's' : ''}: ${micro(seconds)} per call, ${samples} samples. A derivative belongs to the line that is differentiated. `,
      make('i', { class: 'swatch forward' }), ' forward ', make('i', { class: 'swatch derivative' }), ' derivative ', make('i', { class: 'swatch other' }), ' no line');
    const names = make('tr', {}, ...['', 'time', ...COLUMNS].map((x) => make('th', { scope: 'col' }, x)));
    this.shown = this.rows();
    this.element.replaceChildren(head, make('table', {}, make('thead', {}, names), ...this.shown.map((row) => this.row(row, most))));
  }

  row(row, most) {
    const key = row.line ? row.where : '';
    const kernels = Object.entries(row.kernels).filter(([, share]) => share >= 0.003).map(([name, share]) => `${name} ${Math.round(100 * share)} %`);
    const names = ['line', key && 'linked', key && key === state.key && 'picked', row === this.chosen && 'chosen', this.matches(row) && 'found'];
    const title = make('th', { colspan: '7', scope: 'rowgroup' }, make('span', { class: 'where' }, row.where), make('code', {}, ...tinted(sourceLine(row).trim(), 'python')), kernels.length ? make('span', { class: 'where' }, `in ${kernels.join(', ')}`) : null);
    const cells = [tenths(row.share), ...cellsOf(row)];
    const body = make('tbody', { class: names.filter(Boolean).join(' '), role: 'option', title: `${micro(row.seconds)} of a call` },
      make('tr', {}, title), make('tr', {}, make('td', { class: 'track' }, stackedBar(row, most)), ...cells.map((x) => make('td', {}, x))));
    body.addEventListener('click', () => this.choose(row));
    return body;
  }

  matches(row) { return isFound(row.where) || isFound(sourceLine(row)) || isFound(row.bound); }

  choose(row) {
    this.chosen = row;
    if (row.line) state.pick(row.where, this);
    else this.draw();
  }

  pressed(event) {
    if (!this.data) return;
    const here = this.shown.indexOf(this.chosen);
    const next = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: this.shown.length - 1 }[event.key];
    if (next !== undefined) this.chosen = this.shown[Math.min(Math.max(next, 0), this.shown.length - 1)];
    else if (event.key === 'Enter' && this.chosen) return this.choose(this.chosen);
    else if (event.key === 'n' || event.key === 'N') return this.step(event.key === 'n' ? 1 : -1);
    else return;
    event.preventDefault();
    this.reveal();
  }

  reveal() {
    this.draw();
    this.element.querySelector('.chosen')?.scrollIntoView({ block: 'nearest' });
  }

  pick(change) {
    if (!this.data) return 0;
    const found = this.data.rows.filter((x) => x.line && x.where === state.key);
    if (change.origin !== this) this.chosen = found[0] ?? null;
    this.reveal();
    return found.length;
  }

  search() {
    this.draw();
    this.hits = state.query && this.data ? this.shown.filter((x) => this.matches(x)) : [];
    return this.hits.length;
  }

  step(direction) {
    if (!this.hits.length) return;
    this.chosen = this.hits[(this.hits.indexOf(this.chosen) + direction + this.hits.length) % this.hits.length];
    this.reveal();
  }
}
