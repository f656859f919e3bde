// The parts that all views are made of: pills, tables, tabs, fields, code, and buttons that say what will happen.

import { h } from "./vendor/preact.js";
import { useLayoutEffect, useRef, useState } from "./vendor/hooks.js";
import { htm } from "./vendor/htm.js";
import { useStore } from "./store.js";
import { STATES, laidOut, lusaka, utc, visible } from "./words.js";

// No part of a template is kept to be drawn again elsewhere: each is its own.
export const html = htm.bind(function made(...parts) {
  this[0] = 3;
  return h(...parts);
});

// The type of an event or a masked key, which may be broken before its dot or its masked part.
export const breakable = (name) => name.split(/(?=\.|(?<!•)•)/).map((part) => html`<wbr />${part}`);

export const classes = (...names) => names.filter(Boolean).join(" ");

export function Pill({ state, says = "", also = "" }) {
  const [tone, sentence] = STATES[state] ?? ["calm", ""];
  return html`<span class="pill ${tone}" title=${says || sentence}>${state}${also && html`<span class="also"> ${also}</span>`}</span>`;
}

export function When({ ms, at = "", shape = "whole" }) {
  const moment = ms ?? Date.parse(at);
  const title = `${lusaka(moment)} Lusaka, ${utc(moment)}`;
  return html`<time datetime=${new Date(moment).toISOString()} title=${title}>${lusaka(moment, shape)}</time>`;
}

// A moment of a list: of today the time, before that the day and the time.
export function Lately({ ms, at = "", shape = "time" }) {
  const [store, moment] = [useStore(), ms ?? Date.parse(at)];
  if (lusaka(moment, "day") === lusaka(store.now(), "day")) return html`<${When} ms=${moment} shape=${shape} />`;
  return html`<span><${When} ms=${moment} shape="day" /> <span class="dim">${lusaka(moment, "minute")}</span></span>`;
}

const ICONS = {
  copy: "M9 9h10v11H9zM5 15V4h10",
  done: "m5 12.5 4.5 4.5L19 7.5",
  close: "M6 6l12 12M18 6 6 18",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zm4.8-1.7L20 20",
  plus: "M12 5v14M5 12h14",
  back: "m14 6-6 6 6 6",
  phone: "M8 3h8a1.5 1.5 0 0 1 1.5 1.5v15A1.5 1.5 0 0 1 16 21H8a1.5 1.5 0 0 1-1.5-1.5v-15A1.5 1.5 0 0 1 8 3zm3 14.5h2",
  list: "M4 6h16M4 12h16M4 18h16",
  detail: "M3 6.5h18v11H3zM3 10h18",
  call: "M3.2 8.9C8 4.1 16 4.1 20.8 8.9l.6 3-4.4 1.5-1.8-2.9c-2-.7-4.4-.7-6.4 0L7 13.4 2.6 11.9z",
  bell: "M12 3a5.5 5.5 0 0 0-5.5 5.5V13L4.5 16.5h15L17.5 13V8.5A5.5 5.5 0 0 0 12 3zm-2.2 15a2.2 2.2 0 0 0 4.4 0z",
};

export function Icon({ name, kind }) {
  return html`<svg class=${classes("icon", kind)} viewBox="0 0 24 24" aria-hidden="true"><path d=${ICONS[name]} /></svg>`;
}

// Leads to another view; the address says which, where the page has one.
export function Link({ to, children, change, current, label, ...more }) {
  const store = useStore();
  const follow = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    store.go(to, change);
  };
  return html`<a href="#/${to}" aria-current=${current} aria-label=${label} onClick=${follow} ...${more}>${children}</a>`;
}

export function Copy({ text, label, bare = false }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text); // a page of another machine without TLS has none
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class=${bare ? "bare" : "quiet small"} aria-label=${label} title=${label} onClick=${copy}>
    <${Icon} name=${done ? "done" : "copy"} />${!bare && (done ? "Copied" : "Copy")}</button>`;
}

export function download(name, content, type) {
  const href = URL.createObjectURL(new Blob([content], { type }));
  Object.assign(document.createElement("a"), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

export function Id({ id }) {
  const short = id.length > 16 ? `${id.slice(0, 11)}…` : id;
  return html`<span class="id"><code title=${id}>${short}</code><${Copy} text=${id} label="Copy ${id}" bare /></span>`;
}

// ---- code ------------------------------------------------------------------------------------------------------

const TOKENS = new RegExp(
  [
    /(?<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)(?<name>\s*:)?/,
    /(?<note>#.*)/,
    /\b(?<word>true|false|null|None|True|False|from|import|as|const|await|async|return|curl|new)\b/,
    /\b(?<number>\d+(?:\.\d+)?)\b/,
  ].map((each) => each.source).join("|"),
  "g",
);

const COLOURS = { name: "link", text: "good", note: "dim", word: "word", number: "amber" };
const METHODS = { GET: "link", POST: "good", PATCH: "amber", DELETE: "bad" };

export const Method = ({ method }) => html`<b class="method ${METHODS[method]}">${method}</b>`;

function coloured(text) {
  const parts = [];
  let end = 0;
  for (const { 0: found, index, groups } of text.matchAll(TOKENS)) {
    const kind = Object.keys(COLOURS).find((each) => groups[each] !== undefined);
    parts.push(text.slice(end, index), html`<span class=${COLOURS[kind]}>${found}</span>`);
    end = index + found.length;
  }
  return [...parts, text.slice(end)];
}

export function Code({ text, label, copy = true, fill = false }) {
  const shown = visible(text);
  // Colour costs more than it helps where a text is very long.
  return html`<div class=${classes("code", fill && "fill")}>${copy && html`<${Copy} text=${text} label="Copy ${label}" bare />`}
    <pre tabindex="0" role="region" aria-label=${label}><code>${shown.length < 20_000 ? coloured(shown) : shown}</code></pre></div>`;
}

export function Switch({ options, chosen, choose, label }) {
  const button = ([name, text]) => html`<button type="button" aria-pressed=${name === chosen} onClick=${() => choose(name)}>${text}</button>`;
  return html`<div class="switch" role="group" aria-label=${label}>${options.map(button)}</div>`;
}

const LANGUAGES = [["curl", "curl"], ["python", "Python"], ["javascript", "JavaScript"]];
let language = "curl"; // the choice stays, wherever code is shown

export function Codes({ codes, label, fill }) {
  const [chosen, setChosen] = useState(language);
  const choose = (name) => setChosen((language = name));
  return html`<div class=${classes("codes", fill && "fill")}><${Switch} options=${LANGUAGES} chosen=${chosen} choose=${choose} label="Language" />
    <${Code} text=${codes[chosen]} label="${label} in ${chosen}" fill=${fill} /></div>`;
}

// Headers and a body as they were sent, JSON laid out.
export function message(first, headers, body) {
  const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`);
  return [first, ...lines, ...(body ? ["", laidOut(body) ?? body] : [])].join("\n");
}

// ---- headings, tabs, tables, facts -------------------------------------------------------------------------------

// The head of whatever is looked at: `back` to its list, its name and state, what can be done, and facts beneath.
export function Title({ back, name, mono, state, actions, facts, children }) {
  return html`<header class="title"><div class="lead">
      ${back && html`<${Link} to=${back} class="icon-button narrow" label="Back to the list"><${Icon} name="back" /><//>`}
      ${name && html`<h1 class=${mono && "mono"}>${name}</h1>`}${children}<span class="space" />
      ${state && html`<${Pill} state=${state} />`}<span class="actions">${actions}</span></div>
    <div class="sub">${facts?.map((each) => each && html`<span>${each}</span>`)}</div></header>`;
}

// `tabs` are `[name, label, badge, tone]`; arrow keys go from one to the next.
export function Tabs({ tabs, chosen, choose, label, aside, children }) {
  const turn = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const place = tabs.findIndex(([name]) => name === chosen);
    const [next] = tabs[(place + step + tabs.length) % tabs.length];
    event.preventDefault();
    choose(next);
    event.currentTarget.querySelector(`[data-tab="${next}"]`).focus();
  };
  const tab = ([name, text, badge, tone]) => html`<button type="button" role="tab" data-tab=${name} aria-selected=${name === chosen}
    tabindex=${name === chosen ? 0 : -1} onClick=${() => choose(name)}>${text}${badge ? html`<span class=${classes("badge", tone)}>${badge}</span>` : ""}</button>`;
  return html`<div class="tabbed"><div class="tab-row"><div class="tabs" role="tablist" aria-label=${label} onKeyDown=${turn}>${tabs.map(tab)}</div>${aside}</div>
    <div class="panel" role="tabpanel" aria-label=${tabs.find(([name]) => name === chosen)?.[1]}>${children}</div></div>`;
}

// `columns` are `[heading, cell, class]`, without a heading for what can be done. With `to`, a row leads to a place, and arrow keys go from row to row.
export function Table({ label, columns, rows, to, opened, empty = "Nothing yet.", name = (row) => row.id, foot }) {
  const step = (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const links = [...event.currentTarget.querySelectorAll("a.row")];
    const place = links.indexOf(event.target);
    if (!by || place < 0 || !links[place + by]) return;
    event.preventDefault();
    links[place + by].focus();
  };
  const cell = (row, [, show, kind], place) => {
    const current = name(row) === opened ? "true" : undefined;
    return html`<td class=${kind}>${place || !to ? show(row) : html`<${Link} to=${to(row)} class="row" current=${current}>${show(row)}<//>`}</td>`;
  };
  const line = (row) => html`<tr key=${name(row)} class=${name(row) === opened && "opened"}>${columns.map((column, place) => cell(row, column, place))}</tr>`;
  return html`<table class=${classes("table", to && "opens")} aria-label=${label} onKeyDown=${to && step}>
    <thead><tr>${columns.map(([heading, , kind]) => html`<th scope="col" class=${kind}>${heading || html`<span class="unseen">Actions</span>`}</th>`)}</tr></thead>
    <tbody>${rows.map(line)}${!rows.length && html`<tr class="none"><td colspan=${columns.length}>${empty}</td></tr>`}</tbody>
    ${foot && html`<tfoot>${foot}</tfoot>`}</table>`;
}

export const Facts = ({ facts }) => html`<dl class="facts">${facts.map(([name, value]) => value && html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;

export const Empty = ({ says, children }) => html`<div class="empty"><p>${says}</p>${children}</div>`;

// ---- what is typed and pressed -----------------------------------------------------------------------------------

// A text that is being typed stays, however often the page is drawn meanwhile: only a new `value` takes its place.
export function Field({ label, name, hint, error, options, area, wide, ...more }) {
  const id = `wb-${name}-${useRef(Math.random().toString(36).slice(2, 8)).current}`;
  const box = useRef();
  const note = error || hint;
  const { value, ...others } = more;
  const isTyped = value !== undefined && !options && more.type !== "checkbox";
  useLayoutEffect(() => {
    if (isTyped) box.current.value = value;
  }, [value]);
  const own = { id, name, "aria-describedby": note ? `${id}-note` : undefined, "aria-invalid": error ? "true" : undefined, ...(isTyped ? others : more) };
  const choice = (each) => html`<option value=${[each].flat()[0]}>${[each].flat().at(-1)}</option>`;
  const input = options ? html`<select ...${own}>${options.map(choice)}</select>`
    : html`<${area ? "textarea" : "input"} ref=${box} autocomplete="off" spellcheck=${false} ...${own} />`;
  return html`<div class=${classes("field", wide && "wide", more.type === "checkbox" && "check")}><label for=${id}>${label}</label>${input}
    ${note && html`<p id="${id}-note" class=${error ? "error" : "hint"}>${note}</p>`}</div>`;
}

// Work that is under way, or has failed: what went wrong stands where it arose.
export function useTask() {
  const [state, set] = useState({ busy: false, problem: null });
  const run = async (work) => {
    set({ busy: true, problem: null });
    try {
      const made = await work();
      set({ busy: false, problem: null });
      return made ?? true;
    } catch (problem) {
      set({ busy: false, problem });
      return null;
    }
  };
  return { ...state, run, forget: () => set({ busy: false, problem: null }) };
}

export function Problem({ problem }) {
  if (!problem) return null;
  const { message: says, hint, fields = {}, code, request } = problem;
  const others = Object.entries(fields).filter(([, each]) => !says.includes(each));
  return html`<div class="problem" role="alert"><b>${visible(says)}</b> ${hint}
    ${others.map(([name, each]) => html` <span><code>${name}</code> ${visible(each)}.</span>`)}
    ${code && html` <a href="/docs/errors#${code}" target="_blank" rel="noopener">${code}</a>`}
    ${request?.startsWith("req_") && html` <${Link} to="requests/${request}">Show the request<//>`}</div>`;
}

// A button that says what will happen before it does, in a dialog. `children` are fields, `run` gets their values; where
// it returns what is to be `shown`, such as a new secret, that is there once, even if the button itself is gone.
export function Action({ label, title = label, kind = "quiet", bad, off, ...asks }) {
  const store = useStore();
  const open = () => store.set({ dialog: { title, bad, ...asks } });
  return html`<button type="button" class=${classes(kind, kind === "quiet" && "small", bad && "bad")} disabled=${Boolean(off)} title=${off || undefined}
    onClick=${open}>${label}</button>`;
}

export function Dialog({ title, says, run, confirm, bad, children }) {
  const store = useStore();
  const box = useRef();
  const [made, setMade] = useState(null);
  const task = useTask();
  const close = () => store.set({ dialog: null });
  useLayoutEffect(() => {
    const before = document.activeElement;
    box.current.showModal();
    return () => before?.isConnected && before.focus();
  }, []);
  useLayoutEffect(() => made && box.current.querySelector(".primary").focus(), [made]);
  const submit = async (event) => {
    event.preventDefault();
    const values = Object.fromEntries(new FormData(event.currentTarget));
    const shown = await task.run(async () => (await run(values))?.shown ?? true);
    if (shown === true) close();
    else if (shown) setMade(shown);
  };
  const form = () => html`<form onSubmit=${submit}>${says && html`<p>${says}</p>`}${children && html`<div class="fields">${children}</div>`}
    <${Problem} problem=${task.problem} /><div class="buttons"><button type="button" class="quiet" onClick=${close}>Not now</button>
    <button type="submit" class=${classes("primary", bad && "bad")} autofocus=${!bad && !children} disabled=${task.busy}>${confirm}</button></div></form>`;
  // A secret that is shown once stays until Done is pressed: Escape and a click beside the dialog do not close it.
  const done = () => html`${made}<div class="buttons"><button type="button" class="primary" onClick=${close}>Done</button></div>`;
  return html`<dialog ref=${box} class="dialog" aria-label=${title} onClose=${close} onCancel=${(event) => made && event.preventDefault()}
    onClick=${(event) => event.target === box.current && !made && close()}>
    <h2>${title}</h2>${made ? done() : form()}</dialog>`;
}

export const Secret = ({ label, value, says }) => html`<p>${says} It is shown this once: copy it now.</p><${Value} label=${label} value=${value} />`;

export function Value({ label, value }) {
  return html`<p class="value"><span class="dim">${label}</span><code>${value}</code><${Copy} text=${value} label="Copy the ${label}" bare /></p>`;
}
