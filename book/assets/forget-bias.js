/* Forget-bias explorer: what a forget gate keeps, computed from its bias, beside the gradient measured in LSTMs.
   Enhances every element with data-explorer="forget-bias"; its JSON holds the measured curves as log10. */
(() => {
  "use strict";
  const { node, slider, table, reading, clip, power, signed, many, each } = Explorer;
  const MARGIN = { left: 50, right: 10, top: 24, bottom: 36 };
  const SPANS = [20, 100, 1000];

  const steps = (n) => n < 10 ? n.toFixed(1) : Math.round(n).toLocaleString("en-GB");
  /* ln of the gate 1 / (1 + exp(-b)), without the loss of digits near 1 */
  const logGate = (b) => -Math.log1p(Math.exp(-b));

  each("forget-bias", ({ data, svg, title, controls, width, height, id }) => {
    const colour = `var(--figure-lstm, ${data.colour})`;
    const right = width - MARGIN.right, bottom = height - MARGIN.bottom, furthest = data.lags[data.lags.length - 1];
    const x = (lag) => MARGIN.left + lag / furthest * (right - MARGIN.left);
    const y = (log) => MARGIN.top + (data.high - log) / (data.high - data.low) * (bottom - MARGIN.top);
    const path = (logs) => "M" + logs.map((log, i) => `${x(data.lags[i]).toFixed(1)} ${y(log).toFixed(1)}`).join("L");
    const gateAt = (b, n) => n * logGate(b) / Math.LN10;

    const inside = clip(svg, id("clip"), MARGIN.left, MARGIN.top, right - MARGIN.left, bottom - MARGIN.top);
    drawAxes();
    const plot = node("g", { "clip-path": inside, fill: "none" }, svg);

    const bias = slider(controls, id("bias"), "Forget bias: ", { max: data.biases.length - 1, value: data.start }, draw);
    const cells = table(controls, "left after n =", SPANS.map((n) => n.toLocaleString("en-GB")), ["gate alone", "LSTM, median"]);
    const said = reading(controls);
    draw();

    function drawAxes() {
      const axes = node("g", {}, svg);
      for (let log = Math.ceil(data.low / 4) * 4; log <= data.high; log += 4) {
        node("path", { d: `M${MARGIN.left} ${y(log)}H${right}`, stroke: "currentColor", "stroke-opacity": log ? 0.15 : 0.5, "stroke-width": 0.7 }, axes);
        const tick = node("text", { x: MARGIN.left - 5, y: y(log) + 3.5, "text-anchor": "end" }, axes, log ? "10" : "1");
        if (log) node("tspan", { "font-size": 7.5, dy: -3.5 }, tick, signed(log));
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
      const s = Number(bias.input.value), b = data.biases[s];
      const [median, low, high] = data.curves[s];
      plot.textContent = "";
      data.curves.forEach((curve, i) => {
        if (i !== s) node("path", { d: path(curve[0]), stroke: colour, "stroke-opacity": 0.25, "stroke-width": 0.8 }, plot);
      });
      node("path", { d: path(high) + "L" + path(low).slice(1).split("L").reverse().join("L") + "Z", fill: colour, "fill-opacity": 0.25 }, plot);
      node("path", { d: path(data.lags.map((lag) => gateAt(b, lag))), stroke: "currentColor", "stroke-width": 1.2, "stroke-dasharray": "4 3" }, plot);
      node("path", { d: path(median), stroke: colour, "stroke-width": 2.4 }, plot);

      bias.shown.textContent = b;
      bias.input.setAttribute("aria-valuetext", `forget bias ${b}`);
      SPANS.forEach((n, i) => {
        const at = data.lags.indexOf(n);
        cells[0][i].textContent = power(gateAt(b, n));
        cells[1][i].textContent = at < 0 ? "not run" : power(median[at]);
      });
      const gate = 1 / (1 + Math.exp(-b)), halfLife = Math.LN2 / -logGate(b);
      const ideal = Math.floor(Math.log(1000) / -logGate(b));
      const far = (n) => n >= furthest ? `all ${furthest} steps` : many(n, "step");
      said.textContent = `The gate starts at ${gate > 0.999 ? gate.toFixed(5) : gate.toFixed(3)}: half-life ${steps(halfLife)} steps, time constant ` +
        `${steps(1 + Math.exp(b))} steps. Above a thousandth (dotted), the gate alone reaches back ${many(ideal, "step")}, ` +
        `the LSTM's gradient ${far(data.reaches[s])}.`;
      title.textContent = `Share of the gradient left against lag, logarithmic, at forget bias ${b}. ${said.textContent}`;
    }
  });
})();
