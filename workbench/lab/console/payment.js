// The selected payment: what happened, as it happens; its ledger, webhooks, code and JSON; and what can be done with it.

import { useRef, useState } from "./vendor/hooks.js";
import { Action, Code, Codes, Copy, Empty, Facts, Field, Icon, Id, Lately, Link, Pill, Table, Tabs, When, classes, html, message } from "./parts.js";
import { of, useKept, useRead, useStore } from "./store.js";
import { Sequence, save } from "./sequence.js";
import { EventList } from "./webhooks.js";
import { ACCOUNTS, counted, laidOut, lusaka, major, minorOf, money, moneyOf, shortId, visible, words } from "./words.js";

const PIN = (number, base) => ({
  curl: `curl '${base}/sandbox/phones/${number}/input' \\\n  -H "Authorization: Bearer $SECRET_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"text":"1234"}'`,
  python: `bench.phone("${number}").enter_pin("1234")`,
  javascript: `await fetch("${base}/sandbox/phones/${number}/input", {\n  method: "POST",\n  headers: { Authorization: \`Bearer \${SECRET_KEY}\`, "Content-Type": "application/json" },\n  body: JSON.stringify({ text: "1234" }),\n});`,
});

export function Payment({ id, phone }) {
  const [kept, change] = useKept("payment", { tab: "timeline", form: "diagram" });
  const concerns = (row) => (row.kind === "payment" && row.id === id) || row.kind === "delivery";
  const { data, error } = useRead(`/sandbox/payments/${id}`, concerns);
  if (!data) return html`<section class="detail" aria-label="Payment">${error && html`<${Empty} says=${error.message}><${Link} to="payments">Show the newest payment<//><//>`}</section>`;
  const { payment, events, deliveries, trace } = data;
  const failing = deliveries.filter((each) => each.status !== "delivered" && each.attempts.length).length;
  const entries = trace.filter((row) => row.kind === "entry");
  const accounts = new Set(entries.flatMap((row) => row.detail.postings.map(([, account]) => account))).size;
  const tabs = [
    ["timeline", "Timeline"],
    ["ledger", "Ledger", accounts],
    ["webhooks", "Webhooks", failing ? `${failing} failing` : events.length, failing && "bad"],
    ["code", "Code"],
    ["json", "JSON"],
  ];
  const box = useRef();
  const [form, setForm] = [kept.form, (each) => change({ form: each })];
  const aside = kept.tab === "timeline" && html`<${Files} box=${box} steps=${data.steps} name=${id} form=${form} setForm=${setForm} />`;
  const shown = { timeline: Timeline, ledger: Ledger, webhooks: Webhooks, code: CodeOf, json: Json }[kept.tab];
  return html`<section class="detail" aria-label="Payment ${id}"><${Head} details=${data} />
    <${Tabs} label="Of this payment" tabs=${tabs} chosen=${kept.tab} choose=${(tab) => change({ tab })} aside=${aside}>
      <${shown} details=${data} phone=${phone} box=${box} form=${form} /><//></section>`;
}

// ---- its header ------------------------------------------------------------------------------------------------

function Head({ details: { payment, trace } }) {
  const store = useStore();
  const { data: late } = useRead("/sandbox/suspense?status=waiting", of("entry"), { pause: 500, keep: true });
  const waiting = late?.data.filter((each) => [each.payment_intent, each.charge].includes(payment.id)) ?? [];
  const operator = store.offers.operators.find((each) => each.id === payment.provider)?.name ?? payment.provider;
  return html`<header class="title"><div class="lead">
      <${Link} to="payments" class="icon-button narrow" label="All payments"><${Icon} name="back" /><//>
      <h1 class="amount">${money(payment.amount_minor, payment.currency)}</h1><span class="what" title=${visible(payment.description)}>${visible(payment.description)}</span>
      <${Pill} state=${payment.state} also=${payment.failure_code} says=${payment.failure_code ? store.says(payment.failure_code) : ""} />
      <span class="space" /><span class="actions"><${Ways} payment=${payment} trace=${trace} operator=${operator} /></span></div>
    <div class="sub"><span>${payment.phone ? html`${operator} <span class="nowrap">${payment.phone}</span>` : "No customer asked yet"}</span>
      <span><${Lately} ms=${payment.created * 1000} /></span><${Id} id=${payment.id} />
      ${payment.refunded_minor > 0 && html`<span>${money(payment.refunded_minor, payment.currency)} refunded</span>`}</div>
    ${waiting.map((item) => html`<${Late} key=${item.id} item=${item} />`)}</header>`;
}

function Ways({ payment, trace, operator }) {
  const store = useStore();
  const isIntent = payment.id.startsWith("pi_");
  const left = payment.amount_minor - payment.refunded_minor;
  const isAnswered = trace.some((row) => row.kind === "screen" && row.detail.pressed);
  const refund = ({ amount }) => {
    const minor = minorOf(amount, payment.currency);
    const unit = isIntent || store.gaps.charge_amount_unit === "major" ? major(minor, payment.currency).replaceAll(",", "") : minor;
    return store.act("POST", store.v1("/refunds"), `{"${isIntent ? "payment_intent" : "charge"}": "${payment.id}", "amount": ${unit}}`);
  };
  const confirm = ({ phone, provider }) => store.act("POST", `/v1/payment_intents/${payment.id}/confirm`,
    { payment_method: { type: "mobile_money", mobile_money: { phone: phone.replace(/\s/g, ""), provider } } });
  const offers = store.offers.operators.map((each) => [each.id, each.name]);
  const fee = store.gaps.fee_on_refund === "returned" ? "The fee is given back in proportion." : "The fee of the payment is kept.";
  return html`${isIntent && ["new", "failed"].includes(payment.state) && html`<${Action} label=${payment.state === "new" ? "Confirm…" : "Ask again…"} title="Ask the customer" confirm="Ask for ${money(payment.amount_minor, payment.currency)}"
      says="The customer's phone shows a prompt for ${money(payment.amount_minor, payment.currency)}, and waits for the PIN." run=${confirm}>
      <${Field} label="Customer's number" name="phone" defaultValue="+260961234567" /><${Field} label="Operator" name="provider" options=${offers} defaultValue=${payment.provider ?? "mtn"} /><//>`}
    ${payment.state === "waiting" && payment.charge && isAnswered && html`<${Action} label="Ask the operator…" confirm="Ask" says="${operator} is asked what became of the charge. If the money moved, the payment succeeds; if not, it fails."
      run=${() => store.act("POST", "/sandbox/operator/query", { charge: payment.charge })} />`}
    ${isIntent && ["new", "waiting"].includes(payment.state) && html`<${Action} label="Cancel…" title="Cancel this payment" confirm="Cancel the payment" bad
      says="A prompt that waits is withdrawn from the phone, and the intent is canceled for good. No money moves." run=${() => store.act("POST", store.v1(`/payment_intents/${payment.id}/cancel`))} />`}
    ${["succeeded", "part_refunded"].includes(payment.state) && html`<${Action} label="Refund…" title="Refund ${money(left, payment.currency)} or less" confirm="Refund" run=${refund}
      says="The money goes back to ${payment.phone} through ${operator}, some seconds from now; it is taken from what you have available, then pending, and the rest you owe. ${fee}">
      <${Field} label="Amount in ${payment.currency}" name="amount" inputmode="decimal" defaultValue=${major(left, payment.currency).replaceAll(",", "")} hint="At most ${money(left, payment.currency)}" /><//>`}`;
}

// Money that came after its attempt had failed, and what can become of it.
export function Late({ item, bare }) {
  const store = useStore();
  const settle = (how) => () => store.act("POST", `/sandbox/suspense/${item.id}/settle`, { how });
  const sum = moneyOf(item);
  const ways = html`<${Action} label=${bare ? "Credit…" : "Credit to merchant…"} title="Credit ${sum} to the merchant" confirm="Credit" says="You get ${sum}, less the fee, as if the payment had succeeded in time. The intent stays as it is." run=${settle("credit")} />
    <${Action} label=${bare ? "Return…" : "Return to customer…"} title="Return ${sum} to the customer" confirm="Return" says="${sum} goes back to ${item.phone}. You get nothing." run=${settle("return")} />`;
  if (bare) return ways;
  return html`<div class="strip warn"><span><b>${sum} came late</b>, <${When} ms=${item.since * 1000} />, after the attempt had failed. It waits in suspense.</span><span class="actions">${ways}</span></div>`;
}

// ---- timeline --------------------------------------------------------------------------------------------------

function Timeline({ details, box, form }) {
  const [opened, setOpened] = useState(null);
  const { steps, trace } = details;
  const step = steps.find((each) => each.seq === opened?.seq && each.kind === opened.kind) ?? null;
  const row = step && trace.find((each) => each.seq === step.seq && each.kind === step.kind);
  const columns = [
    ["Lusaka", (each) => html`<${When} at=${each.at} shape="time" />`],
    ["From, to", (each) => `${each.from} → ${each.to}`, "wrap dim"],
    ["What", (each) => visible(each.label), "wrap"],
    ["Response", (each) => `${each.is_bad ? "✗ " : ""}${visible(each.response ?? "")}`, "wrap"],
  ];
  const toggle = (each) => setOpened(each === step ? null : each);
  return html`<div class=${classes("timeline", row && "split")} onKeyDown=${(event) => event.key === "Escape" && row && (event.stopPropagation(), setOpened(null))}>
    <div class="drawn" ref=${box}>${form === "diagram"
      ? html`<${Sequence} key=${details.payment.id} steps=${steps} opened=${step} open=${toggle} about=${counted(steps.length, "step")} />`
      : html`<div class="scroll" tabindex="0" role="region" aria-label="Steps"><${Table} label="Who told whom what" columns=${columns} rows=${steps} name=${(each) => `${each.seq}${each.kind}`} /></div>`}</div>
    ${row ? html`<${Exchange} row=${row} step=${step} close=${() => setOpened(null)} />` : html`<${Outcome} details=${details} />`}</div>`;
}

function Files({ box, steps, name, form, setForm }) {
  const kinds = form === "diagram" ? [["svg", "SVG"], ["png", "PNG"], ["mmd", "Mermaid"]] : [["mmd", "Mermaid"]];
  return html`<div class="files"><div class="switch" role="group" aria-label="How it is shown">${["diagram", "table"].map((each) => html`
    <button type="button" aria-pressed=${each === form} onClick=${() => setForm(each)}>${each}</button>`)}</div>
    <details class="menu"><summary class="bare">Save</summary><div class="pop list-of">${kinds.map(([kind, label]) => html`<button type="button" class="bare" onClick=${() => save(kind, box.current, steps, name)}>${label}</button>`)}</div></details></div>`;
}

// What came of the payment, beneath the diagram until an arrow is opened.
function Outcome({ details }) {
  const { events, deliveries, trace } = details;
  const sides = sidesOf(trace);
  const sum = (side) => sides.reduce((all, each) => all + each[side], 0);
  const last = trace.findLast((row) => row.kind === "call" && row.what.startsWith("POST") && requestOf(row));
  return html`<div class="outcome"><section aria-label="Ledger of this payment"><h2>Ledger${sides.length > 0 && html`<span class="good">balanced</span>`}</h2>
      ${sides.length ? html`<table class="mini"><thead><tr><th scope="col">Account</th><th scope="col" class="num">Debit</th><th scope="col" class="num">Credit</th></tr></thead>
        <tbody>${sides.map((each) => html`<tr key=${each.account}><th scope="row"><span title=${each.account}>${each.account.split(":").slice(-2).join(":")}</span></th><td class="num">${each.debit ? major(each.debit, each.currency) : ""}</td><td class="num">${each.credit ? major(each.credit, each.currency) : ""}</td></tr>`)}</tbody>
        <tfoot><tr><th scope="row">Total</th><td class="num">${major(sum("debit"))}</td><td class="num">${major(sum("credit"))}</td></tr></tfoot></table>` : html`<p class="dim">Money is booked when the customer has paid.</p>`}</section>
    <section aria-label="Events of this payment"><h2>Events${events.length > 0 && html`<span class="dim">${events.length}</span>`}</h2><${EventList} events=${events} deliveries=${deliveries} brief /></section>
    <section aria-label="The code that did it"><h2>Code</h2>${last ? html`<${RequestCode} id=${requestOf(last)} label="The last call" fill />` : html`<p class="dim">The call that makes a payment stands here.</p>`}</section></div>`;
}

function requestOf(row) {
  return row.detail.response?.headers?.["Request-Id"] ?? "";
}

export function RequestCode({ id, label, fill }) {
  const store = useStore();
  const { data, error } = useRead(`/sandbox/requests/${id}/code?base_url=${encodeURIComponent(store.base)}`);
  if (error) return html`<p class="dim">${error.message}</p>`;
  return data ? html`<${Codes} codes=${data} label=${label} fill=${fill} />` : null;
}

// What an arrow stands for.
export function Exchange({ row, step, close }) {
  const { detail } = row;
  const heading = html`<header class="sub"><h2 title=${row.what}>${visible(step?.label ?? row.what)}</h2><span class="dim"><${When} at=${row.at} /></span><span class="space" />
    ${row.kind === "call" && requestOf(row) && html`<${Link} to="requests/${requestOf(row)}">Request<//>`}
    <button type="button" class="icon-button" aria-label="Close" title="Close (Escape)" onClick=${close}><${Icon} name="close" /></button></header>`;
  return html`<section class="exchange" aria-label="The exchange">${heading}<div class="sides">${SHOWN[row.kind](detail, row)}</div></section>`;
}

const SHOWN = {
  call: ({ request, response, target }) => html`<${Code} label="Request" text=${message(target, request.headers, request.body)} />
    <${Code} label="Response" text=${message(String(response.status), response.headers, response.body)} />`,
  screen: ({ phone, pressed, words: text }) => html`<${Facts} facts=${[["Handset", phone], ["Pressed", pressed]]} /><${Code} label="Screen" text=${text} />`,
  entry: ({ postings }, row) => html`<${Table} label=${row.what} rows=${postings} name=${(each) => each.join()} columns=${[
    ["Account", ([, account]) => account, "fill"],
    ["Debit", ([side, , minor, currency]) => (side === "debit" ? money(minor, currency) : ""), "num"],
    ["Credit", ([side, , minor, currency]) => (side === "credit" ? money(minor, currency) : ""), "num"]]} />`,
  webhook: ({ event, headers, body, answer, fault, delivery }, row) => html`<${Code} label="Message" text=${message("POST (the endpoint's URL)", headers, body)} />
    <div><${Facts} facts=${[["Response", row.result], ["Why", fault], ["Event", html`<${Link} to="webhooks/events/${event}">${shortId(event)}<//>`], ["Delivery", html`<${Link} to="webhooks/deliveries/${delivery}">${shortId(delivery)}<//>`]]} />
    ${answer && html`<${Code} label="Body of the response" text=${laidOut(answer) ?? answer} />`}</div>`,
};

// ---- ledger ----------------------------------------------------------------------------------------------------

// The accounts of a payment's entries, each with its postings and the sums of its two sides.
function sidesOf(trace) {
  const accounts = new Map();
  for (const row of trace.filter((each) => each.kind === "entry")) {
    for (const [side, account, minor, currency] of row.detail.postings) {
      const key = `${account} ${currency}`;
      const each = accounts.get(key) ?? { account, currency, debit: 0, credit: 0, lines: [] };
      each[side] += minor;
      each.lines.push({ side, minor, entry: words(row.result), at: row.at });
      accounts.set(key, each);
    }
  }
  return [...accounts.values()];
}

function Ledger({ details }) {
  const { data: all } = useRead("/sandbox/ledger/accounts", of("entry"), { pause: 1000, keep: true });
  const sides = sidesOf(details.trace);
  if (!sides.length) return html`<${Empty} says="No entry yet: money is booked when the customer has paid." />`;
  const codes = new Map(all?.data.map((each) => [each.account, each.code]));
  const total = (side) => sides.reduce((sum, each) => sum + each[side], 0);
  const isEven = total("debit") === total("credit");
  return html`<div class="scroll pad"><p class=${classes("proof", isEven ? "good" : "bad")}>${isEven ? "Debits equal credits" : "It does not balance"}: ${money(total("debit"))} and ${money(total("credit"))}, in ${counted(details.trace.filter((row) => row.kind === "entry").length, "entry")}.</p>
    <div class="accounts">${sides.map((each) => html`<${TAccount} key=${each.account} account=${each} code=${codes.get(each.account)} />`)}</div></div>`;
}

function TAccount({ account: { account, currency, debit, credit, lines }, code }) {
  const balance = debit - credit;
  const line = (side) => lines.filter((each) => each.side === side).map((each) => html`<div class="posting"><span class="dim" title=${lusaka(Date.parse(each.at))}>${each.entry}</span><span class="num">${major(each.minor, currency)}</span></div>`);
  return html`<section class="t-account" aria-label="Account ${account}"><h2><${Link} to="money/${account}" title="The statement of ${account}">${code} ${account}<//><small>${ACCOUNTS[code] ?? ""}</small></h2>
    <div class="t"><div role="group" aria-label="Debits">${line("debit")}</div><div role="group" aria-label="Credits">${line("credit")}</div></div>
    <div class="balance"><span>${balance >= 0 ? html`<b>Balance</b><b class="num">${major(balance, currency)}</b>` : ""}</span><span>${balance < 0 ? html`<b>Balance</b><b class="num">${major(-balance, currency)}</b>` : ""}</span></div></section>`;
}

// ---- webhooks, code, JSON ---------------------------------------------------------------------------------------

function Webhooks({ details }) {
  return html`<div class="scroll pad"><${EventList} events=${details.events} deliveries=${details.deliveries} /></div>`;
}

function CodeOf({ details, phone }) {
  const store = useStore();
  const calls = details.trace.filter((row) => row.kind === "call" && requestOf(row));
  return html`<div class="scroll pad stack">${calls.length > 10 && html`<p class="dim">The last 10 of ${calls.length} calls.</p>`}
    ${calls.slice(-10).map((row) => html`<section key=${row.seq}><h2><code>${visible(shortId(row.what))}</code> <span class="dim">${row.result}</span></h2><${RequestCode} id=${requestOf(row)} label=${row.what} /></section>`)}
    ${phone && html`<section><h2>The customer enters the PIN</h2><${Codes} codes=${PIN(phone, store.base)} label="The PIN" /></section>`}</div>`;
}

function Json({ details: { payment } }) {
  const store = useStore();
  const group = payment.id.startsWith("pi_") ? "payment_intents" : "charges";
  const path = store.v1(`/${group}/${payment.id}`);
  const { data, text, error } = useRead(path, (row) => row.kind === "payment" && row.id === payment.id);
  return html`<div class="scroll pad">${error ? html`<p class="dim">${error.message}</p>` : data && html`<p class="sub"><code>GET ${path}</code><${Copy} text=${text ?? ""} label="Copy the JSON" /></p><${Code} text=${laidOut(text ?? "") ?? ""} label="JSON" copy=${false} />`}</div>`;
}
