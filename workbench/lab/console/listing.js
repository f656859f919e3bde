// A list that the sandbox searches, filters and cuts into pages: what narrows it, its rows, and its place in the whole.

import { useEffect, useRef } from "./vendor/hooks.js";
import { Field, Icon, Problem, Table, classes, download, html } from "./parts.js";
import { useKept, useRead, useStore } from "./store.js";
import { counted, csv, minorOf, words } from "./words.js";

const DAY_MS = 86_400_000;
const MOST_AT_ONCE = 1000;
const NOTHING = { places: [] };

const midnight = (text) => Date.parse(`${text}T00:00:00+02:00`);

// Turns the text of a field into the value that the list takes.
const AS_ASKED = {
  since: (text) => new Date(midnight(text)).toISOString(),
  created_since: (text) => new Date(midnight(text)).toISOString(),
  until: (text) => new Date(midnight(text) + DAY_MS).toISOString(),
  min_minor: minorOf,
  max_minor: minorOf,
};

// The query of a page. `/sandbox` goes on from a row's seq, `/v1` from its id or, where the register says so, by number.
function queryOf({ places, ...values }, limit, isCounted, isNumbered) {
  const asked = Object.entries(values).filter(([, text]) => text).map(([name, text]) => [name, AS_ASKED[name]?.(text) ?? text]);
  const query = new URLSearchParams(asked);
  query.set(isNumbered ? "per_page" : "limit", limit);
  if (places.length) query.set(isCounted ? "older_than" : isNumbered ? "page" : "starting_after", isNumbered ? places.length + 1 : places.at(-1));
  return query.toString();
}

// `name` keeps what narrows it; `fields` are `[parameter, label, type or options]`: choices stand in the row, all others
// in a menu. `file` names the columns of a CSV file and makes a line of a row; `isCounted` marks the lists of `/sandbox`,
// which count their rows.
export function Listing({ name, noun, path, isCounted, size = 25, search, fields = [], file, ahead, aside, concerns, pause = 250, empty, ...table }) {
  const store = useStore();
  const [filter, change] = useKept(name, NOTHING);
  const narrow = (more) => change({ ...more, places: [] });
  const isNumbered = !isCounted && store.gaps.pagination === "page";
  const { data: page, error } = useRead(`${path}?${queryOf(filter, size, isCounted, isNumbered)}`, concerns, { keep: true, pause });
  const { places, ...values } = filter;
  const isNarrowed = Object.values(values).some(Boolean);
  const menu = fields.filter(([, , kind]) => !Array.isArray(kind));
  const inMenu = menu.filter(([each]) => filter[each]).length;
  const save = async () => {
    const rows = [];
    for (let last; !last || (last.data.length && rows.length < last.total); ) {
      last = await store.read(`${path}?${queryOf({ ...values, places: rows.slice(-1).map((row) => row.seq) }, MOST_AT_ONCE, true)}`);
      rows.push(...last.data);
    }
    download(`${name}.csv`, csv([file.columns, ...rows.map(file.line)]), "text/csv");
  };
  const typed = (each) => (event) => narrow({ [each]: event.currentTarget.value });
  const shown = page?.data ?? [];
  const first = page?.first ?? 1;
  const hasOlder = page?.total === undefined ? page?.has_more : isCounted ? first + shown.length - 1 < page.total : page.page * page.per_page < page.total;
  const older = () => change({ places: [...places, isCounted ? shown.at(-1).seq : shown.at(-1).id] });
  const place = isCounted ? `${first.toLocaleString("en")}–${(first + shown.length - 1).toLocaleString("en")} of ${counted(page?.total ?? 0, noun)}`
    : `${counted(shown.length, noun)}, newest first`;
  const field = search && html`<${Search} label="Search ${name}" title=${search} value=${filter.search} change=${(text) => narrow({ search: text })} />`;
  return html`${ahead && html`<div class="bar">${field}${ahead}</div>`}
    ${(fields.length > 0 || aside) && html`<div class="filters">${!ahead && field}
      ${fields.map(([each, label, options]) => Array.isArray(options) && html`<${Choice} label=${label} value=${filter[each] ?? ""} options=${options} change=${typed(each)} />`)}
      ${menu.length > 0 && html`<details class="menu"><summary class=${classes("choice", inMenu && "set")}>More${inMenu ? ` (${inMenu})` : ""}</summary><div class="fields pop">
        ${menu.map(([each, label, type]) => html`<${Field} name=${each} label=${label} type=${type} value=${filter[each] ?? ""} onChange=${typed(each)} />`)}</div></details>`}
      ${isNarrowed && html`<button type="button" class="bare" onClick=${() => narrow(Object.fromEntries(Object.keys(values).map((each) => [each, ""])))}>Clear</button>`}
      <span class="space" />${aside}${file && html`<button type="button" class="bare" title="These ${name} as a file" onClick=${save}>CSV</button>`}</div>`}
    <${Problem} problem=${error} />
    <div class="scroll">${page && html`<${Table} label="${words(name)}, newest first" rows=${shown} empty=${isNarrowed ? `No ${noun} matches.` : empty} ...${table} />`}</div>
    <div class="pager"><span>${shown.length > 0 && place}</span><span>
      <button type="button" class="quiet small" disabled=${!places.length} onClick=${() => change({ places: places.slice(0, -1) })}>Newer</button>
      <button type="button" class="quiet small" disabled=${!hasOlder} onClick=${older}>Older</button></span></div>`;
}

function Choice({ label, value, options, change }) {
  const option = (each) => html`<option value=${[each].flat()[0]}>${Array.isArray(each) ? each[1] : words(each)}</option>`;
  return html`<select class=${classes("choice", value && "set")} aria-label=${label} value=${value} onChange=${change}>
    <option value="">${label}</option>${options.map(option)}</select>`;
}

// A search field; it searches shortly after the last key.
export function Search({ value = "", change, label, title }) {
  const [timer, input] = [useRef(0), useRef()];
  const typed = ({ currentTarget: { value: text } }) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => change(text), 60);
  };
  useEffect(() => {
    if (document.activeElement !== input.current) input.current.value = value;
  }, [value]);
  return html`<div class="search"><${Icon} name="search" /><input ref=${input} type="search" aria-label=${label} placeholder=${label} title=${title} maxlength="100"
    autocomplete="off" spellcheck=${false} data-search defaultValue=${value} onInput=${typed} /></div>`;
}
