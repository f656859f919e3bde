// Draws a board from its view, a tree of plain data, and sends back what is pressed. It decides nothing.

const PATIENCE_MS = 6000;
const NO_ANSWER =
  "No answer yet. If a cell is running, this is done when it has ended; if the kernel was restarted, run the cells again.";
const IS_OFF = "Run the notebook's cells to see it. A running cell must finish first.";

class Board extends Forms {
  constructor(model, el) {
    super(model);
    this.drawn = new Map(); // section id → its node, its title and what holds its pieces
    this.waiting = new Map(); // message id → what to do when it is answered
    this.last = 0;
    this.told = 0;
    this.title = h("h3", { class: "wb-title", id: `${this.prefix}-title` });
    this.status = h("div", { class: "wb-status", role: "status", "aria-live": "polite" });
    this.secret = h("div", { class: "wb-secret", hidden: true });
    this.sections = h("div", { class: "wb-sections" });
    this.tabs = new Tabs(this.prefix);
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
    this.sizes = new ResizeObserver(() => this.resized());
    this.sizes.observe(this.root);
    this.announce("Loading …");
    this.send({ look: true });
  }

  // The view comes as a message, and is in nothing that is saved with the notebook.
  hear({ view, reveal, download }) {
    if (reveal) this.reveal(reveal);
    if (download) saved(download.name, download.text);
    if (!view) return;
    if (!this.view.sections) this.announce("");
    this.view = view;
    this.draw();
  }

  close() {
    try {
      this.model.send({ gone: true });
    } catch {
      // The kernel has gone before.
    }
    for (const [name, heard] of this.listeners) this.model.off(name, heard);
    for (const { timer } of this.waiting.values()) clearTimeout(timer);
    this.dismiss(() => true);
    this.sizes.disconnect();
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
    // What has been opened is looked at next; where nobody is at this board, the focus stays where it is.
    if (focus) this.opening?.focus();
    this.opening = null;
    this.dismiss((node) => !this.root.contains(node));
  }

  place(sections) {
    for (const id of [...this.drawn.keys()]) {
      if (!sections.some((each) => each.id === id)) this.remove(id);
    }
    let after = null;
    let tabs = 0;
    for (const section of sections) {
      if (!this.drawn.has(section.id)) {
        this.drawn.set(section.id, this.isTab(section) ? this.tabs.panel(section.id, tabs) : this.section(section.id));
      }
      const drawn = this.drawn.get(section.id);
      const { title, body, badge } = drawn;
      const node = badge ? this.tabs.root : drawn.node;
      if (badge) write(badge, section.badge ?? "");
      if (!badge) node.classList.toggle("wb-wide", Boolean(section.wide));
      node.classList.toggle("wb-untitled", !section.title);
      if (!section.title) node.removeAttribute("aria-labelledby");
      title.hidden = !section.title;
      write(title, section.title);
      this.fill(body, section.items, section.id, section.id);
      if (badge && tabs++) continue; // they have their place already
      if (node.previousElementSibling !== after || !node.parentNode) {
        after ? after.after(node) : this.sections.prepend(node);
      }
      after = node;
    }
  }

  isTab(section) {
    return this.root.clientWidth < (section.tab ?? 0) * parseFloat(getComputedStyle(document.documentElement).fontSize);
  }

  // What is a tab where there is little room stands by itself where there is more. What was typed is kept.
  resized() {
    if (!this.root.clientWidth) return;
    const moved = (this.view.sections ?? []).filter(({ id }) => this.drawn.has(id))
      .filter((each) => this.isTab(each) !== Boolean(this.drawn.get(each.id).badge));
    const focus = this.focused();
    for (const { id } of moved) this.remove(id);
    if (moved.length) this.draw();
    this.restore(focus);
  }

  remove(id) {
    this.drawn.get(id).node.remove();
    this.tabs.forget(id);
    this.drawn.delete(id);
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
    else if (!this.coded.node.parentNode) (this.drawn.get("code")?.node ?? this.code).append(this.coded.node);
    this.fill(this.coded.body, items, "(code)", "code");
  }

  // ---- what is sent -------------------------------------------------------------------------------------------

  send(message, then = () => {}) {
    const id = (this.last = Math.max(this.last + 1, Date.now() * 1000));
    const late = () => {
      then();
      this.announce(this.view.sections ? NO_ANSWER : IS_OFF, "warn");
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
    if (said.leads) this.status.append(" ", this.button(said.leads, "said", "said"));
  }

  announce(text, tone = "plain") {
    const sign = SIGNS[tone] ? h("span", { class: "wb-sign", "aria-hidden": "true" }, SIGNS[tone], " ") : "";
    this.status.className = `wb-status wb-${tone}`;
    this.status.replaceChildren(sign, text);
    // One that is longer than its place is scrolled, by the keyboard too.
    if (this.status.scrollHeight > this.status.clientHeight + 1) this.status.tabIndex = 0;
    else this.status.removeAttribute("tabindex");
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
    if (!active || !this.root.contains(active)) return null;
    const isText = active.tagName === "TEXTAREA" || (active.tagName === "INPUT" && active.type !== "checkbox");
    const caret = isText && active.selectionStart !== null ? [active.selectionStart, active.selectionEnd] : null;
    return { node: active, key: active.dataset.key, back: active.closest("[data-back]")?.dataset.back, caret };
  }

  restore(focus) {
    if (!focus || this.root.contains(focus.node)) return;
    const node = this.keyed(focus.key);
    if (!node) return this.backTo(focus.back);
    node.focus({ preventScroll: true });
    if (focus.caret) node.setSelectionRange(...focus.caret);
  }

  // The row of which the drawer was closed.
  backTo(row) {
    [...this.root.querySelectorAll(".wb-open")].find((each) => each.dataset.row === row)?.focus();
  }

  keyed(key) {
    return [...this.root.querySelectorAll("[data-key]")].find((each) => each.dataset.key === key);
  }
}

export default {
  render({ model, el }) {
    const board = new Board(model, el);
    return () => board.close();
  },
};
