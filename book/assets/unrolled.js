/* Unrolled network: the error signal walks back through it, one operation at a time.
   Enhances every element with data-explorer="unrolled". Its JSON holds `steps`, and `scenarios`, each a name,
   `h` and the numbers of one backward pass: from_output, from_later, delta, g, terms, delta_0, losses, cut. */
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const SIGNAL = "var(--figure-lstm, #00639c)";

  function node(name, attributes, parent, text) {
    const isSvg = name === "svg" || (parent && parent.namespaceURI === SVG);
    const made = isSvg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const key of Object.keys(attributes || {})) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  }

  const number = (value) => (Math.abs(value) < 0.0005 ? "0.000" : value.toFixed(3)).replace("-", "\u2212");
  const short = (value) => (Math.abs(value) < 0.005 ? "0.00" : value.toFixed(2)).replace("-", "\u2212");
  const pair = (values, write = number) => values.map(write).join(", ");
  const vector = (values) => `(${pair(values)})`;
  const matrix = (rows) => rows.map((row) => pair(row)).join("; ");
  const DASH = "\u2013";
  const SUB = "\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089";
  const sub = (t) => String(t).split("").map((digit) => SUB[Number(digit)]).join("");

  function addStyle() {
    if (document.getElementById("unrolled-style")) return;
    node("style", { id: "unrolled-style" }, document.head, `
      [data-explorer="unrolled"] .un-row { display: flex; flex-wrap: wrap; gap: .4rem .6rem; align-items: center; margin: .4rem 0; }
      [data-explorer="unrolled"] label { display: block; font-weight: 600; font-size: .9rem; }
      [data-explorer="unrolled"] select { width: 100%; font-size: .9rem; }
      [data-explorer="unrolled"] button[aria-disabled="true"] { opacity: .55; }
      [data-explorer="unrolled"] .un-row input[type="range"] { flex: 1 1 5rem; min-width: 4rem; }
      [data-explorer="unrolled"] .un-reading { margin: .5rem 0; min-height: 6.6rem; }
      [data-explorer="unrolled"] .un-scroll { overflow-x: auto; }
      [data-explorer="unrolled"] table { border-collapse: collapse; margin: 0; font-size: .8rem; font-variant-numeric: tabular-nums; width: 100%; }
      [data-explorer="unrolled"] :is(th, td) { padding: .1rem .2rem; text-align: right; white-space: nowrap; line-height: 1.3; }
      [data-explorer="unrolled"] :is(th, td) span { display: block; }
      [data-explorer="unrolled"] tfoot :is(th, td) { border-top: 1px solid currentColor; }
      [data-explorer="unrolled"] .un-now { outline: 2px solid ${SIGNAL}; outline-offset: -2px; }`);
  }

  /* The operations in the order of the walk: signal at the state, at the pre-activation, term; then the start. */
  function operations(steps) {
    const list = [{ kind: "start", t: steps }];
    for (let t = steps; t >= 1; t -= 1) for (const kind of ["delta", "g", "term"]) list.push({ kind, t });
    list.push({ kind: "initial", t: 0 });
    return list;
  }

  function sum(terms, from) {
    const total = terms[0].map((row) => row.map(() => 0));
    for (let t = terms.length; t >= from; t -= 1) terms[t - 1].forEach((row, i) => row.forEach((value, j) => { total[i][j] += value; }));
    return total;
  }

  function reading(run, steps, { kind, t }) {
    const cutHere = run.cut === t;
    if (kind === "start") return `The forward pass is done: every state is known. ${run.note} Nothing has gone back yet.`;
    if (kind === "initial") return `W\u2095\u1d40 g\u2081 = ${vector(run.delta_0)} is what reaches the initial state h\u2080. The walk is over: the sum holds ${steps} terms, one a step.`;
    if (kind === "delta") {
      const now = run.losses[t - 1] ? `its own loss sends ${vector(run.from_output[t - 1])}` : "it has no loss of its own";
      const later = t === steps ? "nothing comes later" : cutHere ? "the cut keeps everything later away" : `step ${t + 1} sends W\u2095\u1d40 g${sub(t + 1)} = ${vector(run.from_later[t - 1])}`;
      return `Step ${t}, signal at the state: ${now}, and ${later}. Together \u03b4${sub(t)} = ${vector(run.delta[t - 1])}.`;
    }
    if (kind === "g") return `Step ${t}, through tanh: the slopes are 1 \u2212 h${sub(t)}\u00b2 = ${vector(run.h[t].map((value) => 1 - value * value))}, so g${sub(t)} = ${vector(run.g[t - 1])}.`;
    const zero = t === 1 ? " It is zero, because h\u2080 is zero." : "";
    return `Step ${t}, one term for the weights: g${sub(t)} h${sub(t - 1)}\u1d40 = [${matrix(run.terms[t - 1])}] is added.${zero}`;
  }

  function enhance(root, index) {
    const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
    const still = root.querySelector(".explorer-figure svg");
    const controls = root.querySelector(".explorer-controls");
    const [, , width, height] = still.getAttribute("viewBox").split(/\s+/).map(Number);
    const id = (name) => `unrolled-${index}-${name}`;
    const steps = data.steps, walk = operations(steps);
    const x = (t) => 34 + t * (width - 68) / steps;
    const rows = { loss: height * 0.12, state: height * 0.49, delta: height * 0.66, g: height * 0.84 };

    addStyle();
    const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, class: "figure", role: "img", "aria-labelledby": id("title"), "font-size": "11", fill: "currentColor" });
    const title = node("title", { id: id("title") }, svg);
    const defs = node("defs", {}, svg);
    for (const [name, colour] of [["ink", "currentColor"], ["signal", SIGNAL]]) {
      const head = node("marker", { id: id(name), viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse", markerUnits: "userSpaceOnUse" }, defs);
      node("path", { d: "M0 0L8 4L0 8Z", fill: colour }, head);
    }
    const drawing = node("g", {}, svg);
    still.replaceWith(svg);

    controls.textContent = "";
    node("label", { for: id("scenario") }, controls, "Losses at");
    const scenario = node("select", { id: id("scenario") }, controls);
    data.scenarios.forEach((run, i) => node("option", { value: i }, scenario, run.name));
    const row = node("div", { class: "un-row" }, controls);
    const back = node("button", { type: "button" }, row, "Back");
    const slider = node("input", { type: "range", min: 0, max: walk.length - 1, step: 1, "aria-label": "Operation of the backward pass" }, row);
    slider.value = walk.length - 1;
    const next = node("button", { type: "button" }, row, "Next");
    const text = node("p", { class: "un-reading", "aria-live": "polite" }, controls);
    const table = buildTable(node("div", { class: "un-scroll", tabindex: 0, role: "region", "aria-label": "Signals and terms so far" }, controls));
    back.addEventListener("click", () => move(-1));
    next.addEventListener("click", () => move(1));
    slider.addEventListener("input", draw);
    scenario.addEventListener("input", draw);
    draw();

    function move(by) {
      slider.value = Number(slider.value) + by;
      draw();
    }

    function buildTable(box) {
      const made = node("table", {}, box);
      const head = node("tr", {}, node("thead", {}, made));
      for (const name of ["step", "\u03b4\u209c", "g\u209c", "g\u209c h\u209c\u208b\u2081\u1d40"]) node("th", { scope: "col" }, head, name);
      const body = node("tbody", {}, made), cells = [];
      for (let t = steps; t >= 1; t -= 1) {
        const line = node("tr", {}, body);
        node("th", { scope: "row" }, line, t);
        cells[t] = { delta: node("td", {}, line), g: node("td", {}, line), term: node("td", {}, line) };
      }
      const foot = node("tr", {}, node("tfoot", {}, made));
      node("th", { scope: "row", colspan: 3 }, foot, "sum so far");
      return { cells, total: node("td", {}, foot) };
    }

    function line(x1, y1, x2, y2, { signal = false, on = true } = {}) {
      const shown = { d: `M${x1} ${y1}L${x2} ${y2}`, fill: "none", stroke: signal ? SIGNAL : "currentColor", "stroke-width": signal && on ? 2.2 : 1.1, "marker-end": `url(#${id(signal ? "signal" : "ink")})` };
      if (!on) shown["stroke-opacity"] = 0.25;
      return node("path", shown, drawing);
    }

    function label(x1, y1, written, { colour, size = 11, bold = false, anchor = "middle" } = {}) {
      const made = node("text", { x: x1, y: y1 + 3.5, "text-anchor": anchor, "font-size": size, "font-weight": bold ? 700 : 400 }, drawing, written);
      if (colour) made.style.fill = colour;
      return made;
    }

    function draw() {
      const at = Number(slider.value), run = data.scenarios[scenario.value], now = walk[at];
      const reached = (kind, t) => walk.findIndex((op) => op.kind === kind && op.t === t) <= at;
      drawing.textContent = "";
      for (let t = 0; t <= steps; t += 1) drawStep(run, t, now, reached);
      table.cells.forEach((cells, t) => fill(cells, run, t, now, reached));
      const done = now.kind === "initial" ? 1 : now.kind === "term" ? now.t : now.t + 1;
      write(table.total, done > steps ? [] : sum(run.terms, done));
      const sentence = reading(run, steps, now);
      text.textContent = sentence;
      title.textContent = `The unrolled network of ${steps} steps. Losses at ${run.name}. ${sentence}`;
      slider.setAttribute("aria-valuetext", `operation ${at} of ${walk.length - 1}`);
      back.setAttribute("aria-disabled", at === 0);
      next.setAttribute("aria-disabled", at === walk.length - 1);
    }

    function fill(cells, run, t, now, reached) {
      for (const kind of ["delta", "g", "term"]) {
        const rows = kind === "term" ? run.terms[t - 1] : run[kind][t - 1].map((value) => [value]);  // a column, as in the equations
        write(cells[kind], reached(kind, t) ? rows : []);
        cells[kind].classList.toggle("un-now", now.kind === kind && now.t === t);
      }
    }

    function write(cell, rows) {
      cell.textContent = rows.length ? "" : DASH;
      for (const row of rows) node("span", {}, cell, pair(row));
    }

    function drawStep(run, t, now, reached) {
      const here = now.t === t && now.kind !== "start";
      const known = t === 0 ? reached("initial", 0) : reached("delta", t);
      node("rect", { x: x(t) - 13, y: rows.state - 12, width: 26, height: 24, rx: 5, fill: "none", stroke: here ? SIGNAL : "currentColor", "stroke-width": here ? 2.4 : 1.2 }, drawing);
      label(x(t), rows.state, `h${sub(t)}`);
      if (known) writeSignal(`\u03b4${sub(t)}`, t === 0 ? run.delta_0 : run.delta[t - 1], x(t), rows.delta, now.kind === "delta" && here);
      if (t === 0) return;
      if (reached("g", t)) writeSignal(`g${sub(t)}`, run.g[t - 1], x(t), rows.g, now.kind === "g" && here);
      const scored = run.losses[t - 1], cut = run.cut === t - 1 && t > 1;
      label(x(t), rows.loss, scored ? `L${sub(t)}` : `y${sub(t)}`);
      line(x(t) - 5, rows.state - 15, x(t) - 5, rows.loss + 10);
      if (scored) line(x(t) + 5, rows.loss + 10, x(t) + 5, rows.state - 15, { signal: true, on: known });
      line(x(t - 1) + 16, rows.state - 5, x(t) - 16, rows.state - 5);
      const sent = t === 1 ? reached("initial", 0) : reached("delta", t - 1);
      if (!cut) line(x(t) - 16, rows.state + 6, x(t - 1) + 16, rows.state + 6, { signal: true, on: sent });
      else drawCut((x(t) + x(t - 1)) / 2);
    }

    function drawCut(middle) {
      node("path", { d: `M${middle} ${rows.state - 26}V${rows.state + 20}`, stroke: "currentColor", "stroke-width": 1.2, "stroke-dasharray": "3 2" }, drawing);
      label(middle, rows.state - 33, "cut", { size: 10 });
    }

    function writeSignal(name, values, middle, top, bold) {
      label(middle, top, name, { colour: SIGNAL, bold });
      label(middle, top + 13, pair(values, short), { colour: SIGNAL, size: 10, bold });
    }
  }

  function start() {
    document.querySelectorAll('[data-explorer="unrolled"]').forEach(enhance);
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
