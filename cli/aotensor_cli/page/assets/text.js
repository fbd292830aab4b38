// Texts of any length: only the lines in sight are in the document.

const TOKENS = {
  python: /(#.*$)|("""|'''|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(def|return|import|from|as|for|in|if|else|elif|while|class|with|lambda|not|and|or|None|True|False|yield|try|except|raise|is)\b|\b(\d[\w.]*)|()/g,
  ir: /(\/\/.*$)|("(?:[^"\\]|\\.)*")|\b((?:nest|func|scf|arith|memref|tensor|linalg|math|vector|aot|affine|builtin)\.\w+|function|return|body|parallel|cores|jam|lanes|interleave|step|to|in)\b|(?<![\w%])(-?\d[\w.+-]*)|([%@][\w.$-]+)/g,
  llvm: /(;.*$)|("(?:[^"\\]|\\.)*")|\b(define|declare|call|tail|ret|br|label|phi|load|store|getelementptr|inbounds|fadd|fmul|fsub|fdiv|add|mul|sub|icmp|fcmp|select|switch|alloca|internal|hidden|double|float|ptr|void|i\d+)\b|(?<![\w%.])(-?\d[\w.+-]*|0x[\dA-F]+)|([%@]"?[\w.$-]+"?)/g,
  asm: /(#.*$)|("(?:[^"\\]|\\.)*")|^\s*(\.?\w[\w.]*)\b|(\$-?\w+|(?<![\w%.])-?\d\w*)|(%[a-z]\w*)/g,
};
const CLASSES = ['t-c', 't-s', 't-k', 't-d', 't-v'];

/** A line in pieces of colour. */
function tinted(line, language) {
  const pattern = TOKENS[language];
  if (!pattern || line.length > 2000) return [line];
  const parts = [];
  let last = 0;
  for (const found of line.matchAll(pattern)) {
    const kind = found.slice(1).findIndex((x) => x);
    if (kind < 0) continue;
    const start = found.index + found[0].length - found[kind + 1].length;
    if (start > last) parts.push(line.slice(last, start));
    parts.push(make('span', { class: CLASSES[kind] }, found[kind + 1]));
    last = start + found[kind + 1].length;
  }
  parts.push(line.slice(last));
  return parts;
}

class TextView {
  /** lines: a Lines. heat: gives line number → share of time, or nothing. */
  constructor(name, lines, language, heat = null) {
    Object.assign(this, { name, lines, language, heat, cells: null, cursor: 0, picked: new Set(), hits: [] });
    this.sheet = make('div', { class: 'sheet' });
    this.element = make('div', { class: 'body lines', tabindex: '0', role: 'listbox', 'aria-label': name }, this.sheet);
    this.element.addEventListener('scroll', () => this.draw());
    this.element.addEventListener('click', (event) => this.clicked(event));
    this.element.addEventListener('keydown', (event) => this.pressed(event));
    if (language === 'asm') this.cursor = Math.max(lines.lines.findIndex((x) => x.startsWith(`${state.name}.kernel:`) || x.includes(`<${state.name}>:`) || x.includes(`<${state.name}@@`)), 0);
    requestAnimationFrame(() => { if (this.cursor && !(state.key && lines.keys.includes(state.key))) this.element.scrollTop = (this.cursor - 2) * ROW; });
    new ResizeObserver(() => this.draw(true)).observe(this.element);
    this.fit();
  }

  fit() {
    this.sheet.style.height = `${this.lines.lines.length * ROW}px`;
    this.sheet.style.minWidth = `${Math.min(this.lines.longest + 14, 3000)}ch`;
  }

  draw(always = false) {
    const first = Math.max(Math.floor(this.element.scrollTop / ROW) - 20, 0);
    const last = Math.min(first + Math.ceil(this.element.clientHeight / ROW) + 40, this.lines.lines.length);
    if (!always && this.first === first && this.last === last) return;
    [this.first, this.last] = [first, last];
    const shares = this.heat ? this.heat() : null;
    const rows = [];
    for (let n = first; n < last; n++) rows.push(this.row(n, shares));
    this.sheet.replaceChildren(...rows);
    this.element.setAttribute('aria-activedescendant', `${this.name}-${this.cursor}`);
  }

  row(n, shares) {
    const key = this.lines.keys[n];
    const names = ['l', key && 'linked', this.picked.has(n) && 'picked', n === this.cursor && 'at', isFound(this.lines.lines[n]) && 'found'];
    const share = shares?.get(n) ?? 0;
    let heat = null;
    if (shares) {
      const bar = make('i');
      bar.style.width = `${100 * share}%`;
      bar.style.opacity = 0.25 + 0.5 * share;
      heat = make('span', { class: 'h', title: share ? `${percent(share)} of the ${measured() ? 'measured' : 'estimated'} time` : null }, ...(share >= 0.005 ? [make('span', { class: 'track' }, bar), make('b', {}, percent(share))] : []));
    }
    const row = make('div', { class: names.filter(Boolean).join(' '), role: 'option', id: `${this.name}-${n}`, 'data-n': n, 'aria-selected': this.picked.has(n), title: key || null },
      make('span', { class: 'n' }, `${n + 1}`), heat, this.cells ? make('span', { class: 'cells' }, ...this.cells(n).map((x) => make('span', {}, x))) : null, make('span', {}, ...tinted(this.lines.lines[n], this.language)));
    row.style.top = `${n * ROW}px`;
    return row;
  }

  clicked(event) {
    const row = event.target.closest('.l');
    if (!row || String(getSelection())) return;
    this.cursor = Number(row.dataset.n);
    this.choose();
  }

  choose() {
    const key = this.lines.keys[this.cursor];
    if (key) state.pick(key, this);
    else this.draw(true);
  }

  pressed(event) {
    const page = Math.max(Math.floor(this.element.clientHeight / ROW) - 2, 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves && !event.ctrlKey && !event.metaKey) {
      this.cursor = Math.min(Math.max(this.cursor + moves[event.key], 0), this.lines.lines.length - 1);
      this.reveal(this.cursor, false);
      this.draw(true);
      event.preventDefault();
    } else if (event.key === 'Enter') this.choose();
    else if (event.key === 'n' || event.key === 'N') this.step(event.key === 'n' ? 1 : -1);
  }

  /** Scroll to a line, if it is out of sight. */
  reveal(n, middle = true) {
    const top = n * ROW, box = this.element;
    if (top >= box.scrollTop && top + ROW <= box.scrollTop + box.clientHeight) return;
    box.scrollTop = middle ? top - box.clientHeight / 3 : top < box.scrollTop ? top : top + ROW - box.clientHeight;
  }

  pick(change) {
    const numbers = this.lines.of(state.key);
    this.picked = new Set(numbers);
    if (change.origin !== this && numbers.length) {
      const hot = this.name === 'nest' ? change.at ?? hottest(state.key) : -1;
      const wanted = hot >= 0 ? hot : this.lines.densest(numbers);
      const box = this.element, first = box.scrollTop / ROW, last = first + box.clientHeight / ROW - 1;
      const seen = this.isShown && hot < 0 ? numbers.find((n) => n >= first && n <= last) : undefined;
      this.cursor = seen ?? wanted;  // what is in sight stays there
      this.reveal(this.cursor);
    }
    this.isShown = true;
    this.draw(true);
    return numbers.length;
  }

  search() {
    this.hits = [];
    if (state.query) this.lines.lines.forEach((x, n) => { if (isFound(x)) this.hits.push(n); });
    this.draw(true);
    return this.hits.length;
  }

  /** The next line that is searched for, or else of the chosen place. */
  step(direction) {
    const numbers = this.hits.length ? this.hits : this.lines.of(state.key);
    if (!numbers.length) return;
    const next = direction > 0 ? numbers.find((n) => n > this.cursor) ?? numbers[0] : numbers.findLast((n) => n < this.cursor) ?? numbers.at(-1);
    this.cursor = next;
    this.reveal(next);
    this.draw(true);
  }
}
