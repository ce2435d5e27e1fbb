/* Receptive-field explorer: what an output depends on, layer by layer, and a shortest way to it from the earliest input.
   Enhances every element with data-explorer="receptive-field"; its JSON holds the number of positions and where to start. */
(() => {
  "use strict";
  const { node, slider, choice, reading, many, each } = Explorer;
  const KINDS = [["recurrence", "recurrence", "gru"], ["convolution", "convolution", "lstm"],
    ["dilated", "dilated convolution", "lstm"], ["attention", "attention", "attention"]];

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

  each("receptive-field", ({ data, svg, title, controls, width, height, id }) => {
    const x = (position) => 14 + position * (width - 28) / (data.positions - 1);

    const plot = node("g", { "font-size": 8.5 }, svg);

    const grid = node("div", { class: "explorer-grid" }, controls);
    const kind = choice(grid, id("kind"), "Layers of", KINDS, data.start.kind, draw);
    const kernel = choice(grid, id("kernel"), "Kernel (convolutions)", [["2", "2 taps"], ["3", "3 taps"]], data.start.kernel, draw);
    const layers = slider(grid, id("layers"), "Number of layers: ", { min: 1, max: data.layers, value: data.start.layers }, draw);
    const output = slider(grid, id("output"), "Output at position: ", { min: 1, max: data.positions, value: data.start.output }, draw);
    const said = reading(controls);
    draw();

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
      said.textContent = `Through ${many(depth, name)} the output at position ${position + 1} sees ${many(width_, "position")}, ` +
        `${width_ === 1 ? found.first + 1 : `${found.first + 1} to ${position + 1}`}${all ? "" : `; what came before ${found.first + 1} cannot reach it`}. ` +
        `From input ${found.first + 1} the shortest way takes ${many(operations, "operation")}.`;
      title.textContent = `Dependency graph over ${data.positions} positions. ${said.textContent}`;
    }
  });
})();
