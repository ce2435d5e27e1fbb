/* Reading progress: how far each page was read, kept in this browser alone and shown beside its title in the contents. */
(() => {
  "use strict";
  const KEY = "sequences-measured-read", READ = 0.95;
  const page = (address) => address.split(/[?#]/)[0].split("/").pop() || "index.html";

  function stored() {
    try { return JSON.parse(localStorage.getItem(KEY)) || {}; } catch { return {}; }
  }

  function mark(link, share) {
    if (!(share > 0.05)) return;
    const text = share >= READ ? "✓" : `${Math.round(100 * share)} %`;
    let note = link.querySelector(".read-share");
    if (!note) {
      note = link.appendChild(document.createElement("span"));
      note.className = "read-share";
    }
    note.textContent = text;
    note.setAttribute("aria-label", share >= READ ? "(read)" : `(${text} read)`);
    note.setAttribute("role", "img");
  }

  function show() {
    const read = stored();
    for (const link of document.querySelectorAll(".bd-links a.reference.internal")) {
      const address = link.getAttribute("href");
      mark(link, read[address === "#" ? page(location.pathname) : page(address)]);
    }
  }

  function note() {
    const article = document.querySelector(".bd-article");
    if (!article) return;
    const box = article.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (innerHeight - box.top) / box.height));
    const read = stored(), name = page(location.pathname);
    if (share <= (read[name] || 0)) return;
    read[name] = Number(share.toFixed(2));
    try { localStorage.setItem(KEY, JSON.stringify(read)); } catch { return; }
    show();
  }

  let waiting = 0;
  addEventListener("scroll", () => { waiting = waiting || setTimeout(() => { waiting = 0; note(); }, 500); }, { passive: true });
  show();
})();
