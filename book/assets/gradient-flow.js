/* Gradient-flow explorer: norm of the gradient against lag, for plain recurrent networks and LSTMs.
   Enhances every element with data-explorer="gradient-flow"; the values stand in its JSON, as log10. */
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const MARGIN = { left: 56, right: 10, top: 24, bottom: 36 };

  function node(name, attributes, parent, text) {
    const isSvg = parent && parent.namespaceURI === SVG && name !== "p" || name === "svg";
    const made = isSvg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const key of Object.keys(attributes || {})) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  }

  /* 10 to the power `log`, written as 3.0e-21 where it is far from 1. */
  function written(log) {
    if (log > -2.0005 && log < 3) return Number((10 ** log).toPrecision(2)).toString();
    let exponent = Math.floor(log), digits = (10 ** (log - exponent)).toFixed(1);
    if (digits === "10.0") { digits = "1.0"; exponent += 1; }
    return `${digits}e${exponent}`;
  }

  function pace(log, lag) {
    const slope = log / lag;
    if (Math.abs(slope) < 0.0005) return "On the way there it neither halves nor doubles.";
    const steps = Math.log10(2) / Math.abs(slope);
    const unit = steps < 10 ? steps.toFixed(1) : Math.round(steps).toString();
    return `That is ${Math.abs(slope).toPrecision(2)} decades ${slope < 0 ? "lost" : "gained"} per step: ` +
      `it ${slope < 0 ? "halves" : "doubles"} every ${unit} steps.`;
  }

  function addStyle() {
    if (document.getElementById("gradient-flow-style")) return;
    node("style", { id: "gradient-flow-style" }, document.head, `
      [data-explorer="gradient-flow"] .gf-grid { display: grid; grid-template-columns: 1fr 1fr; gap: .4rem 1rem; margin: .4rem 0; text-align: left; }
      [data-explorer="gradient-flow"] .gf-grid > div { min-width: 0; }
      [data-explorer="gradient-flow"] label { display: block; font-weight: 600; font-size: .9rem; }
      [data-explorer="gradient-flow"] select { width: 100%; min-height: 1.9rem; font: inherit; font-size: .9rem; border: 1px solid currentColor;
        border-radius: .25rem; color: var(--pst-color-text-base, CanvasText); background: var(--pst-color-background, Canvas); }
      [data-explorer="gradient-flow"] input { width: 100%; height: 1.9rem; margin: 0; accent-color: var(--pst-color-primary, #00639c); }
      [data-explorer="gradient-flow"] output { font-variant-numeric: tabular-nums; }
      [data-explorer="gradient-flow"] .gf-reading { margin: .5rem 0 0; text-align: left; font-size: .95rem; line-height: 1.5; }`);
  }

  function enhance(root, index) {
    const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
    const still = root.querySelector(".explorer-figure svg");
    const controls = root.querySelector(".explorer-controls");
    const [, , width, height] = still.getAttribute("viewBox").split(/\s+/).map(Number);
    const id = (name) => `gradient-flow-${index}-${name}`;
    const last = data.lags.length - 1;
    const x = (lag) => MARGIN.left + lag / data.lags[last] * (width - MARGIN.left - MARGIN.right);
    const y = (log) => MARGIN.top + (data.high - log) / (data.high - data.low) * (height - MARGIN.top - MARGIN.bottom);
    const path = (logs) => "M" + logs.map((log, i) => `${x(data.lags[i]).toFixed(1)} ${y(log).toFixed(1)}`).join("L");

    addStyle();
    const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, class: "figure", role: "img", "aria-labelledby": id("title"),
      "font-size": "10", fill: "currentColor" });
    const title = node("title", { id: id("title") }, svg);
    const clip = node("clipPath", { id: id("clip") }, node("defs", {}, svg));
    node("rect", { x: MARGIN.left, y: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom }, clip);
    drawAxes(svg);
    const plot = node("g", { "clip-path": `url(#${id("clip")})`, fill: "none" }, svg);
    const point = node("circle", { r: 3.5 }, svg);
    const key = node("g", {}, svg);
    still.replaceWith(svg);

    controls.textContent = "";
    const grid = node("div", { class: "gf-grid" }, controls);
    const model = choice("model", "Network", data.models.map((m) => m.name), 0);
    const scale = choice("scale", "Input scale \u03c3\u2093", data.scales.map(String), data.startScale);
    const setting = slider("setting", "", data.models[0].settings.length - 1, data.models[0].start);
    const lag = slider("lag", "Lag n", last, last);
    const reading = node("p", { class: "gf-reading", "aria-live": "polite" }, controls);
    model.addEventListener("change", () => {
      setting.max = data.models[model.value].settings.length - 1;
      setting.value = data.models[model.value].start;
      draw();
    });
    for (const control of [setting, scale, lag]) control.addEventListener("input", draw);
    draw();

    function choice(name, text, options, chosen) {
      const box = node("div", {}, grid);
      node("label", { for: id(name) }, box, text);
      const select = node("select", { id: id(name) }, box);
      options.forEach((option, i) => node("option", { value: i }, select, option));
      select.value = chosen;
      return select;
    }

    function slider(name, text, max, value) {
      const box = node("div", {}, grid);
      const label = node("label", { for: id(name) }, box);
      node("span", { id: id(name + "-name") }, label, text + ": ");
      node("output", { for: id(name), id: id(name + "-value"), "aria-live": "off" }, label);
      const input = node("input", { type: "range", id: id(name), min: 0, max, step: 1 }, box);
      input.value = value;
      return input;
    }

    function drawAxes(parent) {
      const axes = node("g", {}, parent);
      for (let log = data.low; log <= data.high; log += 1) {
        if (log % 10) continue;
        node("path", { d: `M${MARGIN.left} ${y(log)}H${width - MARGIN.right}`, stroke: "currentColor", "stroke-opacity": log ? 0.15 : 0.5, "stroke-width": 0.7 }, axes);
        const label = node("text", { x: MARGIN.left - 5, y: y(log) + 3.5, "text-anchor": "end" }, axes, log ? "10" : "1");
        if (log) node("tspan", { "font-size": 7.5, dy: -3.5 }, label, String(log).replace("-", "\u2212"));
      }
      for (let step = 0; step <= data.lags[last]; step += 20) node("text", { x: x(step), y: height - MARGIN.bottom + 13, "text-anchor": "middle" }, axes, step);
      node("path", { d: `M${MARGIN.left} ${MARGIN.top}V${height - MARGIN.bottom}H${width - MARGIN.right}`, fill: "none", stroke: "currentColor", "stroke-width": 0.8 }, axes);
      node("text", { x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 6, "text-anchor": "middle" }, axes, "lag n (steps back)");
      node("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(9 ${(MARGIN.top + height - MARGIN.bottom) / 2}) rotate(-90)` }, axes, "norm, relative to lag 0");
    }

    function drawKey(colour) {
      key.textContent = "";
      const entries = [[MARGIN.left, "median"], [MARGIN.left + 64, `range of ${data.networks}`], [MARGIN.left + 154, "prediction"]];
      for (const [left, text] of entries) node("text", { x: left + 21, y: 12 }, key, text);
      node("path", { d: `M${entries[0][0]} 9h17`, stroke: colour, "stroke-width": 2.4 }, key);
      node("rect", { x: entries[1][0], y: 4, width: 17, height: 9, fill: colour, "fill-opacity": 0.25 }, key);
      node("path", { d: `M${entries[2][0]} 9h17`, stroke: "currentColor", "stroke-width": 1.2, "stroke-dasharray": "4 3" }, key);
    }

    function draw() {
      const m = data.models[model.value], s = Number(setting.value), at = Number(lag.value), n = data.lags[at];
      const [median, low, high] = m.curves[s][scale.value];
      const colour = `var(--figure-${m.colour}, ${m.fixedColour})`;
      plot.textContent = "";
      m.curves.forEach((row, i) => {
        if (i !== s) node("path", { d: path(row[scale.value][0]), stroke: colour, "stroke-opacity": 0.28, "stroke-width": 0.8 }, plot);
      });
      node("path", { d: path(high) + "L" + path(low).slice(1).split("L").reverse().join("L") + "Z", fill: colour, "fill-opacity": 0.25 }, plot);
      node("path", { d: path(data.lags.map((step) => step * m.rates[s])), stroke: "currentColor", "stroke-width": 1.2, "stroke-dasharray": "4 3" }, plot);
      node("path", { d: path(median), stroke: colour, "stroke-width": 2.4 }, plot);
      node("path", { d: `M${x(n)} ${MARGIN.top}V${height - MARGIN.bottom}`, stroke: "currentColor", "stroke-width": 0.8, "stroke-dasharray": "1.5 2.5" }, plot);
      point.setAttribute("cx", x(n));
      point.setAttribute("cy", y(median[at]));
      point.setAttribute("fill", colour);
      point.setAttribute("visibility", median[at] < data.low || median[at] > data.high ? "hidden" : "visible");
      drawKey(colour);

      document.getElementById(id("setting-name")).textContent = m.setting + ": ";
      document.getElementById(id("setting-value")).textContent = m.settings[s];
      document.getElementById(id("lag-value")).textContent = n;
      setting.setAttribute("aria-valuetext", `${m.setting} ${m.settings[s]}`);
      lag.setAttribute("aria-valuetext", `lag ${n}`);
      const measured = n === 0 ? "At lag 0 every curve starts at 1."
        : `At lag ${n} the median gradient is ${written(median[at])} (${written(low[at])} to ${written(high[at])} over ${data.networks} networks). ` +
          `${pace(median[at], n)} ${m.prediction} predicts ${written(n * m.rates[s])}.`;
      reading.textContent = measured;
      title.textContent = `Gradient norm against lag, logarithmic. ${m.name}, ${m.setting} ${m.settings[s]}, input scale ${data.scales[scale.value]}. ${measured}`;
    }
  }

  function start() {
    document.querySelectorAll('[data-explorer="gradient-flow"]').forEach(enhance);
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
