// The merchant's money: balance, payouts, suspense, and the trial balance with the statement of each account.

import { Action, Field, Icon, Lately, Link, Pager, Pill, Problem, Table, html, usePages } from "./parts.js";
import { of, useRead, useStore } from "./store.js";
import { Late } from "./payment.js";
import { ACCOUNTS, counted, decimals, major, minorOf, money, moneyOf, words } from "./words.js";

const SUMS = [
  ["available", "Available", "Can be paid out."],
  ["pending", "Pending", "Cleared at midnight in Lusaka, then available."],
  ["owed", "Owed", "You owe the service this; it is taken from what is cleared."],
  ["suspense", "In suspense", "Came after its payment had failed, and is nobody's yet."],
];

export function Money({ place: [account] }) {
  const store = useStore();
  const { data: balance, error } = useRead(store.v1("/balance"), of("entry", "clock"), { pause: 400, keep: true });
  const sum = (name) => balance?.[name]?.map(moneyOf).join(", ") || money(0);
  return html`<div class="page"><${Problem} problem=${error} /><div class="sums">${SUMS.map(([name, label, says]) => html`<div class="sum" key=${name} title=${says}><span class="dim">${label}</span><b>${balance ? sum(name) : "–"}</b></div>`)}
      <span class="space" /><${PayOut} available=${balance?.available?.[0]} /></div>
    <div class="columns"><div class="stack">${account ? html`<${Statement} key=${account} account=${account} />` : html`<${Trial} />`}</div><div class="stack"><${Suspense} /><${Payouts} /></div></div></div>`;
}

function PayOut({ available }) {
  const store = useStore();
  const currency = available?.currency ?? "ZMW";
  const most = available ? moneyOf(available) : "";
  const isNothing = !available || Number(available.amount) <= 0;
  const run = ({ amount, destination }) => store.act("POST", store.v1("/payouts"), `{"amount": ${major(minorOf(amount, currency) ?? 0, currency).replaceAll(",", "")}, "currency": "${currency}"${destination ? `, "destination": ${JSON.stringify(destination)}` : ""}}`);
  return html`<${Action} label="Pay out…" title="Pay out to your bank" confirm="Pay out" kind="primary" small=${false} off=${isNothing ? "Nothing is available: pending money is cleared at midnight in Lusaka." : ""} says="The sum leaves what is available now, and the bank takes it with the night's clearing." run=${run}>
    <${Field} label="Amount in ${currency}" name="amount" inputmode="decimal" defaultValue=${available ? Number(available.amount).toFixed(decimals(currency)) : ""} hint="At most ${most}" /><${Field} label="Destination" name="destination" hint="Your own name for an account" /><//>`;
}

function Trial() {
  const { data, error } = useRead("/sandbox/ledger/accounts", of("entry", "clock"), { pause: 400, keep: true });
  const { data: chain } = useRead("/sandbox/ledger/verify", of("entry"), { pause: 3000, keep: true });
  const rows = data?.data ?? [];
  const side = (row) => row.debit_minor - row.credit_minor;
  const total = (sign, currency) => rows.filter((row) => row.currency === currency).reduce((sum, row) => sum + Math.max(0, sign * side(row)), 0);
  const columns = [
    ["Code", (row) => row.code, "dim"],
    ["Account", (row) => html`<span title=${ACCOUNTS[row.code] ?? ""}>${row.account}</span>`, "fill"],
    ["Debit", (row) => (side(row) > 0 ? major(side(row), row.currency) : ""), "num"],
    ["Credit", (row) => (side(row) < 0 ? major(-side(row), row.currency) : ""), "num"],
  ];
  const currencies = [...new Set(rows.map((row) => row.currency))];
  const foot = currencies.map((currency) => html`<tr><td colspan="2">Total ${currency}</td><td class="num">${major(total(1, currency), currency)}</td><td class="num">${major(total(-1, currency), currency)}</td></tr>`);
  const isEven = currencies.every((currency) => total(1, currency) === total(-1, currency));
  return html`<section aria-label="Trial balance"><header class="sub"><h2>Trial balance</h2>${rows.length > 0 && html`<span class=${isEven ? "good" : "bad"}>${isEven ? "debits equal credits" : "it does not balance"}</span>`}<span class="space" />
      ${chain && chain.entries > 0 && html`<span class=${chain.holds ? "dim" : "bad"} title=${chain.head}>${chain.holds ? `the chain of ${counted(chain.entries, "entry")} holds` : chain.message}</span>`}</header>
    <${Problem} problem=${error} /><${Table} label="Trial balance" rows=${rows} columns=${columns} foot=${rows.length > 0 && foot} to=${(row) => `money/${row.account}`} name=${(row) => `${row.account} ${row.currency}`} empty="No entry yet: accounts appear with the first payment." /></section>`;
}

function Statement({ account }) {
  const { data, error } = useRead(`/sandbox/ledger/movements?account=${account}`, of("entry", "clock"), { pause: 1000, keep: true });
  const rows = (data?.data ?? []).slice(-200).reverse();
  const columns = [
    ["When", (row) => html`<${Lately} ms=${Date.parse(row.occurred_at)} />`, "dim"],
    ["Entry", (row) => words(row.kind)],
    ["Payment", (row) => row.payment && html`<${Link} to="payments/${row.payment}">${row.payment.slice(0, 11)}…<//>`, "fill"],
    ["In", (row) => (row.direction === "in" ? money(row.amount_minor, row.currency) : ""), "num"],
    ["Out", (row) => (row.direction === "out" ? money(row.amount_minor, row.currency) : ""), "num"],
    ["Fee", (row) => (row.fee_minor ? money(row.fee_minor, row.currency) : ""), "num dim"],
  ];
  return html`<section aria-label="Statement"><header class="sub"><${Link} to="money" class="icon-button" label="Back to the trial balance"><${Icon} name="back" /><//><h2>${account}</h2><span class="space" />${data && html`<span class="dim">${data.data.length > 200 ? "the last 200 of " : ""}${counted(data.data.length, "movement")}</span>`}</header>
    <${Problem} problem=${error} /><${Table} label="Statement of ${account}" rows=${rows} columns=${columns} name=${(row) => row.number} empty="Nothing moved on it." /></section>`;
}

function Suspense() {
  const { data } = useRead("/sandbox/suspense", of("entry"), { pause: 400, keep: true });
  const rows = [...(data?.data ?? [])].reverse().slice(0, 100);
  const columns = [
    ["Amount", (row) => moneyOf(row), "num strong"],
    ["Payment", (row) => html`<${Link} to="payments/${row.payment_intent ?? row.charge}">${row.phone}<//>`, "fill"],
    ["State", (row) => html`<${Pill} state=${row.status} />`],
    ["Came", (row) => html`<${Lately} ms=${row.since * 1000} />`, "dim"],
    [html`<span class="unseen">Actions</span>`, (row) => (row.settled_by ? "" : html`<span class="actions"><${Late} item=${row} bare /></span>`), "end"],
  ];
  return html`<section aria-label="Suspense"><header class="sub"><h2>Suspense</h2></header><${Table} label="Late money" rows=${rows} columns=${columns} empty="No money came late." /></section>`;
}

function Payouts() {
  const pages = usePages("/payouts");
  const { data, error } = useRead(pages.path, of("entry", "clock"), { pause: 400, keep: true });
  const columns = [
    ["Amount", (row) => moneyOf(row), "num strong"],
    ["To", (row) => row.destination ?? "", "fill dim"],
    ["State", (row) => html`<${Pill} state=${row.status} also=${row.failure_code} says=${row.failure_message ?? ""} />`],
    ["Asked", (row) => html`<${Lately} ms=${row.created * 1000} />`, "dim end"],
  ];
  return html`<section aria-label="Payouts"><header class="sub"><h2>Payouts</h2></header><${Problem} problem=${error} /><${Table} label="Payouts" rows=${data?.data ?? []} columns=${columns} empty="No payout yet." /><${Pager} says="" ...${pages.turn(data)} /></section>`;
}
