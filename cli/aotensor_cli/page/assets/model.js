// What the page shows: the data, and what is chosen in it. Text goes in by textContent alone.

const DATA = JSON.parse(document.getElementById('data').textContent);
const ROW = 18;

/** An element with attributes and children; texts among these become text nodes. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'class') element.className = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.filter((x) => x !== null && x !== undefined));
  return element;
}

const percent = (share) => (share >= 0.01 ? `${Math.round(100 * share)} %` : share > 0 ? '< 1 %' : '');
const keyOf = (file, line) => `${file}:${line}`;

function bytesText(n) {
  for (const [unit, scale] of [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]]) if (n >= scale) return `${(n / scale).toPrecision(3)} ${unit}`;
  return `${n} bytes`;
}

/** The text of a stage: lines, and the key of the place of each, or ''. */
class Lines {
  constructor(text, at, places) {
    this.lines = text.split('\n');
    this.keys = new Array(this.lines.length).fill('');
    let line = 0;
    for (let k = 0; k < at.length; k += 2) {
      const key = at[k + 1] < 0 ? '' : keyOf(...places[at[k + 1]]);
      for (let n = 0; n < at[k] && line < this.keys.length; n++) this.keys[line++] = key;
    }
    this.longest = this.lines.reduce((most, x) => Math.max(most, x.length), 0);
  }

  /** The numbers of the lines from a place. */
  of(key) {
    if (!this.index) {
      this.index = new Map();
      this.keys.forEach((k, n) => { if (k) (this.index.get(k) ?? this.index.set(k, []).get(k)).push(n); });
    }
    return this.index.get(key) ?? [];
  }

  /** Where most of some lines stand together, deep inside of loops if these are indented: the first within forty lines. */
  densest(numbers) {
    const weight = (n) => (1 + Math.min(this.lines[n].search(/\S|$/), 40)) ** 2;
    let best = 0, most = 0, sum = 0;
    for (let first = 0, last = 0; first < numbers.length; first++) {
      while (last < numbers.length && numbers[last] < numbers[first] + 40) sum += weight(numbers[last++]);
      if (sum > most) [most, best] = [sum, first];
      sum -= weight(numbers[first]);
    }
    return numbers[best];
  }
}

/** What is chosen: a function, a set of dims, a place, a node of loops. Views listen. */
const state = {
  listeners: [], name: DATA.functions[0]?.name ?? '', set: 0, key: '', value: '', query: '',
  on(listener) { this.listeners.push(listener); },
  tell(change) { for (const listener of this.listeners) listener(change); },
  /** Choose a place; origin: the view that asked, which stays where it is. */
  pick(key, origin = null, extra = {}) {
    this.key = key;
    this.value = extra.value ?? '';
    this.tell({ kind: 'pick', origin, ...extra });
  },
};

/** The profile of the chosen function, if there is one. */
const measured = () => DATA.profiles.find((x) => x.function === state.name);

/** The text of a line of a profile, '' if the source is not known. */
const sourceLine = (row) => (row.line ? DATA.sources.find((x) => x.name === row.file)?.text.split('\n')[row.line - 1] ?? '' : '');

/** The share of time of each place, for the chosen function: as measured, else by the estimate for the chosen dims. */
function shares() {
  const table = new Map(), profile = measured();
  if (profile) {
    for (const row of profile.rows) if (row.line) table.set(row.where, row.share);
    return table;
  }
  const total = DATA.loops[state.name]?.seconds[state.set] || 0;
  if (total > 0) for (const [place, seconds] of DATA.heat[state.name] ?? []) table.set(keyOf(...DATA.places[place]), seconds[state.set] / total);
  return table;
}

/** The line of the nest at which the statement begins that takes most of the time of a place, -1 if none is known. */
function hottest(key) {
  let best = -1, most = -1;
  const visit = (node) => {
    if (node.line && keyOf(node.file, node.line) === key && node.kind !== 'loop' && node.seconds[state.set] > most) [most, best] = [node.seconds[state.set], node.at];
    node.body.forEach(visit);
  };
  DATA.loops[state.name]?.nodes.forEach(visit);
  return best;
}

/** Does a text hold what is searched for? */
const isFound = (text) => state.query !== '' && text.toLowerCase().includes(state.query);
