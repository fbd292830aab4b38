// Calls the functions of a library of aotensor for WebAssembly: arrays in, arrays out. Runs in browsers and in Node.
//
// A dense value is a number, a typed array of its dtype (rank 1), {data, shape} with row-major data, or nested arrays.
// A sparse one is {data, indices, indptr, shape}; data of a bsr matrix are its blocks, one after the other. Results are numbers, {data, shape}, or sparse values of that form.

const LIBRARY = "@LIBRARY@";
const PREFIX = "@PREFIX@";

const TYPES = {
  @TYPES@,
};
const STORED = "@STORED@"; // arrays of their bits: no number of JavaScript is taken for one
const isHalf = (dtype) => STORED.includes(dtype);
const ARRAY_BYTES = 20; // struct aotensor_array: data, shape, strides, rank, dtype
const CONTEXT = { bytes: 72, message: 16, messageSize: 24 }; // struct aotensor_context
const MESSAGE_BYTES = 512;
const OUTPUTS_NEEDED = 9;

/** A call that failed: the library's message, and its status. */
export class AotensorError extends Error {
  constructor(message, status) {
    super(message);
    this.name = "AotensorError";
    this.status = status;
  }
}

/**
 * The library, ready to be called.
 * source: bytes, a Response, a URL or a compiled module; by default the .wasm file beside this one.
 */
export async function load(source = new URL(LIBRARY, import.meta.url)) {
  const { exports } = await instantiate(source);
  exports._initialize?.();
  return model(exports);
}

async function instantiate(source) {
  if (source instanceof WebAssembly.Module) return WebAssembly.instantiate(source, {});
  let given = source;
  if (typeof given === "string" || given instanceof URL) {
    const url = new URL(given, import.meta.url);
    if (url.protocol === "file:" && typeof process !== "undefined") {
      given = await (await import("node:fs/promises")).readFile(url);
    } else {
      given = await fetch(url);
    }
  }
  if (typeof Response !== "undefined" && given instanceof Response) {
    if (!given.ok) throw new AotensorError(`${given.url}: ${given.status} ${given.statusText}`, 0);
    given = await given.arrayBuffer();
  }
  return (await WebAssembly.instantiate(given, {})).instance;
}

function model(exports) {
  const memory = new Memory(exports);
  const manifest = JSON.parse(memory.text(exports[`${PREFIX}aotensor_manifest`]()));
  const result = { manifest };
  for (const spec of manifest.functions) {
    result[spec.name] = (...given) => call(exports, memory, spec, given);
  }
  return Object.freeze(result);
}

/** The memory of an instance, which moves when it grows: views are made when they are needed. */
class Memory {
  constructor(exports) {
    this.exports = exports;
  }

  get view() {
    return new DataView(this.exports.memory.buffer);
  }

  /** Memory for so many bytes, which `release` frees. */
  take(bytes, taken) {
    const address = this.exports.malloc(Math.max(bytes, 1)) >>> 0;
    if (address === 0) throw new AotensorError(`there is no memory for ${bytes} bytes`, 8);
    taken.push(address);
    return address;
  }

  release(taken) {
    for (const address of taken) this.exports.free(address);
  }

  array(Type, address, count) {
    return new Type(this.exports.memory.buffer, address, count);
  }

  text(address) {
    const bytes = new Uint8Array(this.exports.memory.buffer, address >>> 0);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  }
}

function call(exports, memory, spec, given) {
  const values = inputs(spec, given);
  const taken = [];
  try {
    const context = memory.take(CONTEXT.bytes, taken);
    const message = memory.take(MESSAGE_BYTES, taken);
    memory.array(Uint8Array, context, CONTEXT.bytes).fill(0);
    memory.array(Uint8Array, message, MESSAGE_BYTES).fill(0);
    memory.view.setBigInt64(context, BigInt(CONTEXT.bytes), true);
    memory.view.setUint32(context + CONTEXT.message, message, true);
    memory.view.setBigInt64(context + CONTEXT.messageSize, BigInt(MESSAGE_BYTES), true);
    const arrays = memory.take(ARRAY_BYTES * spec.inputs.length, taken);
    spec.inputs.forEach((input, k) => {
      const { data, shape } = values[k];
      const address = data === null ? 0 : memory.take(data.byteLength, taken);
      if (data !== null) memory.array(data.constructor, address, data.length).set(data);
      describe(memory, taken, arrays + ARRAY_BYTES * k, input.dtype, shape, address);
    });
    const results = memory.take(ARRAY_BYTES * spec.outputs.length, taken);
    const shapes = spec.outputs.map((output, k) => {
      const address = results + ARRAY_BYTES * k;
      return describe(memory, taken, address, output.dtype, output.shape.map(() => -1), 0);
    });
    const entry = exports[`${PREFIX}${spec.name}_call`];
    const check = (status) => {
      if (status === 0 || status === OUTPUTS_NEEDED) return status;
      const text = memory.text(message) || memory.text(exports[`${PREFIX}aotensor_status_message`](status));
      throw new AotensorError(text, status);
    };
    if (check(entry(context, arrays, results)) === OUTPUTS_NEEDED) {
      spec.outputs.forEach((output, k) => {
        const count = extents(memory, shapes[k], output.shape.length).reduce((x, y) => x * y, 1);
        const bytes = count * TYPES[output.dtype][1].BYTES_PER_ELEMENT;
        const address = memory.take(bytes, taken);
        memory.view.setUint32(results + ARRAY_BYTES * k, address, true);
      });
      check(entry(context, arrays, results));
    }
    return outputs(spec, spec.outputs.map((output, k) => {
      const shape = extents(memory, shapes[k], output.shape.length);
      const count = shape.reduce((x, y) => x * y, 1);
      const address = memory.view.getUint32(results + ARRAY_BYTES * k, true);
      return { data: memory.array(TYPES[output.dtype][1], address, count).slice(), shape };
    }));
  } finally {
    memory.release(taken);
  }
}

/** Fill in a struct aotensor_array; gives the address of its extents. */
function describe(memory, taken, address, dtype, shape, data) {
  const extents = memory.take(8 * shape.length, taken);
  shape.forEach((n, axis) => memory.view.setBigInt64(extents + 8 * axis, BigInt(n), true));
  [data, extents, 0, shape.length, TYPES[dtype][0]].forEach((x, k) => memory.view.setUint32(address + 4 * k, x, true));
  return extents;
}

function extents(memory, address, rank) {
  return Array.from(memory.array(BigInt64Array, address, rank), Number);
}

/** Every array of a call, in the order of the manifest. */
function inputs(spec, given) {
  const groups = new Map(spec.sparse_inputs.map((group) => [group.first, group]));
  const names = [];
  for (let k = 0; k < spec.inputs.length; k += groups.has(k) ? 4 : 1) names.push(spec.inputs[k].name);
  let values = given;
  if (given.length === 1 && isNamed(given[0]) && names.every((name) => name in given[0])) {
    const strange = Object.keys(given[0]).filter((name) => !names.includes(name));
    if (strange.length > 0) throw new TypeError(`${spec.name}: there is no input ${strange[0]}`);
    values = names.map((name) => given[0][name]);
  }
  if (values.length !== names.length) {
    throw new TypeError(`${spec.name}: expected ${names.length} arguments (${names.join(", ")}), found ${values.length}`);
  }
  const result = [];
  for (let k = 0, i = 0; k < spec.inputs.length; i += 1) {
    if (groups.has(k)) {
      const { data, indices, indptr, shape } = values[i] ?? {};
      const where = `${spec.name}: ${names[i]}`;
      if (!Array.isArray(shape)) throw new TypeError(`${where}: expected {data, indices, indptr, shape}`);
      result.push({ data: null, shape });
      [data, indices, indptr].forEach((part, j) => result.push(dense(where, spec.inputs[k + 1 + j], blocks(spec.inputs[k + 1 + j], part))));
      k += 4;
    } else {
      result.push(dense(`${spec.name}: ${names[i]}`, spec.inputs[k], values[i]));
      k += 1;
    }
  }
  return result;
}

/** The data of a matrix of blocks, which are given one after the other, with their shape. */
function blocks(spec, part) {
  if (spec.shape.length !== 3 || !(ArrayBuffer.isView(part) || Array.isArray(part))) return part;
  const [, height, width] = spec.shape;
  return { data: part, shape: [part.length / (height * width), height, width] };
}

function isNamed(value) {
  return typeof value === "object" && value !== null && !ArrayBuffer.isView(value) && !Array.isArray(value) && !("data" in value);
}

/** One value as typed array and shape. */
function dense(where, spec, value) {
  const [, Type] = TYPES[spec.dtype];
  const rank = spec.shape.length;
  let data = value;
  let shape;
  if (isNamed(value) || value === null || value === undefined || typeof value === "string") {
    throw new TypeError(`${where}: expected ${expected(spec)}`);
  }
  if (!ArrayBuffer.isView(value) && !Array.isArray(value) && typeof value === "object") {
    ({ data, shape } = value);
    if (!Array.isArray(shape)) throw new TypeError(`${where}: {data, shape} has no shape`);
  }
  if (isHalf(spec.dtype) && !ArrayBuffer.isView(data)) throw new TypeError(`${where}: expected ${expected(spec)}`);
  if (Array.isArray(data)) {
    shape ??= nestedShape(data);
    data = Type.from(data.flat(Infinity), (x) => convert(Type, x));
  } else if (!ArrayBuffer.isView(data)) {
    shape ??= [];
    data = Type.of(convert(Type, data));
  }
  shape ??= [data.length];
  if (data.constructor !== Type) throw new TypeError(`${where}: expected ${expected(spec)}, found ${data.constructor.name}`);
  if (shape.length !== rank) throw new TypeError(`${where}: expected rank ${rank}, found ${shape.length}`);
  const count = shape.reduce((x, y) => x * y, 1);
  if (count !== data.length) throw new TypeError(`${where}: shape [${shape}] has ${count} elements, data has ${data.length}`);
  return { data, shape };
}

function expected(spec) {
  if (isHalf(spec.dtype)) return `the bits of ${spec.dtype}, {data: ${TYPES[spec.dtype][1].name}, shape}`;
  return spec.shape.length === 0 ? `a number (${spec.dtype})` : `${TYPES[spec.dtype][1].name} (${spec.dtype})`;
}

function convert(Type, x) {
  return Type === BigInt64Array || Type === BigUint64Array ? BigInt(x) : Number(x);
}

function nestedShape(value) {
  const shape = [];
  for (let level = value; Array.isArray(level); [level] = level) shape.push(level.length);
  return shape;
}

/** What a call gives: a value, a list, or an object by name where the function has named outputs or updates. */
function outputs(spec, arrays) {
  const groups = new Map(spec.sparse_outputs.map((group) => [group.first, group]));
  const found = [];
  for (let k = 0; k < arrays.length; k += groups.has(k) ? 4 : 1) {
    const { name, dtype, shape } = spec.outputs[k];
    if (groups.has(k)) {
      const [data, indices, indptr] = arrays.slice(k + 1, k + 4).map((part) => part.data);
      found.push([name, { data, indices, indptr, shape: arrays[k].shape }]);
    } else {
      const [first] = arrays[k].data;
      found.push([name, shape.length > 0 || isHalf(dtype) ? arrays[k] : dtype === "bool" ? first !== 0 : first]);
    }
  }
  if (spec.output_kind === "dict" || spec.updates.length > 0) return Object.fromEntries(found);
  if (spec.output_kind === "list") return found.map(([, value]) => value);
  return spec.output_kind === "none" ? undefined : found[0][1];
}
