/* Impulse response of one mode h_k = lambda h_{k-1}: the eigenvalue in the complex plane beside its powers over time.
   Enhances every element with data-explorer="impulse-response"; its JSON holds the moduli and phases to choose from. */
(() => {
  "use strict";
  const { node, slider, table, reading, clip, signed, each } = Explorer;
  const SPANS = [10, 100, 1000];

  /* A number in two digits: 0.51, 13, 693, or 2.7e-5 where it is far from 1. */
  function written(value) {
    if (value === 0) return "0";
    if (Math.abs(value) >= 0.001 && Math.abs(value) < 9999.5) return Number(value.toPrecision(value >= 100 ? 3 : 2)).toString();
    return value.toExponential(1).replace("e+", "e");
  }

  const steps = (n) => n < 99.95 ? n.toFixed(1) : Math.round(n).toLocaleString("en-GB");

  each("impulse-response", ({ data, svg, title, controls, width, height, id }) => {
    const colour = `var(--figure-linear, ${data.colour})`;
    const left = 0.46 * width, right = width - 8, top = 10, bottom = height - 36, last = data.last;
    const radius = Math.min(0.155 * width, (bottom - top) / 2 - 14), centre = [0.185 * width, (top + bottom) / 2];
    const x = (k) => left + k / last * (right - left);
    const y = (value) => (top + bottom) / 2 - value / 1.15 * (bottom - top) / 2;

    const inside = clip(svg, id("clip"), left - 4, top, right - left + 8, bottom - top);
    drawAxes();
    const plane = node("g", {}, svg), response = node("g", { "clip-path": inside }, svg);

    const modulus = slider(controls, id("modulus"), "Modulus: ", { max: data.moduli.length - 1, value: data.start[0] }, draw);
    const phase = slider(controls, id("phase"), "Phase: ", { max: data.phases.length - 1, value: data.start[1] }, draw);
    const [cells] = table(controls, "size after k =", SPANS.map((n) => n.toLocaleString("en-GB")), ["of an impulse"]);
    const said = reading(controls);
    draw();

    function drawAxes() {
      const axes = node("g", {}, svg), faint = { stroke: "currentColor", "stroke-opacity": 0.3, "stroke-width": 0.7, fill: "none" };
      node("circle", { cx: centre[0], cy: centre[1], r: radius, stroke: "currentColor", "stroke-width": 0.9, fill: "none" }, axes);
      node("path", { d: `M${centre[0] - radius - 8} ${centre[1]}H${centre[0] + radius + 8}M${centre[0]} ${centre[1] - radius - 8}V${centre[1] + radius + 8}`, ...faint }, axes);
      node("text", { x: centre[0], y: height - 8, "text-anchor": "middle" }, axes, "eigenvalue, its powers");
      for (const value of [-1, 0, 1]) {
        node("path", { d: `M${left} ${y(value)}H${right}`, ...faint, "stroke-opacity": value ? 0.15 : 0.5 }, axes);
        node("text", { x: left - 6, y: y(value) + 3.5, "text-anchor": "end" }, axes, signed(value));
      }
      for (let k = 0; k <= last; k += last / 4) node("text", { x: x(k), y: bottom + 13, "text-anchor": k === last ? "end" : "middle" }, axes, k);
      node("text", { x: (left + right) / 2, y: height - 8, "text-anchor": "middle" }, axes, "step k");
    }

    function draw() {
      const r = data.moduli[modulus.input.value], n = Number(phase.input.value), theta = Math.PI * data.phases[n] / 180;
      plane.textContent = "";
      response.textContent = "";
      const point = (k) => [centre[0] + radius * r ** k * Math.cos(theta * k), centre[1] - radius * r ** k * Math.sin(theta * k)];
      let line = "";
      for (let k = 0; k <= last; k++) {
        const value = r ** k * Math.cos(theta * k), [px, py] = point(k);
        if (r <= 1) node("circle", { cx: px, cy: py, r: 1.5, fill: colour, "fill-opacity": 0.55 }, plane);
        node("path", { d: `M${x(k)} ${y(0)}V${y(value)}`, stroke: colour, "stroke-width": 1.1, "stroke-opacity": 0.7 }, response);
        line += `${k ? "L" : "M"}${x(k).toFixed(1)} ${y(value).toFixed(1)}`;
      }
      if (theta < Math.PI / 3) node("path", { d: line, fill: "none", stroke: colour, "stroke-width": 1.6 }, response);
      const [px, py] = point(1);
      node("path", { d: `M${centre[0]} ${centre[1]}L${px} ${py}`, stroke: colour, "stroke-width": 1.4 }, plane);
      node("circle", { cx: px, cy: py, r: 4, fill: colour }, plane);

      const degrees = `${data.phases[n]}\u00b0`;
      modulus.shown.textContent = r;
      phase.shown.textContent = degrees;
      modulus.input.setAttribute("aria-valuetext", `modulus ${r}`);
      phase.input.setAttribute("aria-valuetext", `phase ${data.phases[n]} degrees`);
      SPANS.forEach((k, i) => { cells[i].textContent = written(r ** k); });
      const memory = r > 1 ? `outside the unit circle, it doubles every ${steps(Math.LN2 / Math.log(r))} steps`
        : r === 1 ? "on the unit circle, nothing is ever lost" : `half-life ${steps(Math.log(0.5) / Math.log(r))} steps`;
      const swing = theta === 0 ? "no oscillation" : theta === Math.PI ? "the sign changes at every step" : `one turn in ${steps(2 * Math.PI / theta)} steps`;
      const gamma = r < 1 ? ` To keep unit variance the input is scaled by ${written(Math.sqrt(1 - r * r))}.` : " No scale keeps the variance finite.";
      said.textContent = `Modulus ${r}: ${memory}. Phase ${degrees}: ${swing}.${gamma}`;
      title.textContent = `Powers of one eigenvalue in the complex plane, and their real part over ${last} steps. ${said.textContent}`;
    }
  });
})();
