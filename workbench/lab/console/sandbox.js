// The sandbox itself: keys, operators and what they do, the clock, and what this sandbox assumes.

import { useState } from "./vendor/hooks.js";
import { Action, Copy, Field, Pill, Problem, Secret, Table, When, html, usePages, useTask } from "./parts.js";
import { of, useNow, useRead, useStore } from "./store.js";
import { lusaka, phoneText, span, visible } from "./words.js";

const NO_HEADING = html`<span class="unseen">Actions</span>`;
const UNITS = ["seconds", "minutes", "hours", "days"];

export function Sandbox() {
  return html`<div class="page"><div class="columns"><div class="stack"><${Keys} /><${Operators} /><${ClockOf} /></div><div class="stack"><${Numbers} /><${Rows} /></div></div></div>`;
}

function Section({ label, says, aside, children }) {
  return html`<section class="card" aria-label=${label}><header class="sub"><h2>${label}</h2><span class="space" />${aside}</header>${says && html`<p class="dim">${says}</p>`}${children}</section>`;
}

function Keys() {
  const store = useStore();
  const [shown, setShown] = useState(null);
  const task = useTask();
  const pages = usePages("/api_keys");
  const { data, error } = useRead(pages.path, of("request"), { pause: 2000, keep: true });
  const look = () => (shown ? setShown(null) : task.run(async () => setShown(await store.read("/sandbox/keys"))));
  const old = store.gaps.key_rotation === "overlap" ? "works for a day more" : "ends at once";
  const made = (key) => html`<${Secret} label="the new key" value=${key.value} says="A new ${key.kind} key." />`;
  const roll = (row) => async () => {
    setShown(null);
    return made(await store.act("POST", store.v1(`/api_keys/${row.id}/roll`)));
  };
  const columns = [
    ["Key", (row) => html`<code>${row.masked}</code>`, "fill"],
    ["State", (row) => html`<${Pill} state=${row.status} />`],
    ["Made", (row) => html`<${When} ms=${row.created * 1000} shape="day" />`, "dim"],
    [NO_HEADING, (row) => row.status !== "revoked" && html`<span class="actions">${row.status === "active" && html`<${Action} label="Roll…" title="Roll ${row.masked}" confirm="Roll" says="A new key takes its place, and the old one ${old}: whatever holds the old one needs the new one." run=${roll(row)} />`}
      <${Action} label="Revoke…" title="Revoke ${row.masked}" confirm="Revoke" bad says="It ends at once, for good." run=${() => store.act("DELETE", store.v1(`/api_keys/${row.id}`))} /></span>`, "end"],
  ];
  const value = (name, label) => html`<p class="once"><span class="dim">${label}</span><code>${shown[name]}</code><${Copy} text=${shown[name]} label="Copy the ${label}" bare /></p>`;
  return html`<${Section} label="Keys" says="Your shop calls with the secret key, a browser or an app with the publishable one." aside=${html`<button type="button" class="quiet small" aria-expanded=${Boolean(shown)} onClick=${look}>${shown ? "Hide keys" : "Show keys"}</button>
      <${Action} label="Create…" title="Create a key" confirm="Create" run=${async ({ kind }) => made(await store.act("POST", store.v1("/api_keys"), { kind }))}><${Field} label="Kind" name="kind" options=${["secret", "publishable"]} /><//>`}>
    <${Problem} problem=${task.problem ?? error} />${shown && html`${value("secret_key", "secret key")}${value("publishable_key", "publishable key")}`}
    <p class="once"><span class="dim">base URL</span><code>${store.base}</code><${Copy} text=${store.base} label="Copy the base URL" bare /></p>
    <${Table} label="Keys" rows=${data?.data ?? []} columns=${columns} /><//>`;
}

function Operators() {
  const store = useStore();
  const now = useNow();
  const { data, error } = useRead("/sandbox/operator", of("clock", "payment"), { pause: 1000, keep: true });
  const name = (id) => store.offers.operators.find((each) => each.id === id)?.name ?? id;
  const outage = (provider, seconds) => store.act("POST", "/sandbox/operator/outage", { provider, seconds });
  const columns = [
    ["Operator", (row) => name(row.provider), "fill"],
    ["State", (row) => html`<${Pill} state=${row.down_until ? "down" : "up"} />`],
    ["Until", (row) => row.down_until ? html`<span class="dim">until <${When} ms=${row.down_until * 1000} shape="time" />, ${span(row.down_until - now / 1000)} more</span>` : "", "dim"],
    [NO_HEADING, (row) => (row.down_until ? html`<button type="button" class="quiet small" onClick=${() => outage(row.provider, 0)}>End outage</button>`
      : html`<${Action} label="Outage…" title="${name(row.provider)} goes down" confirm="Start outage" bad says="Payments by its wallets fail with operator_unavailable, for as long as you say." run=${({ minutes }) => outage(row.provider, Math.round(Number(minutes) * 60))}>
        <${Field} label="Minutes" name="minutes" type="number" min="0.1" step="0.1" defaultValue="10" required /><//>`), "end"],
  ];
  const script = ({ phone, answers }) => store.act("POST", "/sandbox/operator/script", { phone: phone.replace(/\s/g, ""), answers: answers.split(/[\s,]+/).filter(Boolean) });
  return html`<${Section} label="Operators" aside=${html`<${Action} label="Script a number…" title="Script a number" confirm="Set" says="What the next attempts on a number come to, one after the other; nothing ends a script." run=${script}>
      <${Field} label="Number" name="phone" defaultValue="+260961234567" /><${Field} label="Outcomes, in order" name="answers" list="wb-scenarios" defaultValue="insufficient_funds, approve" hint=${store.offers.scenarios.join(", ")} wide /><//>`}>
    <${Problem} problem=${error} /><${Table} label="Operators" rows=${data?.data ?? []} columns=${columns} name=${(row) => row.provider} /><//>`;
}

function ClockOf() {
  const store = useStore();
  const now = useNow();
  const { data: clock } = useRead("/sandbox/clock", of("clock"), { keep: true });
  const advance = ({ count, unit }) => store.act("POST", "/sandbox/clock/advance", unit === "seconds" ? { seconds: Number(count) } : { [unit]: Number(count) });
  return html`<${Section} label="Clock" says=${store.clock.mode === "manual" ? "It stands until you move it; what falls due then happens." : "It runs. Moved, it goes on from there, and what falls due happens."}
      aside=${html`<${Action} label="Move…" title="Move the clock" confirm="Move" says="Prompts expire, retries are sent and money is cleared on the way. It cannot be moved back." run=${advance}><${Field} label="By" name="count" type="number" min="0" step="any" defaultValue="5" required /><${Field} label="Of what" name="unit" options=${UNITS} defaultValue="minutes" /><//>
      <${Action} label="Reset…" title="Reset the sandbox" confirm="Delete all payments" bad says="All payments, events and ledger entries are deleted, of every account. Keys, endpoints and the clock stay." run=${() => store.act("POST", "/sandbox/reset")} />`}>
    <p><b>${lusaka(now)}</b> <span class="dim">Lusaka; business day ${clock?.business_date ?? ""}</span></p><//>`;
}

function Numbers() {
  const store = useStore();
  const { test_numbers: numbers, operators } = store.offers;
  const try_ = (ending) => {
    const phone = `+260${operators[0]?.prefixes[0]}${ending}`;
    store.kept.draft = { ...(store.kept.draft ?? { amount: "150.00", description: "Monstera", calls: "two", key: "", scenario: "" }), phone, provider: operators[0]?.id };
    store.go("payments/new");
  };
  const columns = [
    ["Ends in", (row) => html`<code>${row.ending}</code>`],
    ["What happens", (row) => row.says, "fill wrap"],
    [NO_HEADING, (row) => html`<button type="button" class="quiet small" onClick=${() => try_(row.ending)}>Use</button>`, "end"],
  ];
  return html`<${Section} label="Scenarios" says=${`By the number: ${operators.map((each) => `${phoneText(`+260${each.prefixes[0]}`)}… ${each.name}`).join(", ")}. Any other number waits for you on the phone; every PIN is ${store.offers.pin}.`}>
    <${Table} label="Test numbers" rows=${numbers} columns=${columns} name=${(row) => row.ending} /><p class="dim">By the header Sandbox-Scenario: ${store.offers.scenarios.map((each, place) => html`${place ? ", " : ""}<code>${each}</code>`)}.</p><//>`;
}

function Rows() {
  const [text, setText] = useState("");
  const [all, setAll] = useState(false);
  const { data, error } = useRead("/sandbox/gaps");
  const isSwitched = (row) => String(row.value) !== String(row.default);
  const rows = (data?.data ?? []).filter((row) => (all || isSwitched(row)) && `${row.name} ${row.asks} ${row.says}`.toLowerCase().includes(text.toLowerCase()));
  const says = (row) => (isSwitched(row) ? (row.alternatives.find((each) => String(each.value) === String(row.value))?.says ?? "") : row.says);
  const columns = [
    ["Row", (row) => html`<a href=${row.page} target="_blank" rel="noopener" title=${row.asks}>${row.name}</a>`],
    ["Value", (row) => html`<code class=${isSwitched(row) ? "set" : "dim"}>${String(row.value)}</code>`],
    ["What it means", (row) => html`<span title=${row.asks}>${visible(says(row))}</span>`, "fill wrap"],
  ];
  return html`<${Section} label="Assumptions" says="What the provider's documentation leaves open, and what this sandbox does. Rows are switched with workbench serve --gaps FILE."
      aside=${html`<button type="button" class="quiet small" aria-pressed=${all} onClick=${() => setAll(!all)}>${all ? "Only what is switched" : `All ${data?.data.length ?? ""} rows`}</button>`}>
    <${Problem} problem=${error} />${all && html`<input type="search" aria-label="Search assumptions" placeholder="Search assumptions" data-search onInput=${(event) => setText(event.currentTarget.value)} />`}
    <${Table} label="Rows of the register" rows=${rows} columns=${columns} name=${(row) => row.name} empty=${text ? "No row matches." : "Nothing is switched: every row has its default."} /><//>`;
}
