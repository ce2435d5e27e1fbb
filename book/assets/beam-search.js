/* Beam-search stepper: a table of next-symbol probabilities searched in the page, one step at a time.
   Enhances every element with data-explorer="beam-search"; its JSON holds the table, the beams and the penalties. */
(() => {
  "use strict";
  const { node, choice, reading, signed, each } = Explorer;
  const ROOT = 26, COLUMN = 76, BOX = 64, ROW = 19, HEAD = 20; /* as in lessonlib/drawings_seq2seq.py */

  each("beam-search", ({ data, svg, title, controls, id }) => {
    const kept = "var(--figure-gru, #007a5a)", aside = "var(--figure-lstm, #00639c)", grey = "var(--figure-grey, #6b6b6b)", paper = "var(--figure-paper, #ffffff)";
    const letters = data.symbols.slice(0, -1).split(""), end = data.symbols.slice(-1);
    const steps = 2 + Math.max(...Object.keys(data.table).map((prefix) => prefix.length));
    const probability = (text) => {
      let p = 1;
      for (let i = 0; i < text.length; i += 1) {
        const row = data.table[text.slice(0, i)];
        p *= row ? row[data.symbols.indexOf(text[i])] : text[i] === end ? 1 : 0;
      }
      return p;
    };
    const score = (text, alpha) => Math.log(probability(text)) / text.length ** alpha;

    /* The search as the library runs it: what each step looked at, kept and set aside, and the best output so far. */
    function search(beam, alpha) {
      const found = [{ live: [""], kept: [""], aside: [], looked: [], best: null }];
      for (let t = 1; t <= steps; t += 1) {
        const before = found[t - 1];
        const looked = before.live.flatMap((text) => data.symbols.split("").map((symbol) => text + symbol)).filter((text) => probability(text) > 0);
        looked.sort((a, b) => probability(b) - probability(a));
        const keep = looked.slice(0, beam), ended = keep.filter((text) => text.endsWith(end));
        const live = keep.filter((text) => !text.endsWith(end));
        const best = [before.best, ...ended].filter((text) => text !== null).reduce((a, b) => a !== null && score(a, alpha) >= score(b, alpha) ? a : b, null);
        found.push({ live, kept: keep, aside: [...before.aside, ...ended], looked, best });
        const hope = live.length ? Math.log(probability(live[0])) / steps ** alpha : -Infinity;
        if (!live.length || best !== null && hope <= score(best, alpha)) break;
      }
      return found;
    }

    const plot = node("g", { "font-size": 9 }, svg);
    const places = {};
    let leaves = 0;
    (function place(prefix) {
      if (!(prefix in data.table)) {
        places[prefix] = places[prefix + end] = leaves;
        leaves += 1;
      } else {
        const own = letters.map((letter) => place(prefix + letter));
        places[prefix + end] = leaves;
        leaves += 1;
        places[prefix] = own.reduce((a, b) => a + b, 0) / own.length;
      }
      return places[prefix];
    })("");
    const x = (text) => text ? ROOT + COLUMN * (text.length - 1) : 0;
    const y = (text) => HEAD + ROW * (places[text] + 0.5);

    const choices = node("div", { class: "explorer-grid" }, controls), same = (values) => values.map((value) => [value, value]);
    const beams = choice(choices, id("beam"), "Beam width K", same(data.beams), data.beam, restart);
    const alphas = choice(choices, id("alpha"), "Length exponent \u03b1", same(data.alphas), data.alphas[0], restart);
    const buttons = node("div", { class: "explorer-row" }, controls);
    const [again, back, next] = ["Start over", "Back", "Next step"].map((text) => node("button", { type: "button" }, buttons, text));
    const said = reading(controls);
    let step = 0, found = [];
    again.addEventListener("click", () => go(0));
    back.addEventListener("click", () => go(step - 1));
    next.addEventListener("click", () => go(step + 1));
    restart();
    go(found.length - 1);

    function restart() {
      found = search(Number(beams.value), Number(alphas.value));
      go(step);
    }

    function go(to) {
      step = Math.min(Math.max(to, 0), found.length - 1);
      back.setAttribute("aria-disabled", step === 0);
      again.setAttribute("aria-disabled", step === 0);
      next.setAttribute("aria-disabled", step === found.length - 1);
      draw();
    }

    function draw() {
      const seen = {};
      for (const past of found.slice(0, step + 1)) {
        for (const text of past.looked) seen[text] = "dropped";
        for (const text of past.kept) seen[text] = text.endsWith(end) ? "aside" : "kept";
      }
      plot.textContent = "";
      for (let t = 1; t <= steps; t += 1) {
        node("text", { x: ROOT + COLUMN * (t - 1) + BOX / 2, y: HEAD / 2 + 3, "text-anchor": "middle", "font-weight": t === step ? 700 : 400 }, plot, `step ${t}`);
      }
      const texts = Object.keys(places).filter((text) => text);
      for (const text of texts) {
        const parent = text.slice(0, -1), strong = seen[text] === "kept" || seen[text] === "aside";
        node("path", { d: `M${x(parent) + (parent ? BOX : 14)} ${y(parent)}L${x(text)} ${y(text)}`, fill: "none", stroke: strong ? "currentColor" : grey,
          "stroke-width": strong ? 1.3 : 0.5 }, plot);
      }
      node("circle", { cx: 7, cy: y(""), r: 3.5, fill: kept }, plot);
      for (const text of texts) {
        const status = seen[text], colour = status === "kept" ? paper : status === "aside" ? "currentColor" : grey;
        node("rect", { x: x(text), y: y(text) - ROW / 2 + 2, width: BOX, height: ROW - 4, rx: 3, fill: status === "kept" ? kept : paper,
          stroke: status === "kept" ? kept : status === "aside" ? aside : grey, "stroke-width": status === "aside" ? 2.2 : 0.8 }, plot);
        if (!status) continue;
        node("text", { x: x(text) + 4, y: y(text) + 3.2, fill: colour, "font-weight": 700 }, plot, text);
        node("text", { x: x(text) + BOX - 4, y: y(text) + 3.2, fill: colour, "text-anchor": "end" }, plot, probability(text).toFixed(3));
      }
      said.textContent = told();
      title.textContent = `Tree of all outputs, searched with a beam of ${beams.value}. ${said.textContent}`;
    }

    function told() {
      const now = found[step], alpha = Number(alphas.value), list = (texts) => texts.map((text) => `${text} ${probability(text).toFixed(3)}`).join(", ");
      if (step === 0) return `Nothing is written yet. The beam will keep the ${beams.value === "1" ? "best extension" : `best ${beams.value} extensions`} of every step.`;
      const dropped = now.looked.slice(now.kept.length);
      let text = `Step ${step} of ${found.length - 1}: of ${now.looked.length} extensions, kept ${list(now.kept)}; dropped ${dropped.length}. `;
      text += now.aside.length ? `Set aside so far: ${list(now.aside)}. ` : "Nothing has ended yet. ";
      if (step === found.length - 1) text += `The search is over, because no beginning can still win. Answer: ${now.best}, probability ${probability(now.best).toFixed(3)}, score ${signed(score(now.best, alpha).toFixed(3))}.`;
      return text.trim();
    }
  });
})();
