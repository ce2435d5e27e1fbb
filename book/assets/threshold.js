/* Threshold explorer: a score around the onset of a fault, the alarms that a threshold gives there, and what the same
   threshold gave on a long normal record and on many faults of that kind.
   Enhances every element with data-explorer="threshold"; its JSON holds the traces and the counts. */
(() => {
  "use strict";
  const { node, slider, choice, reading, clip, signed, each } = Explorer;
  const MARGIN = { left: 34, right: 8, top: 24, bottom: 36 };

  /* A rate: 233, 5.5, 0.050, or 3e-7 where it is far below one. */
  function rate(value) {
    if (value === 0) return "0";
    if (value < 0.001) return value.toExponential(0);
    return value >= 100 ? Math.round(value).toLocaleString("en-GB") : String(Number(value.toPrecision(2)));
  }

  const seconds = (n) => n < 120 ? `${Math.round(n)} s` : `${Math.round(n / 60)} min`;

  each("threshold", ({ data, svg, title, controls, width, height, id }) => {
    const right = width - MARGIN.right, bottom = height - MARGIN.bottom;
    const bins = data.faults[0].traces[0].length, last = data.start + bins * data.bin;
    const x = (second) => MARGIN.left + (second - data.start) / (last - data.start) * (right - MARGIN.left);
    const calm = `var(--figure-lstm, ${data.colours[0]})`, alarmed = `var(--figure-rnn, ${data.colours[1]})`;

    const box = clip(svg, id("clip"), MARGIN.left, MARGIN.top, right - MARGIN.left, bottom - MARGIN.top);
    const plot = node("g", {}, svg);

    const grid = node("div", { class: "explorer-grid" }, controls), named = (items) => items.map((item, i) => [i, item.name]);
    const fault = choice(grid, id("fault"), "Fault", named(data.faults), data.fault, draw);
    const detector = choice(grid, id("detector"), "Score", named(data.detectors), 0, () => { fit(); draw(); });
    const threshold = slider(controls, id("level"), "Threshold: ", {}, draw);
    const text = reading(controls);
    fit();
    draw();

    function fit() {
      const chosen = data.detectors[detector.value];
      threshold.input.max = chosen.thresholds.length - 1;
      threshold.input.value = chosen.start;
    }

    function drawAxes(y, top, step, name, chosen) {
      const axes = node("g", {}, plot);
      node("rect", { x: x(0), y: MARGIN.top, width: x(Math.max(name.stop, 12)) - x(0), height: bottom - MARGIN.top, fill: "currentColor", "fill-opacity": 0.08 }, axes);
      for (let value = 0; value <= top; value += step) {
        node("path", { d: `M${MARGIN.left} ${y(value)}H${right}`, stroke: "currentColor", "stroke-opacity": 0.15, "stroke-width": 0.7 }, axes);
        node("text", { x: MARGIN.left - 5, y: y(value) + 3.5, "text-anchor": "end" }, axes, value);
      }
      for (let minute = Math.ceil(data.start / 600) * 10; minute * 60 <= last; minute += 10)
        node("text", { x: x(minute * 60), y: bottom + 13, "text-anchor": "middle" }, axes, signed(minute));
      node("path", { d: `M${MARGIN.left} ${MARGIN.top}V${bottom}H${right}`, fill: "none", stroke: "currentColor", "stroke-width": 0.8 }, axes);
      node("text", { x: (MARGIN.left + right) / 2, y: height - 6, "text-anchor": "middle" }, axes, "minutes from the onset of the fault");
      node("text", { x: MARGIN.left, y: 12 }, axes, `${chosen.axis}; shaded: fault`);
    }

    function draw() {
      const chosen = data.detectors[detector.value], kind = data.faults[fault.value];
      const trace = kind.traces[detector.value], level = chosen.thresholds[threshold.input.value];
      const top = chosen.top, step = [0.5, 1, 2, 5].find((size) => top / size <= 6) || 10;
      const y = (value) => MARGIN.top + (1 - Math.min(value, top) / top) * (bottom - MARGIN.top);
      plot.textContent = "";
      drawAxes(y, top, step, kind, chosen);
      const inside = node("g", { "clip-path": box, fill: "none" }, plot);
      const at = (i) => x(data.start + (i + 0.5) * data.bin).toFixed(1);
      node("path", { d: "M" + trace.map((value, i) => `${at(i)} ${y(value).toFixed(1)}`).join("L"), stroke: calm, "stroke-width": 1 }, inside);
      const over = trace.map((value, i) => value > level ? `M${at(i)} ${y(level).toFixed(1)}V${y(value).toFixed(1)}` : "").join("");
      if (over) node("path", { d: over, stroke: alarmed, "stroke-width": 2 }, inside);
      node("path", { d: `M${MARGIN.left} ${y(level)}H${right}`, stroke: "currentColor", "stroke-width": 1.2, "stroke-dasharray": "5 3" }, plot);

      threshold.shown.textContent = `${level} ${chosen.unit}`;
      threshold.input.setAttribute("aria-valuetext", `${level} ${chosen.unit}`);
      text.textContent = said(chosen, kind, level);
      title.textContent = `${chosen.name} against time around the onset of a fault: ${kind.name}, threshold ${level} ${chosen.unit}. ${text.textContent}`;
    }

    function said(chosen, kind, level) {
      const i = Number(threshold.input.value), daily = chosen.daily[i], expected = chosen.expected[i];
      const [found, delay] = [kind.found[detector.value][i], kind.delays[detector.value][i]];
      const first = kind.firsts[detector.value][i], share = found / data.repeats / 30;
      const true_ = share + daily > 0 ? Math.round(100 * share / (share + daily)) : 0;
      return `${rate(daily)} false alarms a day in ${data.days} normal days` +
        `${expected < 0 ? "" : ` (independent Gaussian residuals: ${rate(expected)})`}. ` +
        `Of ${data.repeats} such faults ${found} ${found === 1 ? "is" : "are"} found${found ? `, after ${seconds(delay)} in the median` : ""}; ` +
        `here the first alarm comes ${first < 0 ? "not at all" : `after ${seconds(first)}`}. ` +
        `With one fault a month, ${true_ < 1 ? "fewer than 1" : true_} of 100 alarms ${true_ <= 1 ? "is" : "are"} true.`;
    }
  });
})();
