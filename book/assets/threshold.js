/* Threshold explorer: a score around the onset of a fault, the alarms that a threshold gives there, and what the same
   threshold gave on a long normal record and on many faults of that kind.
   Enhances every element with data-explorer="threshold"; its JSON holds the traces and the counts. */
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const MARGIN = { left: 34, right: 8, top: 24, bottom: 36 };

  function node(name, attributes, parent, text) {
    const drawn = name === "svg" || parent && parent.namespaceURI === SVG;
    const made = drawn ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const key of Object.keys(attributes || {})) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  }

  /* A rate: 233, 5.5, 0.050, or 3e-7 where it is far below one. */
  function rate(value) {
    if (value === 0) return "0";
    if (value < 0.001) return value.toExponential(0);
    return value >= 100 ? Math.round(value).toLocaleString("en-GB") : String(Number(value.toPrecision(2)));
  }

  const seconds = (n) => n < 120 ? `${Math.round(n)} s` : `${Math.round(n / 60)} min`;

  function addStyle() {
    if (document.getElementById("threshold-style")) return;
    node("style", { id: "threshold-style" }, document.head, `
      [data-explorer="threshold"] .th-choices { display: grid; grid-template-columns: 1fr 1fr; gap: 0 .75rem; }
      [data-explorer="threshold"] label { display: block; font-weight: 600; font-size: .9rem; margin-top: .4rem; text-align: left; }
      [data-explorer="threshold"] select { width: 100%; min-width: 0; height: 2rem; font: inherit; font-size: .9rem; color: inherit;
        background: var(--pst-color-background, Canvas); border: 1px solid color-mix(in srgb, currentColor 45%, transparent); border-radius: .25rem; }
      [data-explorer="threshold"] option { color: var(--pst-color-text-base, CanvasText); background: var(--pst-color-background, Canvas); }
      [data-explorer="threshold"] input { width: 100%; height: 1.9rem; margin: 0; accent-color: var(--pst-color-primary, #00639c); }
      [data-explorer="threshold"] output, [data-explorer="threshold"] .th-reading { font-variant-numeric: tabular-nums; }
      [data-explorer="threshold"] .th-reading { margin: .4rem 0 0; text-align: left; font-size: .95rem; line-height: 1.5; }`);
  }

  function enhance(root, index) {
    const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
    const still = root.querySelector(".explorer-figure svg");
    const controls = root.querySelector(".explorer-controls");
    const [, , width, height] = still.getAttribute("viewBox").split(/\s+/).map(Number);
    const id = (name) => `threshold-${index}-${name}`;
    const right = width - MARGIN.right, bottom = height - MARGIN.bottom;
    const bins = data.faults[0].traces[0].length, last = data.start + bins * data.bin;
    const x = (second) => MARGIN.left + (second - data.start) / (last - data.start) * (right - MARGIN.left);
    const calm = `var(--figure-lstm, ${data.colours[0]})`, alarmed = `var(--figure-rnn, ${data.colours[1]})`;

    addStyle();
    const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, class: "figure", role: "img", "aria-labelledby": id("title"),
      "font-size": "10", fill: "currentColor" });
    const title = node("title", { id: id("title") }, svg);
    const clip = node("clipPath", { id: id("clip") }, node("defs", {}, svg));
    node("rect", { x: MARGIN.left, y: MARGIN.top, width: right - MARGIN.left, height: bottom - MARGIN.top }, clip);
    const plot = node("g", {}, svg);
    still.replaceWith(svg);

    controls.textContent = "";
    const choices = node("div", { class: "th-choices" }, controls);
    const fault = choose("fault", "Fault", data.faults), detector = choose("detector", "Score", data.detectors);
    const label = node("label", { for: id("level") }, controls, "Threshold: ");
    const shown = node("output", { for: id("level"), "aria-live": "off" }, label);
    const slider = node("input", { type: "range", id: id("level"), min: 0, step: 1 }, controls);
    const reading = node("p", { class: "th-reading", "aria-live": "polite" }, controls);
    fault.value = data.fault;
    fault.addEventListener("change", draw);
    detector.addEventListener("change", () => { fit(); draw(); });
    slider.addEventListener("input", draw);
    fit();
    draw();

    function choose(name, text, items) {
      const box = node("div", {}, choices);
      node("label", { for: id(name) }, box, text);
      const select = node("select", { id: id(name) }, box);
      items.forEach((item, i) => node("option", { value: i }, select, item.name));
      return select;
    }

    function fit() {
      const chosen = data.detectors[detector.value];
      slider.max = chosen.thresholds.length - 1;
      slider.value = chosen.start;
    }

    function drawAxes(y, top, step, name, chosen) {
      const axes = node("g", {}, plot);
      node("rect", { x: x(0), y: MARGIN.top, width: x(Math.max(name.stop, 12)) - x(0), height: bottom - MARGIN.top, fill: "currentColor", "fill-opacity": 0.08 }, axes);
      for (let value = 0; value <= top; value += step) {
        node("path", { d: `M${MARGIN.left} ${y(value)}H${right}`, stroke: "currentColor", "stroke-opacity": 0.15, "stroke-width": 0.7 }, axes);
        node("text", { x: MARGIN.left - 5, y: y(value) + 3.5, "text-anchor": "end" }, axes, value);
      }
      for (let minute = Math.ceil(data.start / 600) * 10; minute * 60 <= last; minute += 10)
        node("text", { x: x(minute * 60), y: bottom + 13, "text-anchor": "middle" }, axes, String(minute).replace("-", "\u2212"));
      node("path", { d: `M${MARGIN.left} ${MARGIN.top}V${bottom}H${right}`, fill: "none", stroke: "currentColor", "stroke-width": 0.8 }, axes);
      node("text", { x: (MARGIN.left + right) / 2, y: height - 6, "text-anchor": "middle" }, axes, "minutes from the onset of the fault");
      node("text", { x: MARGIN.left, y: 12 }, axes, `${chosen.axis}; shaded: fault`);
    }

    function draw() {
      const chosen = data.detectors[detector.value], kind = data.faults[fault.value];
      const trace = kind.traces[detector.value], level = chosen.thresholds[slider.value];
      const top = chosen.top, step = [0.5, 1, 2, 5].find((size) => top / size <= 6) || 10;
      const y = (value) => MARGIN.top + (1 - Math.min(value, top) / top) * (bottom - MARGIN.top);
      plot.textContent = "";
      drawAxes(y, top, step, kind, chosen);
      const inside = node("g", { "clip-path": `url(#${id("clip")})`, fill: "none" }, plot);
      const at = (i) => x(data.start + (i + 0.5) * data.bin).toFixed(1);
      node("path", { d: "M" + trace.map((value, i) => `${at(i)} ${y(value).toFixed(1)}`).join("L"), stroke: calm, "stroke-width": 1 }, inside);
      const over = trace.map((value, i) => value > level ? `M${at(i)} ${y(level).toFixed(1)}V${y(value).toFixed(1)}` : "").join("");
      if (over) node("path", { d: over, stroke: alarmed, "stroke-width": 2 }, inside);
      node("path", { d: `M${MARGIN.left} ${y(level)}H${right}`, stroke: "currentColor", "stroke-width": 1.2, "stroke-dasharray": "5 3" }, plot);

      shown.textContent = `${level} ${chosen.unit}`;
      slider.setAttribute("aria-valuetext", `${level} ${chosen.unit}`);
      reading.textContent = said(chosen, kind, level);
      title.textContent = `${chosen.name} against time around the onset of a fault: ${kind.name}, threshold ${level} ${chosen.unit}. ${reading.textContent}`;
    }

    function said(chosen, kind, level) {
      const i = Number(slider.value), daily = chosen.daily[i], expected = chosen.expected[i];
      const [found, delay] = [kind.found[detector.value][i], kind.delays[detector.value][i]];
      const first = kind.firsts[detector.value][i], share = found / data.repeats / 30;
      const true_ = share + daily > 0 ? Math.round(100 * share / (share + daily)) : 0;
      return `${rate(daily)} false alarms a day in ${data.days} normal days` +
        `${expected < 0 ? "" : ` (independent Gaussian residuals: ${rate(expected)})`}. ` +
        `Of ${data.repeats} such faults ${found} ${found === 1 ? "is" : "are"} found${found ? `, after ${seconds(delay)} in the median` : ""}; ` +
        `here the first alarm comes ${first < 0 ? "not at all" : `after ${seconds(first)}`}. ` +
        `With one fault a month, ${true_ < 1 ? "fewer than 1" : true_} of 100 alarms ${true_ <= 1 ? "is" : "are"} true.`;
    }
  }

  function start() {
    document.querySelectorAll('[data-explorer="threshold"]').forEach(enhance);
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
