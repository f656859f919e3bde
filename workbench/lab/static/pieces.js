// The pieces of a board, each drawn from its data by its kind: notes, facts, grids, menus, code, pictures, folds, steps,
// and the places of other widgets. What a piece with buttons does when they are pressed is a form's matter.

const STEPS = { done: ["✓", "done"], now: ["●", "now"], ahead: ["○", "to come"], failed: ["✗", "failed"] };

// A status: its sign, which says its tone too, and its words.
function pill(text) {
  const [tone, sign] = Object.entries(SIGNS).find(([, each]) => each && text.startsWith(each)) ?? ["plain", text.match(/^[^\p{L}\p{N}\s](?=\s)/u)?.[0] ?? ""];
  const mark = sign ? h("span", { class: "wb-sign", "aria-hidden": "true" }, sign) : null;
  return h("span", { class: `wb-pill wb-${tone}` }, mark, h("span", {}, text.slice(sign.length).trim()));
}

// The row that a drawer is of.
function rowOf(drawer) {
  return drawer?.row ?? drawer?.id;
}

class Pieces {
  constructor(model) {
    this.model = model;
    this.view = {};
    this.filled = new WeakMap(); // node → the pieces in it: their data, as text too, and their nodes
    this.open = new Map(); // path of what unfolds in a table → whether it is open
    this.hosted = new Map(); // the place of another widget → what ends it there
  }

  // The pieces of a node. One whose data are the same is left alone; one of the same kind is brought up to date
  // where it stands, if it can be: what is typed, unfolded, scrolled or asked there stays.
  fill(parent, items, part, path) {
    const before = this.filled.get(parent) ?? [];
    const now = (items ?? []).map((item, place) => {
      const at = `${path}/${place}`;
      const text = JSON.stringify(item);
      const old = before[place];
      const isSame = old?.text === text && (item.kind !== "slot" || old.model === this.modelOf(item));
      if (isSame) return old;
      const kept = old?.item.kind === item.kind && this[`keep_${item.kind}`]?.(old, item, part, at);
      const node = kept ? old.node : this[`draw_${item.kind}`](item, part, at);
      if (old && !kept) {
        this.scrolledLike(old.node, node, () => old.node.replaceWith(node));
      } else if (!old) parent.append(node);
      return { text, item, node, model: item.kind === "slot" ? this.modelOf(item) : null };
    });
    for (const gone of before.slice(now.length)) gone.node.remove();
    this.filled.set(parent, now);
    return parent;
  }

  scrolledLike(old, node, replace) {
    const places = [...old.querySelectorAll("[data-scroll]")].filter((each) => each.scrollTop || each.scrollLeft);
    const found = places.map((each) => [each.dataset.scroll, each.scrollTop, each.scrollLeft]);
    if (old.dataset?.scroll) found.push([old.dataset.scroll, old.scrollTop, old.scrollLeft]);
    replace();
    for (const [key, top, left] of found) {
      const each = [node, ...node.querySelectorAll("[data-scroll]")].find((one) => one.dataset.scroll === key);
      if (each) [each.scrollTop, each.scrollLeft] = [top, left];
    }
  }

  draw_note(note) {
    const sign = SIGNS[note.tone ?? "plain"];
    const mark = sign ? h("span", { class: "wb-sign", "aria-hidden": "true" }, sign, " ") : null;
    return h("p", { class: `wb-note wb-${note.tone ?? "plain"}` }, mark, note.text);
  }

  draw_facts(facts) {
    const shown = ([name, value]) => (facts.pills?.includes(name) ? pill(value) : value);
    return h("dl", { class: "wb-facts" }, facts.pairs.map((pair) => h("div", {}, h("dt", {}, pair[0]), h("dd", { title: pair[2] || null }, shown(pair)))));
  }

  draw_grid(grid, part, path) {
    const caption = h("caption", {}, grid.caption);
    if (!grid.rows.length) {
      return h("p", { class: "wb-empty" }, h("span", { class: "wb-caption" }, grid.caption), " ", grid.empty ?? "Nothing yet.");
    }
    const acts = grid.rows.some((row) => row.actions?.length || row.more?.length);
    const headings = grid.headings.map((each) => h("th", { scope: "col", role: "columnheader", class: each.numeric ? "wb-number" : null }, each.text));
    if (acts) headings.push(h("th", { scope: "col", role: "columnheader" }, h("span", { class: "wb-unseen" }, "Actions")));
    const rows = grid.rows.flatMap((row) => this.row(row, grid, acts, part, `${path}/${row.id}`));
    // Named, since where it is narrow it is laid out as no table.
    const head = h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, headings));
    const table = h("table", { role: "table" }, caption, head, h("tbody", { role: "rowgroup" }, rows));
    if (grid.opens) table.addEventListener("keydown", (event) => this.stepped(event, table));
    const laidOut = grid.opens ? " wb-opens" : acts || grid.cards ? " wb-rows" : "";
    return h("div", { class: `wb-scroll${laidOut}`, tabindex: "0", role: "group", "aria-label": grid.caption, "data-scroll": path, "data-key": `${path}/scroll` }, table);
  }

  row(row, grid, acts, part, path) {
    const cells = row.cells.map((text, place) => {
      const heading = grid.headings[place];
      const named = place ? { role: "cell" } : { role: "rowheader", scope: "row" };
      const more = { "data-label": heading?.text, class: heading?.numeric ? "wb-number" : null, title: row.hovers?.[place] || null };
      const shown = heading?.pill && text ? pill(text) : grid.opens ? text : breakable(text);
      return h(place ? "td" : "th", { ...named, ...more }, !place && grid.opens ? this.opener(row, grid, part, path, shown) : shown);
    });
    const beneath = row.more?.length ? h("tr", { class: "wb-more", role: "row" }) : null;
    const asked = row.beneath?.length ? h("tr", { class: "wb-more", role: "row" }) : null;
    if (acts) {
      const buttons = (row.actions ?? []).map((each) => this.button(each, part, path, null, row.cells[0]));
      if (beneath) buttons.push(this.unfolder(beneath, row, cells.length + 1, part, path));
      cells.push(h("td", { role: "cell" }, h("div", { class: "wb-actions" }, buttons)));
    }
    asked?.append(this.beneath(row.beneath, cells.length, part, `${path}/beneath`));
    const opened = grid.opens && row.id === grid.opened ? "wb-opened" : null;
    return [h("tr", { role: "row", class: opened }, cells), beneath, asked].filter(Boolean);
  }

  // The button that a row is: it lies over the whole row.
  opener(row, grid, part, path, shown) {
    const action = { do: grid.opens, on: row.id, label: "", expanded: row.id === grid.opened ? "yes" : "no" };
    const node = this.button(action, part, path);
    node.append(...breakable(shown));
    node.className = "wb-open";
    node.dataset.row = row.id;
    return node;
  }

  // From row to row by the arrows.
  stepped(event, table) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const rows = [...table.querySelectorAll(".wb-open")];
    const next = step && rows[rows.indexOf(document.activeElement) + step];
    if (!next || !rows.includes(document.activeElement)) return;
    event.preventDefault();
    next.focus();
  }

  beneath(items, width, part, path) {
    return h("td", { role: "cell", colspan: width }, this.fill(h("div", { class: "wb-beneath" }), items, part, path));
  }

  unfolder(beneath, row, width, part, path) {
    const show = (isOpen) => {
      this.open.set(path, isOpen);
      button.setAttribute("aria-expanded", String(isOpen));
      beneath.hidden = !isOpen;
      const shown = isOpen ? this.beneath(row.more, width, part, `${path}/more`) : [];
      beneath.replaceChildren(...[shown].flat());
    };
    const button = h(
      "button",
      {
        type: "button", class: "wb-button", "data-key": `${path}/unfold`,
        "aria-label": `${row.more_label ?? "Details"}: ${row.cells[0]}`,
        onclick: () => show(!this.open.get(path)),
      },
      row.more_label ?? "Details",
    );
    show(this.open.get(path) ?? false);
    return button;
  }

  draw_menu(menu, part, path) {
    const choices = menu.choices.map(([id, label]) => {
      const node = this.button({ do: menu.do ?? "show", on: id, label }, part, path);
      node.className = "wb-tab";
      if (id === menu.chosen) node.setAttribute("aria-current", "page");
      return h("li", {}, node);
    });
    const list = h("ul", { class: "wb-tablist" }, choices);
    // Where it is narrow the choices stand in one row that scrolls.
    requestAnimationFrame(() => {
      const current = list.querySelector("[aria-current]");
      if (current && list.scrollWidth > list.clientWidth) list.scrollLeft = current.offsetLeft - list.offsetLeft - 40;
    });
    return h("nav", { class: "wb-menu", "aria-label": menu.label }, list);
  }

  draw_split(split, part, path) {
    const node = h("div", { class: "wb-split" }, h("div", { class: "wb-list wb-items" }));
    this.keep_split({ node }, split, part, path);
    return node;
  }

  keep_split({ node }, split, part, path) {
    const [list, before] = node.children;
    this.fill(list, split.items, part, `${path}/list`);
    const isSame = before && before.dataset.back === rowOf(split.drawer);
    if (before && !isSame) before.remove();
    if (!split.drawer) return true;
    const drawer = isSame ? before : this.drawer(split.drawer, part, `${path}/drawer`);
    if (!isSame) node.append(drawer);
    const [head, body] = drawer.children;
    const status = head.querySelector(".wb-pill");
    if (status.dataset.text !== split.drawer.status) status.replaceWith(this.status_of(split.drawer));
    this.fill(body, split.drawer.items, part, `${path}/drawer`);
    return true;
  }

  status_of(drawer) {
    const node = pill(drawer.status);
    node.dataset.text = drawer.status;
    return node;
  }

  drawer(drawer, part, path) {
    const id = `${this.prefix}-drawer-${part}`;
    const title = h("h5", { id, tabindex: "-1" }, breakable(drawer.title));
    const copy = h("button", { type: "button", class: "wb-button", "data-key": `${path}/copy`, "aria-label": `Copy ${drawer.id}` }, "Copy");
    copy.addEventListener("click", async () => {
      await copied(drawer.id);
      this.announce(`${drawer.id} copied.`, "good");
    });
    const close = this.button(drawer.close, part, path);
    const head = h("div", { class: "wb-drawer-head" }, title, this.status_of(drawer), close, h("code", {}, drawer.id), copy);
    const node = h("aside", { class: "wb-drawer", "aria-labelledby": id, "data-back": rowOf(drawer) }, head, h("div", { class: "wb-items" }));
    node.addEventListener("keydown", (event) => event.key === "Escape" && !event.defaultPrevented && close.click());
    this.opening = title;
    return node;
  }

  draw_actions(group, part, path) {
    return h(
      "div",
      { class: "wb-buttons", role: "group", "aria-label": group.label },
      group.actions.map((each) => this.button(each, part, path)),
    );
  }

  draw_code(code, part, path) {
    const button = h("button", { type: "button", class: "wb-button", "data-key": `${path}/copy`, "aria-label": `Copy ${code.label}` }, "Copy");
    button.addEventListener("click", async () => {
      await copied(button.parentNode.nextSibling.textContent);
      button.textContent = "Copied";
      this.announce(`${code.label} copied.`, "good");
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    return h(
      "div",
      { class: "wb-code" },
      h("div", { class: "wb-code-head" }, h("span", {}, code.label), button),
      h("pre", { tabindex: "0", role: "group", "aria-label": code.label, "data-scroll": path, "data-key": `${path}/text` }, code.text),
    );
  }

  keep_code(old, code) {
    if (old.item.label !== code.label) return false;
    old.node.querySelector("pre").textContent = code.text;
    return true;
  }

  draw_picture(picture) {
    // As an image: what is inside an image can neither run nor ask for anything.
    return h("img", { class: "wb-picture", alt: picture.says, src: `data:image/svg+xml;utf8,${encodeURIComponent(picture.svg)}` });
  }

  draw_fold(fold, part, path) {
    const key = `${part}/fold/${fold.id}`;
    const body = h("div", { class: "wb-items" });
    const node = h("details", { open: fold.open ?? false }, h("summary", { "data-key": key }, fold.label), body);
    this.fill(body, fold.items, part, `${path}/${fold.id}`);
    return node;
  }

  keep_fold(old, fold, part, path) {
    if (old.item.id !== fold.id) return false;
    const [summary, body] = old.node.children;
    if (summary.textContent !== fold.label) summary.textContent = fold.label;
    this.fill(body, fold.items, part, `${path}/${fold.id}`);
    return true;
  }

  draw_beside(beside, part, path) {
    return this.fill(h("div", { class: "wb-beside" }), beside.items, part, path);
  }

  keep_beside(old, beside, part, path) {
    return Boolean(this.fill(old.node, beside.items, part, path));
  }

  draw_steps(steps) {
    return h("ol", { class: "wb-steps", "aria-label": steps.label }, steps.steps.map((each) => this.step(each)));
  }

  // Only the steps that have changed are drawn anew, so that what is filled already does not fill again.
  keep_steps(old, { label, steps }) {
    const before = old.item.steps;
    if (old.item.label !== label || before.length !== steps.length) return false;
    for (const [place, step] of steps.entries()) {
      if (JSON.stringify(step) !== JSON.stringify(before[place])) old.node.children[place].replaceWith(this.step(step));
    }
    return true;
  }

  step(step) {
    const [sign, says] = STEPS[step.state];
    const mark = h("span", { class: "wb-sign", "aria-hidden": "true" }, sign);
    const note = step.note ? h("span", { class: "wb-hint", title: step.hover || null }, step.note) : null;
    const text = h("span", {}, step.text, h("span", { class: "wb-unseen" }, `: ${says}`));
    const isNow = step.state === "now" ? "step" : null;
    return h("li", { class: `wb-step wb-step-${step.state}`, "aria-current": isNow }, mark, text, note);
  }

  // ---- other widgets ------------------------------------------------------------------------------------------

  modelOf(slot) {
    return this.view.widgets?.[slot.on] ?? null;
  }

  draw_slot(slot, part, path) {
    const node = h("div", { class: "wb-slot" });
    const id = this.modelOf(slot);
    if (id && this.model.widget_manager) this.host(node, id, () => this.fill(node, slot.instead, part, path));
    else this.fill(node, slot.instead, part, path);
    return node;
  }

  // The same widget in the same place stays: it may be in use.
  keep_slot(old, slot, part, path) {
    if (old.item.on !== slot.on || old.model !== this.modelOf(slot)) return false;
    if (!old.model) this.fill(old.node, slot.instead, part, path);
    return true;
  }

  async host(node, id, otherwise) {
    let view = null;
    this.hosted.set(node, () => view?.remove());
    try {
      const manager = this.model.widget_manager;
      view = await manager.create_view(await manager.get_model(id), {});
      if (this.hosted.has(node)) node.replaceChildren(view.el);
      else view.remove();
    } catch {
      otherwise();
    }
  }

  // Ends the widgets whose places are gone: else each that was ever looked at would be drawn on and on.
  dismiss(isGone) {
    for (const [node, ends] of this.hosted) {
      if (!isGone(node)) continue;
      this.hosted.delete(node);
      ends();
    }
  }
}
