"""What the tests ask of a page, in the page's own language."""

from __future__ import annotations

# Text that a reader sees or hears, source code aside: the article, the title, both lists of contents, descriptions.
READ_TEXT = """() => {
  const copy = document.querySelector(".bd-article-container").cloneNode(true);
  copy.querySelectorAll("script, style, math, .cell_input, .highlight-python, .highlight-ipython3, .highlight-yaml, " +
    ".highlight-md, .highlight-bash, .highlight-text, .highlight-default, :not(pre) > code").forEach(e => e.remove());
  const contents = [...document.querySelectorAll(".bd-links, .page-toc")].map(e => e.textContent);
  const spoken = ["aria-label", "alt", "title"].flatMap(name => [...document.querySelectorAll(`[${name}]`)].map(e => e.getAttribute(name)));
  return [copy.textContent, document.title, ...contents, ...spoken].join("\\n\\n");
}"""

COLOURS = """
  const channels = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => colour.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (one, other) => {
    const [a, b] = [light(one), light(other)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
"""

# Contrast of each text of each figure with what lies behind it, shapes of the figure included, as [ratio, text], lowest first.
FIGURE_CONTRAST = "() => {" + COLOURS + """
  const behind = e => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor, [, , , alpha = 1] = channels(colour);
      if (alpha > 0) return channels(colour);
    }
    return [255, 255, 255];
  };
  const painted = (e, below) => {  // the fill of a shape or text over a colour, as far as both it and its groups let that through
    const fill = channels(getComputedStyle(e).fill);
    let alpha = getComputedStyle(e).fillOpacity * (fill[3] ?? 1);
    for (let group = e; group.tagName !== "svg"; group = group.parentElement) alpha *= getComputedStyle(group).opacity;
    return below.slice(0, 3).map((v, i) => alpha * fill[i] + (1 - alpha) * v);
  };
  const under = text => {
    const svg = text.closest("svg"), box = text.getBoundingClientRect();
    const middle = new DOMPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    let colour = behind(svg);
    for (const shape of svg.querySelectorAll("path, rect, circle, polygon")) {
      const before = shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING;
      if (!before || getComputedStyle(shape).fill === "none" || shape.closest("defs, clipPath")) continue;
      if (shape.isPointInFill(middle.matrixTransform(shape.getScreenCTM().inverse()))) colour = painted(shape, colour);
    }
    return colour;
  };
  return [...document.querySelectorAll("article svg.figure text, article svg.figure tspan, article .explorer svg text")]
    .filter(t => t.textContent.trim()).map(t => {
      const ground = under(t);
      return [contrast(painted(t, ground), ground), t.textContent];
    }).sort((x, y) => x[0] - y[0]);
}"""

# Contrast of each text outside of figures with white paper, as [ratio, text], lowest first; a formula has the colour of what it stands in.
PAPER_CONTRAST = "() => {" + COLOURS + """
  return [...document.querySelectorAll("article *:not(svg *, math, math *, script, style)")]
    .filter(e => e.checkVisibility({visibilityProperty: true}) && (e.matches(".math, .math-box") || [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())))
    .map(e => [contrast(channels(getComputedStyle(e).color), [255, 255, 255]), e.textContent.trim().slice(0, 60)])
    .sort((x, y) => x[0] - y[0]);
}"""

# What goes beyond the sides of the page, or is cut off or scrolls in its own box, which paper cannot.
CUT_OFF = """() => [...document.querySelectorAll("article *:not(svg *, math, math *)")].filter(e => {
    const box = e.getBoundingClientRect();
    if (box.width <= 1 || !e.checkVisibility({visibilityProperty: true})) return false;
    return box.right > innerWidth + 1 || box.left < -1 ||
      e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1 && !["visible", "clip"].includes(getComputedStyle(e).overflowX);
  }).map(e => e.outerHTML.slice(0, 120))"""

# Boxes that scroll sideways and that the keyboard cannot reach.
OUT_OF_REACH = """() => [...document.querySelectorAll("article *")].filter(e =>
    e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1 && /auto|scroll/.test(getComputedStyle(e).overflowX)
    && e.tabIndex < 0 && !e.querySelector("a, button, input, select, summary, [tabindex='0']"))
  .map(e => e.outerHTML.slice(0, 120))"""

# Elements that move or change by degrees.
MOVING = """() => [...document.querySelectorAll("*")].filter(e => {
    const style = getComputedStyle(e), lasts = style.transitionDuration.split(", ").some(time => parseFloat(time) > 0);
    return style.animationName !== "none" || style.scrollBehavior !== "auto" || lasts && style.transitionProperty !== "none";
  }).map(e => e.outerHTML.slice(0, 120))"""

# How far the page has moved under its reader since it began to load.
LAYOUT_SHIFT = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => list.getEntries().forEach(e => { sum += e.value; })).observe({type: "layout-shift", buffered: true});
  setTimeout(() => done(sum), 50);
})"""

# Drawings are images to axe, which takes a minute to look at each of their lines; FIGURE_CONTRAST measures their text.
# Formulas are drawings in the colour of the text around them.
EMPTY_DRAWINGS = """() => {
  document.querySelectorAll(".math svg, .math math").forEach(e => e.remove());
  document.querySelectorAll("svg").forEach(e => e.replaceChildren(...e.querySelectorAll(":scope > title")));
}"""

# Highlighted code is thousands of words in a dozen colours: the first word of each colour in each kind of box stays an element.
THIN_CODE = """() => {
  const seen = new Set();
  for (const word of document.querySelectorAll(".highlight span[class]")) {
    const boxes = [];
    for (let box = word; box.tagName !== "ARTICLE"; box = box.parentElement) boxes.push(box.className);
    if (seen.has(boxes.join("<"))) word.replaceWith(...word.childNodes);
    seen.add(boxes.join("<"));
  }
}"""

OPEN_ALL = "() => document.querySelectorAll('details').forEach(e => e.open = true)"

# From now on, keep what the focus reaches, and whether it can be seen there.
FOLLOW_FOCUS = """() => {
  window.reached = new Map();
  document.addEventListener("focusin", ({target}) => {
    const style = getComputedStyle(target);
    const marked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none";
    window.reached.set(target, marked && target.checkVisibility({opacityProperty: true, visibilityProperty: true}));
  });
}"""
FOCUSABLE = """[...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
  .filter(e => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({visibilityProperty: true}))"""
NOT_REACHED = f"() => {FOCUSABLE}.filter(e => !window.reached.has(e)).map(e => e.outerHTML.slice(0, 120))"
FOCUS_UNSEEN = "() => [...window.reached].filter(([, seen]) => !seen).map(([e]) => e.outerHTML.slice(0, 120))"
