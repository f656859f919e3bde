// The parts that all views are made of: pills, tables, tabs, fields, code, and buttons that say what will happen.

import { h } from "./vendor/preact.js";
import { useEffect, useLayoutEffect, useRef, useState } from "./vendor/hooks.js";
import { htm } from "./vendor/htm.js";
import { useStore } from "./store.js";
import { STATES, laidOut, lusaka, utc, visible, words } from "./words.js";

export const html = htm.bind(h);

export function classes(...names) {
  return names.filter(Boolean).join(" ");
}

export function Pill({ state, says = "", also = "" }) {
  const [tone, sentence] = STATES[state] ?? ["calm", ""];
  return html`<span class="pill ${tone}" title=${says || sentence}>${state}${also && html`<span class="also"> ${also}</span>`}</span>`;
}

export function When({ ms, shape = "whole", at = "" }) {
  const [moment, text] = [ms ?? Date.parse(at), shape];
  return html`<time datetime=${new Date(moment).toISOString()} title="${lusaka(moment)} Lusaka, ${utc(moment)}">${lusaka(moment, text)}</time>`;
}

// A moment of a list: of today the time, before that the day and the time.
export function Lately({ ms }) {
  const store = useStore();
  const isToday = lusaka(ms, "day") === lusaka(store.now(), "day");
  return isToday ? html`<${When} ms=${ms} shape="time" />` : html`<span><${When} ms=${ms} shape="day" /> <span class="dim">${lusaka(ms, "time").slice(0, 5)}</span></span>`;
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
  card: "M3 6.5h18v11H3zM3 10h18",
  clock: "M12 21a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17zm0-13.5v5l3 2",
};

export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${ICONS[name]} /></svg>`;
}

export function Mark() {
  return html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#0b57d0" />
    <rect x="9" y="5" width="14" height="22" rx="2" fill="#fff" /><path d="m12.5 15.5 2.6 2.8 4.6-5.6" fill="none" stroke="#0b57d0" stroke-width="2.4" />
    <path d="M14 23.5h4" stroke="#0b57d0" stroke-width="1.8" /></svg>`;
}

// Leads to another view; the address says which, where the page has one.
export function Link({ to, children, title, ...more }) {
  const store = useStore();
  const follow = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    store.go(to, more.change);
    more.then?.();
  };
  return html`<a href="#/${to}" title=${title} class=${more.class} aria-current=${more.current} aria-label=${more.label} onClick=${follow}>${children}</a>`;
}

export function Copy({ text, label = "Copy", bare = false }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await copied(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class=${bare ? "bare" : "quiet small"} aria-label=${label} title=${label} onClick=${copy}>
    <${Icon} name=${done ? "done" : "copy"} />${!bare && (done ? "Copied" : "Copy")}</button>`;
}

async function copied(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // A page of another machine without TLS has no clipboard of its own.
  const area = Object.assign(document.createElement("textarea"), { value: text });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function download(name, text, type = "text/plain") {
  const href = typeof text === "string" ? URL.createObjectURL(new Blob([text], { type })) : URL.createObjectURL(text);
  Object.assign(document.createElement("a"), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

export function Id({ id, label = "" }) {
  return html`<span class="id"><code title=${id}>${id.length > 16 ? `${id.slice(0, 11)}…` : id}</code><${Copy} text=${id} label=${`Copy ${label || id}`} bare /></span>`;
}

// ---- code ------------------------------------------------------------------------------------------------------

const TOKENS =
  /(?<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)(?<name>\s*:)?|(?<note>#.*|\/\/(?<!:\/\/).*)|(?<word>\b(?:true|false|null|None|True|False|from|import|as|const|await|async|return|curl|new)\b)|(?<number>\b\d+(?:\.\d+)?\b)/g;

function coloured(text) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(TOKENS)) {
    const groups = found.groups;
    const kind = groups.name ? "name" : Object.keys(groups).find((each) => groups[each] !== undefined);
    parts.push(text.slice(end, found.index), html`<span class="t-${kind}">${found[0]}</span>`);
    end = found.index + found[0].length;
  }
  return [...parts, text.slice(end)];
}

export function Code({ text, label = "Code", copy = true, fill = false }) {
  const shown = visible(text);
  // Colour costs more than it helps where a text is very long.
  return html`<div class=${classes("code", fill && "fill")}>${copy && html`<${Copy} text=${text} label="Copy ${label}" bare />`}
    <pre tabindex="0" role="region" aria-label=${label}><code>${shown.length < 20_000 ? coloured(shown) : shown}</code></pre></div>`;
}

const LANGUAGES = { curl: "curl", python: "Python", javascript: "JavaScript" };
let language = "curl"; // the choice stays, wherever code is shown

export function Codes({ codes, label, fill }) {
  const [chosen, choose] = useState(language);
  const offered = Object.keys(LANGUAGES).filter((each) => codes?.[each]);
  const name = offered.includes(chosen) ? chosen : offered[0];
  const turn = (each) => choose((language = each));
  if (!name) return html`<p class="dim">No code yet.</p>`;
  return html`<div class=${classes("codes", fill && "fill")}><div class="switch" role="group" aria-label="Language">
    ${offered.map((each) => html`<button type="button" aria-pressed=${each === name} onClick=${() => turn(each)}>${LANGUAGES[each]}</button>`)}</div>
    <${Code} text=${codes[name]} label=${`${label}, ${LANGUAGES[name]}`} fill=${fill} /></div>`;
}

// Headers and a body as they were sent, JSON laid out.
export function message(first, headers, body) {
  const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`);
  return [first, ...lines, ...(body ? ["", laidOut(body) ?? body] : [])].filter((each) => each !== null).join("\n");
}

// ---- tabs, tables, facts ---------------------------------------------------------------------------------------

// `tabs` are `[name, label, badge]`; arrow keys go from one to the next.
export function Tabs({ tabs, chosen, choose, label, aside, children }) {
  const turn = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const place = tabs.findIndex(([name]) => name === chosen);
    const next = tabs[(place + step + tabs.length) % tabs.length][0];
    event.preventDefault();
    choose(next);
    event.currentTarget.querySelector(`[data-tab="${next}"]`).focus();
  };
  return html`<div class="tabbed"><div class="tab-row"><div class="tabs" role="tablist" aria-label=${label} onKeyDown=${turn}>
    ${tabs.map(([name, text, badge, tone]) => html`<button type="button" role="tab" data-tab=${name} aria-selected=${name === chosen}
      tabindex=${name === chosen ? 0 : -1} onClick=${() => choose(name)}>${text}${badge ? html`<span class=${classes("badge", tone)}>${badge}</span>` : null}</button>`)}
    </div>${aside}</div><div class="panel" role="tabpanel" aria-label=${tabs.find(([name]) => name === chosen)?.[1]}>${children}</div></div>`;
}

// `columns` are `[heading, cell, class]`. With `to`, a row leads to a place, and arrow keys go from row to row.
export function Table({ label, columns, rows, to, opened, empty = "Nothing yet.", name = (row) => row.id, foot }) {
  const step = (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    const links = [...event.currentTarget.querySelectorAll("a.row")];
    const place = links.indexOf(event.target);
    if (!by || place < 0 || !links[place + by]) return;
    event.preventDefault();
    links[place + by].focus();
  };
  const cell = (row, [, show, kind], place) =>
    place || !to
      ? html`<td class=${kind}>${show(row)}</td>`
      : html`<td class=${kind}><${Link} to=${to(row)} class="row" current=${name(row) === opened ? "true" : undefined}>${show(row)}<//></td>`;
  return html`<table class=${classes("table", to && "opens")} aria-label=${label} onKeyDown=${to && step}>
    <thead><tr>${columns.map(([heading, , kind]) => html`<th scope="col" class=${kind}>${heading}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${name(row)} class=${name(row) === opened ? "opened" : ""}>${columns.map((column, place) => cell(row, column, place))}</tr>`)}
    ${!rows.length && html`<tr class="none"><td colspan=${columns.length}>${empty}</td></tr>`}</tbody>
    ${foot && html`<tfoot>${foot}</tfoot>`}</table>`;
}

export function Facts({ facts }) {
  const known = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return html`<dl class="facts">${known.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

// ---- what is typed and pressed -----------------------------------------------------------------------------------

export function Field({ label, name, hint, error, options, area, wide, ...more }) {
  const told = error || hint;
  const id = `wb-${name}-${useRef(Math.random().toString(36).slice(2, 8)).current}`;
  const own = { id, name, "aria-describedby": told ? `${id}-told` : undefined, "aria-invalid": error ? "true" : undefined, ...more };
  const choice = (each) => (Array.isArray(each) ? html`<option value=${each[0]}>${each[1]}</option>` : html`<option>${each}</option>`);
  let input = html`<input autocomplete="off" spellcheck="false" ...${own} />`;
  if (options) input = html`<select ...${own}>${options.map(choice)}</select>`;
  if (area) input = html`<textarea spellcheck="false" ...${own}></textarea>`;
  return html`<div class=${classes("field", wide && "wide", more.type === "checkbox" && "check")}><label for=${id}>${label}</label>${input}
    ${told && html`<p id="${id}-told" class=${error ? "error" : "hint"}>${told}</p>`}</div>`;
}

export function valuesOf(form) {
  return Object.fromEntries(new FormData(form));
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
  const leads = problem.request?.startsWith("req_");
  const others = Object.entries(problem.fields ?? {}).filter(([, says]) => !problem.message.includes(says));
  return html`<div class="problem" role="alert"><b>${visible(problem.message)}</b> ${problem.hint ?? ""}
    ${others.map(([name, says]) => html` <span><code>${name}</code> ${visible(says)}.</span>`)}
    ${problem.code && html` <a href="/docs/errors#${problem.code}" target="_blank" rel="noopener">${problem.code}</a>`}
    ${leads && html` <${Link} to="requests/${problem.request}">Show the request<//>`}</div>`;
}

// A button that says what will happen before it does. `children` are fields, `run` gets their values; what it returns
// is shown, once, such as a new secret.
export function Action({ label, title = label, says, run, confirm = label, kind = "quiet", small = true, bad, off, children }) {
  const [open, setOpen] = useState(false);
  const [made, setMade] = useState(null);
  const task = useTask();
  const close = () => {
    setOpen(false);
    setMade(null);
    task.forget();
  };
  const submit = async (event) => {
    event.preventDefault();
    const values = valuesOf(event.currentTarget);
    const shown = await task.run(() => run(values));
    if (shown === null) return;
    if (shown?.type) setMade(shown);
    else close();
  };
  const button = html`<button type="button" class=${classes(kind, small && "small", bad && "bad")} disabled=${Boolean(off)} title=${off || undefined} onClick=${() => setOpen(true)}>${label}</button>`;
  if (!open) return button;
  return html`${button}<${Dialog} title=${title} close=${close}>
    ${made ? html`${made}<div class="buttons"><button type="button" class="primary" onClick=${close}>Done</button></div>`
      : html`<form onSubmit=${submit}>${says && html`<p>${says}</p>`}${children && html`<div class="fields">${children}</div>`}
        <${Problem} problem=${task.problem} />
        <div class="buttons"><button type="button" class="quiet" onClick=${close}>Not now</button>
        <button type="submit" class=${classes("primary", bad && "bad")} disabled=${task.busy}>${confirm}</button></div></form>`}<//>`;
}

function Dialog({ title, close, children }) {
  const box = useRef();
  useLayoutEffect(() => {
    const before = document.activeElement;
    box.current.showModal();
    return () => before?.isConnected && before.focus();
  }, []);
  return html`<dialog ref=${box} class="dialog" aria-label=${title} onClose=${close} onClick=${(event) => event.target === box.current && close()}>
    <h2>${title}</h2>${children}</dialog>`;
}

export function Secret({ label, value, says }) {
  return html`<div class="secret"><p>${says} It is shown this once: copy it now.</p><p class="once"><code>${value}</code><${Copy} text=${value} label="Copy ${label}" /></p></div>`;
}

export function Empty({ says, children }) {
  return html`<div class="empty"><p>${says}</p>${children}</div>`;
}

// What is looked for, a little after it was typed.
export function Search({ value, change, label, title }) {
  const timer = useRef(0);
  const typed = (event) => {
    const text = event.currentTarget.value;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => change(text), 60);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return html`<div class="search"><${Icon} name="search" /><input type="search" aria-label=${label} placeholder=${label} title=${title} maxlength="100" autocomplete="off" spellcheck="false"
    data-search defaultValue=${value} onInput=${typed} /></div>`;
}

export function Choice({ label, value, options, change }) {
  return html`<select class=${classes("choice", value && "set")} aria-label=${label} value=${value} onChange=${(event) => change(event.currentTarget.value)}>
    <option value="">${label}</option>${options.map((each) => (Array.isArray(each) ? html`<option value=${each[0]}>${each[1]}</option>` : html`<option value=${each}>${words(each)}</option>`))}</select>`;
}

export function Pager({ says, newer, older }) {
  return html`<div class="pager"><span>${says}</span><span>
    <button type="button" class="quiet small" disabled=${!newer} onClick=${newer}>Newer</button>
    <button type="button" class="quiet small" disabled=${!older} onClick=${older}>Older</button></span></div>`;
}

// A page of a list of the interface's, by the last row of the page before it or, where the register says so, by number.
export function usePages(path, filter = {}) {
  const store = useStore();
  const [places, setPlaces] = useState([]);
  const numbered = store.gaps.pagination === "page";
  const query = new URLSearchParams(Object.entries({ ...filter }).filter(([, value]) => value));
  const said = query.toString();
  useEffect(() => setPlaces([]), [said]);
  query.set(numbered ? "per_page" : "limit", "25");
  if (places.length) query.set(numbered ? "page" : "starting_after", numbered ? places.length + 1 : places.at(-1));
  return {
    path: `${store.v1(path)}?${query}`,
    turn: (list) => ({
      newer: places.length ? () => setPlaces(places.slice(0, -1)) : null,
      older: (list?.has_more ?? list?.page * list?.per_page < list?.total) ? () => setPlaces([...places, list.data.at(-1).id]) : null,
    }),
  };
}
