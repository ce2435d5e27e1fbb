/* Receptive-field explorer: what an output depends on, layer by layer, and a shortest way to it from the earliest input.
   Enhances every element with data-explorer="receptive-field"; its JSON holds the number of positions and where to start. */
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const KINDS = [["recurrence", "recurrence", "gru"], ["convolution", "convolution", "lstm"],
    ["dilated", "dilated convolution", "lstm"], ["attention", "attention", "attention"]];

  function node(name, attributes, parent, text) {
    const drawn = name === "svg" || parent && parent.namespaceURI === SVG;
    const made = drawn ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const key of Object.keys(attributes || {})) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  }

  /* Nodes are "row,position"; row 0 holds the inputs. */
  function parents(row, position, kind, kernel) {
    if (row === 0) return [];
    if (kind === "recurrence") return position > 0 ? [[row - 1, position], [row, position - 1]] : [[row - 1, position]];
    if (kind === "attention") return Array.from({ length: position + 1 }, (_, p) => [row - 1, p]);
    const dilation = kind === "dilated" ? kernel ** (row - 1) : 1;
    return Array.from({ length: kernel }, (_, tap) => [row - 1, position - tap * dilation]).filter(([, p]) => p >= 0);
  }

  /* Breadth first from the output: the edges that it depends on, and for each node the next one on a shortest way. */
  function search(kind, layers, position, kernel) {
    const output = [layers, position], child = new Map([[String(output), null]]), edges = [];
    let front = [output];
    while (front.length) {
      const reached = [];
      for (const at of front) {
        for (const from of parents(at[0], at[1], kind, kernel)) {
          edges.push([from, at]);
          if (!child.has(String(from))) { child.set(String(from), at); reached.push(from); }
        }
      }
      front = reached;
    }
    let first = 0;
    while (!child.has(`0,${first}`)) first += 1;
    const way = [[0, first]];
    for (let next = child.get(`0,${first}`); next; next = child.get(String(next))) way.push(next);
    return { edges, way, first, seen: child };
  }

  const many = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

  function addStyle() {
    if (document.getElementById("receptive-field-style")) return;
    node("style", { id: "receptive-field-style" }, document.head, `
      [data-explorer="receptive-field"] .rf-grid { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .3rem 1rem; }
      [data-explorer="receptive-field"] label { display: block; font-weight: 600; font-size: .9rem; text-align: left; margin-top: .3rem; }
      [data-explorer="receptive-field"] select { display: block; width: 100%; min-height: 2.2rem; font: inherit; font-weight: 400; color: inherit; background: var(--pst-color-background, #fff);
        border: 1px solid color-mix(in srgb, currentColor 45%, transparent); border-radius: .25rem; padding: .2rem .3rem; }
      [data-explorer="receptive-field"] option { color: inherit; background: var(--pst-color-background, #fff); }
      [data-explorer="receptive-field"] input { display: block; width: 100%; height: 2.2rem; margin: 0; accent-color: var(--pst-color-primary, #00639c); }
      [data-explorer="receptive-field"] output { font-variant-numeric: tabular-nums; }
      [data-explorer="receptive-field"] .rf-reading { margin: .5rem 0 0; text-align: left; font-size: .95rem; line-height: 1.5; }`);
  }

  function enhance(root, index) {
    const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
    const still = root.querySelector(".explorer-figure svg");
    const controls = root.querySelector(".explorer-controls");
    const [, , width, height] = still.getAttribute("viewBox").split(/\s+/).map(Number);
    const id = (name) => `receptive-field-${index}-${name}`;
    const x = (position) => 14 + position * (width - 28) / (data.positions - 1);

    addStyle();
    const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, class: "figure", role: "img", "aria-labelledby": id("title"),
      "font-size": "8.5", fill: "currentColor" });
    const title = node("title", { id: id("title") }, svg);
    const plot = node("g", {}, svg);
    still.replaceWith(svg);

    controls.textContent = "";
    const grid = node("div", { class: "rf-grid" }, controls);
    const kind = choice("kind", "Layers of", KINDS.map(([value, name]) => [value, name]), data.start.kind);
    const kernel = choice("kernel", "Kernel (convolutions)", [["2", "2 taps"], ["3", "3 taps"]], data.start.kernel);
    const layers = slider("layers", "Number of layers: ", 1, data.layers, data.start.layers);
    const output = slider("output", "Output at position: ", 1, data.positions, data.start.output);
    const reading = node("p", { class: "rf-reading", "aria-live": "polite" }, controls);
    draw();

    function choice(name, text, options, value) {
      const label = node("label", { for: id(name) }, grid, text);
      const select = node("select", { id: id(name) }, label);
      for (const [key, shown] of options) node("option", { value: key }, select, shown);
      select.value = String(value);
      select.addEventListener("change", draw);
      return select;
    }

    function slider(name, text, min, max, value) {
      const label = node("label", { for: id(name) }, grid, text);
      const shown = node("output", { for: id(name), "aria-live": "off" }, label);
      const input = node("input", { type: "range", id: id(name), min, max, step: 1 }, label);
      input.value = value;
      input.addEventListener("input", draw);
      return { input, shown };
    }

    function draw() {
      const depth = Number(layers.input.value), position = Number(output.input.value) - 1, taps = Number(kernel.value);
      const colour = KINDS.find(([value]) => value === kind.value)[2];
      const paint = `var(--figure-${colour}, ${data.colours[colour]})`, grey = `var(--figure-grey, ${data.colours.grey})`;
      const y = (row) => height - 26 - row * (height - 40) / Math.max(depth, 2);
      const found = search(kind.value, depth, position, taps);
      const onWay = new Set(found.way.map(String)), steps = new Set(found.way.slice(1).map((to, i) => `${found.way[i]}>${to}`));
      kernel.disabled = kind.value === "recurrence" || kind.value === "attention";
      plot.textContent = "";
      const line = (from, to, thick) => node("path", { d: `M${x(from[1]).toFixed(1)} ${y(from[0]).toFixed(1)}L${x(to[1]).toFixed(1)} ${y(to[0]).toFixed(1)}`,
        stroke: thick ? paint : grey, "stroke-width": thick ? 2.4 : 0.8, "stroke-linecap": "round" }, plot);
      const thick = ([from, to]) => steps.has(`${from}>${to}`);
      found.edges.filter((edge) => !thick(edge)).forEach(([from, to]) => line(from, to, false));
      found.edges.filter(thick).forEach(([from, to]) => line(from, to, true));
      for (let row = 0; row <= depth; row += 1) {
        for (let p = 0; p < data.positions; p += 1) {
          const key = `${row},${p}`, seen = found.seen.has(key);
          const style = { fill: onWay.has(key) ? paint : "var(--figure-paper, #ffffff)", stroke: seen ? "currentColor" : grey, "stroke-width": seen ? 1.2 : 0.6 };
          if (row) node("circle", { cx: x(p), cy: y(row), r: 4.2, ...style }, plot);
          else node("rect", { x: x(p) - 4, y: y(0) - 4, width: 8, height: 8, ...style }, plot);
        }
      }
      for (let p = 0; p < data.positions; p += 1) node("text", { x: x(p), y: height - 7, "text-anchor": "middle" }, plot, p + 1);

      layers.shown.textContent = depth;
      output.shown.textContent = position + 1;
      const width_ = position - found.first + 1, operations = found.way.length - 1;
      const all = found.first === 0;
      const name = { recurrence: "recurrent layer", attention: "layer of attention" }[kind.value] || "convolution layer";
      reading.textContent = `Through ${many(depth, name)} the output at position ${position + 1} sees ${many(width_, "position")}, ` +
        `${width_ === 1 ? found.first + 1 : `${found.first + 1} to ${position + 1}`}${all ? "" : `; what came before ${found.first + 1} cannot reach it`}. ` +
        `From input ${found.first + 1} the shortest way takes ${many(operations, "operation")}.`;
      title.textContent = `Dependency graph over ${data.positions} positions. ${reading.textContent}`;
    }
  }

  function start() {
    document.querySelectorAll('[data-explorer="receptive-field"]').forEach(enhance);
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
