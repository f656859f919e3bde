// The sandbox itself: keys, operators and what they do, the clock, and what this sandbox assumes.

import { useState } from "./vendor/hooks.js";
import { Action, Field, Pill, Problem, Secret, Table, Value, When, breakable, classes, html, useTask } from "./parts.js";
import { Listing, Search } from "./listing.js";
import { FIRST } from "./payments.js";
import { ofKind, useNow, useRead, useStore } from "./store.js";
import { lusaka, phoneText, span, utc, visible } from "./words.js";

const STEPS = [["+1 min", { minutes: 1 }], ["+1 h", { hours: 1 }], ["+1 day", { days: 1 }]];
const UNITS = ["seconds", "minutes", "hours", "days"];

export function Sandbox() {
  const store = useStore();
  const reset = html`<${Action} label="Reset…" title="Reset the sandbox" confirm="Delete all payments" bad run=${store.reset}
    says="All payments, events and ledger entries are deleted, of every account. Keys, endpoints and the clock stay." />`;
  return html`<div class="page"><div class="sub"><span>Served at <code>${store.base}</code></span><span class="space" /><span class="narrow"><${Clock} /></span>${reset}</div>
    <div class="columns"><div><${Keys} /><${Operators} /></div><div><${Scenarios} /><${Assumptions} /></div></div></div>`;
}

function Section({ label, says, aside, problem, children }) {
  return html`<section class="card" aria-label=${label}><header class="sub"><h2>${label}</h2><span class="space" />${aside}</header>
    <p class="dim">${says}</p><${Problem} problem=${problem} />${children}</section>`;
}

function Keys() {
  const store = useStore();
  const [shown, setShown] = useState(null);
  const task = useTask();
  const { data: own } = useRead(store.listed("/api_keys", 100), ofKind("request"), { pause: 2000 });
  const working = own?.data.filter((each) => each.kind === "secret" && each.status === "active") ?? [];
  const look = () => (shown ? setShown(null) : task.run(async () => setShown(await store.read("/sandbox/keys"))));
  const made = (key) => ({ shown: html`<${Secret} label="${key.kind} key" value=${key.value} says="A new ${key.kind} key." />` });
  const create = async ({ kind }) => made(await store.act("POST", store.v1("/api_keys"), { kind }));
  const roll = (row) => async () => {
    setShown(null);
    return made(await store.act("POST", store.v1(`/api_keys/${row.id}/roll`)));
  };
  const old = store.gaps.key_rotation === "overlap" ? "works for a day more" : "ends at once";
  const last = (row) => working.length === 1 && row.id === working[0].id && "The console calls with this key: roll it instead.";
  const ways = (row) => html`<span class="actions">${row.status === "active" && html`<${Action} label="Roll…" title="Roll ${row.masked}" confirm="Roll" run=${roll(row)}
      says="A new key takes its place, and the old one ${old}: whatever holds the old one needs the new one." />`}
    <${Action} label="Revoke…" title="Revoke ${row.masked}" confirm="Revoke" bad off=${last(row)} says="It ends at once, for good."
      run=${() => store.act("DELETE", store.v1(`/api_keys/${row.id}`))} /></span>`;
  const columns = [
    ["Key", (row) => html`<code>${breakable(row.masked)}</code>`, "fill wrap"],
    ["State", (row) => html`<${Pill} state=${row.status} />`],
    ["Made", (row) => html`<${When} ms=${row.created * 1000} shape="day" />`, "dim"],
    ["", (row) => row.status !== "revoked" && ways(row), "end"],
  ];
  const aside = html`<button type="button" class="quiet small" aria-expanded=${Boolean(shown)} onClick=${look}>${shown ? "Hide keys" : "Show keys"}</button>
    <${Action} label="Create…" title="Create a key" confirm="Create" run=${create}><${Field} label="Kind" name="kind" options=${["secret", "publishable"]} /><//>`;
  return html`<${Section} label="Keys" says="Your shop calls with the secret key, a browser or an app with the publishable one." aside=${aside} problem=${task.problem}>
    ${shown && html`<${Value} label="secret key" value=${shown.secret_key} /><${Value} label="publishable key" value=${shown.publishable_key} />`}
      <${Value} label="base URL" value=${store.base} />
    <${Listing} name="keys" noun="key" path=${store.v1("/api_keys")} columns=${columns} concerns=${ofKind("request")} pause=${2000} /><//>`;
}

function Operators() {
  const store = useStore();
  const now = useNow();
  const { data, error } = useRead("/sandbox/operator", ofKind("clock", "payment"), { pause: 1000, keep: true });
  const outage = (provider, seconds) => store.act("POST", "/sandbox/operator/outage", { provider, seconds });
  const script = ({ phone, answers }) => store.act("POST", "/sandbox/operator/script", { phone: phone.replace(/\s/g, ""), answers: answers.split(/[\s,]+/).filter(Boolean) });
  const way = (row) => row.down_until ? html`<button type="button" class="quiet small" onClick=${() => outage(row.provider, 0)}>End outage</button>`
    : html`<${Action} label="Outage…" title="${store.operator(row.provider)} goes down" confirm="Start outage" bad
      run=${({ minutes }) => outage(row.provider, Math.round(minutes * 60))}
      says="Payments by its wallets fail with operator_unavailable, for as long as you say.">
        <${Field} label="Minutes" name="minutes" type="number" min="0.1" step="0.1" defaultValue="10" required /><//>`;
  const columns = [
    ["Operator", (row) => store.operator(row.provider), "fill"],
    ["State", (row) => html`<${Pill} state=${row.down_until ? "down" : "up"} />`],
    ["Until", (row) => row.down_until && html`<${When} ms=${row.down_until * 1000} shape="time" />, ${span(row.down_until - now / 1000)} more`, "dim"],
    ["", way, "end"],
  ];
  const aside = html`<${Action} label="Script a number…" title="Script a number" confirm="Set"
    says="What the next attempts on a number come to, one after the other; nothing ends a script." run=${script}>
    <${Field} label="Number" name="phone" defaultValue="+260961234567" />
      <${Field} label="Outcomes, in order" name="answers" defaultValue="insufficient_funds, approve" hint=${store.offers.scenarios.join(", ")} wide /><//>`;
  return html`<${Section} label="Operators" says="Who moves the money. An outage is theirs; a script is a customer's." aside=${aside} problem=${error}>
    <${Table} label="Operators" rows=${data?.data ?? []} columns=${columns} name=${(row) => row.provider} /><//>`;
}

function Scenarios() {
  const store = useStore();
  const { test_numbers: numbers, operators, scenarios, pin } = store.offers;
  const use = (ending) => {
    store.kept.draft = { ...FIRST, ...store.kept.draft, phone: `+260${operators[0].prefixes[0]}${ending}`, provider: operators[0].id };
    store.go("payments/new");
  };
  const columns = [
    ["Ends in", (row) => html`<code>${row.ending}</code>`], ["What happens", (row) => row.says, "fill wrap"],
    ["", (row) => html`<button type="button" class="quiet small" onClick=${() => use(row.ending)}>Use</button>`, "end"],
  ];
  const named = operators.map((each) => `${phoneText(`+260${each.prefixes[0]}`)}… ${each.name}`).join(", ");
  return html`<${Section} label="Scenarios" says="By the number: ${named}. Any other number waits for you on the phone; every PIN is ${pin}.">
    <${Table} label="Test numbers" rows=${numbers} columns=${columns} name=${(row) => row.ending} />
    <p class="dim">By the header Sandbox-Scenario: ${scenarios.map((each, place) => html`${place > 0 && ", "}<code>${each}</code>`)}.</p><//>`;
}

function Assumptions() {
  const [text, setText] = useState("");
  const [all, setAll] = useState(false);
  const { data, error } = useRead("/sandbox/gaps");
  const isSwitched = (row) => String(row.value) !== String(row.default);
  const says = (row) => (isSwitched(row) ? row.alternatives.find((each) => String(each.value) === String(row.value))?.says : row.says);
  const rows = (data?.data ?? []).filter((row) => (all || isSwitched(row)) && `${row.name} ${row.asks} ${row.says}`.toLowerCase().includes(text.toLowerCase()));
  const columns = [
    ["Row", (row) => html`<a href=${row.page} target="_blank" rel="noopener" title=${row.asks}>${row.name}</a>`],
    ["Value", (row) => html`<code class=${isSwitched(row) ? "set" : "dim"}>${String(row.value)}</code>`],
    ["What it means", (row) => visible(says(row)), "fill wrap"],
  ];
  const aside = html`<button type="button" class="quiet small" aria-pressed=${all} onClick=${() => setAll(!all)}>
    ${all ? "Only what is switched" : `All ${data?.data.length ?? ""} rows`}</button>`;
  return html`<${Section} label="Assumptions" says="What the provider's documentation leaves open, and what this sandbox does. workbench serve --gaps FILE switches rows."
    aside=${aside} problem=${error}>
    ${all && html`<${Search} label="Search assumptions" change=${setText} />`}
    <${Table} label="Rows of the register" rows=${rows} columns=${columns} name=${(row) => row.name}
      empty=${text ? "No row matches." : "Nothing is switched: every row has its default."} /><//>`;
}

// The sandbox's time, and buttons that move the clock.
export function Clock() {
  const store = useStore();
  const now = useNow();
  const task = useTask();
  if (!store.clock) return null;
  const advance = (by) => store.act("POST", "/sandbox/clock/advance", by);
  const isLive = store.isOn();
  const hears = isLive ? "The page hears of every change." : "The sandbox does not respond: the page goes on when it is back.";
  const runs = store.clock.mode === "manual" ? "It stands until you move it." : "It runs.";
  const step = ([label, by]) => html`<button type="button" class="quiet small" disabled=${task.busy} title="Move the clock; what falls due happens"
    onClick=${() => task.run(() => advance(by))}>${label}</button>`;
  return html`<div class="clock" role="group" aria-label="Clock"><span class=${classes("lamp", isLive ? "good" : "bad")} title=${hears} />
    <time class="now" datetime=${new Date(now).toISOString()} title="${lusaka(now)} in Lusaka, ${utc(now)}. ${runs}">${lusaka(now, "clock")}<span class="dim"> Lusaka</span></time>
    ${STEPS.map(step)}<${Action} label="…" title="Move the clock" confirm="Move" run=${({ count, unit }) => advance({ [unit]: Number(count) })}
      says="Prompts expire, retries are sent and money is cleared on the way. It cannot be moved back.">
      <${Field} label="By" name="count" type="number" min="0" step="any" defaultValue="5" required /><${Field} label="Of what" name="unit" options=${UNITS}
        defaultValue="minutes" /><//>
    <span class="toast"><${Problem} problem=${task.problem} /></span></div>`;
}
