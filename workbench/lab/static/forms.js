// Forms and buttons: what is typed stays when the board is drawn anew, and what is pressed is sent once.

const TYPING_MS = 200;
const AMOUNT = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 20 });

function shapeOf(form) {
  return JSON.stringify({ ...form, fields: form.fields.map((each) => ({ ...each, value: "", options: [] })) });
}

function optionsOf(field) {
  return field.options.map(([each, label]) => h("option", { value: each }, label));
}

function rowsFor(text) {
  return Math.min(16, Math.max(3, text.split("\n").length));
}

// As amounts are written elsewhere; what is none is said as it was typed, and refused when it is sent.
function amountOf(text) {
  const number = text.trim().replace(/^K|,/g, "");
  return Number.isNaN(Number(number)) ? text : AMOUNT.format(number);
}

class Forms extends Sequences {
  constructor(model) {
    super(model);
    this.prefix = `wb-${Math.random().toString(36).slice(2)}`;
    this.typed = new Map(); // field path → what the sandbox last gave, what stands there, what was last sent
    this.unsent = new Map(); // form → what sends what was typed into it
    this.busy = new Set(); // keys of buttons that wait for an answer
    this.asking = null; // key of the button whose question is open
  }

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

  // The same form with other values and choices: they are set where they stand, so that caret and undoing stay, and a
  // list that is unfolded stays unfolded.
  keep_form(old, form, part) {
    if (shapeOf(old.item) !== shapeOf(form)) return false;
    for (const [place, field] of form.fields.entries()) {
      const key = this.fieldKey(part, form, field.name);
      const input = old.node.elements[field.name];
      if (JSON.stringify(old.item.fields[place].options) !== JSON.stringify(field.options)) {
        input.replaceChildren(...optionsOf(field));
        input.value = this.typed.get(key).value;
      }
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
      const select = h("select", attributes, optionsOf(field));
      select.value = value;
      return select;
    }
    if (field.type === "check") return h("input", { ...attributes, type: "checkbox", checked: value === "yes" });
    if (field.type === "area") {
      const area = h("textarea", { ...attributes, rows: String(rowsFor(value)), "data-scroll": attributes["data-key"] });
      area.value = value;
      return area;
    }
    const kinds = { number: ["text", "decimal"], search: ["search", null], date: ["date", null], text: ["text", null] };
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
    const press = (held) => this.press({ part, do: action.do, on: action.on ?? "" }, held, key);
    const ask = () => this.question(action, node, key, press, values?.());
    node.addEventListener("click", () => {
      if (action.off) return this.announce(action.off, "warn");
      if (!action.confirm) return press(values?.());
      this.asking = key;
      const question = ask();
      node.replaceWith(question);
      question.querySelector("button").focus();
    });
    return this.asking === key && action.confirm ? ask() : node;
  }

  // It names what is typed, and what it names is what is sent.
  question(action, node, key, press, held) {
    const says = action.confirm.replace(/\{(\w+)\}/g, (_, name) => amountOf(held[name]));
    const done = (agreed) => {
      this.asking = null;
      question.replaceWith(node);
      node.focus();
      if (agreed) press(held);
    };
    const no = h("button", { type: "button", class: "wb-button", "data-key": `${key}/no`, onclick: () => done(false) }, "No");
    const yes = h(
      "button",
      { type: "button", class: "wb-button wb-primary", "data-key": `${key}/yes`, onclick: () => done(true) },
      `Yes, ${action.label.toLowerCase()}`,
    );
    const question = h("span", { class: "wb-confirm", role: "group", "aria-label": says }, says, " ", no, yes);
    question.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      done(false);
    });
    return question;
  }

  press(message, held, key) {
    if (this.busy.has(key)) return;
    for (const { go, timer } of [...this.unsent.values()]) {
      clearTimeout(timer);
      go();
    }
    this.setBusy(key, true);
    this.send({ ...message, values: held ?? {} }, () => this.setBusy(key, false));
  }

  setBusy(key, isBusy) {
    isBusy ? this.busy.add(key) : this.busy.delete(key);
    const node = this.keyed(key);
    isBusy ? node?.setAttribute("aria-busy", "true") : node?.removeAttribute("aria-busy");
  }
}
