// Webhooks: events with their deliveries and attempts, dead letters and replay, and the endpoints that they go to.

import { Action, Choice, Code, Empty, Facts, Field, Id, Lately, Link, Pager, Pill, Problem, Search, Secret, Table, Tabs, When, classes, html, usePages } from "./parts.js";
import { of, useKept, useNow, useRead, useStore } from "./store.js";
import { laidOut, shortId, span, visible, words } from "./words.js";

const FAMILIES = ["payment_intent.*", "charge.*", "refund.*", "payout.*", "suspense.*", "webhook_endpoint.*", "collection.*"];
const FAULTS = { duplicate: "Deliver everything twice", out_of_order: "Deliver out of order" };
const EVERY = "* for all, or types and families, separated by commas: charge.*, refund.failed";

function typesIn(text) {
  return text.split(",").map((each) => each.trim()).filter(Boolean);
}

export function useEndpoints() {
  const store = useStore();
  return useRead(`${store.v1("/webhook_endpoints")}?${store.gaps.pagination === "page" ? "per_page" : "limit"}=100`, of("request"), { pause: 2000, keep: true });
}

export function AddEndpoint({ kind, label = "Add endpoint…" }) {
  const store = useStore();
  const add = async ({ url, events }) => {
    const made = await store.act("POST", store.v1("/webhook_endpoints"), { url: url.trim(), enabled_events: typesIn(events) });
    return html`<${Secret} label="the signing secret" value=${made.secret} says="Events go to ${made.url} from now on. Your handler verifies them with this signing secret." />`;
  };
  return html`<${Action} label=${label} title="Add an endpoint" confirm="Add endpoint" kind=${kind} run=${add} says="From now on events are sent to this address, signed. What happened before can be replayed to it.">
    <${Field} label="URL" name="url" type="url" wide defaultValue="http://127.0.0.1:3000/webhooks" hint="Of this machine, such as http://127.0.0.1:3000/webhooks" /><${Field} label="Events" name="events" wide defaultValue="*" hint=${EVERY} /><//>`;
}

export function Replay({ delivery }) {
  const store = useStore();
  const isAgain = delivery.status === "delivered";
  return html`<${Action} label=${isAgain ? "Send again…" : "Replay…"} title="Send ${delivery.event_type} again" confirm="Send it" says="The same message goes to ${delivery.url} once more, now, with the same id; a handler that has seen it should do nothing."
    run=${() => store.act("POST", store.v1(`/deliveries/${delivery.id}/replay`))} />`;
}

export function ReplayEvent({ id }) {
  const store = useStore();
  return html`<${Action} label="Send…" title="Send this event" confirm="Send it" says="It goes to every enabled endpoint that takes it, now." run=${() => store.act("POST", store.v1(`/events/${id}/replay`))} />`;
}

// The events of a payment, each with where it went; `brief` for a line each.
export function EventList({ events, deliveries, brief }) {
  const { data: endpoints } = useEndpoints();
  const isDeaf = endpoints && !endpoints.data.some((each) => each.status === "enabled");
  const add = isDeaf && events.length > 0 && html`<div class=${classes(!brief && "strip")}><span>${brief ? "" : "No endpoint is enabled: events go nowhere."}</span><${AddEndpoint} kind=${brief ? "quiet" : "primary"} label="Add an endpoint…" /></div>`;
  const of_ = (event) => deliveries.filter((each) => each.event === event.id);
  if (!events.length) return html`<p class="dim">No event yet.</p>`;
  if (brief) {
    return html`<ul class="plain">${events.map((each) => html`<li key=${each.id}><${Link} to="webhooks/events/${each.id}">${each.type}<//><span class="space" />
      ${of_(each).map((one) => html`<${Sent} delivery=${one} />`)}${!of_(each).length && !isDeaf && html`<${Pill} state="nowhere" />`}</li>`)}</ul>${add}`;
  }
  return html`${add}${events.map((each) => html`<section class="event" key=${each.id}><header class="sub"><h2><${Link} to="webhooks/events/${each.id}">${each.type}<//></h2><span class="dim"><${When} ms=${each.created * 1000} shape="time" /></span>
    <${Id} id=${each.id} /><span class="space" />${!of_(each).length && html`<${Pill} state="nowhere" />`}${!isDeaf && !of_(each).length && html`<${ReplayEvent} id=${each.id} />`}</header>
    ${of_(each).map((one) => html`<${Delivery} key=${one.id} delivery=${one} />`)}</section>`)}`;
}

// How the last attempt went, in a word.
function Sent({ delivery }) {
  return html`<span class=${classes("sent", delivery.status)} title="${delivery.url}: ${words(delivery.status)}">${tried(delivery)}</span>`;
}

function tried({ attempts }) {
  const last = attempts.at(-1);
  return last ? `${last.status_code ?? "no response"}${attempts.length > 1 ? ` ×${attempts.length}` : ""}` : "due";
}

export function Delivery({ delivery, open }) {
  const now = useNow(Boolean(delivery.next_attempt_at));
  const next = delivery.next_attempt_at;
  const columns = [
    ["No.", (each) => each.number, "num"],
    ["Time", (each) => html`<${When} ms=${each.at * 1000} shape="time" />`],
    ["Response", (each) => html`<b class=${each.status_code >= 200 && each.status_code < 300 ? "good" : "bad"}>${each.status_code ?? "none"}</b>`],
    ["Took", (each) => `${each.latency_ms} ms`, "num"],
    ["Why, or what it said", (each) => html`<span class="mono" title=${visible(each.answer)}>${visible((each.fault ?? each.answer.trim()).slice(0, 200))}</span>`, "fill"],
  ];
  return html`<div class="delivery"><p class="sub"><code class="url" title="Delivery ${delivery.id}">${visible(delivery.url)}</code><${Pill} state=${delivery.status} />
    ${next ? html`<span class="dim">next attempt in ${span(next - now / 1000)}, at <${When} ms=${next * 1000} shape="time" /></span>` : ""}<span class="space" /><${Replay} delivery=${delivery} /></p>
    ${(delivery.attempts.length > 0 || open) && html`<${Table} label="Attempts at ${delivery.id}" columns=${columns} rows=${delivery.attempts} name=${(each) => each.number} empty="No attempt yet." />`}</div>`;
}

// ---- the view --------------------------------------------------------------------------------------------------

export function useDeadLetters() {
  const store = useStore();
  const size = store.gaps.pagination === "page" ? "per_page" : "limit";
  const { data } = useRead(`${store.v1("/deliveries")}?status=dead_letter&${size}=10`, of("delivery"), { pause: 1000, keep: true });
  return data ? `${data.data.length || ""}${data.has_more ? "+" : ""}` : "";
}

export function Webhooks({ place: [tab = "deliveries", id], dead }) {
  const store = useStore();
  const shown = { deliveries: Deliveries, events: Events, endpoints: Endpoints }[tab] ?? Deliveries;
  const details = { deliveries: DeliveryDetail, events: EventDetail, endpoints: EndpointDetail }[tab] ?? DeliveryDetail;
  return html`<div class="two"><section class="list" aria-label="Webhooks"><${Tabs} label="Webhooks" chosen=${tab} choose=${(each) => store.go(`webhooks/${each}`)}
      tabs=${[["deliveries", "Deliveries", dead, "bad"], ["events", "Events"], ["endpoints", "Endpoints"]]}><${shown} id=${id} dead=${dead} /><//></section>
    <section class="detail" aria-label="Details">${id ? html`<${details} key=${id} id=${id} />` : html`<${Empty} says=${`Choose ${{ events: "an event", endpoints: "an endpoint" }[tab] ?? "a delivery"} to see all of it.`} />`}</section></div>`;
}

function List({ noun, path, filter, columns, id, empty, concerns, children }) {
  const pages = usePages(path, filter);
  const { data, error } = useRead(pages.path, concerns, { keep: true, pause: 500 });
  return html`${children}<${Problem} problem=${error} /><div class="scroll">${data && html`<${Table} label=${noun} rows=${data.data} columns=${columns} to=${(row) => `webhooks/${noun}/${row.id}`} opened=${id} empty=${empty} />`}</div>
    <${Pager} says=${data ? `${data.data.length} shown, newest first` : ""} ...${pages.turn(data)} />`;
}

function Deliveries({ id, dead }) {
  const store = useStore();
  const [filter, change] = useKept("deliveries", { status: "", endpoint: "" });
  const { data: endpoints } = useEndpoints();
  const columns = [
    ["Event", (row) => row.event_type, "fill"],
    ["To", (row) => html`<span title=${visible(row.url)}>${visible(row.url.replace(/^https?:\/\//, ""))}</span>`, "dim fill roomy"],
    ["State", (row) => html`<${Pill} state=${row.status} also=${row.status === "delivered" ? "" : tried(row)} />`],
    ["Made", (row) => html`<${Lately} ms=${row.created * 1000} />`, "dim end"],
  ];
  const replay = () => store.act("POST", store.v1("/dead_letters/replay"));
  return html`<${List} noun="deliveries" path="/deliveries" filter=${filter} columns=${columns} id=${id} concerns=${of("delivery")} empty=${filter.status || filter.endpoint ? "No delivery matches." : "Nothing was sent yet: an event goes to every enabled endpoint."}>
    <div class="filters"><${Choice} label="State" value=${filter.status} options=${["pending", "delivered", "dead_letter"]} change=${(status) => change({ status })} />
    <${Choice} label="Endpoint" value=${filter.endpoint} options=${(endpoints?.data ?? []).map((each) => [each.id, each.url])} change=${(endpoint) => change({ endpoint })} /><span class="space" />
    ${dead && html`<${Action} label="Replay dead letters…" title="Replay every dead letter" confirm="Replay all" says="Every dead letter whose endpoint is enabled is sent again, now. Repair the receiver first." run=${replay} />`}</div><//>`;
}

function DeliveryDetail({ id }) {
  const store = useStore();
  const { data, error } = useRead(store.v1(`/deliveries/${id}`), (row) => row.kind === "delivery" && row.id === id);
  if (!data) return html`<${Problem} problem=${error} />`;
  return html`<header class="title"><div class="lead"><${Back} to="webhooks/deliveries" /><h1>${data.event_type}</h1><span class="space" /><${Pill} state=${data.status} /></div>
    <div class="sub"><span><${When} ms=${data.created * 1000} /></span><${Id} id=${data.id} /><${Link} to="webhooks/events/${data.event}">The event<//><${Link} to="webhooks/endpoints/${data.endpoint}">The endpoint<//></div></header>
    <div class="scroll pad"><${Delivery} delivery=${data} open />${data.attempts.filter((each) => each.answer).slice(-1).map((each) => html`<h2>Body of the last response</h2><${Code} text=${laidOut(each.answer) ?? each.answer} label="Body of the last response" />`)}</div>`;
}

export function Back({ to }) {
  return html`<${Link} to=${to} class="icon-button narrow" label="Back to the list"><svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="m14 6-6 6 6 6" /></svg><//>`;
}

function Events({ id }) {
  const [filter, change] = useKept("events", { search: "", type: "", from: "" });
  const { from, ...plain } = filter;
  const asked = { ...plain, created_since: from && new Date(`${from}T00:00:00+02:00`).toISOString() };
  const columns = [
    ["Type", (row) => row.type, "fill"],
    ["About", (row) => html`<code class="dim">${shortId(row.data.object.id)}</code>`, "roomy"],
    ["Time", (row) => html`<${Lately} ms=${Date.parse(row.timestamp ?? row.time)} />`, "dim end"],
  ];
  return html`<${List} noun="events" path="/events" filter=${asked} columns=${columns} id=${id} concerns=${of("payment")} empty=${Object.values(filter).some(Boolean) ? "No event matches." : "No event yet: they tell what became of payments."}>
    <div class="bar"><${Search} label="Search events" title="Id, reference, last digits of the number" value=${filter.search} change=${(search) => change({ search })} /></div>
    <div class="filters"><input class="choice" list="wb-types" aria-label="Type" placeholder="Type, such as charge.failed" value=${filter.type} onChange=${(event) => change({ type: event.currentTarget.value.trim() })} />
    <datalist id="wb-types">${FAMILIES.map((each) => html`<option value=${each} />`)}</datalist><label class="inline">From <input class="choice" type="date" value=${filter.from} onChange=${(event) => change({ from: event.currentTarget.value })} /></label></div><//>`;
}

function EventDetail({ id }) {
  const store = useStore();
  const { data, text, error } = useRead(store.v1(`/events/${id}`));
  const { data: sent } = useRead(`${store.v1("/deliveries")}?event=${id}`, of("delivery"));
  if (!data) return html`<${Problem} problem=${error} />`;
  const { object } = data.data;
  const payment = object.payment_intent ?? (/^(pi|ch)_/.test(object.id) ? object.id : object.charge);
  return html`<header class="title"><div class="lead"><${Back} to="webhooks/events" /><h1>${data.type}</h1><span class="space" /><${ReplayEvent} id=${id} /></div>
    <div class="sub"><span><${When} at=${data.timestamp ?? data.time} /></span><${Id} id=${id} />${payment && html`<${Link} to="payments/${payment}">The payment<//>`}
    ${data.request?.id && html`<${Link} to="requests/${data.request.id}">The request<//>`}</div></header>
    <div class="scroll pad">${(sent?.data ?? []).map((each) => html`<${Delivery} key=${each.id} delivery=${each} />`)}${sent && !sent.data.length && html`<p class="dim">It went nowhere: no enabled endpoint took it. Send it once there is one.</p>`}
    <${Code} text=${laidOut(text) ?? ""} label="The event" /></div>`;
}

function Endpoints({ id }) {
  const { data, error } = useEndpoints();
  const columns = [
    ["URL", (row) => visible(row.url), "fill"],
    ["Events", (row) => row.enabled_events.join(", "), "dim fill roomy"],
    ["State", (row) => html`<${Pill} state=${row.status} />`, "end"],
  ];
  return html`<div class="filters"><span class="space" /><${AddEndpoint} kind="primary" /></div><${Problem} problem=${error} />
    <div class="scroll">${data && html`<${Table} label="Endpoints" rows=${data.data} columns=${columns} to=${(row) => `webhooks/endpoints/${row.id}`} opened=${id} empty="No endpoint: events go nowhere." />`}</div>`;
}

function EndpointDetail({ id }) {
  const store = useStore();
  const { data } = useEndpoints();
  const { data: faulty } = useRead("/sandbox/webhook_endpoints");
  const each = data?.data.find((one) => one.id === id);
  if (!each) return data ? html`<${Empty} says="There is no such endpoint any more." />` : null;
  const path = store.v1(`/webhook_endpoints/${id}`);
  const faults = faulty?.data.find((one) => one.id === id)?.faults ?? [];
  const isOn = each.status === "enabled";
  const edit = ({ url, events }) => store.act("PATCH", path, { url: url.trim(), enabled_events: typesIn(events) });
  const roll = async () => html`<${Secret} label="the signing secret" value=${(await store.act("POST", `${path}/roll_secret`)).secret} says="Rolled: for a while the old secret signs too." />`;
  const remove = async () => {
    await store.act("DELETE", path);
    store.go("webhooks/endpoints");
  };
  const misbehave = (values) => store.act("POST", `/sandbox/webhook_endpoints/${id}/faults`, { faults: Object.keys(FAULTS).filter((name) => values[name]) });
  return html`<header class="title"><div class="lead"><${Back} to="webhooks/endpoints" /><h1 class="mono">${visible(each.url)}</h1><span class="space" /><${Pill} state=${each.status} /></div><div class="sub"><${Id} id=${id} /><span>added <${When} ms=${each.created * 1000} /></span></div></header>
    <div class="scroll pad"><${Facts} facts=${[["Events", each.enabled_events.join(", ")], ["Signing secret", each.secret_overlap_until ? html`two, until <${When} ms=${each.secret_overlap_until * 1000} />` : "whsec_••••, shown when it was made"], ["Misbehaves", faults.length ? faults.map((name) => FAULTS[name]).join("; ") : "no"]]} />
    <div class="buttons start"><${Action} label="Edit…" title="Edit the endpoint" confirm="Save" run=${edit}><${Field} label="URL" name="url" type="url" wide defaultValue=${each.url} /><${Field} label="Events" name="events" wide defaultValue=${each.enabled_events.join(", ")} hint=${EVERY} /><//>
    <${Action} label=${isOn ? "Pause…" : "Enable…"} title=${isOn ? "Pause the endpoint" : "Enable the endpoint"} confirm=${isOn ? "Pause" : "Enable"} run=${() => store.act("PATCH", path, { status: isOn ? "disabled" : "enabled" })}
      says=${isOn ? "Nothing is sent there. What waits becomes a dead letter when it is due; what happens meanwhile goes nowhere, and can be sent from the events once it is enabled." : "Events go there from now on; dead letters can be replayed."} />
    <${Action} label="Roll secret…" title="Roll the signing secret" confirm="Roll" says="A new secret signs from now on. For a day the old one signs too, so that your handler can go over." run=${roll} />
    <${Action} label="Misbehave…" title="To test the receiver" confirm="Set" says="How deliveries to this endpoint go wrong, from now on." run=${misbehave}>${Object.entries(FAULTS).map(([name, label]) => html`<${Field} label=${label} name=${name} type="checkbox" value="yes" defaultChecked=${faults.includes(name)} />`)}<//>
    <${Action} label="Delete…" title="Delete the endpoint" confirm="Delete" bad says="Nothing more is sent there." run=${remove} /></div>
    <p><${Link} to="webhooks/deliveries">Its deliveries<//></p></div>`;
}
