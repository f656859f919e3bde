// The payments: their list, searched and filtered in the store, and the form that asks a customer for one.

import { useRef, useState } from "./vendor/hooks.js";
import { Choice, Code, Empty, Field, Icon, Lately, Link, Pager, Pill, Problem, Search, Table, classes, download, html, useTask } from "./parts.js";
import { of, useKept, useRead, useStore } from "./store.js";
import { PAYMENT_STATES, counted, csv, lusaka, major, minorOf, money, phoneText, visible } from "./words.js";

const SIZE = 40;
const MOST_AT_ONCE = 1000;
const DAY_MS = 86_400_000;
const NO_FILTER = { search: "", status: "", provider: "", from: "", to: "", min: "", max: "", places: [] };
const COLUMNS = ["id", "created_lusaka", "amount", "refunded", "currency", "status", "description", "phone", "operator", "charge", "failure_code"];
export const FIRST = {
  amount: "150.00", description: "Monstera", phone: "+260961234567", provider: "mtn", calls: "two", key: "", scenario: "",
};

// What the list is asked for: every list of payments and requests takes these.
export function query({ from, to, min, max, places, ...plain }, limit) {
  const midnight = (text) => Date.parse(`${text}T00:00:00+02:00`);
  const asked = {
    ...plain,
    since: from && new Date(midnight(from)).toISOString(),
    until: to && new Date(midnight(to) + DAY_MS).toISOString(),
    min_minor: min && minorOf(min),
    max_minor: max && minorOf(max),
    older_than: places.at(-1),
  };
  const known = Object.entries(asked).filter(([, value]) => value || value === 0);
  return new URLSearchParams([...known, ["limit", limit]]).toString();
}

// The place of a page in the whole, and how to turn it.
export function turns(page, filter, change, noun) {
  const { first = 1, total = 0, data = [] } = page ?? {};
  const last = first + data.length - 1;
  return {
    says: total ? `${first.toLocaleString("en")}–${last.toLocaleString("en")} of ${counted(total, noun)}` : "",
    newer: filter.places.length ? () => change({ places: filter.places.slice(0, -1) }) : null,
    older: last < total ? () => change({ places: [...filter.places, data.at(-1).seq] }) : null,
  };
}

// Every row that the filter lets through, newest first, as a file.
export async function saveAll(store, path, filter, name, columns, line) {
  const rows = [];
  for (let page; !page || page.data.length; ) {
    page = await store.read(`${path}?${query({ ...filter, places: rows.length ? [rows.at(-1).seq] : [] }, MOST_AT_ONCE)}`);
    rows.push(...page.data);
    if (rows.length >= page.total) break;
  }
  download(`${name}.csv`, csv([columns, ...rows.map(line)]), "text/csv");
}

function customer(payment) {
  return payment.phone ? `${payment.provider} ${payment.phone.slice(-5)}` : "";
}

export function Payments({ selected, newest, follows }) {
  const store = useStore();
  const [filter, change] = useKept("payments", NO_FILTER);
  const narrow = (more) => change({ ...more, places: [] });
  const { data: page, error } = useRead(`/sandbox/payments?${query(filter, SIZE)}`, of("payment"), { keep: true });
  const { places, ...set } = filter;
  const isFiltered = Object.values(set).some(Boolean);
  const more = ["from", "to", "min", "max"].filter((name) => filter[name]).length;
  const line = (row) => [row.id, lusaka(row.created * 1000), ...[row.amount_minor, row.refunded_minor].map((minor) => major(minor, row.currency).replaceAll(",", "")),
    row.currency, row.state, row.description, row.phone, row.provider, row.charge, row.failure_code];
  const columns = [
    ["Amount", (row) => money(row.amount_minor, row.currency), "num strong"],
    ["Description", (row) => html`<span title=${visible(row.description)}>${visible(row.description) || html`<span class="dim">${row.id.slice(0, 11)}…</span>`}</span>`, "fill"],
    ["Customer", customer, "dim roomy"],
    ["State", (row) => html`<${Pill} state=${row.state} says=${row.failure_code ? store.says(row.failure_code) : ""} />`],
    ["Created", (row) => html`<${Lately} ms=${row.created * 1000} />`, "dim end"],
  ];
  const field = (name, label, type) => html`<${Field} name=${name} label=${label} type=${type} value=${filter[name]} onChange=${(event) => narrow({ [name]: event.currentTarget.value })} />`;
  return html`<section class="list" aria-label="Payments">
    <div class="bar"><${Search} label="Search payments" title="Id, description, last digits of the number" value=${filter.search} change=${(search) => narrow({ search })} />
      <${Link} to="payments/new" class="button primary" title="New payment (N)"><${Icon} name="plus" />New payment<//></div>
    <div class="filters"><${Choice} label="State" value=${filter.status} options=${PAYMENT_STATES} change=${(status) => narrow({ status })} />
      <${Choice} label="Operator" value=${filter.provider} options=${store.offers.operators.map((each) => [each.id, each.name])} change=${(provider) => narrow({ provider })} />
      <details class="menu"><summary class=${classes("choice", more && "set")}>Date, amount${more ? ` (${more})` : ""}</summary>
        <div class="fields pop">${field("from", "From", "date")}${field("to", "To", "date")}${field("min", "K from", "text")}${field("max", "K to", "text")}</div></details>
      ${isFiltered && html`<button type="button" class="bare" onClick=${() => change(NO_FILTER)}>Clear</button>`}
      <span class="space" />${!follows && html`<${Link} to="payments" class="follow" title="Show the newest payment, whichever it is" change=${{ pane: "detail" }}>Follow<//>`}
      <button type="button" class="bare" title="These payments as a file" onClick=${() => saveAll(store, "/sandbox/payments", filter, "payments", COLUMNS, line)}>CSV</button></div>
    <${Problem} problem=${error} />
    <div class="scroll">${newest === undefined ? null : page && (page.total || isFiltered || newest)
      ? html`<${Table} label="Payments, newest first" rows=${page.data} columns=${columns} to=${(row) => `payments/${row.id}`} opened=${selected} empty="No payment matches." />`
      : html`<${Empty} says="No payment yet." />`}</div>
    <${Pager} ...${turns(page, filter, change, "payment")} /></section>`;
}

// ---- a new one -------------------------------------------------------------------------------------------------

// The requests that the form stands for. Digits of an amount are sent as they were typed.
export function requestsOf(draft, store) {
  const headers = { ...(draft.key && { "Idempotency-Key": draft.key }), ...(draft.scenario && { "Sandbox-Scenario": draft.scenario }) };
  const { provider, phone } = draft;
  const description = draft.description || undefined;
  const written = (body, amount) => JSON.stringify({ amount: "@", ...body }, null, 2).replace('"@"', amount);
  if (draft.calls === "one") {
    const minor = minorOf(draft.amount);
    const amount = store.gaps.charge_amount_unit === "major" ? minor / 100 : minor;
    const body = { currency: "zmw", type: "mobile_money", channel: provider, phone, reference: description };
    return [{ path: "/v1/charges", headers, body: written(body, amount) }];
  }
  const method = { type: "mobile_money", mobile_money: { phone, provider } };
  return [
    { path: "/v1/payment_intents", headers: { ...headers, "Sandbox-Scenario": undefined },
      body: written({ currency: "ZMW", payment_method_types: ["mobile_money"], description }, draft.amount.trim().replace(/^K|,/g, "")) },
    { path: "/v1/payment_intents/{id}/confirm", headers, body: JSON.stringify({ payment_method: method }, null, 2) },
  ];
}

// Sends them one after the other. What was made is selected; the phone comes to the front to be answered.
export async function take(store, draft) {
  const chosen = draft.calls === "one" && !draft.key ? { ...draft, key: newKey() } : draft;
  let id = "";
  const show = () => store.go(store.follows() ? "payments" : `payments/${id}`, { pane: "phone", number: null });
  for (const { path, headers, body } of requestsOf(chosen, store)) {
    const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value));
    try {
      const made = await store.act("POST", path.replace("{id}", id), body, sent);
      id ||= made.id;
    } catch (problem) {
      id ||= problem.charge ?? "";
      if (id && problem.status === 402) break;
      throw problem;
    }
  }
  await store.refresh();
  show();
}

function newKey() {
  return `console-${Math.random().toString(36).slice(2, 10)}`;
}

export function NewPayment() {
  const store = useStore();
  const [draft, change] = useKept("draft", FIRST);
  const task = useTask();
  const form = useRef();
  const [again, setAgain] = useState(false);
  const { operators, test_numbers: numbers, scenarios } = store.offers;
  const ending = numbers.find((each) => draft.phone.endsWith(each.ending))?.ending ?? "";
  const own = operators.find((each) => each.prefixes.some((prefix) => draft.phone.startsWith(`+260${prefix}`)));
  const minor = minorOf(draft.amount);
  const wrong = {
    amount: !minor && "An amount such as 150.00.",
    ...(draft.calls === "one" && store.gaps.charge_amount_unit === "major" && minor % 100 && { amount: "A charge takes whole kwacha." }),
  };
  const typed = (name) => (event) => change({ [name]: event.currentTarget.value });
  const dial = (event) => {
    const phone = event.currentTarget.value.replace(/[\s()-]/g, "");
    const found = operators.find((each) => each.prefixes.some((prefix) => phone.startsWith(`+260${prefix}`)));
    change({ phone, ...(found && { provider: found.id }) });
  };
  const act = (event) => {
    const prefix = operators.find((each) => each.id === draft.provider)?.prefixes[0] ?? "96";
    change({ phone: `+260${prefix}${event.currentTarget.value || "1234567"}` });
  };
  const operate = (event) => {
    const found = operators.find((each) => each.id === event.currentTarget.value);
    change({ provider: found.id, phone: draft.phone.replace(/^\+260\d\d/, `+260${found.prefixes[0]}`) });
  };
  const submit = async (event) => {
    event.preventDefault();
    if (wrong.amount) return form.current.elements.amount.focus();
    const done = await task.run(() => take(store, draft));
    if (done && !again) change({ key: draft.key && newKey() });
  };
  const calls = (value, label, says) => html`<label class="radio"><input type="radio" name="calls" value=${value} checked=${draft.calls === value} onChange=${typed("calls")} /><span>${label}<small>${says}</small></span></label>`;
  const refused = task.problem?.fields ?? {};
  const sent = wrong.amount ? [] : requestsOf(draft, store);
  return html`<section class="detail new" aria-label="New payment"><header class="title"><h1>New payment</h1><span class="space" />
      <${Link} to="payments" class="icon-button" label="Close" title="Close (Escape)"><${Icon} name="close" /><//></header>
    <div class="scroll pad"><form ref=${form} class="draft" onSubmit=${submit}><div class="fields">
      <${Field} label="Amount in kwacha" name="amount" inputmode="decimal" value=${draft.amount} onInput=${typed("amount")} error=${wrong.amount || refused.amount} autofocus />
      <${Field} label=${draft.calls === "one" ? "Reference of your order" : "Description"} name="description" value=${draft.description} onInput=${typed("description")} error=${refused.description} maxlength="200" />
      <${Field} label="Customer's number" name="phone" inputmode="tel" value=${phoneText(draft.phone)} onChange=${dial} error=${refused.phone}
        hint=${own && own.id !== draft.provider ? `A number of ${own.name}: ${store.gaps.operator_mismatch === "refused" ? "this will be refused." : "its operator moves the money."}` : ""} />
      <${Field} label="What the customer does" name="ending" value=${ending} onChange=${act} options=${[["", "You answer"], ...numbers.map((each) => [each.ending, each.says])]} />
      <${Field} label="Operator" name="provider" value=${draft.provider} onChange=${operate} error=${refused.provider ?? refused.channel} options=${operators.map((each) => [each.id, each.name])} />
      <fieldset class="field"><legend>How</legend><div class="radios">${calls("two", "Intent", "two calls")}${calls("one", "Charge", "one call")}</div></fieldset></div>
      <details open=${Boolean(draft.key || draft.scenario)}><summary>Idempotency key, scenario</summary><div class="fields">
        <${Field} label="Idempotency key" name="key" value=${draft.key} onInput=${typed("key")} maxlength="255" hint="Sent twice with one key, it is done once." />
        <${Field} label="Scenario on demand" name="scenario" value=${draft.scenario} onChange=${typed("scenario")} options=${[["", "none"], ...scenarios.map((each) => [each, each])]} />
        <${Field} label="Keep this key for the next request" name="again" type="checkbox" checked=${again} onChange=${(event) => setAgain(event.currentTarget.checked)} />
        <div class="field"><button type="button" class="quiet" onClick=${() => change({ key: newKey() })}>New key</button></div></div></details>
      <${Problem} problem=${task.problem} />
      <div class="buttons"><button type="submit" class="primary" disabled=${task.busy}>Ask for ${minor ? money(minor) : "it"}</button></div></form>
      <div class="sent">${sent.map(({ path, body }) => html`<p class="call"><b class="POST">POST</b> <code>${path}</code></p><${Code} text=${body} label="Body of ${path}" />`)}</div></div></section>`;
}

// What an empty sandbox shows: the one button that fills it.
export function First() {
  const store = useStore();
  const task = useTask();
  return html`<section class="first" aria-label="First payment"><h1>Take a first payment</h1>
    <p>A customer is asked for K150.00. Enter the PIN, <b>1234</b>, on the phone: the payment, its ledger, its webhooks and its code appear here as they happen.</p>
    <button type="button" class="primary large" disabled=${task.busy} onClick=${() => task.run(() => take(store, FIRST))}>Take a first payment: K150.00 from ${phoneText(FIRST.phone)}</button>
    <${Problem} problem=${task.problem} /><p class="dim">Or <${Link} to="payments/new">fill in your own<//>, or let your shop send it: the keys are in <${Link} to="sandbox">Sandbox<//>.</p></section>`;
}
