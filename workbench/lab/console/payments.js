// The payments: their list, and the form that asks a customer for one.

import { useLayoutEffect, useRef } from "./vendor/hooks.js";
import { Code, Field, Icon, Lately, Link, Method, Pill, Problem, html, useTask } from "./parts.js";
import { Listing } from "./listing.js";
import { ofKind, useKept, useStore } from "./store.js";
import { PAYMENT_STATES, lusaka, major, minorOf, money, phoneText, visible } from "./words.js";

export const FIRST = {
  amount: "150.00", description: "Monstera", phone: "+260961234567", provider: "mtn", calls: "two", key: "", scenario: "", again: false,
};
const FILE = {
  columns: ["id", "created_lusaka", "amount", "refunded", "currency", "status", "description", "phone", "operator", "charge", "failure_code"],
  line: (row) => [
    row.id, lusaka(row.created * 1000), ...[row.amount_minor, row.refunded_minor].map((minor) => major(minor, row.currency).replaceAll(",", "")),
    row.currency, row.state, row.description, row.phone, row.provider, row.charge, row.failure_code,
  ],
};

export function Payments({ selected, follows }) {
  const store = useStore();
  const columns = [
    ["Amount", (row) => money(row.amount_minor, row.currency), "num strong"],
    ["Description", (row) => html`<span title=${visible(row.description)}>${visible(row.description) || html`<span class="dim">${row.id.slice(0, 11)}…</span>`}</span>`, "fill"],
    ["Customer", (row) => row.phone && `${row.provider} ${row.phone.slice(-5)}`, "dim roomy"],
    ["State", (row) => html`<${Pill} state=${row.state} says=${row.failure_code && store.says(row.failure_code)} />`],
    ["Created", (row) => html`<${Lately} ms=${row.created * 1000} shape="minute" />`, "dim end"],
  ];
  const fields = [
    ["status", "State", PAYMENT_STATES],
    ["provider", "Operator", store.offers.operators.map((each) => [each.id, each.name])],
    ["since", "From", "date"], ["until", "To", "date"], ["min_minor", "K from", "text"], ["max_minor", "K to", "text"],
  ];
  const follow = !follows && html`<${Link} to="payments" class="follow" title="Show the newest payment, whichever it is" change=${{ pane: "detail" }}>Follow<//>`;
  const ahead = html`<${Link} to="payments/new" class="button primary" title="New payment (N)"><${Icon} name="plus" />New payment<//>`;
  return html`<section class="list" aria-label="Payments"><${Listing} name="payments" noun="payment" path="/sandbox/payments" isCounted size=${40}
    search="Id, description, last digits of the number" fields=${fields} file=${FILE} ahead=${ahead} aside=${follow} concerns=${ofKind("payment")} pause=${120}
    columns=${columns} to=${(row) => `payments/${row.id}`} opened=${selected} empty="No payment yet." /></section>`;
}

// ---- a new one -------------------------------------------------------------------------------------------------

// The requests that the form stands for. Digits of an amount are sent as they were typed.
function requestsOf({ amount, description, phone, provider, calls, key, scenario }, store) {
  const headers = { ...(key && { "Idempotency-Key": key }), ...(scenario && { "Sandbox-Scenario": scenario }) };
  const written = (value, body) => JSON.stringify({ amount: "@", ...body }, null, 2).replace('"@"', value);
  if (calls === "one") {
    const minor = minorOf(amount);
    const body = { currency: "zmw", type: "mobile_money", channel: provider, phone, reference: description || undefined };
    return [{ path: "/v1/charges", headers, body: written(store.gaps.charge_amount_unit === "major" ? minor / 100 : minor, body) }];
  }
  const body = { currency: "ZMW", payment_method_types: ["mobile_money"], description: description || undefined };
  const method = { type: "mobile_money", mobile_money: { phone, provider } };
  return [
    { path: "/v1/payment_intents", headers: key ? { "Idempotency-Key": key } : {}, body: written(amount.trim().replace(/^K|,/g, ""), body) },
    { path: "/v1/payment_intents/{id}/confirm", headers, body: JSON.stringify({ payment_method: method }, null, 2) },
  ];
}

const newKey = () => `console-${Math.random().toString(36).slice(2, 10)}`;

// Sends them one after the other. What was made is selected, and the phone comes to the front to be answered.
async function take(store, draft) {
  let id = "";
  for (const { path, headers, body } of requestsOf({ ...draft, key: draft.key || (draft.calls === "one" ? newKey() : "") }, store)) {
    try {
      const made = await store.act("POST", path.replace("{id}", id), body, headers);
      id ||= made.id;
    } catch (problem) {
      // A charge that was declined is a payment too.
      if (problem.status !== 402 || !problem.charge) throw problem;
      id = problem.charge;
    }
  }
  await store.refresh();
  store.kept.asked = id; // its heading gets the focus if no phone takes it
  store.go(store.follows() ? "payments" : `payments/${id}`, { pane: "phone", number: null });
}

export function NewPayment() {
  const store = useStore();
  const [draft, change] = useKept("draft", FIRST);
  const task = useTask();
  const form = useRef();
  const { operators, test_numbers: numbers, scenarios } = store.offers;
  const operatorOf = (phone) => operators.find((each) => each.prefixes.some((prefix) => phone.startsWith(`+260${prefix}`)));
  const own = operatorOf(draft.phone);
  const minor = minorOf(draft.amount);
  const isUneven = draft.calls === "one" && store.gaps.charge_amount_unit === "major" && minor % 100;
  const wrong = !minor ? (/\d\.\d{3}/.test(draft.amount) ? "At most two decimals, such as 150.00." : "An amount such as 150.00.") : isUneven ? "A charge takes whole kwacha." : "";
  useLayoutEffect(() => form.current.elements.amount.focus(), []);
  const typed = (name) => (event) => change({ [name]: event.currentTarget.value });
  const dial = (event) => {
    const phone = event.currentTarget.value.replace(/[\s()-]/g, "");
    change({ phone, provider: operatorOf(phone)?.id ?? draft.provider });
  };
  const act = (event) => change({ phone: `${draft.phone.slice(0, 6)}${event.currentTarget.value || "1234567"}` });
  const operate = ({ currentTarget: { value } }) =>
    change({ provider: value, phone: `+260${operators.find((each) => each.id === value).prefixes[0]}${draft.phone.slice(6)}` });
  const submit = async (event) => {
    event.preventDefault();
    if (wrong) return form.current.elements.amount.focus();
    if (await task.run(() => take(store, draft)) && !draft.again) change({ key: draft.key && newKey() });
  };
  const refused = task.problem?.fields ?? {};
  const moves = store.gaps.operator_mismatch === "refused" ? "this will be refused." : "its operator moves the money.";
  const way = (value, label, says) => html`<label class="radio"><input type="radio" name="calls" value=${value} checked=${draft.calls === value} onChange=${typed("calls")} />
    <span>${label}<small>${says}</small></span></label>`;
  const does = [["", "You answer"], ...numbers.map((each) => [each.ending, each.says])];
  const close = html`<${Link} to="payments" class="icon-button" label="Close" title="Close (Escape)"><${Icon} name="close" /><//>`;
  return html`<section class="detail new" aria-label="New payment"><header class="title"><h1>New payment</h1><span class="space" />${close}</header>
    <div class="scroll pad"><form ref=${form} class="draft" onSubmit=${submit}><div class="fields">
      <${Field} label="Amount in kwacha" name="amount" inputmode="decimal" value=${draft.amount} onInput=${typed("amount")} error=${wrong || refused.amount} />
      <${Field} label=${draft.calls === "one" ? "Reference of your order" : "Description"} name="description" value=${draft.description}
        onInput=${typed("description")} error=${refused.description} maxlength="200" />
      <${Field} label="Customer's number" name="phone" inputmode="tel" value=${phoneText(draft.phone)} onChange=${dial} error=${refused.phone}
        hint=${own && own.id !== draft.provider && `A number of ${own.name}: ${moves}`} />
      <${Field} label="What the customer does" name="ending" onChange=${act} options=${does} value=${numbers.find((each) => draft.phone.endsWith(each.ending))?.ending ?? ""} />
      <${Field} label="Operator" name="provider" value=${draft.provider} onChange=${operate} error=${refused.provider ?? refused.channel}
        options=${operators.map((each) => [each.id, each.name])} />
      <fieldset class="field"><legend>How</legend><div class="radios">${way("two", "Intent", "two calls")}${way("one", "Charge", "one call")}</div></fieldset></div>
      <details open=${Boolean(draft.key || draft.scenario)}><summary>Idempotency key, scenario</summary><div class="fields">
        <${Field} label="Idempotency key" name="key" value=${draft.key} onInput=${typed("key")} maxlength="255" hint="Sent twice with one key, it is done once." />
        <${Field} label="Scenario on demand" name="scenario" value=${draft.scenario} onChange=${typed("scenario")} options=${[["", "none"], ...scenarios]} />
        <${Field} label="Keep this key for the next request" name="again" type="checkbox" checked=${draft.again}
          onChange=${(event) => change({ again: event.currentTarget.checked })} />
        <div class="field"><button type="button" class="quiet" onClick=${() => change({ key: newKey() })}>New key</button></div></div></details>
      <${Problem} problem=${task.problem} />
      <div class="buttons"><button type="submit" class="primary" disabled=${task.busy}>Ask for ${minor ? money(minor) : "it"}</button></div></form>
      <div class="sends">${!wrong && requestsOf(draft, store).map(({ path, body }) => html`<p class="call"><${Method} method="POST" /><code>${path}</code></p>
        <${Code} text=${body} label="Body of ${path}" />`)}</div></div></section>`;
}

// An empty sandbox shows one button, which makes the first payment.
export function First() {
  const store = useStore();
  const task = useTask();
  const ask = () => task.run(() => take(store, FIRST));
  return html`<section class="first" aria-label="First payment"><h1>Take a first payment</h1>
    <p>A customer is asked for K150.00. Enter the PIN, <b>${store.offers.pin}</b>, on the phone: the payment, its ledger, its webhooks and its code appear here as they happen.</p>
    <button type="button" class="primary" disabled=${task.busy} onClick=${ask}>Take a first payment: K150.00 from ${phoneText(FIRST.phone)}</button>
    <${Problem} problem=${task.problem} />
    <p class="dim">Or <${Link} to="payments/new">fill in your own<//>, or let your shop send it: the keys are in <${Link} to="sandbox">Sandbox<//>.</p></section>`;
}
