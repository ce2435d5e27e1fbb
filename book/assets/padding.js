/* Padding and packing of a batch whose lengths the reader sets.
   Enhances every element with data-explorer="padding"; its JSON holds `lengths`, `longest`, `sizes`, `size`, `by_length`. */
(() => {
  "use strict";
  const { node, choice, reading, many, each } = Explorer;
  const LEFT = 16, BETWEEN = 22, GAP = 6, HEAD = 18;
  const REAL = "var(--figure-lstm, #00639c)", GREY = "var(--figure-grey, #6b6b6b)", PAPER = "var(--figure-paper, #ffffff)";

  const letter = (row) => String.fromCharCode(65 + row);

  /* Rows of each batch, as in lessonlib.drawings_training.in_batches; sorting keeps the order of equal lengths. */
  function inBatches(lengths, size, byLength) {
    const rows = lengths.map((_, row) => row);
    if (byLength) rows.sort((a, b) => lengths[b] - lengths[a] || a - b);
    const batches = [];
    for (let i = 0; i < rows.length; i += size) batches.push(rows.slice(i, i + size));
    return batches;
  }

  each("padding", ({ data, svg, title, controls, width, id }) => {
    const lengths = data.lengths.slice();
    const size = (width - LEFT - BETWEEN - 4) / (2 * data.longest), second = LEFT + data.longest * size + BETWEEN;
    const most = Math.ceil(lengths.length / Math.min(...data.sizes));
    const packedTop = 2 * HEAD + lengths.length * size + (most - 1) * GAP + 8;
    const height = packedTop + (lengths.length + most) * size + (most - 1) * GAP + 4;

    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const drawing = node("g", {}, svg);

    const group = node("fieldset", {}, controls);
    node("legend", {}, group, `Lengths, 1 to ${data.longest}`);
    lengths.forEach((length, row) => {
      const label = node("label", { for: id(`length-${row}`) }, group, letter(row));
      const input = node("input", { type: "number", id: id(`length-${row}`), min: 1, max: data.longest, step: 1, inputmode: "numeric" }, label);
      input.value = length;
      input.addEventListener("input", () => {
        const value = Math.round(Number(input.value));
        if (input.value === "" || !Number.isFinite(value)) return; // half-typed
        lengths[row] = Math.min(data.longest, Math.max(1, value));
        draw();
      });
      input.addEventListener("change", () => { input.value = lengths[row]; });
    });
    const others = node("div", { class: "explorer-row" }, controls);
    const sizes = choice(others, id("size"), "Batch size", data.sizes.map((one) => [one, one]), data.size, draw);
    const sortLabel = node("label", { for: id("sort") }, others);
    const sorted = node("input", { type: "checkbox", id: id("sort") }, sortLabel);
    node("span", {}, sortLabel, "Sort by length first");
    sorted.checked = data.by_length;
    const said = reading(controls);
    sorted.addEventListener("change", draw);
    draw();

    function square(x, y, text, real) {
      node("rect", { x, y, width: size, height: size, fill: real ? REAL : "none", stroke: real ? PAPER : GREY, "stroke-width": real ? 0.8 : 0.5 }, drawing);
      node("text", { x: x + size / 2, y: y + size * 0.75, "text-anchor": "middle", "font-size": Math.min(10, 0.72 * size), fill: real ? PAPER : GREY }, drawing, text);
    }

    function write(x, y, text, anchor = "start") {
      node("text", { x, y, "text-anchor": anchor, "font-size": 10 }, drawing, text);
    }

    function draw() {
      const batches = inBatches(lengths, Number(sizes.value), sorted.checked);
      drawing.textContent = "";
      write(LEFT, HEAD - 5, "padded");
      write(second, HEAD - 5, "mask");
      write(LEFT, packedTop - 5, "packed, batch_sizes below");
      let y = HEAD, below = packedTop, computed = 0;
      const sentences = [];
      batches.forEach((rows, number) => {
        const longest = Math.max(...rows.map((row) => lengths[row]));
        computed += longest * rows.length;
        rows.forEach((row, i) => {
          write(LEFT - 6, y + (i + 0.5) * size + 3, letter(row), "middle");
          for (let t = 0; t < longest; t += 1) {
            const real = t < lengths[row];
            square(LEFT + t * size, y + i * size, real ? letter(row) : "0", real);
            square(second + t * size, y + i * size, real ? "1" : "0", real);
          }
        });
        const ordered = rows.slice().sort((a, b) => lengths[b] - lengths[a] || rows.indexOf(a) - rows.indexOf(b));
        const running = [];
        for (let t = 0; t < longest; t += 1) {
          const now = ordered.filter((row) => lengths[row] > t);
          now.forEach((row, i) => square(LEFT + t * size, below + i * size, letter(row), true));
          node("text", { x: LEFT + (t + 0.5) * size, y: below + (rows.length + 0.75) * size, "text-anchor": "middle", "font-size": Math.min(10, 0.72 * size) }, drawing, now.length);
          running.push(now.length);
        }
        sentences.push(`${batches.length > 1 ? `Batch ${number + 1}` : "The batch"} (${rows.map(letter).join(", ")}) is padded to ${many(longest, "step")}; batch_sizes ${running.join(" ")}.`);
        y += rows.length * size + GAP;
        below += (rows.length + 1) * size + GAP;
      });
      const real = lengths.reduce((sum, length) => sum + length, 0);
      const share = `${Math.round(100 * (1 - real / computed))}%`;
      [`real steps: ${real}`, `computed if padded: ${computed}`, `wasted: ${share}`].forEach((text, i) => write(second, packedTop + 13 + 14 * i, text));
      said.textContent = `Padding computes ${many(computed, "step")} for ${many(real, "real step")}: ${share} wasted. Packing computes the ${real}. ${sentences.join(" ")}`;
      title.textContent = `Padded batches, their mask, and the same batches packed. ${said.textContent}`;
    }
  });
})();
