// Where nodes stand: in layers, each below what it reads, near what it is joined to. As pictures/layout.py does it.

const GAP = 16, STEP = 66, BOX = 34;

function median(values) {
  values.sort((a, b) => a - b);
  const half = values.length >> 1;
  return values.length % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/** inputs: of each node, numbers below its own. Gives the middle x and the top y of each. */
function placed(inputs, widths) {
  const count = inputs.length, depth = new Array(count).fill(0), users = inputs.map(() => []);
  inputs.forEach((read, n) => read.forEach((k) => { depth[n] = Math.max(depth[n], depth[k] + 1); users[k].push(n); }));
  inputs.forEach((read, n) => { if (!read.length && users[n].length) depth[n] = users[n].reduce((least, k) => Math.min(least, depth[k]), Infinity) - 1; });
  const rows = [];
  depth.forEach((d, n) => (rows[d] ??= []).push(n));
  const x = new Array(count).fill(0);
  const spread = (row, wanted) => {
    let right = -Infinity, shift = 0;
    for (const n of row) {
      x[n] = Math.max(wanted(n), right + widths[n] / 2);
      right = x[n] + widths[n] / 2 + GAP;
    }
    for (const n of row) shift += wanted(n) - x[n];
    for (const n of row) x[n] += shift / row.length;
  };
  for (const row of rows) if (row) spread(row, () => 0);
  for (let sweep = 0; sweep < 6; sweep++) {
    const joined = sweep % 2 ? users : inputs;
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      if (!row) continue;
      const wanted = new Map(row.map((n) => [n, joined[n].length ? median(joined[n].map((k) => x[k])) : x[n]]));
      row.sort((a, b) => wanted.get(a) - wanted.get(b) || a - b);
      spread(row, (n) => wanted.get(n));
    }
  }
  return { x, y: depth.map((d) => d * STEP) };
}

/** Nodes put together by what `groupOf` says of them, but for those it says nothing of; edges against the order go. */
function folded(nodes, groupOf) {
  const groups = [], numbers = new Map(), home = [];
  nodes.forEach((node, n) => {
    const key = groupOf(node);
    let number = key === null ? undefined : numbers.get(key);
    if (number === undefined) {
      number = groups.length;
      groups.push({ key, members: [], inputs: new Set() });
      if (key !== null) numbers.set(key, number);
    }
    groups[number].members.push(n);
    home.push(number);
  });
  nodes.forEach((node, n) => node.inputs.forEach((k) => {
    const [low, high] = [Math.min(home[k], home[n]), Math.max(home[k], home[n])];
    if (low !== high) groups[high].inputs.add(low);
  }));
  return groups.map((group) => ({ ...group, inputs: [...group.inputs] }));
}
