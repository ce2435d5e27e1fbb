/* Gradient-flow explorer: norm of the gradient against lag, for plain recurrent networks and LSTMs.
   Enhances every element with data-explorer="gradient-flow"; the values stand in its JSON, as log10. */
(() => {
  "use strict";
  const { node, slider, choice, reading, clip, power, signed, each } = Explorer;
  const MARGIN = { left: 56, right: 10, top: 24, bottom: 36 };

  function pace(log, lag) {
    const slope = log / lag;
    if (Math.abs(slope) < 0.0005) return "On the way there it neither halves nor doubles.";
    const steps = Math.log10(2) / Math.abs(slope);
    const unit = steps < 10 ? steps.toFixed(1) : Math.round(steps).toString();
    return `That is ${Math.abs(slope).toPrecision(2)} decades ${slope < 0 ? "lost" : "gained"} per step: ` +
      `it ${slope < 0 ? "halves" : "doubles"} every ${unit} steps.`;
  }

  each("gradient-flow", ({ data, svg, title, controls, width, height, id }) => {
    const last = data.lags.length - 1;
    const x = (lag) => MARGIN.left + lag / data.lags[last] * (width - MARGIN.left - MARGIN.right);
    const y = (log) => MARGIN.top + (data.high - log) / (data.high - data.low) * (height - MARGIN.top - MARGIN.bottom);
    const path = (logs) => "M" + logs.map((log, i) => `${x(data.lags[i]).toFixed(1)} ${y(log).toFixed(1)}`).join("L");

    const inside = clip(svg, id("clip"), MARGIN.left, MARGIN.top, width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom);
    drawAxes(svg);
    const plot = node("g", { "clip-path": inside, fill: "none" }, svg);
    const point = node("circle", { r: 3.5 }, svg);
    const key = node("g", {}, svg);

    const grid = node("div", { class: "explorer-grid" }, controls);
    const model = choice(grid, id("model"), "Network", data.models.map((m, i) => [i, m.name]), 0, () => { fit(); draw(); });
    const scale = choice(grid, id("scale"), "Input scale \u03c3\u2093", data.scales.map((size, i) => [i, size]), data.startScale, draw);
    const setting = slider(grid, id("setting"), "", {}, draw);
    const lag = slider(grid, id("lag"), "Lag n: ", { max: last, value: last }, draw);
    const said = reading(controls);
    fit();
    draw();

    function fit() {
      const chosen = data.models[model.value];
      setting.name.textContent = `${chosen.setting}: `;
      setting.input.max = chosen.settings.length - 1;
      setting.input.value = chosen.start;
    }

    function drawAxes(parent) {
      const axes = node("g", {}, parent);
      for (let log = data.low; log <= data.high; log += 1) {
        if (log % 10) continue;
        node("path", { d: `M${MARGIN.left} ${y(log)}H${width - MARGIN.right}`, stroke: "currentColor", "stroke-opacity": log ? 0.15 : 0.5, "stroke-width": 0.7 }, axes);
        const label = node("text", { x: MARGIN.left - 5, y: y(log) + 3.5, "text-anchor": "end" }, axes, log ? "10" : "1");
        if (log) node("tspan", { "font-size": 7.5, dy: -3.5 }, label, signed(log));
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
      const m = data.models[model.value], s = Number(setting.input.value), at = Number(lag.input.value), n = data.lags[at];
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

      setting.shown.textContent = m.settings[s];
      lag.shown.textContent = n;
      setting.input.setAttribute("aria-valuetext", `${m.setting} ${m.settings[s]}`);
      lag.input.setAttribute("aria-valuetext", `lag ${n}`);
      const measured = n === 0 ? "At lag 0 every curve starts at 1."
        : `At lag ${n} the median gradient is ${power(median[at])} (${power(low[at])} to ${power(high[at])} over ${data.networks} networks). ` +
          `${pace(median[at], n)} ${m.prediction} predicts ${power(n * m.rates[s])}.`;
      said.textContent = measured;
      title.textContent = `Gradient norm against lag, logarithmic. ${m.name}, ${m.setting} ${m.settings[s]}, input scale ${data.scales[scale.value]}. ${measured}`;
    }
  });
})();
