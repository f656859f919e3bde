// Draws a board from its view, a tree of plain data, and sends back what is pressed. It decides nothing.
// Text only ever becomes a text node: nothing that a payment carries can become markup here.

const PATIENCE_MS = 6000;
const TYPING_MS = 200;
const NO_ANSWER =
  "No answer yet. If a cell is running, this is done when it has ended; if the kernel was restarted, run the cells again.";
const SIGNS = { plain: "", good: "✓", bad: "✗", warn: "!" };
const STEPS = { done: ["✓", "done"], now: ["●", "now"], ahead: ["○", "to come"], failed: ["✗", "failed"] };

function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((each) => each !== undefined && each !== null));
  return node;
}

function copied(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = h("textarea", { class: "wb-unseen" });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  return Promise.resolve();
}

function shapeOf(form) {
  return JSON.stringify({ ...form, fields: form.fields.map((each) => ({ ...each, value: "" })) });
}

function rowsFor(text) {
  return Math.min(16, Math.max(3, text.split("\n").length));
}

class Board {
  constructor(model, el) {
    this.model = model;
    this.drawn = new Map(); // section id → its node, its title and what holds its pieces
    this.filled = new WeakMap(); // node → the pieces in it: their data, as text too, and their nodes
    this.typed = new Map(); // field path → what the sandbox last gave, what stands there, what was last sent
    this.open = new Map(); // path of what unfolds in a table → whether it is open
    this.busy = new Set(); // keys of buttons that wait for an answer
    this.asking = null; // key of the button whose question is open
    this.unsent = new Map(); // form → what sends what was typed into it
    this.closers = []; // what ends the widgets in their places
    this.waiting = new Map(); // message id → what to do when it is answered
    this.last = 0;
    this.told = 0;
    this.prefix = `wb-${Math.random().toString(36).slice(2)}`;
    this.view = {};
    this.title = h("h3", { class: "wb-title", id: `${this.prefix}-title` });
    this.status = h("div", { class: "wb-status", role: "status", "aria-live": "polite" });
    this.secret = h("div", { class: "wb-secret", hidden: true });
    this.sections = h("div", { class: "wb-sections" });
    this.code = h("div", { class: "wb-incode" });
    this.root = h(
      "div",
      { class: "wb wb-board", role: "group", "aria-labelledby": this.title.id, "data-lm-suppress-shortcuts": "true" },
      this.title, this.status, this.secret, this.sections, this.code,
    );
    // What is typed here is not meant for the notebook around it.
    for (const kind of ["keydown", "keyup", "keypress", "contextmenu"]) {
      this.root.addEventListener(kind, (event) => event.stopPropagation());
    }
    el.append(this.root);
    this.listeners = [
      ["change:answered", () => this.answer()],
      ["msg:custom", (message) => this.hear(message)],
    ];
    for (const [name, heard] of this.listeners) model.on(name, heard);
    this.title.textContent = model.get("title");
    this.send({ look: true });
  }

  // The view comes as a message, and is in nothing that is saved with the notebook.
  hear({ view, reveal }) {
    if (reveal) this.reveal(reveal);
    if (!view) return;
    this.view = view;
    this.draw();
  }

  close() {
    for (const [name, heard] of this.listeners) this.model.off(name, heard);
    for (const { timer } of this.waiting.values()) clearTimeout(timer);
    for (const closes of this.closers) closes();
  }

  // ---- what is to be seen -------------------------------------------------------------------------------------

  draw() {
    const view = this.view;
    const sections = view.sections ?? [];
    const focus = this.focused();
    this.title.textContent = view.title ?? "";
    if (view.name) this.root.classList.add(`wb-of-${view.name}`);
    this.place(sections);
    this.inCode(view.code ?? []);
    this.say(view.said ?? {});
    this.restore(focus);
  }

  place(sections) {
    for (const [id, { node }] of this.drawn) {
      if (sections.some((each) => each.id === id)) continue;
      node.remove();
      this.drawn.delete(id);
    }
    let after = null;
    for (const section of sections) {
      if (!this.drawn.has(section.id)) this.drawn.set(section.id, this.section(section.id));
      const { node, title, body } = this.drawn.get(section.id);
      node.classList.toggle("wb-wide", Boolean(section.wide));
      node.classList.toggle("wb-untitled", !section.title);
      if (!section.title) node.removeAttribute("aria-labelledby");
      title.hidden = !section.title;
      if (title.textContent !== section.title) title.textContent = section.title;
      this.fill(body, section.items, section.id, section.id);
      if (node.previousElementSibling !== after || !node.parentNode) {
        after ? after.after(node) : this.sections.prepend(node);
      }
      after = node;
    }
  }

  section(id) {
    const title = h("h4", { id: `${this.prefix}-${id}` });
    const body = h("div", { class: "wb-items" });
    const node = h("section", { class: `wb-section wb-is-${id}`, "aria-labelledby": title.id }, title, body);
    return { node, title, body };
  }

  inCode(items) {
    this.coded ??= this.section("code");
    this.coded.title.textContent = "The last action in code";
    if (!items.length) this.coded.node.remove();
    else if (!this.coded.node.parentNode) this.code.append(this.coded.node);
    this.fill(this.coded.body, items, "(code)", "code");
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
    return h("dl", { class: "wb-facts" }, facts.pairs.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
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
    return h("div", { class: `wb-scroll${acts || grid.cards ? " wb-rows" : ""}`, tabindex: "0", role: "group", "aria-label": grid.caption, "data-scroll": path, "data-key": `${path}/scroll` }, table);
  }

  row(row, grid, acts, part, path) {
    const cells = row.cells.map((text, place) => {
      const heading = grid.headings[place];
      const named = place ? { role: "cell" } : { role: "rowheader", scope: "row" };
      return h(place ? "td" : "th", { ...named, "data-label": heading?.text, class: heading?.numeric ? "wb-number" : null }, text);
    });
    const beneath = row.more?.length ? h("tr", { class: "wb-more", role: "row" }) : null;
    const asked = row.beneath?.length ? h("tr", { class: "wb-more", role: "row" }) : null;
    if (acts) {
      const buttons = (row.actions ?? []).map((each) => this.button(each, part, path, null, row.cells[0]));
      if (beneath) buttons.push(this.unfolder(beneath, row, cells.length + 1, part, path));
      cells.push(h("td", { role: "cell" }, h("div", { class: "wb-actions" }, buttons)));
    }
    asked?.append(this.beneath(row.beneath, cells.length, part, `${path}/beneath`));
    return [h("tr", { role: "row" }, cells), beneath, asked].filter(Boolean);
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
      const node = this.button({ do: "show", on: id, label }, part, path);
      if (id === menu.chosen) node.setAttribute("aria-current", "page");
      return h("li", {}, node);
    });
    return h("nav", { class: "wb-menu", "aria-label": menu.label }, h("ul", {}, choices));
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
    const one = (step) => {
      const [sign, says] = STEPS[step.state];
      const mark = h("span", { class: "wb-sign", "aria-hidden": "true" }, sign);
      const note = step.note ? h("span", { class: "wb-hint" }, step.note) : null;
      const text = h("span", {}, step.text, h("span", { class: "wb-unseen" }, `: ${says}`));
      const isNow = step.state === "now" ? "step" : null;
      return h("li", { class: `wb-step wb-step-${step.state}`, "aria-current": isNow }, mark, text, note);
    };
    return h("ol", { class: "wb-steps", "aria-label": steps.label }, steps.steps.map(one));
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
    let isOver = false;
    this.closers.push(() => {
      isOver = true;
      view?.remove();
    });
    try {
      const manager = this.model.widget_manager;
      view = await manager.create_view(await manager.get_model(id), {});
      if (isOver) view.remove();
      else node.replaceChildren(view.el);
    } catch {
      otherwise();
    }
  }

  // ---- forms --------------------------------------------------------------------------------------------------

  draw_form(form, part, path) {
    const node = h("form", { class: `wb-form${form.row ? " wb-form-row" : ""}`, "aria-label": form.label, novalidate: true, autocomplete: "off" });
    const values = () => {
      const found = {};
      for (const { name } of form.fields) {
        found[name] = this.valueOf(node.elements[name]);
        this.typed.get(this.fieldKey(part, form, name)).sent = found[name];
      }
      return found;
    };
    node.append(...form.fields.map((each) => this.field(each, this.fieldKey(part, form, each.name))));
    const buttons = (form.actions ?? []).map((each) => this.button(each, part, path, values));
    if (buttons.length) node.append(h("div", { class: "wb-buttons" }, buttons));
    node.addEventListener("submit", (event) => event.preventDefault());
    if (form.follow) node.addEventListener("input", () => this.follow(`${part}/${form.id}`, { part, on: form.id }, values));
    return node;
  }

  // The same form with other values: they are set where they stand, so that caret and undoing stay.
  keep_form(old, form, part) {
    if (shapeOf(old.item) !== shapeOf(form)) return false;
    for (const field of form.fields) {
      const key = this.fieldKey(part, form, field.name);
      const input = old.node.elements[field.name];
      const value = this.valueFor(key, field.value ?? "");
      if (this.valueOf(input) === value) continue;
      if (field.type === "check") input.checked = value === "yes";
      else input.value = value;
      if (field.type === "area") input.rows = rowsFor(value);
    }
    return true;
  }

  fieldKey(part, form, name) {
    return `${part}/${form.id}/${name}`;
  }

  // What the sandbox says anew goes before what was typed; what it only repeats of what was sent does not.
  valueFor(key, given) {
    const known = this.typed.get(key) ?? { given, value: given };
    const isNews = given !== known.given && given !== known.sent;
    const value = isNews ? given : known.value;
    this.typed.set(key, { given, value, sent: isNews ? undefined : known.sent });
    return value;
  }

  follow(key, about, values) {
    clearTimeout(this.unsent.get(key)?.timer);
    const go = () => {
      this.unsent.delete(key);
      this.send({ ...about, do: "follow", values: values() });
    };
    this.unsent.set(key, { go, timer: setTimeout(go, TYPING_MS) });
  }

  valueOf(input) {
    return input.type === "checkbox" ? (input.checked ? "yes" : "") : input.value;
  }

  field(field, key) {
    const id = `${this.prefix}-${key}`;
    const given = field.value ?? "";
    const value = this.valueFor(key, given);
    const described = [field.hint && `${id}-hint`, field.error && `${id}-error`].filter(Boolean).join(" ") || null;
    const input = this.input(field, {
      id, name: field.name, "data-key": key, "aria-describedby": described, "aria-invalid": field.error ? "true" : null,
      spellcheck: "false",
    }, value);
    const label = h("label", { for: id }, field.label);
    input.addEventListener("input", () => (this.typed.get(key).value = this.valueOf(input)));
    return h(
      "div",
      { class: `wb-field wb-field-${field.type ?? "text"}` },
      field.type === "check" ? [input, label] : [label, input],
      field.hint ? h("div", { class: "wb-hint", id: `${id}-hint` }, field.hint) : null,
      field.error ? h("div", { class: "wb-error", id: `${id}-error` }, `${SIGNS.bad} ${field.error}`) : null,
    );
  }

  input(field, attributes, value) {
    if (field.type === "select") {
      return h("select", attributes, field.options.map(([each, label]) => h("option", { value: each, selected: each === value }, label)));
    }
    if (field.type === "check") return h("input", { ...attributes, type: "checkbox", checked: value === "yes" });
    if (field.type === "area") {
      const area = h("textarea", { ...attributes, rows: String(rowsFor(value)), "data-scroll": attributes["data-key"] });
      area.value = value;
      return area;
    }
    const kinds = { number: ["text", "decimal"], search: ["search", null], text: ["text", null] };
    const [type, inputmode] = kinds[field.type ?? "text"];
    const made = h("input", { ...attributes, type, inputmode });
    made.value = value;
    return made;
  }

  // ---- what is pressed ----------------------------------------------------------------------------------------

  button(action, part, path, values = null, about = "") {
    const key = `${path}/${action.do}/${action.on ?? ""}`;
    const node = h(
      "button",
      {
        // Enter in a field presses the button that submits.
        type: values && action.primary ? "submit" : "button",
        class: `wb-button${action.primary ? " wb-primary" : ""}`, "data-key": key,
        "aria-disabled": action.off ? "true" : null, title: action.off || null,
        "aria-label": about ? `${action.label}: ${about}` : null,
        "aria-expanded": action.expanded ? String(action.expanded === "yes") : null,
      },
      action.label,
    );
    if (this.busy.has(key)) node.setAttribute("aria-busy", "true");
    const press = () => this.press({ part, do: action.do, on: action.on ?? "" }, values, key);
    const ask = () => this.question(action, node, key, press);
    node.addEventListener("click", () => {
      if (action.off) return this.announce(action.off, "warn");
      if (!action.confirm) return press();
      this.asking = key;
      const question = ask();
      node.replaceWith(question);
      question.querySelector("button").focus();
    });
    return this.asking === key && action.confirm ? ask() : node;
  }

  question(action, node, key, press) {
    const done = (agreed) => {
      this.asking = null;
      question.replaceWith(node);
      node.focus();
      if (agreed) press();
    };
    const no = h("button", { type: "button", class: "wb-button", "data-key": `${key}/no`, onclick: () => done(false) }, "No");
    const yes = h(
      "button",
      { type: "button", class: "wb-button wb-primary", "data-key": `${key}/yes`, onclick: () => done(true) },
      `Yes, ${action.label.toLowerCase()}`,
    );
    const question = h("span", { class: "wb-confirm", role: "group", "aria-label": action.confirm }, action.confirm, " ", no, yes);
    question.addEventListener("keydown", (event) => event.key === "Escape" && done(false));
    return question;
  }

  press(message, values, key) {
    if (this.busy.has(key)) return;
    for (const { go, timer } of [...this.unsent.values()]) {
      clearTimeout(timer);
      go();
    }
    this.setBusy(key, true);
    this.send({ ...message, values: values?.() ?? {} }, () => this.setBusy(key, false));
  }

  setBusy(key, isBusy) {
    isBusy ? this.busy.add(key) : this.busy.delete(key);
    const node = this.keyed(key);
    isBusy ? node?.setAttribute("aria-busy", "true") : node?.removeAttribute("aria-busy");
  }

  keyed(key) {
    return [...this.root.querySelectorAll("[data-key]")].find((each) => each.dataset.key === key);
  }

  send(message, then = () => {}) {
    const id = (this.last = Math.max(this.last + 1, Date.now() * 1000));
    const late = () => {
      then();
      this.announce(NO_ANSWER, "warn");
    };
    this.waiting.set(id, { then, timer: setTimeout(late, PATIENCE_MS) });
    try {
      this.model.send({ ...message, id });
    } catch {
      late(); // the kernel was restarted: nobody is there any more
    }
  }

  answer() {
    const answered = this.model.get("answered");
    for (const [id, { then, timer }] of this.waiting) {
      if (id > answered) continue;
      clearTimeout(timer);
      this.waiting.delete(id);
      then();
    }
  }

  // ---- what is said -------------------------------------------------------------------------------------------

  say(said) {
    if (said.number === undefined || said.number === this.told) return;
    this.told = said.number;
    this.announce(said.text, said.tone);
  }

  announce(text, tone = "plain") {
    const sign = SIGNS[tone] ? h("span", { class: "wb-sign", "aria-hidden": "true" }, SIGNS[tone], " ") : "";
    this.status.className = `wb-status wb-${tone}`;
    this.status.replaceChildren(sign, text);
  }

  reveal({ label, secret }) {
    const close = () => {
      this.secret.hidden = true;
      this.secret.replaceChildren();
    };
    const value = h("code", { tabindex: "0" }, secret);
    const copy = h("button", { type: "button", class: "wb-button wb-primary" }, "Copy");
    copy.addEventListener("click", async () => {
      await copied(secret);
      this.announce(`${label} copied.`, "good");
    });
    const hide = h("button", { type: "button", class: "wb-button", onclick: close }, "Hide for good");
    this.secret.replaceChildren(
      h("div", { class: "wb-reveal", role: "group", "aria-label": label }, h("strong", {}, `${label}, shown this once`), value, copy, hide),
    );
    this.secret.hidden = false;
    value.focus();
  }

  // ---- focus --------------------------------------------------------------------------------------------------

  focused() {
    const active = document.activeElement;
    if (!active || !this.root.contains(active) || !active.dataset.key) return null;
    const isText = active.tagName === "TEXTAREA" || (active.tagName === "INPUT" && active.type !== "checkbox");
    return { node: active, key: active.dataset.key, caret: isText ? [active.selectionStart, active.selectionEnd] : null };
  }

  restore(focus) {
    if (!focus || this.root.contains(focus.node)) return;
    const node = this.keyed(focus.key);
    if (!node) return;
    node.focus({ preventScroll: true });
    if (focus.caret) node.setSelectionRange(...focus.caret);
  }
}

export default {
  render({ model, el }) {
    const board = new Board(model, el);
    return () => board.close();
  },
};
