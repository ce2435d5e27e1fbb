/* What the interactive figures share. The site loads it before the script of each kind, on pages that hold one. */
const Explorer = (() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";

  /* A new element inside `parent`, of SVG where the parent is. */
  function node(name, attributes, parent, text) {
    const drawn = name === "svg" || parent && parent.namespaceURI === SVG;
    const made = drawn ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const key of Object.keys(attributes || {})) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  }

  /* A range with its label, which shows the value in an output. */
  function slider(parent, id, text, range, changed) {
    const box = node("div", {}, parent);
    const label = node("label", { for: id }, box);
    const name = node("span", {}, label, text);
    const shown = node("output", { for: id, "aria-live": "off" }, label);
    const input = node("input", { type: "range", id, min: 0, step: 1, ...range }, box);
    input.addEventListener("input", changed);
    return { input, name, shown };
  }

  /* A list to choose from, with its label; `options` are pairs of value and text. */
  function choice(parent, id, text, options, chosen, changed) {
    const box = node("div", {}, parent);
    node("label", { for: id }, box, text);
    const select = node("select", { id }, box);
    for (const [value, shown] of options) node("option", { value }, select, shown);
    select.value = chosen;
    select.addEventListener("change", changed);
    return select;
  }

  /* A table with a row for each name and an empty cell for each column; gives the cells by row. */
  function table(parent, corner, columns, names) {
    const made = node("table", {}, parent);
    const head = node("tr", {}, node("thead", {}, made));
    for (const name of [corner, ...columns]) node("th", { scope: "col" }, head, name);
    const body = node("tbody", {}, made);
    return names.map((name) => {
      const row = node("tr", {}, body);
      node("th", { scope: "row" }, row, name);
      return columns.map(() => node("td", {}, row));
    });
  }

  /* The sentence that says what is drawn, read aloud when it changes. */
  const reading = (parent) => node("p", { class: "explorer-reading", "aria-live": "polite" }, parent);

  /* A clipping path for a box, in the drawing's own definitions; gives what refers to it. */
  function clip(svg, id, x, y, width, height) {
    node("rect", { x, y, width, height }, node("clipPath", { id }, node("defs", {}, svg)));
    return `url(#${id})`;
  }

  /* 10 to the power `log`: 0.51, 37, or 2.5e-14 where it is far from 1. */
  function power(log) {
    if (log > -2.0005 && log < 3) return Number((10 ** log).toPrecision(2)).toString();
    let exponent = Math.floor(log), digits = (10 ** (log - exponent)).toFixed(1);
    if (digits === "10.0") { digits = "1.0"; exponent += 1; }
    return `${digits}e${exponent}`;
  }

  const signed = (text) => String(text).replace("-", "\u2212");
  const many = (number, word) => `${number.toLocaleString("en-GB")} ${word}${number === 1 ? "" : "s"}`;

  /* Once the page is read, give each element of a kind to `enhance`: its values, an empty drawing of the size of the
     static figure, the title that describes it, the emptied place for controls, and a maker of ids. */
  function each(kind, enhance) {
    const start = () => document.querySelectorAll(`[data-explorer="${kind}"]`).forEach((root, index) => {
      const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
      const still = root.querySelector(".explorer-figure svg"), controls = root.querySelector(".explorer-controls");
      const id = (name) => `${kind}-${index}-${name}`, viewBox = still.getAttribute("viewBox");
      const [, , width, height] = viewBox.split(/\s+/).map(Number);
      const svg = node("svg", { viewBox, class: "figure", role: "img", "aria-labelledby": id("title"), "font-size": 10, fill: "currentColor" });
      const title = node("title", { id: id("title") }, svg);
      controls.textContent = "";
      enhance({ data, svg, title, controls, width, height, id });
      still.replaceWith(svg);
    });
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
    else start();
  }

  return { node, slider, choice, table, reading, clip, power, signed, many, each };
})();
