// Webhooks: events with their deliveries and attempts, dead letters and replay, and the endpoints that they go to.

import { Action, Code, Empty, Facts, Field, Id, Lately, Link, Pill, Problem, Secret, Table, Tabs, Title, When, breakable, html } from "./parts.js";
import { Listing } from "./listing.js";
import { ofKind, useNow, useRead, useStore } from "./store.js";
import { laidOut, lusaka, shortId, span, visible } from "./words.js";

const FAMILIES = ["payment_intent.*", "charge.*", "refund.*", "payout.*", "suspense.*", "webhook_endpoint.*", "collection.*"];
const FAULTS = { duplicate: "Deliver everything twice", out_of_order: "Deliver out of order" };
const EVERY = "* for all, or types and families, separated by commas: charge.*, refund.failed";
const CHOOSE = { deliveries: "a delivery", events: "an event", endpoints: "an endpoint" };

function Sends({ label, title, says, path }) {
  const store = useStore();
  return html`<${Action} label=${label} title=${title} confirm="Send it" says=${says} run=${() => store.act("POST", store.v1(path))} />`;
}

function Replay({ delivery: { id, event_type: type, url, status } }) {
  const says = `The same message goes to ${url} once more, now, with the same id; a handler that has seen it should do nothing.`;
  return html`<${Sends} label=${status === "delivered" ? "Send again…" : "Replay…"} title="Send ${type} again" says=${says} path="/deliveries/${id}/replay" />`;
}

function ReplayEvent({ id }) {
  return html`<${Sends} label="Send…" title="Send this event" says="It goes to every enabled endpoint that takes it, now." path="/events/${id}/replay" />`;
}

// ---- of one payment --------------------------------------------------------------------------------------------

// The events of a payment, each with where it went; `brief` for a line each.
export function EventList({ events, deliveries, brief }) {
  const { data: endpoints } = useEndpoints();
  const isDeaf = endpoints && !endpoints.data.some((each) => each.status === "enabled");
  if (!events.length) return html`<p class="dim">No event yet.</p>`;
  const sent = (event, show) => deliveries.filter((each) => each.event === event.id).map(show);
  const name = (event) => html`<${Link} to="webhooks/events/${event.id}" title=${event.type}>${event.type}<//>`;
  const nowhere = () => html`<${Pill} state="nowhere" />`;
  const line = (event) => {
    const codes = sent(event, (each) => html`<span class=${{ delivered: "good", dead_letter: "bad" }[each.status] ?? "dim"}
      title="${each.url}: ${each.status}">${tried(each)}</span>`);
    return html`<li key=${event.id}>${name(event)}<span class="space" />${codes.length || isDeaf ? codes : nowhere()}</li>`;
  };
  if (brief) return html`<ul class="plain">${events.map(line)}</ul>${isDeaf && html`<p><${AddEndpoint} /></p>`}`;
  const whole = (event) => {
    const all = sent(event, (each) => html`<${Delivery} key=${each.id} delivery=${each} />`);
    return html`<section class="event" key=${event.id}><header class="sub"><h2>${name(event)}</h2><${When} ms=${event.created * 1000} shape="time" /><${Id} id=${event.id} />
      <span class="space" />${!all.length && html`${nowhere()}${!isDeaf && html`<${ReplayEvent} id=${event.id} />`}`}</header>${all}</section>`;
  };
  return html`${isDeaf && html`<div class="strip"><span>No endpoint is enabled: events go nowhere.</span><${AddEndpoint} kind="primary" /></div>`}${events.map(whole)}`;
}

// The outcome of the last attempt in a word, and the number of attempts.
function tried({ attempts, status }) {
  if (!attempts.length) return status === "dead_letter" ? "not sent" : "due";
  return `${attempts.at(-1).status_code ?? "no response"}${attempts.length > 1 ? ` ×${attempts.length}` : ""}`;
}

// The columns of attempts: their times, with the day of each where they span days.
const attemptColumns = (attempts) => [
  ["No.", (each) => each.number, "num"],
  ["Time", ({ at }) => html`<${When} ms=${at * 1000} shape=${new Set(attempts.map((each) => lusaka(each.at * 1000, "day"))).size > 1 ? "whole" : "time"} />`],
  ["Response", ({ status_code: code }) => html`<b class=${code >= 200 && code < 300 ? "good" : "bad"}>${code ?? "none"}</b>`],
  ["Took", (each) => `${each.latency_ms} ms`, "num"],
  ["Why, or what it said", (each) => html`<span class="mono" title=${visible(each.answer)}>${visible((each.fault ?? each.answer.trim()).slice(0, 200))}</span>`, "fill wrap"],
];

// A delivery: its endpoint and each attempt; if `whole`, with the body of the last response.
function Delivery({ delivery, whole }) {
  const now = useNow(Boolean(delivery.next_attempt_at));
  const { id, url, status, attempts, endpoint, next_attempt_at: next } = delivery;
  const said = whole && attempts.at(-1)?.answer;
  return html`<div class="delivery"><p class="sub"><${Link} to="webhooks/endpoints/${endpoint}" title="Delivery ${id}"><code>${visible(url)}</code><//><${Pill} state=${status} />
    ${next && html`<span>next attempt in ${span(next - now / 1000)}, at <${Lately} ms=${next * 1000} /></span>`}<span class="space" />
      <${Replay} delivery=${delivery} /></p>
    <${Table} label="Attempts at ${id}" columns=${attemptColumns(attempts)} rows=${attempts} name=${(each) => each.number} empty="No attempt yet." />
    ${said && html`<${Code} text=${laidOut(said) ?? said} label="What it responded" />`}</div>`;
}

// ---- the view --------------------------------------------------------------------------------------------------

export function useDeadLetters() {
  const store = useStore();
  const { data } = useRead(`${store.listed("/deliveries", 10)}&status=dead_letter`, ofKind("delivery"), { pause: 1000, keep: true });
  return data ? `${data.data.length || ""}${data.has_more ? "+" : ""}` : "";
}

export function Webhooks({ place: [tab = "deliveries", id], dead }) {
  const store = useStore();
  const [list, detail] = { deliveries: [Deliveries, EventDetail], events: [Events, EventDetail], endpoints: [Endpoints, EndpointDetail] }[tab];
  const tabs = [["deliveries", "Deliveries", dead, "bad"], ["events", "Events"], ["endpoints", "Endpoints"]];
  return html`<div class="two"><section class="list" aria-label="Webhooks">
      <${Tabs} label="Webhooks" chosen=${tab} choose=${(each) => store.go(`webhooks/${each}`)} tabs=${tabs}><${list} id=${id} dead=${dead} /><//></section>
    <section class="detail" aria-label="Details">${id ? html`<${detail} key=${id} id=${id} />` : html`<${Empty} says="Choose ${CHOOSE[tab]} to see all of it." />`}
      </section></div>`;
}

function Deliveries({ id, dead }) {
  const store = useStore();
  const { data: endpoints } = useEndpoints();
  const columns = [
    ["Event", (row) => breakable(row.event_type), "fill wrap"],
    ["To", (row) => html`<span title=${visible(row.url)}>${visible(row.url.replace(/^https?:\/\//, ""))}</span>`, "dim fill roomy"],
    ["State", (row) => html`<${Pill} state=${row.status} also=${row.status === "delivered" ? "" : tried(row)} />`],
    ["Made", (row) => html`<${Lately} ms=${row.created * 1000} />`, "dim end"],
  ];
  const fields = [["status", "State", ["pending", "delivered", "dead_letter"]], ["endpoint", "Endpoint", (endpoints?.data ?? []).map((each) => [each.id, each.url])]];
  const replay = dead && html`<${Action} label="Replay dead letters…" title="Replay every dead letter" confirm="Replay all"
    run=${() => store.act("POST", store.v1("/dead_letters/replay"))}
    says="Every dead letter whose endpoint is enabled is sent again, now. Repair the receiver first." />`;
  return html`<${Listing} name="deliveries" noun="delivery" path=${store.v1("/deliveries")} fields=${fields} aside=${replay} columns=${columns} concerns=${ofKind("delivery")}
    to=${(row) => `webhooks/deliveries/${row.id}`} opened=${id} empty="Nothing was sent yet: an event goes to every enabled endpoint." />`;
}

function Events({ id }) {
  const store = useStore();
  const columns = [
    ["Type", (row) => row.type, "fill"],
    ["About", (row) => html`<code>${shortId(row.data.object.id)}</code>`, "dim roomy"],
    ["Time", (row) => html`<${Lately} at=${row.timestamp ?? row.time} />`, "dim end"],
  ];
  const fields = [["type", "Type", FAMILIES.map((each) => [each, each])], ["type", "Type, such as charge.failed", "text"], ["created_since", "From", "date"]];
  return html`<${Listing} name="events" noun="event" path=${store.v1("/events")} search="Id, reference, last digits of the number" fields=${fields} columns=${columns}
    concerns=${ofKind("payment")} to=${(row) => `webhooks/events/${row.id}`} opened=${id} empty="No event yet: they tell what became of payments." />`;
}

// An event and all of its deliveries, by its own id or that of one of them.
function EventDetail({ id }) {
  const store = useStore();
  const { data: one, error: lost } = useRead(id.startsWith("del_") && store.v1(`/deliveries/${id}`));
  const event = one ? one.event : id.startsWith("evt_") && id;
  const { data, text, error } = useRead(event && store.v1(`/events/${event}`));
  const { data: sent } = useRead(event && `${store.v1("/deliveries")}?event=${event}`, ofKind("delivery"));
  if (!data) return html`<${Problem} problem=${error ?? lost} />`;
  const { object } = data.data;
  const payment = object.payment_intent ?? (/^(pi|ch)_/.test(object.id) ? object.id : object.charge);
  const request = data.request?.id ?? data.requestid;
  const facts = [html`<${When} at=${data.timestamp ?? data.time} />`, html`<${Id} id=${event} />`,
    payment && html`<${Link} to="payments/${payment}">The payment<//>`, request && html`<${Link} to="requests/${request}">The request<//>`];
  return html`<${Title} back=${one ? "webhooks/deliveries" : "webhooks/events"} name=${breakable(data.type)} facts=${facts} actions=${html`<${ReplayEvent} id=${event} />`} />
    <div class="scroll pad">${(sent?.data ?? []).map((each) => html`<${Delivery} key=${each.id} delivery=${each} whole />`)}
    ${sent && !sent.data.length && html`<p class="dim">It went nowhere: no enabled endpoint took it. Send it once there is one.</p>`}
    <${Code} text=${laidOut(text) ?? ""} label="The event" /></div>`;
}

// ---- endpoints -------------------------------------------------------------------------------------------------

const typesIn = (text) => text.split(",").map((each) => each.trim()).filter(Boolean);

function useEndpoints() {
  const store = useStore();
  return useRead(store.listed("/webhook_endpoints", 100), ofKind("request"), { pause: 2000, keep: true });
}

function Where({ url, events }) {
  return html`<${Field} label="URL" name="url" type="url" wide defaultValue=${url} hint="Of this machine, such as http://127.0.0.1:3000/webhooks" />
    <${Field} label="Events" name="events" wide defaultValue=${events} hint=${EVERY} />`;
}

function AddEndpoint({ kind }) {
  const store = useStore();
  const { data: others } = useEndpoints();
  const usual = "http://127.0.0.1:3000/webhooks";
  const add = async ({ url, events }) => {
    const made = await store.act("POST", store.v1("/webhook_endpoints"), { url: url.trim(), enabled_events: typesIn(events) });
    return { shown: html`<${Secret} label="signing secret" value=${made.secret}
      says="Events go to ${made.url} from now on. Your handler verifies them with this signing secret." />` };
  };
  return html`<${Action} label="Add an endpoint…" title="Add an endpoint" confirm="Add endpoint" kind=${kind} run=${add}
    says="From now on events are sent to this address, signed. What happened before can be sent there from the events.">
      <${Where} url=${others?.data.some((each) => each.url === usual) ? "" : usual} events="*" /><//>`;
}

function Endpoints({ id }) {
  const store = useStore();
  const columns = [
    ["URL", (row) => visible(row.url), "fill"],
    ["Events", (row) => row.enabled_events.join(", "), "dim fill roomy"],
    ["State", (row) => html`<${Pill} state=${row.status} />`, "end"],
  ];
  return html`<${Listing} name="endpoints" noun="endpoint" path=${store.v1("/webhook_endpoints")} size=${100} aside=${html`<${AddEndpoint} kind="primary" />`} columns=${columns}
    concerns=${ofKind("request")} pause=${2000} to=${(row) => `webhooks/endpoints/${row.id}`} opened=${id} empty="No endpoint: events go nowhere." />`;
}

function EndpointDetail({ id }) {
  const store = useStore();
  const { data } = useEndpoints();
  const { data: faulty } = useRead("/sandbox/webhook_endpoints");
  const each = data?.data.find((one) => one.id === id);
  if (!each) return data && html`<${Empty} says="There is no such endpoint any more." />`;
  const path = store.v1(`/webhook_endpoints/${id}`);
  const faults = faulty?.data.find((one) => one.id === id)?.faults ?? [];
  const isOn = each.status === "enabled";
  const events = each.enabled_events.join(", ");
  const edit = (values) => store.act("PATCH", path, { url: values.url.trim(), enabled_events: typesIn(values.events) });
  const turn = () => store.act("PATCH", path, { status: isOn ? "disabled" : "enabled" });
  const roll = async () => {
    const { secret } = await store.act("POST", `${path}/roll_secret`);
    return { shown: html`<${Secret} label="signing secret" value=${secret} says="Rolled: for a while the old secret signs too." />` };
  };
  const misbehave = (values) => store.act("POST", `/sandbox/webhook_endpoints/${id}/faults`, { faults: Object.keys(FAULTS).filter((name) => values[name]) });
  const remove = async () => {
    await store.act("DELETE", path);
    store.go("webhooks/endpoints");
  };
  const checks = Object.entries(FAULTS).map(([name, label]) => html`<${Field} label=${label} name=${name} type="checkbox" value="yes" defaultChecked=${faults.includes(name)} />`);
  const turned = isOn ? "Nothing is sent there: what waits becomes a dead letter when it is due, what happens meanwhile goes nowhere. Both can be sent once it is enabled."
    : "Events go there from now on; dead letters can be replayed.";
  const until = each.secret_overlap_until;
  const secret = until ? html`two, until <${When} ms=${until * 1000} />` : "whsec_••••, shown when it was made";
  const facts = [html`<${Id} id=${id} />`, html`added <${When} ms=${each.created * 1000} />`];
  return html`<${Title} back="webhooks/endpoints" name=${visible(each.url)} mono state=${each.status} facts=${facts} />
    <div class="scroll pad"><${Facts} facts=${[["Events", events], ["Signing secret", secret],
      ["Misbehaves", faults.map((name) => FAULTS[name]).join("; ") || "no"]]} />
    <div class="buttons start"><${Action} label="Edit…" title="Edit the endpoint" confirm="Save" run=${edit}><${Where} url=${each.url} events=${events} /><//>
    <${Action} label=${isOn ? "Pause…" : "Enable…"} title="${isOn ? "Pause" : "Enable"} the endpoint" confirm=${isOn ? "Pause" : "Enable"} run=${turn} says=${turned} />
    <${Action} label="Roll secret…" title="Roll the signing secret" confirm="Roll"
      says="A new secret signs from now on. For a day the old one signs too, so that your handler can go over." run=${roll} />
    <${Action} label="Misbehave…" title="To test the receiver" confirm="Set" says="How deliveries to this endpoint go wrong, from now on." run=${misbehave}>${checks}<//>
    <${Action} label="Delete…" title="Delete the endpoint" confirm="Delete" bad says="Nothing more is sent there." run=${remove} /></div></div>`;
}
