// The customer's phone: it rings, shows the prompt, takes a PIN and keeps the operator's messages. Digits stay here until
// they are sent, once, with Enter; a key that is pressed costs no request.

import { useEffect, useLayoutEffect, useRef, useState } from "./vendor/hooks.js";
import { Icon, classes, html, useTask } from "./parts.js";
import { ofKind, useNow, useRead, useStore } from "./store.js";
import { lusaka, masked, phoneText, visible } from "./words.js";

const RING_MS = 6000;
const KEEPS_MS = 2000;
const MOST_DIGITS = 12;
const MOST_MESSAGES = 50;
const LETTERS = { 2: "ABC", 3: "DEF", 4: "GHI", 5: "JKL", 6: "MNO", 7: "PQRS", 8: "TUV", 9: "WXYZ" };
const GOOD = ["approved"];
const BAD = ["refused", "blocked", "expired", "canceled", "withdrawn"];

// True if somebody is typing outside the phone; the focus then stays there.
function isEditing(phone) {
  const active = document.activeElement;
  return Boolean(active?.closest("input:not([type=checkbox], [type=radio]), textarea, select, dialog, [contenteditable=true]")) && !phone.contains(active);
}

// The handsets, the one of the selected payment, and whether one that is not shown rings. A phone on which a PIN is half
// typed stays, whatever comes meanwhile; a payment that has no phone yet takes none away.
export function useHandsets(payment) {
  const store = useStore();
  const path = `/sandbox/phones${payment ? `?payment=${payment.id}` : ""}`;
  const { data, error } = useRead(path, ofKind("prompt"), { keep: true, pause: 20 });
  const all = data?.data ?? [];
  const own = all.filter((each) => masked(each.phone) === payment?.phone);
  const ofPayment = payment?.phone ? (own.find((each) => each.charge === payment.charge) ?? own[0]) : (all.find((each) => each.waiting) ?? all[0]);
  const handset = all.find((each) => each.phone === (store.state.number ?? store.typing)) ?? ofPayment ?? null;
  return { all, handset, error, path, others: all.filter((each) => each.waiting && each !== handset) };
}

function minutes(seconds) {
  const left = Math.max(0, Math.ceil(seconds));
  return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
}

export function Phone({ handsets: { all, handset, path, others }, payment }) {
  const store = useStore();
  const [pin, setPin] = useState("");
  const [rings, setRings] = useState(false);
  const [loud, setLoud] = useState(false);
  const task = useTask();
  const [root, field, back, thread, used] = [useRef(), useRef(), useRef(null), useRef(), useRef(-Infinity)];
  const isOn = Boolean(handset) && store.isOn();
  const waits = isOn && handset.waiting;
  const now = useNow(Boolean(waits));
  const number = handset?.phone;
  const { data: inbox } = useRead(number && `/sandbox/phones/${number}/messages`, (row) => (row.kind === "prompt" ? row.id === number : row.kind === "payment"), { pause: 200 });
  const messages = (inbox?.data ?? []).slice(-MOST_MESSAGES);
  store.typing = pin ? number : null;

  const prompt = waits ? `${number} ${handset.charge}` : "";
  useLayoutEffect(() => {
    // Digits typed for one payment are no part of the PIN for the next.
    setPin("");
    task.forget();
    used.current = performance.now();
    setRings(Boolean(prompt));
    if (prompt && loud) beep();
    // For two seconds after the end, stray digits still go to the phone. Then the page gets the keyboard back.
    const rest = () => document.activeElement === field.current && leave();
    const calm = setTimeout(prompt ? () => setRings(false) : rest, prompt ? RING_MS : KEEPS_MS);
    return () => clearTimeout(calm);
  }, [prompt]);
  const isFront = store.state.pane === "phone";
  const take = () => {
    if (!prompt || isEditing(root.current)) return;
    store.rings?.();
    if (!root.current.contains(document.activeElement)) back.current = document.activeElement;
    if (document.activeElement !== field.current) field.current?.focus({ preventScroll: true });
  };
  useLayoutEffect(take, [prompt, isFront]);
  // JupyterLab takes the focus on its way to the next cell, at times in the middle of a PIN. Soon after the ring or a digit,
  // the phone takes it back, unless a click or a key has moved it, or it went to a field or to another phone.
  const lost = ({ relatedTarget }) => {
    const isKept = performance.now() - used.current < KEEPS_MS;
    if (isKept && relatedTarget && !relatedTarget.closest(".phone")) setTimeout(take);
  };
  const letGo = () => (used.current = -Infinity);
  useEffect(() => {
    document.addEventListener("pointerdown", letGo, true);
    return () => document.removeEventListener("pointerdown", letGo, true);
  }, []);
  useLayoutEffect(() => {
    if (thread.current) thread.current.scrollTop = thread.current.scrollHeight;
  }, [messages.length, waits, number]);
  useEffect(() => store.set({ number: null }), [payment?.id]);

  const type = (digit) => {
    setRings(false);
    used.current = performance.now();
    if (waits) setPin((before) => (before + digit).slice(0, MOST_DIGITS));
  };
  const press = (what, value) => task.run(async () => {
    setPin("");
    const answer = await store.act("POST", `/sandbox/phones/${number}/${what}`, value);
    store.replace(path, (list) => ({ ...list, data: list.data.map((each) => (each.phone === number ? answer : each)) }));
  });
  const enter = () => waits && pin && !task.busy && press("input", { text: pin });
  // The focus goes back to where it was; if that is gone, to the payment's heading.
  const leave = () => {
    const isThere = back.current?.isConnected && back.current !== document.body;
    const place = isThere ? back.current : root.current.closest(".app").querySelector(".detail h1[tabindex]");
    document.activeElement.blur();
    place?.focus({ preventScroll: true });
  };
  const keydown = (event) => {
    letGo(); // a digit keeps the focus again
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // Keys that are pressed here are not meant for the page around.
    event.stopPropagation();
    if (event.target.tagName === "SELECT" || event.key === "Tab") return;
    if (/^\d$/.test(event.key)) type(event.key);
    else if (event.key === "Backspace") setPin((before) => before.slice(0, -1));
    else if (event.key === "Escape" && pin) setPin("");
    else if (event.key === "Escape") leave();
    else if (event.key === "Enter" && event.target === field.current) enter();
    else return;
    event.preventDefault();
  };
  const hold = (event) => {
    // A key that is clicked leaves the focus where digits are typed, so that hand and keyboard take turns.
    event.preventDefault();
    field.current?.focus({ preventScroll: true });
  };
  const key = (digit) => html`<button type="button" class="key" disabled=${!isOn} onPointerDown=${hold} onClick=${() => type(digit)} aria-label=${digit}
    data-letters=${LETTERS[digit] ?? ""}><b>${digit}</b></button>`;
  const options = all.map((each) => html`<option value=${each.phone} selected=${each.phone === number}>${phoneText(each.phone)}${each.waiting ? ", rings" : ""}</option>`);
  const toggle = () => {
    setLoud(!loud);
    if (!loud) beep();
  };
  const caption = store.state.status === "busy" ? "The kernel responds once the running cell has ended."
    : !isOn ? (store.isOn() ? "No customer was asked yet." : store.off()) : waits ? html`Type <b>${store.offers.pin}</b>, then Enter. Escape gives the keyboard back.` : "Every PIN here is 1234.";
  return html`<section class=${classes("phone", !isOn && "off", rings && "rings", waits && "waits")} ref=${root} aria-label="Customer's phone" onKeyDown=${keydown}
      onKeyUp=${(event) => event.stopPropagation()} onKeyPress=${(event) => event.stopPropagation()}>
    <div class="numbers">${isOn ? html`<select aria-label="Whose phone" onChange=${(event) => store.set({ number: event.currentTarget.value })}>${options}</select>` : html`<span class="dim">Customer's phone</span>`}
      <button type="button" class=${classes("icon-button", loud && "on")} aria-pressed=${loud} aria-label="Sound" title="Ring aloud" onClick=${toggle}><${Icon} name="bell" /></button></div>
    ${others.length > 0 && html`<button type="button" class="other" onClick=${() => store.set({ number: others[0].phone })}>
      ${phoneText(others[0].phone)} rings${others.length > 1 ? `, and ${others.length - 1} more` : ""}</button>`}
    <div class="body"><div class="ear" aria-hidden="true" />
      <div class="screen">${isOn && html`<div class="status"><b>${store.operator(handset.operator)}</b><span>${lusaka(now, "minute")}</span></div>
        <div class="thread" ref=${thread} tabindex="0" role="log" aria-label="Messages">${messages.map((each) => html`<div class="bubble" key=${each.seq}>
          <b>${visible(each.sender)}</b>${visible(each.text)}</div>`)}
          ${!waits && html`<${Screen} handset=${handset} />`}</div>
        <div class=${classes("prompt", !waits && "away")}><div role="status" aria-live="assertive">
          ${waits && html`<p class="words">${visible(handset.screen.split("\n").slice(1).join("\n"))}</p>`}</div>
          <input ref=${field} class="pin" type="password" inputmode="none" autocomplete="off" data-1p-ignore data-lpignore="true" aria-label="PIN" readonly=${!waits}
            tabindex=${waits ? 0 : -1} value=${pin} onBlur=${lost}
            onInput=${(event) => setPin(event.currentTarget.value.replace(/\D/g, "").slice(0, MOST_DIGITS))} />
          ${waits && html`<p class="left"><span>${minutes(handset.expires_at - now / 1000)} left${store.clock.mode === "manual" ? ", the clock stands" : ""}</span>
            <span>${handset.tries_left} ${handset.tries_left === 1 ? "try" : "tries"}${handset.queued ? `, ${handset.queued} behind` : ""}</span></p>`}
          ${task.problem && html`<p class="refused" role="alert">${visible(task.problem.message)}</p>`}</div>`}</div>
      <div class="softs"><button type="button" class="soft green" disabled=${!waits || !pin} onPointerDown=${hold} onClick=${enter}><${Icon} name="call" />Send</button>
        <button type="button" class="soft" disabled=${!waits} onClick=${() => press("ignore")}>Ignore</button>
        <button type="button" class="soft red" disabled=${!waits} onClick=${() => press("cancel")}><${Icon} name="call" kind="down" />Cancel</button></div>
      <div class="keys" role="group" aria-label="Keypad">${[..."123456789"].map(key)}
        <button type="button" class="key" disabled=${!isOn} onPointerDown=${hold} onClick=${() => setPin("")} aria-label="Clear"><b>C</b></button>${key("0")}
        <button type="button" class="key" disabled=${!isOn} onPointerDown=${hold} onClick=${() => setPin((before) => before.slice(0, -1))} aria-label="Backspace"><b>⌫</b></button></div>
      </div>
    <p class="caption" role="status">${caption}</p></section>`;
}

// The screen after the last prompt has ended.
function Screen({ handset }) {
  if (handset.state === "idle") return html`<p class="ended idle">No message.</p>`;
  const lines = handset.screen.split("\n"); // the first names the operator
  const tone = GOOD.includes(handset.state) ? "good" : BAD.includes(handset.state) ? "bad" : "";
  return html`<div class=${classes("ended", tone)} role="status">
    <span class="sign" aria-hidden="true">${{ good: "✓", bad: "✕" }[tone] ?? "•"}</span>${visible(lines.slice(lines.length > 1 ? 1 : 0).join("\n"))}</div>`;
}

let audio = null;

function beep() {
  audio ??= new AudioContext();
  for (const [place, pitch] of [880, 1175, 880, 1175].entries()) {
    const [tone, volume, start] = [audio.createOscillator(), audio.createGain(), audio.currentTime + place * 0.18];
    volume.gain.value = 0.05;
    tone.frequency.value = pitch;
    tone.connect(volume).connect(audio.destination);
    tone.start(start);
    tone.stop(start + 0.14);
  }
}
