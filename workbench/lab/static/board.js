// Draws a board from its view, a tree of plain data, and sends back what is pressed. It decides nothing.
// Text only ever becomes a text node: nothing that a payment carries can become markup here.

const PATIENCE_MS = 6000;
const TYPING_MS = 200;
const NO_ANSWER =
  "No answer yet. If a cell is running, this is done when it has ended; if the kernel was restarted, run the cells again.";
const SIGNS = { plain: "", good: "✓", bad: "✗", warn: "!" };

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

class Board {
  constructor(model, el) {
    this.model = model;
    this.drawn = new Map(); // section id → [its data as text, its node]
    this.typed = new Map(); // field path → [what the sandbox last gave, what was typed since]
    this.sent = new Map(); // field path → what of it was sent last while it was typed
    this.open = new Map(); // fold path → whether it is open
    this.waiting = new Map(); // message id → what to do when it is answered
    this.last = 0;
    this.told = 0;
    this.path = "";
    this.prefix = `wb-${Math.random().toString(36).slice(2)}`;
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
      ["change:view", () => this.draw()],
      ["change:answered", () => this.answer()],
      ["msg:custom", (message) => message.reveal && this.reveal(message.reveal)],
    ];
    for (const [name, heard] of this.listeners) model.on(name, heard);
    this.draw();
  }

  close() {
    for (const [name, heard] of this.listeners) this.model.off(name, heard);
    for (const { timer } of this.waiting.values()) clearTimeout(timer);
  }

  // ---- what is to be seen -------------------------------------------------------------------------------------

  draw() {
    const view = this.model.get("view");
    const sections = view.sections ?? [];
    const focus = this.focused();
    this.title.textContent = view.title ?? "";
    for (const [id, [, node]] of this.drawn) {
      if (!sections.some((each) => each.id === id)) {
        node.remove();
        this.drawn.delete(id);
      }
    }
    for (const section of sections) this.place(section.id, section, () => this.section(section), this.sections);
    this.place("(code)", view.code ?? [], () => this.inCode(view.code ?? []), this.code);
    this.say(view.said ?? {});
    this.restore(focus);
  }

  place(id, data, make, parent) {
    const text = JSON.stringify(data);
    const [before, node] = this.drawn.get(id) ?? [];
    if (before === text) return;
    this.path = id;
    const made = make();
    if (node) node.replaceWith(made);
    else parent.append(made);
    this.drawn.set(id, [text, made]);
  }

  section(section) {
    if (!section.title) return h("div", { class: "wb-wide" }, this.items(section.items, section.id, section.id));
    const title = h("h4", { id: `${this.prefix}-${section.id}` }, section.title);
    return h(
      "section",
      { class: `wb-section wb-is-${section.id}${section.wide ? " wb-wide" : ""}`, "aria-labelledby": title.id },
      title, this.items(section.items, section.id, section.id),
    );
  }

  inCode(items) {
    if (!items.length) return h("div");
    const title = h("h4", { id: `${this.prefix}-code` }, "The same in code");
    return h("section", { class: "wb-section", "aria-labelledby": title.id }, title, this.items(items, "(code)", "code"));
  }

  items(items, part, path) {
    return (items ?? []).map((item, place) => this[`draw_${item.kind}`](item, part, `${path}/${place}`));
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
    const table = h("table", { role: "table" }, caption, h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, headings)), h("tbody", { role: "rowgroup" }, rows));
    return h("div", { class: `wb-scroll${acts ? " wb-rows" : ""}`, tabindex: "0", role: "group", "aria-label": grid.caption }, table);
  }

  row(row, grid, acts, part, path) {
    const cells = row.cells.map((text, place) => {
      const heading = grid.headings[place];
      return h(place ? "td" : "th", { scope: place ? null : "row", role: place ? "cell" : "rowheader", "data-label": heading?.text, class: heading?.numeric ? "wb-number" : null }, text);
    });
    const beneath = row.more?.length ? h("tr", { class: "wb-more", role: "row" }) : null;
    if (acts) {
      const buttons = (row.actions ?? []).map((each) => this.button(each, part, path, null, row.cells[0]));
      if (beneath) buttons.push(this.unfolder(beneath, row, cells.length + 1, part, path));
      cells.push(h("td", { role: "cell" }, h("div", { class: "wb-actions" }, buttons)));
    }
    const asked = row.beneath?.length
      ? h("tr", { class: "wb-more", role: "row" }, h("td", { role: "cell", colspan: cells.length }, this.beneath(row.beneath, part, `${path}/beneath`)))
      : null;
    return [h("tr", { role: "row" }, cells), beneath, asked].filter(Boolean);
  }

  beneath(items, part, path) {
    return h("div", { class: "wb-beneath" }, this.items(items, part, path));
  }

  unfolder(beneath, row, width, part, path) {
    const show = (isOpen) => {
      this.open.set(path, isOpen);
      button.setAttribute("aria-expanded", String(isOpen));
      beneath.hidden = !isOpen;
      const shown = isOpen ? h("td", { role: "cell", colspan: width }, this.beneath(row.more, part, `${path}/more`)) : [];
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
      await copied(code.text);
      button.textContent = "Copied";
      this.announce(`${code.label} copied.`, "good");
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    return h(
      "div",
      { class: "wb-code" },
      h("div", { class: "wb-code-head" }, h("span", {}, code.label), button),
      h("pre", { tabindex: "0", role: "group", "aria-label": code.label }, code.text),
    );
  }

  draw_picture(picture) {
    // As an image: what is inside an image can neither run nor ask for anything.
    return h("img", { class: "wb-picture", alt: picture.says, src: `data:image/svg+xml;utf8,${encodeURIComponent(picture.svg)}` });
  }

  draw_fold(fold, part, path) {
    const key = `${part}/fold/${fold.id}`;
    const node = h("details", { open: this.open.get(key) ?? fold.open ?? false }, h("summary", { "data-key": key }, fold.label));
    node.append(...this.items(fold.items, part, path));
    node.addEventListener("toggle", () => this.open.set(key, node.open));
    return node;
  }

  draw_beside(beside, part, path) {
    return h("div", { class: "wb-beside" }, this.items(beside.items, part, path).map((each) => h("div", {}, each)));
  }

  // ---- forms --------------------------------------------------------------------------------------------------

  draw_form(form, part, path) {
    const node = h("form", { class: `wb-form${form.row ? " wb-form-row" : ""}`, "aria-label": form.label, novalidate: true, autocomplete: "off" });
    const values = () => Object.fromEntries(form.fields.map((each) => [each.name, this.valueOf(node.elements[each.name])]));
    node.append(...form.fields.map((each) => this.field(each, `${part}/${form.id}/${each.name}`)));
    const buttons = (form.actions ?? []).map((each) => this.button(each, part, path, values));
    if (buttons.length) node.append(h("div", { class: "wb-buttons" }, buttons));
    node.addEventListener("submit", (event) => {
      event.preventDefault();
      buttons.find((each) => each.classList?.contains("wb-primary"))?.click();
    });
    if (form.follow) {
      let timer;
      node.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          const sent = values();
          for (const [name, value] of Object.entries(sent)) this.sent.set(`${part}/${form.id}/${name}`, value);
          this.send({ part, do: "follow", on: form.id, values: sent });
        }, TYPING_MS);
      });
    }
    return node;
  }

  valueOf(input) {
    return input.type === "checkbox" ? (input.checked ? "yes" : "") : input.value;
  }

  field(field, key) {
    const id = `${this.prefix}-${key}`;
    const given = field.value ?? "";
    const [before, typed] = this.typed.get(key) ?? [given, given];
    // What the sandbox says anew goes before what was typed, but for its echo, which more has been typed since.
    const value = before === given || this.sent.get(key) === given ? typed : given;
    this.typed.set(key, [given, value]);
    const described = [field.hint && `${id}-hint`, field.error && `${id}-error`].filter(Boolean).join(" ") || null;
    const input = this.input(field, {
      id, name: field.name, "data-key": key, "aria-describedby": described, "aria-invalid": field.error ? "true" : null,
      spellcheck: "false",
    }, value);
    const label = h("label", { for: id }, field.label);
    input.addEventListener("input", () => this.typed.set(key, [given, this.valueOf(input)]));
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
      const area = h("textarea", { ...attributes, rows: String(Math.min(16, Math.max(3, value.split("\n").length))) });
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
        type: "button", class: `wb-button${action.primary ? " wb-primary" : ""}`, "data-key": key,
        "aria-disabled": action.off ? "true" : null, title: action.off || null,
        "aria-label": about ? `${action.label}: ${about}` : null,
        "aria-expanded": action.expanded ? String(action.expanded === "yes") : null,
      },
      action.label,
    );
    const press = () => this.press({ part, do: action.do, on: action.on ?? "", values: values?.() ?? {} }, node);
    node.addEventListener("click", () => {
      if (action.off) this.announce(action.off, "warn");
      else if (action.confirm) this.confirm(node, action, press);
      else press();
    });
    return node;
  }

  confirm(node, action, press) {
    const done = (agreed) => {
      question.replaceWith(node);
      node.focus();
      if (agreed) press();
    };
    const no = h("button", { type: "button", class: "wb-button", onclick: () => done(false) }, "No");
    const yes = h("button", { type: "button", class: "wb-button wb-primary", onclick: () => done(true) }, `Yes, ${action.label.toLowerCase()}`);
    const question = h("span", { class: "wb-confirm", role: "group", "aria-label": action.confirm }, action.confirm, " ", yes, no);
    question.addEventListener("keydown", (event) => event.key === "Escape" && done(false));
    node.replaceWith(question);
    no.focus();
  }

  press(message, node) {
    if (node.getAttribute("aria-busy") === "true") return;
    node.setAttribute("aria-busy", "true");
    this.send(message, () => node.removeAttribute("aria-busy"));
  }

  send(message, then = () => {}) {
    const id = (this.last = Math.max(this.last + 1, Date.now() * 1000));
    const late = () => {
      then();
      this.announce(NO_ANSWER, "warn");
    };
    this.waiting.set(id, { then, timer: setTimeout(late, PATIENCE_MS) });
    this.model.send({ ...message, id });
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
    const node = [...this.root.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focus.key);
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
