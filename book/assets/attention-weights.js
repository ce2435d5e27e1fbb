/* Attention-weights explorer: a query that the reader turns and stretches among five keys, the weights and the context.
   Enhances every element with data-explorer="attention-weights"; its JSON holds the keys (they are the values too). */
(() => {
  "use strict";
  const { node, slider, reading, signed, each } = Explorer;

  /* Softmax over the keys that may be looked at; a hidden key gets exactly zero, and all hidden gives all zero. */
  function weigh(scores, open) {
    const top = Math.max(...scores.filter((_, j) => open[j]));
    const powers = scores.map((score, j) => open[j] ? Math.exp(score - top) : 0);
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => total > 0 ? power / total : 0);
  }

  const two = (value) => signed((Math.abs(value) < 0.005 ? 0 : value).toFixed(2));

  each("attention-weights", ({ data, svg, title, controls, width, height, id }) => {
    const colour = (name) => `var(--figure-${name}, ${data.colours[name]})`;
    const number = data.keys.length, radius = Math.min(0.29 * width, 0.5 * height - 6);
    const centre = [6 + radius, height / 2], scale = radius / data.span;
    const x = (value) => centre[0] + scale * value, y = (value) => centre[1] - scale * value;
    const bars = { left: 2 * radius + 40, right: width - 34, top: 22, step: (height - 34) / number };

    const tip = node("marker", { id: id("tip"), viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 5, markerHeight: 5, orient: "auto" }, node("defs", {}, svg));
    node("path", { d: "M0 0L8 4L0 8Z", fill: colour("lstm") }, tip);
    node("rect", { x: centre[0] - radius, y: centre[1] - radius, width: 2 * radius, height: 2 * radius, fill: "none", stroke: "currentColor", "stroke-opacity": 0.35, "stroke-width": 0.8 }, svg);
    node("path", { d: `M${centre[0] - radius} ${centre[1]}h${2 * radius}M${centre[0]} ${centre[1] - radius}v${2 * radius}`, stroke: "currentColor", "stroke-opacity": 0.25, "stroke-width": 0.7 }, svg);
    node("text", { x: bars.left, y: 12 }, svg, "weight");
    const plot = node("g", {}, svg);

    const direction = slider(controls, id("direction"), "Direction of the query: ", { max: 355, step: 5, value: data.start.direction }, draw);
    const length = slider(controls, id("length"), "Length of the query: ", { max: data.longest, step: 0.25, value: data.start.length }, draw);
    const set = node("fieldset", {}, controls);
    node("legend", {}, set, "Keys that may be looked at");
    const boxes = data.keys.map((_, j) => {
      const label = node("label", { for: id(`key-${j}`) }, set);
      const box = node("input", { type: "checkbox", id: id(`key-${j}`) }, label);
      box.checked = true;
      box.addEventListener("change", draw);
      node("span", {}, label, `key ${j + 1}`);
      return box;
    });
    const said = reading(controls);
    draw();

    function draw() {
      const angle = Number(direction.input.value) * Math.PI / 180, size = Number(length.input.value);
      const query = [size * Math.cos(angle), size * Math.sin(angle)], open = boxes.map((box) => box.checked);
      const scores = data.keys.map((key) => key[0] * query[0] + key[1] * query[1]);
      const weights = weigh(scores, open);
      const context = [0, 1].map((axis) => data.keys.reduce((sum, key, j) => sum + weights[j] * key[axis], 0));
      plot.textContent = "";
      const reach = Math.min(1, 0.98 * data.span / Math.max(Math.abs(query[0]), Math.abs(query[1]), 1e-9));
      if (size > 0) node("path", { d: `M${centre[0]} ${centre[1]}L${x(query[0] * reach)} ${y(query[1] * reach)}`, stroke: colour("lstm"), "stroke-width": 1.6, "marker-end": `url(#${id("tip")})` }, plot);
      data.keys.forEach((key, j) => {
        node("circle", { cx: x(key[0]), cy: y(key[1]), r: 3 + 15 * Math.sqrt(weights[j]), fill: colour("gru"), "fill-opacity": open[j] ? 0.35 : 0.06 }, plot);
        node("text", { x: x(key[0]), y: y(key[1]) + 3.5, "text-anchor": "middle", "fill-opacity": open[j] ? 1 : 0.75 }, plot, j + 1);
        const top = bars.top + j * bars.step;
        node("text", { x: bars.left - 8, y: top + bars.step / 2, "text-anchor": "end" }, plot, j + 1);
        node("rect", { x: bars.left, y: top + 0.5 * bars.step - 11, width: Math.max(0.6, weights[j] * (bars.right - bars.left)), height: 14, fill: colour("attention"), "fill-opacity": open[j] ? 1 : 0.3 }, plot);
        node("text", { x: bars.left + weights[j] * (bars.right - bars.left) + 4, y: top + bars.step / 2 }, plot, open[j] ? weights[j].toFixed(2) : "0");
      });
      const [cx, cy] = [x(context[0]), y(context[1])];
      node("path", { d: `M${cx} ${cy - 5}L${cx + 5} ${cy}L${cx} ${cy + 5}L${cx - 5} ${cy}Z`, fill: colour("attention"), stroke: "var(--figure-paper, #ffffff)", "stroke-width": 0.8 }, plot);

      direction.shown.textContent = `${direction.input.value}\u00b0`;
      direction.input.setAttribute("aria-valuetext", `${direction.input.value} degrees`);
      length.shown.textContent = size.toFixed(2);
      const best = weights.indexOf(Math.max(...weights));
      const spread = Math.exp(weights.reduce((sum, weight) => weight > 0 ? sum - weight * Math.log(weight) : sum, 0));
      said.textContent = open.some(Boolean)
        ? (size > 0 ? `Key ${best + 1} has the largest weight, ${weights[best].toFixed(2)}. ` : "A query of length zero weighs the open keys alike. ") +
          `The weights are as spread as ${spread.toFixed(1)} equal ones. The context (diamond) is (${two(context[0])}, ${two(context[1])}).`
        : "No key may be looked at: every weight is zero, and so is the context.";
      title.textContent = `Query at ${direction.input.value} degrees with length ${size.toFixed(2)} among ${number} keys. ${said.textContent}`;
    }
  });
})();
