// A sequence diagram of bands, seen from its start. The names of its lanes stay on top, its arrows are buttons, and it
// follows while its end is in sight; else it says how much is new. What has not changed keeps its node, so that a long
// one is not drawn anew for a step more.

class Sequences extends Pieces {
  draw_sequence(sequence, part, path) {
    const names = sequence.lanes.map((each) => h("span", {}, h("span", {}, each)));
    const head = h("div", { class: "wb-lanes", "aria-hidden": "true" }, names);
    const bands = h("div", { class: "wb-bands" });
    const news = h("button", { type: "button", class: "wb-button wb-primary wb-news", hidden: true });
    const node = h("div", { class: "wb-sequence", role: "group", tabindex: "0", "aria-label": sequence.label, "data-key": `${path}/scroll`, "data-scroll": `${path}/${sequence.looks}` }, head, bands, news);
    node.addEventListener("keydown", (event) => this.stepped(event, node));
    node.addEventListener("scroll", () => this.isAtEnd(node) && this.seen(node));
    news.addEventListener("click", () => {
      node.focus({ preventScroll: true });
      this.toEnd(node);
    });
    this.bands(node, sequence, part, path);
    this.seen(node);
    return node;
  }

  keep_sequence({ node, item: before }, sequence, part, path) {
    if (before.looks !== sequence.looks) return false;
    const isRead = document.activeElement !== node && node.contains(document.activeElement);
    const follows = !isRead && !sequence.held && (before.held || this.isAtEnd(node));
    const opened = this.bands(node, sequence, part, path);
    if (opened) requestAnimationFrame(() => this.within(node, opened));
    else if (follows) this.toEnd(node);
    if (follows || this.isAtEnd(node)) this.seen(node);
    else this.tell(node);
    return true;
  }

  // The arrow that is opened now, and was not.
  bands(node, sequence, part, path) {
    this.match(node.children[1], sequence.bands, (band, old) => this.band(band, old, sequence, part, path));
    const opened = node.querySelector(".wb-opened");
    const isNew = opened && opened.dataset.id !== node.dataset.opened;
    node.dataset.opened = opened?.dataset.id ?? "";
    return isNew ? opened : null;
  }

  isAtEnd(node) {
    return node.scrollTop + node.clientHeight > node.scrollHeight - 60;
  }

  steps(node) {
    return [...node.querySelectorAll(".wb-arrow")].map((each) => Number(each.dataset.id));
  }

  seen(node) {
    node.dataset.seen = Math.max(0, ...this.steps(node));
    node.lastChild.hidden = true;
  }

  // How much has come since the end was in sight.
  tell(node) {
    const count = this.steps(node).filter((each) => each > node.dataset.seen).length;
    write(node.lastChild, `${count} new, show`);
    node.lastChild.hidden = !count;
  }

  // Steps have their height only once they are near: the end is found in a few frames.
  toEnd(node, frames = 4) {
    node.scrollTop = node.scrollHeight;
    if (frames) requestAnimationFrame(() => this.toEnd(node, frames - 1));
  }

  // Scrolls the diagram alone, once there is a drawer that may have left it less room.
  within(node, arrow) {
    const [box, row] = [node.getBoundingClientRect(), arrow.getBoundingClientRect()];
    if (row.top < box.top + 60 || row.bottom > box.bottom) node.scrollTop += row.top - box.top - box.height / 2;
  }

  // The nodes of a parent as these items say, by their ids.
  match(parent, items, draw) {
    const before = new Map([...parent.children].map((each) => [each.dataset.id, each]));
    const now = items.map((item) => {
      const [old, text] = [before.get(item.id), JSON.stringify(item)];
      if (old && this.filled.get(old) === text) return old;
      const node = draw(item, old);
      node.dataset.id = item.id;
      this.filled.set(node, text);
      return node;
    });
    for (const each of before.values()) if (!now.includes(each)) each.remove();
    now.forEach((each, place) => {
      if (parent.children[place] !== each) parent.insertBefore(each, parent.children[place] ?? null);
    });
  }

  band(band, old, sequence, part, path) {
    const node = old ?? h("div", { class: "wb-band" }, h("div"), h("ol"));
    const fold = this.button(band.fold, part, path);
    fold.classList.add("wb-fold");
    node.firstChild.replaceChildren(fold);
    this.match(node.lastChild, band.arrows ?? [], (arrow) => this.arrow(arrow, sequence, part, path));
    return node;
  }

  arrow(arrow, { lanes }, part, path) {
    const node = this.button({ do: "open", on: arrow.id, expanded: arrow.opened ? "yes" : "no" }, part, path);
    node.className = "wb-open";
    node.dataset.row = arrow.id;
    const isBack = Boolean(arrow.response);
    const route = h("span", { class: "wb-route" }, `${lanes[arrow.source]} → ${lanes[arrow.target]}: `);
    const there = this.way(arrow.source, arrow.target, arrow.text, lanes, arrow.bad && !isBack);
    const back = isBack && this.way(arrow.target, arrow.source, arrow.response, lanes, arrow.bad);
    back?.classList?.add("wb-back");
    node.append(h("span", { class: "wb-at", title: arrow.hover }, arrow.at, " "), h("span", { class: "wb-ways" }, route, there, back || null));
    return h("li", { class: `wb-arrow wb-of-${arrow.of}${arrow.opened ? " wb-opened" : ""}` }, node);
  }

  way(from, to, text, lanes, isBad) {
    const [left, right] = [Math.min(from, to) + 0.5, Math.max(from, to) + 0.5].map((each) => each / lanes.length);
    const middle = (left + right) / 2;
    const percent = (part) => `${(part * 100).toFixed(2)}%`;
    // A text may be longer than its arrow, and never leaves the diagram.
    const half = `${0.29 * (text.length + 2)}em`;
    const place = `clamp(min(50%, ${half}), ${percent(middle)}, max(50%, 100% - ${half}))`;
    const label = h("span", { class: "wb-says", style: `left: ${place}` }, isBad ? "✗ " : "", breakable(text));
    const line = h("span", { class: `wb-line ${to > from ? "wb-right" : "wb-left"}`, style: `left: ${percent(left)}; width: ${percent(right - left)}` });
    return h("span", { class: `wb-way${isBad ? " wb-wrong" : ""}` }, label, line, " ");
  }
}
