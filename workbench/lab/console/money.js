// The merchant's money: balance, payouts, suspense, and the trial balance with the statement of each account.

import { Action, Field, Icon, Lately, Link, Pill, Problem, Table, html } from "./parts.js";
import { Listing } from "./listing.js";
import { ofKind, useRead, useStore } from "./store.js";
import { Settle } from "./payment.js";
import { ACCOUNTS, counted, decimals, major, minorOf, money, moneyOf, words } from "./words.js";

const MOST = 200;
const OFTEN = { pause: 400, keep: true };
const MOVED = ofKind("entry", "clock");
const SUMS = [
  ["available", "Available", "Can be paid out."],
  ["pending", "Pending", "Cleared at midnight in Lusaka, then available."],
  ["owed", "Owed", "You owe the service this; it is taken from what is cleared."],
  ["suspense", "In suspense", "Came after its payment had failed, and is nobody's yet."],
];

export function Money({ place: [account] }) {
  const store = useStore();
  const { data: balance, error } = useRead(store.v1("/balance"), MOVED, OFTEN);
  const sum = ([name, label, says]) => html`<div class="sum" key=${name} title=${says}><span class="dim">${label}</span>
    <b>${balance ? balance[name]?.map(moneyOf).join(", ") || money(0) : "–"}</b></div>`;
  return html`<div class="page"><${Problem} problem=${error} /><div class="sums">${SUMS.map(sum)}<span class="space" /><${PayOut} available=${balance?.available?.[0]} /></div>
    <div class="columns"><div>${account ? html`<${Statement} key=${account} account=${account} />` : html`<${Trial} />`}</div><div><${Suspense} /><${Payouts} /></div></div></div>`;
}

function PayOut({ available = { amount: 0, currency: "ZMW" } }) {
  const store = useStore();
  const { amount: most, currency } = available;
  const off = Number(most) <= 0 && "Nothing is available: pending money is cleared at midnight in Lusaka.";
  const run = ({ amount, destination }) => {
    const digits = major(minorOf(amount, currency) ?? 0, currency).replaceAll(",", "");
    return store.act("POST", store.v1("/payouts"), JSON.stringify({ amount: "@", currency, destination: destination || undefined }).replace('"@"', digits));
  };
  return html`<${Action} label="Pay out…" title="Pay out to your bank" confirm="Pay out" kind="primary" off=${off} run=${run}
    says="The sum leaves what is available now, and the bank takes it with the night's clearing.">
    <${Field} label="Amount in ${currency}" name="amount" inputmode="decimal" defaultValue=${Number(most).toFixed(decimals(currency))} hint="At most ${moneyOf(available)}" />
    <${Field} label="Destination" name="destination" hint="Your own name for an account" /><//>`;
}

function Trial() {
  const { data, error } = useRead("/sandbox/ledger/accounts", MOVED, OFTEN);
  const { data: chain } = useRead("/sandbox/ledger/verify", ofKind("entry"), { pause: 3000, keep: true });
  const rows = data?.data ?? [];
  const side = (row, sign) => Math.max(0, sign * (row.debit_minor - row.credit_minor));
  const total = (sign, currency) => major(rows.filter((row) => row.currency === currency).reduce((sum, row) => sum + side(row, sign), 0), currency);
  const shown = (sign) => (row) => side(row, sign) > 0 && major(side(row, sign), row.currency);
  const columns = [
    ["Code", (row) => row.code, "dim"], ["Account", (row) => html`<span title=${ACCOUNTS[row.code]}>${row.account}</span>`, "fill"],
    ["Debit", shown(1), "num"], ["Credit", shown(-1), "num"],
  ];
  const currencies = [...new Set(rows.map((row) => row.currency))];
  const foot = currencies.map((each) => html`<tr><td colspan="2">Total ${each}</td><td class="num">${total(1, each)}</td><td class="num">${total(-1, each)}</td></tr>`);
  const isEven = currencies.every((each) => total(1, each) === total(-1, each));
  return html`<section aria-label="Trial balance"><header class="sub"><h2>Trial balance</h2>
    ${rows.length > 0 && html`<span class=${isEven ? "good" : "bad"}>${isEven ? "debits equal credits" : "it does not balance"}</span>`}
      <span class="space" />${chain?.entries > 0 && html`<span class=${!chain.holds && "bad"} title=${chain.head}>
        ${chain.holds ? `the chain of ${counted(chain.entries, "entry")} holds` : chain.message}</span>`}</header>
    <${Problem} problem=${error} /><${Table} label="Trial balance" rows=${rows} columns=${columns} foot=${rows.length > 0 && foot} to=${(row) => `money/${row.account}`}
      name=${(row) => `${row.account} ${row.currency}`} empty="No entry yet: accounts appear with the first payment." /></section>`;
}

function Statement({ account }) {
  const { data, error } = useRead(`/sandbox/ledger/movements?account=${account}`, MOVED, { pause: 1000, keep: true });
  const all = data?.data ?? [];
  const amount = (direction) => (row) => row.direction === direction && money(row.amount_minor, row.currency);
  const columns = [
    ["When", (row) => html`<${Lately} at=${row.occurred_at} />`, "dim"],
    ["Entry", (row) => words(row.kind)],
    ["Payment", (row) => row.payment && html`<${Link} to="payments/${row.payment}">${row.payment.slice(0, 11)}…<//>`, "fill"],
    ["In", amount("in"), "num"], ["Out", amount("out"), "num"],
    ["Fee", (row) => row.fee_minor > 0 && money(row.fee_minor, row.currency), "num dim"],
  ];
  return html`<section aria-label="Statement"><header class="sub"><${Link} to="money" class="icon-button" label="Back to the trial balance"><${Icon} name="back" /><//>
    <h2>${account}</h2><span class="space" />${all.length > MOST && `the last ${MOST} of `}${counted(all.length, "movement")}</header>
    <${Problem} problem=${error} /><${Table} label="Statement of ${account}" rows=${all.slice(-MOST).reverse()} columns=${columns} name=${(row) => row.number}
      empty="Nothing moved on it." /></section>`;
}

function Suspense() {
  const { data } = useRead("/sandbox/suspense", ofKind("entry"), OFTEN);
  const columns = [
    ["Amount", moneyOf, "num strong"],
    ["Payment", (row) => html`<${Link} to="payments/${row.payment_intent ?? row.charge}">${row.phone}<//>`, "fill"],
    ["State", (row) => html`<${Pill} state=${row.status} />`],
    ["Came", (row) => html`<${Lately} ms=${row.since * 1000} />`, "dim"],
    ["", (row) => !row.settled_by && html`<span class="actions"><${Settle} item=${row} /></span>`, "end"],
  ];
  return html`<section aria-label="Suspense"><header class="sub"><h2>Suspense</h2></header>
    <${Table} label="Late money" rows=${(data?.data ?? []).slice(-MOST).reverse()} columns=${columns} empty="No money came late." /></section>`;
}

function Payouts() {
  const store = useStore();
  const columns = [
    ["Amount", moneyOf, "num strong"], ["To", (row) => row.destination, "fill dim"],
    ["State", (row) => html`<${Pill} state=${row.status} also=${row.failure_code} says=${row.failure_message} />`],
    ["Asked", (row) => html`<${Lately} ms=${row.created * 1000} />`, "dim end"],
  ];
  return html`<section aria-label="Payouts"><header class="sub"><h2>Payouts</h2></header>
    <${Listing} name="payouts" noun="payout" path=${store.v1("/payouts")} columns=${columns} concerns=${MOVED} empty="No payout yet." /></section>`;
}
