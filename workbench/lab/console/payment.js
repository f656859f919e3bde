// The selected payment: what happened, as it happens; its ledger, webhooks, code and JSON; and what can be done with it.

import { useLayoutEffect, useRef, useState } from "./vendor/hooks.js";
import { Action, Code, Codes, Copy, Empty, Facts, Field, Icon, Id, Lately, Link, Pill, Switch, Table, Tabs, Title, When, classes, html, message } from "./parts.js";
import { ofKind, useKept, useRead, useStore } from "./store.js";
import { Sequence, save } from "./sequence.js";
import { EventList } from "./webhooks.js";
import { ACCOUNTS, counted, laidOut, major, minorOf, money, moneyOf, shortId, visible, words } from "./words.js";

const CALLS_SHOWN = 10;
const FORMS = [["diagram", "diagram"], ["table", "table"]];
const STEPS = [
  ["Lusaka", (each) => html`<${When} at=${each.at} shape="time" />`],
  ["From, to", (each) => `${each.from} → ${each.to}`, "wrap dim"],
  ["What", (each) => visible(each.label), "wrap"],
  ["Response", (each) => `${each.is_bad ? "✗ " : ""}${visible(each.response)}`, "wrap"],
];
const NO_MONEY = "Money is booked when the customer has paid.";

export function Payment({ id, phone }) {
  const [{ tab, form }, change] = useKept("payment", { tab: "timeline", form: "diagram" });
  const box = useRef();
  const { data, error } = useRead(`/sandbox/payments/${id}`, (row) => (row.kind === "payment" && row.id === id) || row.kind === "delivery");
  if (!data) return html`<section class="detail">${error && html`<${Empty} says=${error.message}><${Link} to="payments">Show the newest payment<//><//>`}</section>`;
  const { events, deliveries, trace } = data;
  const failing = deliveries.filter((each) => each.status !== "delivered" && each.attempts.length).length;
  const tabs = [
    ["timeline", "Timeline"], ["ledger", "Ledger", sidesOf(trace).length],
    ["webhooks", "Webhooks", failing ? `${failing} failing` : events.length, failing && "bad"], ["code", "Code"], ["json", "JSON"],
  ];
  const kept = html`<button type="button" class="bare" title="The diagram as a picture" onClick=${() => save(box.current, id)}>SVG</button>`;
  const aside = tab === "timeline" && html`<div class="files"><${Switch} options=${FORMS} chosen=${form} choose=${(each) => change({ form: each })} label="How it is shown" />
    ${form === "diagram" && kept}</div>`;
  const shown = { timeline: Timeline, ledger: Ledger, webhooks: Webhooks, code: CodeOf, json: Json }[tab];
  return html`<section class="detail" aria-label="Payment ${id}"><${Head} details=${data} />
    <${Tabs} label="Of this payment" tabs=${tabs} chosen=${tab} choose=${(each) => change({ tab: each })} aside=${aside}>
      <${shown} details=${data} phone=${phone} box=${box} form=${form} /><//></section>`;
}

// ---- its head --------------------------------------------------------------------------------------------------

function Head({ details: { payment, trace } }) {
  const store = useStore();
  const { data: late } = useRead("/sandbox/suspense?status=waiting", ofKind("entry"), { pause: 500, keep: true });
  const { id, amount_minor: amount, currency, description, state, failure_code: failure, phone, provider, created, refunded_minor: refunded } = payment;
  const heading = useRef();
  useLayoutEffect(() => {
    if (store.kept.asked === id && document.activeElement === document.body) heading.current.focus({ preventScroll: true });
  }, [id]);
  const waiting = late?.data.filter((each) => [each.payment_intent, each.charge].includes(id)) ?? [];
  const facts = [phone ? `${store.operator(provider)} ${phone}` : "No customer asked yet", html`<${Lately} ms=${created * 1000} />`, html`<${Id} id=${id} />`,
    refunded > 0 && `${money(refunded, currency)} refunded`];
  return html`<${Title} back="payments" facts=${facts} actions=${html`<${Ways} payment=${payment} trace=${trace} />`}>
      <h1 class="amount" ref=${heading} tabindex="-1">${money(amount, currency)}</h1><span class="what" title=${visible(description)}>${visible(description)}</span>
      <${Pill} state=${state} also=${failure} says=${failure && store.says(failure)} /><//>
    ${waiting.map((item) => html`<div class="strip warn" key=${item.id}><span>
      <b>${moneyOf(item)} came late</b>, <${Lately} ms=${item.since * 1000} />, after the attempt had failed. It waits in suspense.</span>
      <span class="actions"><${Settle} item=${item} /></span></div>`)}`;
}

// The buttons for the actions that a payment's state allows.
function Ways({ payment: { id, state, charge, phone, provider, currency, amount_minor: amount, refunded_minor: refunded }, trace }) {
  const store = useStore();
  const isIntent = id.startsWith("pi_");
  const [whole, left] = [money(amount, currency), amount - refunded];
  const isAnswered = trace.some((row) => row.kind === "screen" && row.detail.pressed);
  const fee = store.gaps.fee_on_refund === "returned" ? "The fee is given back in proportion." : "The fee of the payment is kept.";
  const plain = (minor) => major(minor, currency).replaceAll(",", "");
  const confirm = (values) => store.act("POST", `/v1/payment_intents/${id}/confirm`,
    { payment_method: { type: "mobile_money", mobile_money: { phone: values.phone.replace(/\s/g, ""), provider: values.provider } } });
  const refund = (values) => {
    const minor = minorOf(values.amount, currency) ?? 0;
    const unit = isIntent || store.gaps.charge_amount_unit === "major" ? plain(minor) : minor;
    return store.act("POST", store.v1("/refunds"), `{"${isIntent ? "payment_intent" : "charge"}": "${id}", "amount": ${unit}}`);
  };
  return html`${isIntent && ["new", "failed"].includes(state) && html`<${Action} label=${state === "new" ? "Confirm…" : "Ask again…"} title="Ask the customer"
    confirm="Ask for ${whole}" run=${confirm}
      says="The customer's phone shows a prompt for ${whole}, and waits for the PIN."><${Field} label="Customer's number" name="phone" defaultValue="+260961234567" />
      <${Field} label="Operator" name="provider" options=${store.offers.operators.map((each) => [each.id, each.name])} defaultValue=${provider ?? "mtn"} /><//>`}
    ${state === "waiting" && charge && isAnswered && html`<${Action} label="Ask the operator…" confirm="Ask" run=${() => store.act("POST", "/sandbox/operator/query", { charge })}
      says="${store.operator(provider)} is asked what became of the charge. If the money moved, the payment succeeds; if not, it fails." />`}
    ${isIntent && ["new", "waiting"].includes(state) && html`<${Action} label="Cancel…" title="Cancel this payment" confirm="Cancel the payment" bad
      run=${() => store.act("POST", store.v1(`/payment_intents/${id}/cancel`))}
      says="A prompt that waits is withdrawn from the phone, and the intent is canceled for good. No money moves." />`}
    ${["succeeded", "part_refunded"].includes(state) && html`<${Action} label="Refund…" title="Refund ${money(left, currency)} or less" confirm="Refund" run=${refund}
      says="The money goes back to ${phone} through ${store.operator(provider)}, some seconds from now; it is taken from what you have available, then pending, and the rest you owe. ${fee}">
      <${Field} label="Amount in ${currency}" name="amount" inputmode="decimal" defaultValue=${plain(left)} hint="At most ${money(left, currency)}" /><//>`}`;
}

// The two ways to settle money that came after its attempt had failed.
export function Settle({ item }) {
  const store = useStore();
  const sum = moneyOf(item);
  const way = (how, label, title, says) => html`<${Action} label=${label} title=${title} confirm=${label.slice(0, -1)} says=${says}
    run=${() => store.act("POST", `/sandbox/suspense/${item.id}/settle`, { how })} />`;
  return html`${way("credit", "Credit…", `Credit ${sum} to the merchant`, `You get ${sum}, less the fee, as if the payment had succeeded in time. The payment stays as it is.`)}
    ${way("return", "Return…", `Return ${sum} to the customer`, `${sum} goes back to ${item.phone}. You get nothing.`)}`;
}

// ---- timeline --------------------------------------------------------------------------------------------------

function Timeline({ details, box, form }) {
  const [opened, setOpened] = useState(null);
  const { payment, steps, trace } = details;
  const isSame = (each) => each.seq === opened?.seq && each.kind === opened.kind;
  const step = steps.find(isSame) ?? null;
  const row = step && trace.find(isSame);
  const close = () => setOpened(null);
  const escape = (event) => {
    if (event.key !== "Escape" || !row) return;
    event.stopPropagation();
    close();
  };
  const diagram = () => html`<${Sequence} key=${payment.id} steps=${steps} opened=${step} open=${(each) => setOpened(each === step ? null : each)}
    about=${counted(steps.length, "step")} />`;
  const table = () => html`<div class="scroll" tabindex="0" role="region" aria-label="Steps">
    <${Table} label="Messages, in order" columns=${STEPS} rows=${steps} name=${(each) => `${each.seq}${each.kind}`} /></div>`;
  return html`<div class=${classes("timeline", row && "split")} onKeyDown=${escape}><div class="drawn" ref=${box}>${form === "diagram" ? diagram() : table()}</div>
    ${row ? html`<${Exchange} row=${row} says=${step.label} close=${close} />` : html`<${Outcome} details=${details} />`}</div>`;
}

// The payment's ledger, events and code, below the diagram until an arrow is opened.
function Outcome({ details: { events, deliveries, trace } }) {
  const sides = sidesOf(trace);
  const sum = (side) => major(sides.reduce((all, each) => all + each[side], 0));
  const balanced = sum("debit") === sum("credit") ? "balanced" : "not balanced";
  const last = trace.findLast((row) => row.kind === "call" && row.what.startsWith("POST") && requestOf(row));
  const line = ({ account, debit, credit, currency }) => html`<tr key=${account}><th scope="row" title=${account}>${account.split(":").slice(-2).join(":")}</th>
    <td class="num">${debit > 0 && major(debit, currency)}</td><td class="num">${credit > 0 && major(credit, currency)}</td></tr>`;
  const ledger = () => html`<table class="mini"><thead><tr><th scope="col">Account</th><th scope="col" class="num">Debit</th><th scope="col" class="num">Credit</th></tr></thead>
    <tbody>${sides.map(line)}</tbody><tfoot><tr><th scope="row">Total</th><td class="num">${sum("debit")}</td><td class="num">${sum("credit")}</td></tr></tfoot></table>`;
  const part = (label, title, note, shown) => html`<section aria-label=${label}><h2>${title}<span class="dim">${note}</span></h2>${shown}</section>`;
  return html`<div class="outcome">
    ${part("Ledger of this payment", "Ledger", sides.length > 0 && balanced, sides.length ? ledger() : html`<p class="dim">${NO_MONEY}</p>`)}
    ${part("Events of this payment", "Events", events.length || "", html`<${EventList} events=${events} deliveries=${deliveries} brief />`)}
    ${part("The code that did it", "Code", "", last ? html`<${RequestCode} id=${requestOf(last)} label="The last call" fill />` : html`
      <p class="dim">The call that makes a payment stands here.</p>`)}</div>`;
}

const requestOf = (row) => row.detail.response?.headers["Request-Id"] ?? "";

export function RequestCode({ id, label, fill }) {
  const store = useStore();
  const { data, error } = useRead(`/sandbox/requests/${id}/code?base_url=${encodeURIComponent(store.base)}`);
  if (error) return html`<p class="dim">${error.message}</p>`;
  return data && html`<${Codes} codes=${data} label=${label} fill=${fill} />`;
}

// The exchange that an arrow stands for.
function Exchange({ row, says, close }) {
  const name = row.kind === "call" && requestOf(row);
  return html`<section class="exchange" aria-label="The exchange"><header class="sub"><h2 title=${row.what}>${visible(says)}</h2><${When} at=${row.at} /><span class="space" />
    ${name && html`<${Link} to="requests/${name}">Request<//>`}<button type="button" class="icon-button" aria-label="Close" title="Close (Escape)" onClick=${close}>
      <${Icon} name="close" /></button></header>
    <div class="sides">${EXCHANGES[row.kind](row.detail, row)}</div></section>`;
}

const amountOn = (side) => ([own, , minor, currency]) => own === side && money(minor, currency);
const POSTINGS = [["Account", ([, account]) => account, "fill"], ["Debit", amountOn("debit"), "num"], ["Credit", amountOn("credit"), "num"]];
const EXCHANGES = {
  call: ({ request, response, target }) => html`<${Code} label="Request" text=${message(target, request.headers, request.body)} />
    <${Code} label="Response" text=${message(response.status, response.headers, response.body)} />`,
  screen: ({ phone, pressed, words: text }) => html`<${Facts} facts=${[["Handset", phone], ["Pressed", pressed]]} /><${Code} label="Screen" text=${text} />`,
  entry: ({ postings }, { what }) => html`<${Table} label=${what} rows=${postings} name=${(each) => each.join()} columns=${POSTINGS} />`,
  webhook: ({ event, headers, body, answer, fault, delivery }, { result }) => html`<${Code} label="Message" text=${message("POST (the endpoint's URL)", headers, body)} />
    <div><${Facts} facts=${[["Response", result], ["Why", fault], ["Event", html`<${Link} to="webhooks/events/${event}">${shortId(event)}<//>`],
      ["Delivery", html`<${Link} to="webhooks/deliveries/${delivery}">${shortId(delivery)}<//>`]]} />
        ${answer && html`<${Code} label="Body of the response" text=${laidOut(answer) ?? answer} />`}</div>`,
};

// ---- ledger ----------------------------------------------------------------------------------------------------

// The accounts of a payment's entries, each with its postings and the sums of its two sides.
function sidesOf(trace) {
  const accounts = new Map();
  for (const { detail, result, at } of trace.filter((row) => row.kind === "entry")) {
    for (const [side, account, minor, currency] of detail.postings) {
      const key = `${account} ${currency}`;
      if (!accounts.has(key)) accounts.set(key, { account, currency, debit: 0, credit: 0, lines: [] });
      accounts.get(key)[side] += minor;
      accounts.get(key).lines.push({ side, minor, at, entry: words(result) });
    }
  }
  return [...accounts.values()];
}

function Ledger({ details: { trace } }) {
  const { data: all } = useRead("/sandbox/ledger/accounts", ofKind("entry"), { pause: 1000, keep: true });
  const sides = sidesOf(trace);
  if (!sides.length) return html`<${Empty} says=${NO_MONEY} />`;
  const codes = new Map(all?.data.map((each) => [each.account, each.code]));
  const total = (side) => money(sides.reduce((sum, each) => sum + each[side], 0));
  const isEven = total("debit") === total("credit");
  const entries = trace.filter((row) => row.kind === "entry").length;
  return html`<div class="scroll pad"><p class=${isEven ? "good" : "bad"}>
      ${isEven ? "Debits equal credits" : "It does not balance"}: ${total("debit")} and ${total("credit")}, in ${counted(entries, "entry")}.</p>
    <div class="accounts">${sides.map((each) => html`<${TAccount} key=${each.account} account=${each} code=${codes.get(each.account)} />`)}</div></div>`;
}

function TAccount({ account: { account, currency, debit, credit, lines }, code }) {
  const balance = debit - credit;
  const posting = (each) => html`<div class="posting"><span class="dim" title=${each.at}>${each.entry}</span><span class="num">${major(each.minor, currency)}</span></div>`;
  const side = (name, label) => html`<div role="group" aria-label=${label}>${lines.filter((each) => each.side === name).map(posting)}</div>`;
  const sum = html`<b>Balance</b><b class="num">${major(Math.abs(balance), currency)}</b>`;
  return html`<section class="t-account" aria-label="Account ${account}"><h2><${Link} to="money/${account}" title="The statement of ${account}">${code} ${account}<//>
    <small>${ACCOUNTS[code]}</small></h2>
    <div class="t">${side("debit", "Debits")}${side("credit", "Credits")}</div><div class="balance"><span>${balance >= 0 && sum}</span><span>${balance < 0 && sum}</span></div></section>`;
}

// ---- webhooks, code, JSON ---------------------------------------------------------------------------------------

function Webhooks({ details: { events, deliveries } }) {
  return html`<div class="scroll pad"><${EventList} events=${events} deliveries=${deliveries} /></div>`;
}

function CodeOf({ details, phone }) {
  const { base } = useStore();
  const calls = details.trace.filter((row) => row.kind === "call" && requestOf(row));
  const url = `${base}/sandbox/phones/${phone}/input`;
  const pin = {
    curl: `curl '${url}' \\\n  -H "Authorization: Bearer $SECRET_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"text":"1234"}'`,
    python: `bench.phone("${phone}").enter_pin("1234")`,
    javascript: `await fetch("${url}", {\n  method: "POST",\n  headers: { Authorization: \`Bearer \${SECRET_KEY}\`, "Content-Type": "application/json" },\n  body: JSON.stringify({ text: "1234" }),\n});`,
  };
  return html`<div class="scroll pad">${calls.length > CALLS_SHOWN && html`<p class="dim">The last ${CALLS_SHOWN} of ${calls.length} calls.</p>`}
    ${calls.slice(-CALLS_SHOWN).map((row) => html`<section key=${row.seq}><h2><code>${visible(shortId(row.what))}</code> <span class="dim">${row.result}</span></h2>
      <${RequestCode} id=${requestOf(row)} label=${row.what} /></section>`)}
    ${phone && html`<section><h2>The customer enters the PIN</h2><${Codes} codes=${pin} label="The PIN" /></section>`}</div>`;
}

function Json({ details: { payment } }) {
  const store = useStore();
  const path = store.v1(`/${payment.id.startsWith("pi_") ? "payment_intents" : "charges"}/${payment.id}`);
  const { data, text, error } = useRead(path, (row) => row.kind === "payment" && row.id === payment.id);
  if (!data) return html`<div class="scroll pad">${error && html`<p class="dim">${error.message}</p>`}</div>`;
  return html`<div class="scroll pad"><p class="sub"><code>GET ${path}</code><${Copy} text=${text} label="Copy the JSON" /></p>
    <${Code} text=${laidOut(text)} label="JSON" copy=${false} /></div>`;
}
