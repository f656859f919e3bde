// The log of requests to the service, each with its response and code, to be sent again; and every operation to try out.

import { useRef, useState } from "./vendor/hooks.js";
import { Action, Code, Empty, Field, Id, Lately, Link, Method, Problem, Title, When, classes, html, message, useTask } from "./parts.js";
import { Listing, Search } from "./listing.js";
import { ofKind, useRead, useStore } from "./store.js";
import { RequestCode } from "./payment.js";
import { laidOut, lusaka, shortId, visible } from "./words.js";

const MASK = "••••";
const OWN = /^(authorization|host|content-length|connection|user-agent|accept.*|cookie|origin|referer|sec-.*|sandbox-unseen)$/i;
const FIELDS = [
  ["method", "Method", [["GET", "GET"], ["POST", "POST"], ["PATCH", "PATCH"], ["DELETE", "DELETE"]]],
  ["status", "Status", [["2", "2xx succeeded"], ["4", "4xx refused"], ["5", "5xx failed"]]],
  ["since", "From", "date"], ["until", "To", "date"],
];
const FILE = {
  columns: ["id", "time_lusaka", "method", "path", "status", "key", "idempotency_key", "payment"],
  line: (row) => [row.id, lusaka(Date.parse(row.at)), row.method, row.path, row.status, row.key, row.idempotency_key, row.payment],
};
const COLUMNS = [
  ["Request", (row) => html`<${Call} method=${row.method} path=${row.path} />`, "fill"],
  ["Status", (row) => html`<${Status} status=${row.status} />`, "num"],
  ["Idempotency key", (row) => visible(row.idempotency_key), "dim roomy"],
  ["Time", (row) => html`<${Lately} at=${row.at} />`, "dim end"],
];
// The id that a path takes → the list whose first row is the newest such object.
const NEWEST = {
  refund_id: "/v1/refunds?limit=1", payout_id: "/v1/payouts?limit=1", event_id: "/v1/events?limit=1", endpoint_id: "/v1/webhook_endpoints?limit=1",
  delivery_id: "/v1/deliveries?limit=1", key_id: "/v1/api_keys?limit=1", entry_id: "/sandbox/ledger/entries?limit=1", item: "/sandbox/suspense?limit=1",
  request_id: "/sandbox/requests?limit=1",
};
const KEYS = [["", "the session's secret key"], ["publishable", "the publishable key"], ["none", "no key"]];

const Status = ({ status }) => html`<b class=${classes("mono", status < 400 ? "good" : "bad")}>${status}</b>`;

const Call = ({ method, path }) => html`<${Method} method=${method} /><code title=${visible(path)}>${visible(shortId(path))}</code>`;

export function Requests({ place: [id, operation] }) {
  const isTry = id === "try";
  const ways = html`<nav class="switch" aria-label="Requests"><${Link} to="requests" current=${isTry ? undefined : "page"}>Log<//>
    <${Link} to="requests/try" current=${isTry ? "page" : undefined}>Try it out<//></nav>`;
  const log = () => html`<section class="list" aria-label="Requests"><${Listing} name="requests" noun="request" path="/sandbox/requests" isCounted size=${50} fields=${FIELDS}
    file=${FILE} search="Request-Id, path, payment or idempotency key" ahead=${ways} concerns=${ofKind("request")} columns=${COLUMNS} to=${(row) => `requests/${row.id}`} opened=${id}
    empty="No request yet: what your shop sends stands here." /></section>`;
  const none = html`<${Empty} says="Choose a request to see what was sent and answered, its code, and to send it again.">
    <${Link} to="requests/try" class="button primary">Try an operation<//><//>`;
  const detail = isTry ? html`<${TryOut} key=${operation} id=${operation} />` : id ? html`<${Detail} key=${id} id=${id} />` : none;
  return html`<div class="two">${isTry ? html`<${Operations} chosen=${operation} ways=${ways} />` : log()}<section class="detail" aria-label="Details">${detail}</section></div>`;
}

function Detail({ id }) {
  const store = useStore();
  const { data: row, error } = useRead(`/sandbox/requests/${id}`);
  if (!row) return html`<${Problem} problem=${error} />`;
  const { request, response, target } = row.detail;
  const [method, path] = target.split(/ (.*)/s);
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !OWN.test(name)));
  const held = store.sent.get(id) ?? (`${target}${request.body}`.includes(MASK) ? null : { method, path, body: request.body || undefined, headers });
  const hasKey = Object.keys(headers).some((name) => name.toLowerCase() === "idempotency-key");
  const twice = hasKey ? "With the same idempotency key, the service responds as it did before." : "It has no idempotency key, so the service carries it out a second time.";
  const again = async () => {
    const answer = await store.act(held.method, held.path, held.body, held.headers);
    return { shown: html`<p>Sent again: it succeeded.</p><${Code} text=${JSON.stringify(answer, null, 2)} label="Response" />` };
  };
  const fill = () => {
    store.kept.refill = { method, path, body: laidOut(request.body) ?? request.body, headers };
    store.go("requests/try", { pane: "detail" });
  };
  const action = held ? html`<${Action} label="Send again…" title="Send this request again" confirm="Send it" run=${again}
    says=${method === "GET" ? "It is read once more." : twice} />`
    : html`<button type="button" class="quiet small" title="What is masked was never kept: fill it in" onClick=${fill}>Fill in and send…</button>`;
  const facts = [html`<${When} at=${row.at} />`, html`<${Id} id=${id} />`, row.payment && html`<${Link} to="payments/${row.payment}">The payment<//>`];
  return html`<${Title} back="requests" name=${html`<${Call} method=${method} path=${path} />`} facts=${facts} actions=${html`<${Status} status=${response.status} />${action}`} />
    <div class="scroll pad"><h2>Request</h2><${Code} label="Request" text=${message(target, request.headers, request.body)} />
    <h2>Response</h2><${Code} label="Response" text=${message(response.status, response.headers, response.body)} /><h2>Code</h2><${RequestCode} id=${id} label=${target} /></div>`;
}

// ---- try it out ------------------------------------------------------------------------------------------------

// The operations of the description, in its order.
function useOperations() {
  const { data } = useRead("/openapi.json");
  const whole = (each) => (each.$ref ? each.$ref.split("/").slice(1).reduce((found, key) => found[key], data) : each);
  return Object.entries(data?.paths ?? {}).flatMap(([path, methods]) => Object.entries(methods).filter(([, each]) => each.operationId).map(([method, each]) => {
    const content = each.requestBody?.content["application/json"];
    const examples = content?.example ? { example: { value: content.example } } : (content?.examples ?? {});
    return { id: each.operationId, method: method.toUpperCase(), path, says: each.summary, tag: each.tags?.[0], takesBody: Boolean(content),
      parameters: (each.parameters ?? []).map(whole), examples: Object.entries(examples) };
  }));
}

function Operations({ chosen, ways }) {
  const [text, setText] = useState("");
  const matching = useOperations().filter((each) => `${each.id} ${each.method} ${each.path} ${each.says}`.toLowerCase().includes(text.toLowerCase()));
  const link = (each) => html`<li key=${each.id}><${Link} to="requests/try/${each.id}" title=${each.says} current=${each.id === chosen ? "true" : undefined}>
    <${Method} method=${each.method} /><code>${each.path}</code><//></li>`;
  return html`<section class="list" aria-label="Operations"><div class="bar"><${Search} label="Search operations" value=${text} change=${setText} />${ways}</div>
    <div class="scroll operations">${[...new Set(matching.map((each) => each.tag))].map((tag) => html`<section key=${tag}><h2>${tag}</h2>
      <ul class="plain">${matching.filter((each) => each.tag === tag).map(link)}</ul></section>`)}</div></section>`;
}

function TryOut({ id }) {
  const store = useStore();
  const operations = useOperations();
  const { data: newest } = useRead("/sandbox/payments?limit=1", ofKind("payment"));
  const asked = useRef(store.kept.refill).current;
  delete store.kept.refill;
  const fits = ({ method, path }) => method === asked.method && new RegExp(`^${path.replace(/\{\w+\}/g, "[^/?]+")}$`).test(asked.path.split("?")[0]);
  const operation = operations.find((each) => (asked ? fits(each) : each.id === id));
  const listed = Object.keys(NEWEST).find((name) => operation?.path.includes(`{${name}}`));
  const { data: list, error } = useRead(NEWEST[listed]);
  if (!operations.length || !newest || (listed && !list && !error)) return html`<${Empty} says="Reading the operations…" />`;
  if (!operation) return html`<${Empty} says=${id ? `There is no operation ${id}.` : "Choose an operation: it opens with its example filled in."} />`;
  return html`<${Operation} key=${operation.id} operation=${operation} asked=${asked} payment=${newest.data[0]} newest=${{ [listed]: list?.data[0]?.id }} />`;
}

// One operation, filled in with its example and the ids of the newest payment and of the `newest` of other objects, or
// with the request that was `asked`.
function Operation({ operation: { id, method, path, says, parameters, examples, takesBody }, asked, payment, newest }) {
  const store = useStore();
  const form = useRef();
  const task = useTask();
  const [answer, setAnswer] = useState(null);
  const ids = { intent_id: payment?.id.startsWith("pi_") && payment.id, charge_id: payment?.charge, payment_id: payment?.id, phone: "+260961234567", operation_id: "createCharge", ...newest };
  const own = (text) => text.replace(/\b(pi|ch)_\w{24}\b/g, (each, kind) => (kind === "pi" ? ids.intent_id : ids.charge_id) || each);
  const written = (name) => own(JSON.stringify(examples.find(([each]) => each === name)?.[1].value, null, 2) ?? "");
  const [body, setBody] = useState(asked?.body ?? written(examples[0]?.[0]));
  const [inPath, inQuery] = (asked?.path ?? "").split("?");
  const known = ({ name, in: where, required, example }) => {
    if (where === "path") return inPath.split("/")[path.split("/").indexOf(`{${name}}`)] ?? (ids[name] || example);
    if (where === "query") return new URLSearchParams(inQuery).get(name);
    return asked?.headers[name] ?? (required ? `try-${Math.random().toString(36).slice(2, 8)}` : "");
  };
  const send = async (event) => {
    event.preventDefault();
    const values = Object.fromEntries(new FormData(form.current));
    const given = (where) => parameters.filter((each) => each.in === where && values[`${where} ${each.name}`]).map((each) => [each.name, values[`${where} ${each.name}`]]);
    const target = given("path").reduce((text, [name, value]) => text.replace(`{${name}}`, encodeURIComponent(value).replaceAll("%2B", "+")), path);
    const asks = new URLSearchParams(given("query")).toString();
    const headers = { ...Object.fromEntries(given("header")), ...(body && { "Content-Type": "application/json" }) };
    await task.run(async () => {
      // Without the cookie: a browser asks for a password where a key of its own is refused.
      if (values.key === "publishable") headers.Authorization = `Bearer ${(await store.read("/sandbox/keys")).publishable_key}`;
      const start = performance.now();
      const made = await store.send({ method, path: target + (asks && `?${asks}`), headers, body: body || undefined, anonymous: Boolean(values.key) });
      setAnswer({ ...made, took: Math.round(performance.now() - start), request: made.headers["request-id"] ?? "" });
    });
  };
  const fields = (...where) => parameters.filter((each) => where.includes(each.in)).map((each) => html`<${Field} name="${each.in} ${each.name}" label=${each.name}
    title=${each.description} required=${each.required} options=${each.schema?.enum && [...(each.required ? [] : [["", "–"]]), ...each.schema.enum]} defaultValue=${known(each)} />`);
  const pick = examples.length > 1 && html`<select class="choice" aria-label="Example" onChange=${(event) => setBody(written(event.currentTarget.value))}>
    ${examples.map(([name, each]) => html`<option value=${name}>${each.summary ?? name}</option>`)}</select>`;
  const facts = [says, html`<a href="/docs#${id}" target="_blank" rel="noopener">Reference</a>`];
  const isLogged = answer?.request.startsWith("req_");
  return html`<form ref=${form} class="detail" onSubmit=${send} aria-label="Try ${id}"><${Title} back="requests/try" name=${html`<${Method} method=${method} /><code>${path}</code>`}
      facts=${facts} actions=${html`<button type="submit" class="primary" disabled=${task.busy}>Send</button>`} />
    <div class="scroll pad"><div class="fields">${fields("path")}</div>
      ${pick}${takesBody && html`<${Field} area label="Body" name="body" rows=${Math.min(14, body.split("\n").length + 1)} value=${body}
        onInput=${(event) => setBody(event.currentTarget.value)} />`}
      <details open=${Boolean(asked)}><summary class="dim">Query, headers, key</summary><div class="fields">${fields("query", "header")}
        <${Field} name="key" label="Sent with" options=${KEYS} /></div></details>
      <${Problem} problem=${task.problem} />
      ${answer && html`<section class="answer" aria-label="What came back"><p class="sub"><${Status} status=${answer.status} /><span>${answer.took} ms</span>
        ${isLogged && html`<${Link} to="requests/${answer.request}">In the log<//>`}</p><${Code} label="Response" text=${message(answer.status, answer.headers, answer.text)} />
        ${isLogged && html`<h2>Code</h2><${RequestCode} key=${answer.request} id=${answer.request} label=${id} />`}</section>`}</div></form>`;
}
