// Draws a handset from its view, which is plain data, and sends back which key was pressed. It decides nothing.
// The PIN is kept here until it is sent, once.

const PATIENCE_MS = 4000;
const RING_MS = 6000;
const SURE_MS = 5000;
const MOST_DIGITS = 12;
const NO_ANSWER =
  "No answer from the kernel. While it is busy, wait; if it was restarted, run the cells again.";
const IS_OFF = "Run the first cells to switch it on. A running cell must finish first.";
const LETTERS = { 2: "abc", 3: "def", 4: "ghi", 5: "jkl", 6: "mno", 7: "pqrs", 8: "tuv", 9: "wxyz" };
const RECEIVER =
  "M3.2 8.9C8 4.1 16 4.1 20.8 8.9l.6 3-4.4 1.5-1.8-2.9c-2-.7-4.4-.7-6.4 0L7 13.4 2.6 11.9z";
const BELL = "M12 3a5.5 5.5 0 0 0-5.5 5.5V13L4.5 16.5h15L17.5 13V8.5A5.5 5.5 0 0 0 12 3zm-2.2 15a2.2 2.2 0 0 0 4.4 0z";
const STROKE = "M3 3l18 18";
const ENVELOPE = "M3 6h18v12H3zm0 0 9 7 9-7";

function icon(path, kind = "") {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 24 24", class: `wb-icon ${kind}`, "aria-hidden": "true" })) {
    svg.setAttribute(name, value);
  }
  const drawn = document.createElementNS("http://www.w3.org/2000/svg", "path");
  drawn.setAttribute("d", path);
  svg.append(drawn);
  return svg;
}

function minutes(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const two = (number) => String(number).padStart(2, "0");
  const whole = Math.floor(seconds / 60);
  return whole < 60
    ? `${whole}:${two(seconds % 60)}`
    : `${Math.floor(whole / 60)}:${two(whole % 60)}:${two(seconds % 60)}`;
}

class Handset {
  constructor(model, el) {
    this.model = model;
    this.view = {};
    this.known = null; // what was seen last: its prompt and its newest message
    this.sent = new Map(); // id of a message → the timer that says that nothing came back
    this.last = Math.floor(Math.random() * 1e9) * 1000;
    this.behind_ms = 0; // by how much this machine's clock is behind the kernel's
    this.unread = 0;
    this.inbox = false;
    this.sure = false;
    this.loud = false;
    this.build();
    el.append(this.root);
    this.listeners = [
      ["change:view", () => this.draw()],
      ["msg:custom", (message) => this.answered(message)],
      ["comm_live_update", () => this.send("look")],
    ];
    for (const [name, heard] of this.listeners) model.on(name, heard);
    this.ticking = setInterval(() => this.tick(), 250);
    this.draw();
    this.send("look");
  }

  close() {
    for (const [name, heard] of this.listeners) this.model.off(name, heard);
    for (const timer of [...this.sent.values(), this.ringing, this.unsure]) clearTimeout(timer);
    clearInterval(this.ticking);
    this.sounding?.close();
  }

  // ---- how it is made ------------------------------------------------------------------------------------------

  build() {
    const prefix = `wb-${Math.random().toString(36).slice(2)}`;
    const key = (digit, ...more) =>
      h("button", { type: "button", class: "wb-key", "data-digit": digit, "aria-label": digit, onclick: () => this.type(digit) },
        h("b", { "aria-hidden": "true" }, digit), ...more);
    this.carrier = h("span", { class: "wb-carrier" });
    this.number = h("span", { class: "wb-number-of" });
    this.sign = h("div", { class: "wb-outcome", "aria-hidden": "true" });
    this.words = h("div", { class: "wb-words" });
    this.spoken = h("div", { class: "wb-spoken", role: "status", "aria-live": "polite", "aria-atomic": "true" }, this.sign, this.words);
    this.pin = h("input", {
      id: `${prefix}-pin`, class: "wb-pin", type: "password", inputmode: "none", autocomplete: "off", spellcheck: "false",
      "data-1p-ignore": true, "data-lpignore": "true", maxlength: MOST_DIGITS, "aria-describedby": `${prefix}-left`,
      oninput: () => this.typed(),
    });
    const asked = h("label", { class: "wb-asked", for: `${prefix}-pin` }, "PIN");
    this.field = h("div", { class: "wb-field-pin" }, asked, this.pin);
    this.time = h("span", { class: "wb-time" });
    this.left = h("div", { class: "wb-left", id: `${prefix}-left` });
    this.bubble = h("div", { class: "wb-latest", role: "status", "aria-live": "polite" });
    this.home = h("div", { class: "wb-home" }, this.spoken, this.field, this.left, this.bubble);
    this.list = h("ol", { class: "wb-messages" });
    this.none = h("p", { class: "wb-none" }, "No messages.");
    this.box = h("div", { class: "wb-inbox", role: "group", "aria-label": "Messages, newest first", tabindex: "0" }, this.none, this.list);
    this.screen = h("div", { class: "wb-screen" },
      h("div", { class: "wb-bar" }, this.carrier, this.number), this.home, this.box);
    this.many = h("span");
    this.count = h("span", { class: "wb-count" }, this.many, h("span", { class: "wb-unseen" }, " new"));
    this.reading = h("span");
    this.messages = h("button", { type: "button", class: "wb-soft", "aria-pressed": "false", onclick: () => this.read(!this.inbox) },
      icon(ENVELOPE, "wb-line"), this.reading, this.count);
    this.away = h("button", { type: "button", class: "wb-soft", onclick: () => this.send("ignore") }, "Ignore");
    this.green = h("button", { type: "button", class: "wb-call wb-green", onclick: () => this.enter() }, icon(RECEIVER), "Send");
    this.red = h("button", { type: "button", class: "wb-call wb-red", onclick: () => this.send("cancel") }, icon(RECEIVER, "wb-down"), "Cancel");
    this.bell = h("button", { type: "button", class: "wb-bell", "aria-pressed": "false", "aria-label": "Sound", onclick: () => this.sound() },
      icon(BELL, "wb-large"), icon(STROKE, "wb-large wb-line wb-stroke"));
    this.keys = h("div", { class: "wb-keys", role: "group", "aria-label": "Keypad" },
      ...[..."123456789"].map((digit) => key(digit, h("small", { "aria-hidden": "true" }, LETTERS[digit] ?? ""))),
      h("button", { type: "button", class: "wb-key", "aria-label": "Clear", onclick: () => this.clear() }, h("b", { "aria-hidden": "true" }, "C")),
      key("0", h("small", { "aria-hidden": "true" })),
      h("button", { type: "button", class: "wb-key", "aria-label": "Backspace", onclick: () => this.back() }, h("b", { "aria-hidden": "true" }, "⌫")));
    this.ring = h("div", { class: "wb-ring", "aria-hidden": "true" }, "Prompt");
    this.says = h("div", { class: "wb-says", role: "status", "aria-live": "polite" });
    this.body = h("div", { class: "wb-body" },
      h("div", { class: "wb-ear", "aria-hidden": "true" }), this.ring, this.screen,
      h("div", { class: "wb-softs" }, this.messages, this.away),
      h("div", { class: "wb-calls" }, this.green, this.bell, this.red), this.keys);
    // Off, until a kernel has answered.
    this.body.inert = true;
    const help = h("p", { class: "wb-help" }, "Type digits; Enter sends, Escape twice cancels. Every PIN is 1234.");
    this.root = h("section", { class: "wb wb-phone wb-off" }, this.body, h("div", { class: "wb-foot" }, this.says, help));
    this.root.addEventListener("keydown", (event) => this.keydown(event));
    // What is pressed here is not meant for the notebook around it.
    for (const kind of ["keyup", "keypress"]) this.root.addEventListener(kind, (event) => event.stopPropagation());
    // A key that is clicked leaves the focus where digits are typed, so that hand and keyboard can take turns.
    this.keys.addEventListener("pointerdown", (event) => {
      if (!event.target.closest("button")) return;
      event.preventDefault();
      this.pin.focus({ preventScroll: true });
    });
  }

  // ---- what is to be seen --------------------------------------------------------------------------------------

  draw() {
    const view = this.model.get("view");
    const news = this.news(view);
    this.view = view;
    this.root.setAttribute("aria-label", `Phone ${view.name}, ${view.operator}`);
    this.root.dataset.outcome = view.outcome;
    this.root.dataset.waiting = view.waiting;
    write(this.carrier, view.operator);
    write(this.number, view.name);
    write(this.sign, SIGNS[view.outcome] ?? "");
    write(this.words, view.words);
    this.drawMessages(view.messages ?? []);
    this.tick();
    if (!view.waiting) {
      this.silence();
      this.calm();
    }
    if (news.prompt) this.startRinging();
    if (view.trouble) this.say(view.trouble, "bad");
    else if (news.words) this.say(news.words, "");
    else if (!view.waiting || this.troubled) this.say("", "");
    this.troubled = Boolean(view.trouble);
  }

  // What has come since it was last drawn: a prompt, messages.
  news(view) {
    const newest = view.messages?.at(-1)?.seq ?? 0;
    const before = this.known ?? { prompt: "", newest };
    this.known = { prompt: view.waiting ? view.prompt : "", newest };
    // What was typed for one payment is no part of the PIN for the next.
    if (before.prompt && before.prompt !== this.known.prompt) this.pin.value = "";
    const prompt = view.waiting && view.prompt !== before.prompt;
    const came = (view.messages ?? []).filter((each) => each.seq > before.newest);
    if (!this.inbox) this.unread += came.length;
    // The screen tells of the newest itself, unless something else is on it.
    const words = came.length && (view.waiting || this.inbox) ? [`New message from ${came.at(-1).from}.`] : [];
    if (prompt) words.push("A prompt waits. Type 1234 and press Send.");
    return { prompt, words: words.join(" ") };
  }

  drawMessages(messages) {
    const latest = messages.at(-1);
    const shown = latest && !this.view.waiting ? latest.text : "";
    if (this.bubble.dataset.text !== shown) {
      this.bubble.dataset.text = shown;
      this.bubble.replaceChildren(...(shown ? [h("div", { class: "wb-bubble" }, icon(ENVELOPE, "wb-line"), h("span", {}, shown))] : []));
    }
    const key = JSON.stringify(messages);
    if (this.listed !== key) {
      this.listed = key;
      this.list.replaceChildren(...messages.toReversed().map((each) => h("li", {}, h("b", {}, each.from), h("span", {}, each.text))));
    }
    this.none.hidden = messages.length > 0;
    this.home.hidden = this.inbox;
    this.box.hidden = !this.inbox;
    this.messages.setAttribute("aria-pressed", String(this.inbox));
    write(this.reading, this.inbox ? "Back" : "Messages");
    this.count.hidden = !this.unread;
    write(this.many, String(this.unread));
  }

  read(open) {
    this.inbox = open;
    if (open) this.unread = 0;
    this.drawMessages(this.view.messages ?? []);
  }

  tick() {
    const view = this.view;
    this.root.dataset.typed = this.pin.value ? "yes" : "no";
    if (!view.waiting) return write(this.left, "");
    const tries = `${view.tries_left} ${view.tries_left === 1 ? "try" : "tries"} left`;
    const queued = view.queued ? `, ${view.queued} more behind` : "";
    if (view.clock === "running") {
      const left = view.ends_ms - (Date.now() + this.behind_ms);
      return write(this.left, `${left > 0 ? `${minutes(left)} left` : "Time is up"}, ${tries}${queued}`);
    }
    write(this.left, `${minutes(view.left_ms)} left, ${tries}${queued}. The clock is stopped.`);
  }

  say(text, tone) {
    write(this.says, text);
    this.says.dataset.tone = tone;
  }

  // ---- drawing attention ---------------------------------------------------------------------------------------

  startRinging() {
    if (this.inbox) this.read(false);
    clearTimeout(this.ringing);
    this.root.classList.add("wb-rings");
    this.ringing = setTimeout(() => this.silence(), RING_MS);
    if (this.loud) this.beep();
  }

  silence() {
    clearTimeout(this.ringing);
    // What was said since, that something went wrong, stays.
    if (this.root.classList.contains("wb-rings") && this.says.dataset.tone !== "bad") this.say("", "");
    this.root.classList.remove("wb-rings");
  }

  sound() {
    this.loud = !this.loud;
    this.bell.setAttribute("aria-pressed", String(this.loud));
    this.say(this.loud ? "The sound is on." : "The sound is off.", "");
    if (this.loud) this.beep();
  }

  beep() {
    this.sounding ??= new AudioContext();
    const start = this.sounding.currentTime;
    for (const [place, pitch] of [880, 1175, 880, 1175].entries()) {
      const tone = this.sounding.createOscillator();
      const volume = this.sounding.createGain();
      volume.gain.value = 0.05;
      tone.frequency.value = pitch;
      tone.connect(volume).connect(this.sounding.destination);
      tone.start(start + place * 0.18);
      tone.stop(start + place * 0.18 + 0.14);
    }
  }

  // ---- what is pressed -----------------------------------------------------------------------------------------

  keydown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation();
    if (event.key === "Escape") return this.escape(event);
    const inField = event.target === this.pin;
    if (event.key === "Enter" && (inField || event.target === this.box)) {
      event.preventDefault();
      return this.enter();
    }
    if (inField) return;
    if (/^[0-9]$/.test(event.key)) this.type(event.key);
    else if (event.key === "Backspace") this.back();
    else return;
    event.preventDefault();
  }

  type(digit) {
    if (this.inbox) this.read(false);
    if (this.pin.value.length < MOST_DIGITS) this.pin.value += digit;
    this.typed();
  }

  back() {
    this.pin.value = this.pin.value.slice(0, -1);
    this.typed();
  }

  clear() {
    this.pin.value = "";
    this.typed();
  }

  typed() {
    const digits = this.pin.value.replace(/[^0-9]/g, "");
    if (digits !== this.pin.value) this.pin.value = digits;
    this.silence();
    this.calm();
    this.tick();
  }

  // With care: what is typed goes first, and a payment is refused by the second press alone.
  escape(event) {
    event.preventDefault();
    if (this.inbox) return this.read(false);
    if (this.pin.value) return this.clear();
    if (!this.view.waiting) return;
    if (this.sure) {
      this.calm();
      return this.send("cancel");
    }
    this.sure = true;
    this.say("Press Escape again to refuse this payment.", "");
    this.unsure = setTimeout(() => this.calm(), SURE_MS);
  }

  calm() {
    if (!this.sure) return;
    clearTimeout(this.unsure);
    this.sure = false;
    this.say("", "");
  }

  enter() {
    if (this.sent.size && this.root.hasAttribute("aria-busy")) return;
    const pin = this.pin.value;
    this.pin.value = "";
    this.send("pin", { pin });
  }

  send(what, more = {}) {
    const id = (this.last += 1);
    if (what !== "look") {
      this.silence();
      this.root.setAttribute("aria-busy", "true");
    }
    this.sent.set(id, setTimeout(() => this.unanswered(), PATIENCE_MS));
    try {
      this.model.send({ id, do: what, ...more });
    } catch {
      this.unanswered();
    }
  }

  unanswered() {
    this.root.removeAttribute("aria-busy");
    if (this.body.inert) {
      this.silence();
      this.say(IS_OFF, "");
    } else this.say(NO_ANSWER, "bad");
    this.root.dataset.answers = "no";
  }

  answered(message) {
    if (!this.sent.has(message.answered)) return;
    clearTimeout(this.sent.get(message.answered));
    this.sent.delete(message.answered);
    this.behind_ms = message.kernel_ms - Date.now();
    this.root.removeAttribute("aria-busy");
    const silent = this.root.dataset.answers === "no";
    this.body.inert = false;
    this.root.classList.remove("wb-off");
    this.root.dataset.answers = "yes";
    if (message.said) this.say(message.said, "bad");
    else if (silent || (this.says.dataset.tone === "bad" && !this.view.trouble)) this.say("", "");
    this.tick();
  }
}

export default {
  render({ model, el }) {
    const handset = new Handset(model, el);
    return () => handset.close();
  },
};
