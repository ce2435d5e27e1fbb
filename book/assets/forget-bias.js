/* Forget-bias explorer: what a forget gate keeps, computed from its bias, beside the gradient measured in LSTMs.
   Enhances every element with data-explorer="forget-bias"; its JSON holds the measured curves as log10. */
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const MARGIN = { left: 50, right: 10, top: 24, bottom: 36 };
  const SPANS = [20, 100, 1000];

  function node(name, attributes, parent, text) {
    const drawn = name === "svg" || parent && parent.namespaceURI === SVG;
    const made = drawn ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const key of Object.keys(attributes || {})) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  }

  /* 10 to the power `log`: 0.51, 37, or 2.5e-14 where it is far from 1. */
  function written(log) {
    if (log > -2.0005 && log < 3) return Number((10 ** log).toPrecision(2)).toString();
    let exponent = Math.floor(log), digits = (10 ** (log - exponent)).toFixed(1);
    if (digits === "10.0") { digits = "1.0"; exponent += 1; }
    return `${digits}e${exponent}`;
  }

  const steps = (n) => n < 10 ? n.toFixed(1) : Math.round(n).toLocaleString("en-GB");
  /* ln of the gate 1 / (1 + exp(-b)), without the loss of digits near 1 */
  const logGate = (b) => -Math.log1p(Math.exp(-b));

  function addStyle() {
    if (document.getElementById("forget-bias-style")) return;
    node("style", { id: "forget-bias-style" }, document.head, `
      [data-explorer="forget-bias"] label { display: block; font-weight: 600; font-size: .9rem; margin-top: .4rem; text-align: left; }
      [data-explorer="forget-bias"] input { width: 100%; height: 1.9rem; margin: 0; accent-color: var(--pst-color-primary, #00639c); }
      [data-explorer="forget-bias"] output, [data-explorer="forget-bias"] table { font-variant-numeric: tabular-nums; }
      [data-explorer="forget-bias"] table { width: 100%; margin: .4rem 0; border-collapse: collapse; font-size: .9rem; }
      [data-explorer="forget-bias"] th, [data-explorer="forget-bias"] td { padding: .2rem .15rem; text-align: right; white-space: nowrap; font-weight: 400; border: 0;
        border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent); background: none; color: inherit; }
      [data-explorer="forget-bias"] th:first-child { text-align: left; }
      [data-explorer="forget-bias"] .fb-reading { margin: .4rem 0 0; text-align: left; font-size: .95rem; line-height: 1.5; }`);
  }

  function enhance(root, index) {
    const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
    const still = root.querySelector(".explorer-figure svg");
    const controls = root.querySelector(".explorer-controls");
    const [, , width, height] = still.getAttribute("viewBox").split(/\s+/).map(Number);
    const id = (name) => `forget-bias-${index}-${name}`;
    const colour = `var(--figure-lstm, ${data.colour})`;
    const right = width - MARGIN.right, bottom = height - MARGIN.bottom, furthest = data.lags[data.lags.length - 1];
    const x = (lag) => MARGIN.left + lag / furthest * (right - MARGIN.left);
    const y = (log) => MARGIN.top + (data.high - log) / (data.high - data.low) * (bottom - MARGIN.top);
    const path = (logs) => "M" + logs.map((log, i) => `${x(data.lags[i]).toFixed(1)} ${y(log).toFixed(1)}`).join("L");
    const gateAt = (b, n) => n * logGate(b) / Math.LN10;

    addStyle();
    const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, class: "figure", role: "img", "aria-labelledby": id("title"),
      "font-size": "10", fill: "currentColor" });
    const title = node("title", { id: id("title") }, svg);
    const clip = node("clipPath", { id: id("clip") }, node("defs", {}, svg));
    node("rect", { x: MARGIN.left, y: MARGIN.top, width: right - MARGIN.left, height: bottom - MARGIN.top }, clip);
    drawAxes();
    const plot = node("g", { "clip-path": `url(#${id("clip")})`, fill: "none" }, svg);
    still.replaceWith(svg);

    controls.textContent = "";
    const label = node("label", { for: id("bias") }, controls, "Forget bias: ");
    const shown = node("output", { for: id("bias"), "aria-live": "off" }, label);
    const slider = node("input", { type: "range", id: id("bias"), min: 0, max: data.biases.length - 1, step: 1 }, controls);
    slider.value = data.start;
    const cells = makeTable();
    const reading = node("p", { class: "fb-reading", "aria-live": "polite" }, controls);
    slider.addEventListener("input", draw);
    draw();

    function makeTable() {
      const table = node("table", {}, controls);
      const head = node("tr", {}, node("thead", {}, table));
      node("th", { scope: "col" }, head, "left after n =");
      for (const n of SPANS) node("th", { scope: "col" }, head, n.toLocaleString("en-GB"));
      const body = node("tbody", {}, table);
      return ["gate alone", "LSTM, median"].map((name) => {
        const row = node("tr", {}, body);
        node("th", { scope: "row" }, row, name);
        return SPANS.map(() => node("td", {}, row));
      });
    }

    function drawAxes() {
      const axes = node("g", {}, svg);
      for (let log = Math.ceil(data.low / 4) * 4; log <= data.high; log += 4) {
        node("path", { d: `M${MARGIN.left} ${y(log)}H${right}`, stroke: "currentColor", "stroke-opacity": log ? 0.15 : 0.5, "stroke-width": 0.7 }, axes);
        const tick = node("text", { x: MARGIN.left - 5, y: y(log) + 3.5, "text-anchor": "end" }, axes, log ? "10" : "1");
        if (log) node("tspan", { "font-size": 7.5, dy: -3.5 }, tick, String(log).replace("-", "\u2212"));
      }
      for (let lag = 0; lag <= furthest; lag += 50) node("text", { x: x(lag), y: bottom + 13, "text-anchor": "middle" }, axes, lag);
      node("path", { d: `M${MARGIN.left} ${MARGIN.top}V${bottom}H${right}`, fill: "none", stroke: "currentColor", "stroke-width": 0.8 }, axes);
      node("path", { d: `M${MARGIN.left} ${y(-3)}H${right}`, stroke: "currentColor", "stroke-width": 0.8, "stroke-dasharray": "1.5 2.5" }, axes);
      node("text", { x: (MARGIN.left + right) / 2, y: height - 6, "text-anchor": "middle" }, axes, "lag n (steps back)");
      node("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(9 ${(MARGIN.top + bottom) / 2}) rotate(-90)` }, axes, "share left");
      const entries = [[MARGIN.left, "LSTM, median"], [MARGIN.left + 98, `range of ${data.networks}`], [MARGIN.left + 184, "gate alone"]];
      for (const [left, text] of entries) node("text", { x: left + 21, y: 12 }, axes, text);
      node("path", { d: `M${entries[0][0]} 9h17`, stroke: colour, "stroke-width": 2.4 }, axes);
      node("rect", { x: entries[1][0], y: 4, width: 17, height: 9, fill: colour, "fill-opacity": 0.25 }, axes);
      node("path", { d: `M${entries[2][0]} 9h17`, stroke: "currentColor", "stroke-width": 1.2, "stroke-dasharray": "4 3" }, axes);
    }

    function draw() {
      const s = Number(slider.value), b = data.biases[s];
      const [median, low, high] = data.curves[s];
      plot.textContent = "";
      data.curves.forEach((curve, i) => {
        if (i !== s) node("path", { d: path(curve[0]), stroke: colour, "stroke-opacity": 0.25, "stroke-width": 0.8 }, plot);
      });
      node("path", { d: path(high) + "L" + path(low).slice(1).split("L").reverse().join("L") + "Z", fill: colour, "fill-opacity": 0.25 }, plot);
      node("path", { d: path(data.lags.map((lag) => gateAt(b, lag))), stroke: "currentColor", "stroke-width": 1.2, "stroke-dasharray": "4 3" }, plot);
      node("path", { d: path(median), stroke: colour, "stroke-width": 2.4 }, plot);

      shown.textContent = b;
      slider.setAttribute("aria-valuetext", `forget bias ${b}`);
      SPANS.forEach((n, i) => {
        const at = data.lags.indexOf(n);
        cells[0][i].textContent = written(gateAt(b, n));
        cells[1][i].textContent = at < 0 ? "not run" : written(median[at]);
      });
      const gate = 1 / (1 + Math.exp(-b)), halfLife = Math.LN2 / -logGate(b);
      const ideal = Math.floor(Math.log(1000) / -logGate(b));
      const far = (n) => n >= furthest ? `all ${furthest} steps` : n === 1 ? "1 step" : `${n.toLocaleString("en-GB")} steps`;
      reading.textContent = `The gate starts at ${gate > 0.999 ? gate.toFixed(5) : gate.toFixed(3)}: half-life ${steps(halfLife)} steps, time constant ` +
        `${steps(1 + Math.exp(b))} steps. Above a thousandth (dotted), the gate alone reaches back ${ideal === 1 ? "1 step" : `${ideal.toLocaleString("en-GB")} steps`}, ` +
        `the LSTM's gradient ${far(data.reaches[s])}.`;
      title.textContent = `Share of the gradient left against lag, logarithmic, at forget bias ${b}. ${reading.textContent}`;
    }
  }

  function start() {
    document.querySelectorAll('[data-explorer="forget-bias"]').forEach(enhance);
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
