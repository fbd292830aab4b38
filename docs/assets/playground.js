// The playground: sliders for the parameters of a model that aotensor has compiled, its value and its gradient.

import { load } from "./playground/models.mjs";

const COUNT = 241;
const noise = (k) => 0.5 * Math.sin(12.9898 * k) + 0.5 * Math.sin(78.233 * k * k); // the same for every reader
const times = (end) => Float64Array.from({ length: COUNT }, (_, k) => (end * k) / (COUNT - 1));

const MODELS = {
  ringing: {
    title: "A ringing that dies away",
    formula: "height · exp(−decay · t) · cos(frequency · t) + level",
    parameters: [
      { name: "height", low: 0, high: 3, start: 0.8 },
      { name: "decay", low: 0, high: 2, start: 0.8 },
      { name: "frequency", low: 1, high: 6, start: 2.5 },
      { name: "level", low: -1, high: 1, start: -0.4 },
    ],
    x: times(6),
    truth: [2, 0.5, 3, 0.3],
    noise: 0.2,
    range: [-2.5, 3],
  },
  swing: {
    title: "A pendulum with friction",
    formula: "angle″ = −stiffness · sin(angle) − friction · angle′",
    parameters: [
      { name: "start", low: -3, high: 3, start: 0.8 },
      { name: "push", low: -4, high: 4, start: -0.5 },
      { name: "stiffness", low: 0.5, high: 8, start: 3 },
      { name: "friction", low: 0, high: 1, start: 0.6 },
    ],
    x: times(8),
    truth: [1.8, 1, 4, 0.15],
    noise: 0.12,
    range: [-3.2, 3.2],
  },
};

/** An element with attributes and children. */
function element(tag, attributes = {}, ...children) {
  const svg = ["svg", "path", "circle", "line", "text", "g", "rect"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const [WIDTH, HEIGHT] = [720, 330];

/** One model with its state; `move` changes a parameter, `call` asks the library. */
class Panel {
  constructor(name, library) {
    const model = MODELS[name];
    Object.assign(this, { name, model, library, theta: Float64Array.from(model.parameters, (p) => p.start) });
    const exact = library[name](Float64Array.from(model.truth), model.x, new Float64Array(COUNT)).curve.data;
    this.y = exact.map((value, k) => value + model.noise * noise(k));
    this.restart();
    this.root = this.build();
    this.call();
  }

  restart() {
    Object.assign(this, { steps: 0, first: [0, 0, 0, 0], second: [0, 0, 0, 0] });
  }

  call() {
    const begin = performance.now();
    const { loss, grad, curve } = this.library[this.name](this.theta, this.model.x, this.y);
    this.calls = (this.calls ?? 0) + 1;
    this.milliseconds = (this.milliseconds ?? 0) + performance.now() - begin; // clocks of browsers are coarse: a mean says more
    Object.assign(this, { loss, grad: grad.data, curve: curve.data });
    this.show();
  }

  move(k, value) {
    this.theta[k] = value;
    this.restart();
    this.call();
  }

  /** A step of Adam (Kingma & Ba, 2015), which gives each parameter a step length of its own. */
  descend() {
    this.steps += 1;
    this.theta.forEach((_, k) => {
      const { low, high } = this.model.parameters[k];
      this.first[k] = 0.9 * this.first[k] + 0.1 * this.grad[k];
      this.second[k] = 0.99 * this.second[k] + 0.01 * this.grad[k] ** 2;
      const mean = this.first[k] / (1 - 0.9 ** this.steps);
      const scale = Math.sqrt(this.second[k] / (1 - 0.99 ** this.steps)) + 1e-9;
      this.theta[k] = Math.min(high, Math.max(low, this.theta[k] - 0.004 * (high - low) * (mean / scale)));
    });
    this.call();
  }

  run(button) {
    this.running = !this.running;
    button.textContent = this.running ? "Stop" : "Descend";
    const frame = () => {
      if (!this.running || !this.root.isConnected) return;
      this.descend();
      if (this.steps >= 1500) this.run(button);
      else requestAnimationFrame(frame);
    };
    frame();
  }

  build() {
    const { model } = this;
    this.sliders = model.parameters.map(({ name, low, high }, k) => {
      const made = element("input", { type: "range", min: low, max: high, step: "any", "aria-label": name });
      made.addEventListener("input", () => this.move(k, Number(made.value)));
      return made;
    });
    this.values = model.parameters.map(() => element("td", { class: "number" }));
    this.slopes = model.parameters.map(() => element("td", { class: "number" }));
    this.bars = model.parameters.map(() => element("span", { class: "bar" }));
    const rows = model.parameters.map(({ name }, k) =>
      element("tr", {}, element("td", {}, name), element("td", {}, this.sliders[k]), this.values[k], this.slopes[k],
        element("td", { class: "bars" }, this.bars[k])));
    const head = element("tr", {}, ...["", "move", "value", "∂ loss", ""].map((text) => element("th", {}, text)));
    this.line = element("path", { class: "curve" });
    const points = Array.from(this.y, (value, k) => [k, value]).filter(([k]) => k % 4 === 0);
    const axis = element("line", { class: "axis", x1: 0, x2: WIDTH, y1: this.down(0), y2: this.down(0) });
    const plot = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "points and curve" }, axis,
      ...points.map(([k, value]) => element("circle", { class: "point", cx: this.right(k), cy: this.down(value), r: 3 })), this.line);
    const once = element("button", { class: "md-button" }, "One step");
    const run = element("button", { class: "md-button md-button--primary" }, "Descend");
    const again = element("button", { class: "md-button" }, "Start again");
    once.addEventListener("click", () => this.descend());
    run.addEventListener("click", () => this.run(run));
    again.addEventListener("click", () => {
      if (this.running) this.run(run);
      this.theta = Float64Array.from(model.parameters, (p) => p.start);
      this.restart();
      this.call();
    });
    this.status = element("p", { class: "status", "aria-live": "polite" });
    return element("section", { id: `model-${this.name}` }, element("h3", {}, model.title), element("p", {}, element("code", {}, model.formula)),
      plot, this.status, element("table", { class: "controls" }, head, ...rows), element("p", { class: "buttons" }, run, once, again));
  }

  right(k) {
    return 8 + ((WIDTH - 16) * k) / (COUNT - 1);
  }

  down(value) {
    const [low, high] = this.model.range;
    return HEIGHT - (HEIGHT * (value - low)) / (high - low);
  }

  show() {
    const inside = (value) => Math.min(2 * HEIGHT, Math.max(-HEIGHT, this.down(value)));
    this.line.setAttribute("d", `M${Array.from(this.curve, (value, k) => `${this.right(k).toFixed(1)} ${inside(value).toFixed(1)}`).join("L")}`);
    const largest = Math.max(...this.grad.map(Math.abs), 1e-12);
    this.theta.forEach((value, k) => {
      this.sliders[k].value = value;
      this.values[k].textContent = value.toFixed(3);
      this.slopes[k].textContent = this.grad[k].toFixed(4);
      const share = (50 * this.grad[k]) / largest;
      this.bars[k].style.width = `${Math.abs(share)}%`;
      this.bars[k].style.left = `${Math.min(50, 50 + share)}%`;
    });
    const steps = this.steps > 0 ? `, ${this.steps} steps down` : "";
    this.status.textContent = `loss ${this.loss.toFixed(5)}${steps}; loss, gradient and curve in ${((1000 * this.milliseconds) / this.calls).toFixed(0)} µs, mean of ${this.calls} calls`;
  }
}

const place = document.getElementById("models");
if (place) {
  const library = await load();
  const panels = Object.keys(MODELS).map((name) => new Panel(name, library));
  place.replaceChildren(...panels.map((panel) => panel.root));
  window.playground = Object.fromEntries(panels.map((panel) => [panel.name, panel])); // for the console, and the tests
}
