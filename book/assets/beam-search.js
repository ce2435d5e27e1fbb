/* Beam-search stepper: a table of next-symbol probabilities searched in the page, one step at a time.
   Enhances every element with data-explorer="beam-search"; its JSON holds the table, the beams and the penalties. */
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const ROOT = 26, COLUMN = 76, BOX = 64, ROW = 19, HEAD = 20; /* as in lessonlib/drawings_seq2seq.py */

  function node(name, attributes, parent, text) {
    const drawn = name === "svg" || parent && parent.namespaceURI === SVG;
    const made = drawn ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const key of Object.keys(attributes || {})) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  }

  const minus = (text) => text.replace("-", "\u2212");

  function addStyle() {
    if (document.getElementById("beam-search-style")) return;
    node("style", { id: "beam-search-style" }, document.head, `
      [data-explorer="beam-search"] .bs-row { display: flex; gap: .6rem; margin-top: .5rem; align-items: end; flex-wrap: wrap; }
      [data-explorer="beam-search"] label { flex: 1 1 7rem; font-weight: 600; font-size: .9rem; text-align: left; }
      [data-explorer="beam-search"] select, [data-explorer="beam-search"] button { font: inherit; font-size: .95rem; height: 2.2rem; width: 100%; color: inherit;
        background: transparent; border: 1px solid currentColor; border-radius: .3rem; padding: 0 .4rem; }
      [data-explorer="beam-search"] select option { color: initial; background: initial; }
      [data-explorer="beam-search"] button { flex: 1 1 auto; width: auto; padding: 0 .3rem; white-space: nowrap; cursor: pointer; }
      [data-explorer="beam-search"] button[aria-disabled="true"] { opacity: .6; cursor: default; }
      [data-explorer="beam-search"] .bs-reading { margin: .6rem 0 0; text-align: left; font-size: .95rem; line-height: 1.5; font-variant-numeric: tabular-nums; }`);
  }

  function enhance(root, index) {
    const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
    const still = root.querySelector(".explorer-figure svg");
    const controls = root.querySelector(".explorer-controls");
    const [, , width, height] = still.getAttribute("viewBox").split(/\s+/).map(Number);
    const id = (name) => `beam-search-${index}-${name}`;
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

    addStyle();
    const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, class: "figure", role: "img", "aria-labelledby": id("title"), "font-size": "9", fill: "currentColor" });
    const title = node("title", { id: id("title") }, svg);
    const plot = node("g", {}, svg);
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
    still.replaceWith(svg);

    controls.textContent = "";
    const choices = node("div", { class: "bs-row" }, controls);
    const beams = choose("beam", "Beam width K", data.beams, data.beams.indexOf(data.beam));
    const alphas = choose("alpha", "Length exponent \u03b1", data.alphas, 0);
    const buttons = node("div", { class: "bs-row" }, controls);
    const [again, back, next] = ["Start over", "Back", "Next step"].map((text) => node("button", { type: "button" }, buttons, text));
    const reading = node("p", { class: "bs-reading", "aria-live": "polite" }, controls);
    let step = 0, found = [];
    again.addEventListener("click", () => go(0));
    back.addEventListener("click", () => go(step - 1));
    next.addEventListener("click", () => go(step + 1));
    for (const select of [beams, alphas]) select.addEventListener("change", restart);
    restart();
    go(found.length - 1);

    function choose(name, text, values, chosen) {
      const label = node("label", { for: id(name) }, choices, text);
      const select = node("select", { id: id(name) }, label);
      for (const value of values) node("option", { value }, select, value);
      select.selectedIndex = chosen;
      return select;
    }

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
        node("text", { x: x(text) + 4, y: y(text) + 3.2, style: `fill: ${colour}`, "font-weight": 700 }, plot, text);
        node("text", { x: x(text) + BOX - 4, y: y(text) + 3.2, style: `fill: ${colour}`, "text-anchor": "end" }, plot, probability(text).toFixed(3));
      }
      reading.textContent = told();
      title.textContent = `Tree of all outputs, searched with a beam of ${beams.value}. ${reading.textContent}`;
    }

    function told() {
      const now = found[step], alpha = Number(alphas.value), list = (texts) => texts.map((text) => `${text} ${probability(text).toFixed(3)}`).join(", ");
      if (step === 0) return `Nothing is written yet. The beam will keep the ${beams.value === "1" ? "best extension" : `best ${beams.value} extensions`} of every step.`;
      const dropped = now.looked.slice(now.kept.length);
      let text = `Step ${step} of ${found.length - 1}: of ${now.looked.length} extensions, kept ${list(now.kept)}; dropped ${dropped.length}. `;
      text += now.aside.length ? `Set aside so far: ${list(now.aside)}. ` : "Nothing has ended yet. ";
      if (step === found.length - 1) text += `The search is over, because no beginning can still win. Answer: ${now.best}, probability ${probability(now.best).toFixed(3)}, score ${minus(score(now.best, alpha).toFixed(3))}.`;
      return text.trim();
    }
  }

  function start() {
    document.querySelectorAll('[data-explorer="beam-search"]').forEach(enhance);
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
