// The log of requests to the service, each with its response and code, to be sent again; and every operation to try out.

import { useEffect, useRef, useState } from "./vendor/hooks.js";
import { Action, Choice, Code, Empty, Field, Id, Lately, Link, Pager, Problem, Search, Table, When, classes, html, message, useTask } from "./parts.js";
import { of, useKept, useRead, useStore } from "./store.js";
import { RequestCode } from "./payment.js";
import { query, saveAll, turns } from "./payments.js";
import { Back } from "./webhooks.js";
import { laidOut, lusaka, shortId, visible } from "./words.js";

const SIZE = 50;
const MASK = "••••";
const NO_FILTER = { search: "", method: "", status: "", from: "", to: "", places: [] };
const COLUMNS = ["id", "time_lusaka", "method", "path", "status", "key", "idempotency_key", "payment"];
const OWN = ["authorization", "host", "content-length", "connection", "user-agent", "accept", "accept-encoding", "cookie"];

export function Status({ status }) {
  return html`<b class=${classes("mono", status < 400 ? "good" : "bad")}>${status}</b>`;
}

export function Requests({ place: [id, operation] }) {
  const detail = id === "try" ? html`<${TryOut} key=${operation} operationId=${operation} />` : id ? html`<${Detail} key=${id} id=${id} />`
    : html`<${Empty} says="Choose a request to see what was sent and answered, its code, and to send it again."><${Link} to="requests/try" class="button primary">Try an operation<//><//>`;
  return html`<div class="two">${id === "try" ? html`<${Operations} chosen=${operation} />` : html`<${Log} id=${id} />`}<section class="detail" aria-label="Details">${detail}</section></div>`;
}

function Ways({ isTry }) {
  return html`<nav class="switch" aria-label="Requests"><${Link} to="requests" current=${isTry ? undefined : "page"}>Log<//><${Link} to="requests/try" current=${isTry ? "page" : undefined}>Try it out<//></nav>`;
}

function Log({ id }) {
  const store = useStore();
  const [filter, change] = useKept("requests", NO_FILTER);
  const narrow = (more) => change({ ...more, places: [] });
  const { data: page, error } = useRead(`/sandbox/requests?${query(filter, SIZE)}`, of("request"), { keep: true, pause: 250 });
  const isFiltered = Object.entries(filter).some(([name, value]) => name !== "places" && value);
  const columns = [
    ["Request", (row) => html`<b class="method ${row.method}">${row.method}</b><code title=${visible(row.path)}>${visible(shortId(row.path))}</code>`, "fill"],
    ["Status", (row) => html`<${Status} status=${row.status} />`, "num"],
    ["Idempotency key", (row) => visible(row.idempotency_key), "dim roomy"],
    ["Time", (row) => html`<${Lately} ms=${Date.parse(row.at)} />`, "dim end"],
  ];
  const line = (row) => [row.id, lusaka(Date.parse(row.at)), row.method, row.path, row.status, row.key, row.idempotency_key, row.payment];
  const date = (name, label) => html`<${Field} name=${name} label=${label} type="date" value=${filter[name]} onChange=${(event) => narrow({ [name]: event.currentTarget.value })} />`;
  return html`<section class="list" aria-label="Requests"><div class="bar"><${Search} label="Search requests" title="Request-Id, path, payment or idempotency key" value=${filter.search} change=${(search) => narrow({ search })} />
      <${Ways} /></div>
    <div class="filters"><${Choice} label="Method" value=${filter.method} options=${["GET", "POST", "PATCH", "DELETE"]} change=${(method) => narrow({ method })} />
      <${Choice} label="Status" value=${filter.status} options=${[["2", "2xx succeeded"], ["4", "4xx refused"], ["5", "5xx failed"]]} change=${(status) => narrow({ status })} />
      <details class="menu"><summary class=${classes("choice", (filter.from || filter.to) && "set")}>Date</summary><div class="fields pop">${date("from", "From")}${date("to", "To")}</div></details>
      ${isFiltered && html`<button type="button" class="bare" onClick=${() => change(NO_FILTER)}>Clear</button>`}<span class="space" />
      <button type="button" class="bare" title="These requests as a file" onClick=${() => saveAll(store, "/sandbox/requests", filter, "requests", COLUMNS, line)}>CSV</button></div>
    <${Problem} problem=${error} /><div class="scroll">${page && html`<${Table} label="Requests, newest first" rows=${page.data} columns=${columns} to=${(row) => `requests/${row.id}`} opened=${id}
      empty=${isFiltered ? "No request matches." : "No request yet: what your shop sends stands here."} />`}</div><${Pager} ...${turns(page, filter, change, "request")} /></section>`;
}

function Detail({ id }) {
  const store = useStore();
  const { data: row, error } = useRead(`/sandbox/requests/${id}`);
  if (!row) return html`<${Problem} problem=${error} />`;
  const { request, response, target } = row.detail;
  const [method, path] = [target.slice(0, target.indexOf(" ")), target.slice(target.indexOf(" ") + 1)];
  const held = store.sent.get(id);
  const isMasked = [target, request.body].join().includes(MASK);
  const isTwice = method === "POST" && !Object.keys(request.headers).some((name) => name.toLowerCase() === "idempotency-key");
  const own = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !OWN.includes(name.toLowerCase()) && !/^(sec-|sandbox-unseen)/i.test(name)));
  const again = async () => {
    const sent = held ?? { method, path, body: request.body || undefined, headers: own };
    const answer = await store.act(sent.method, sent.path, sent.body, sent.headers);
    return html`<p>Sent again: it succeeded.</p><${Code} text=${JSON.stringify(answer, null, 2)} label="Response" />`;
  };
  const fill = () => {
    store.kept.refill = { method, path, body: laidOut(request.body) ?? request.body, headers: own };
    store.go("requests/try");
  };
  const says = isTwice ? "It has no idempotency key, so the service carries it out a second time." : "With the same idempotency key, the service responds as it did before.";
  return html`<header class="title"><div class="lead"><${Back} to="requests" /><h1 class="mono" title=${visible(target)}><b class="method ${method}">${method}</b>${visible(shortId(path))}</h1><span class="space" /><${Status} status=${response.status} />
      ${held || !isMasked ? html`<${Action} label="Send again…" title="Send this request again" confirm="Send it" says=${method === "GET" ? "It is read once more." : says} run=${again} />`
        : html`<button type="button" class="quiet small" title="What is masked was never kept: fill it in" onClick=${fill}>Fill in and send…</button>`}</div>
    <div class="sub"><span><${When} at=${row.at} /></span><${Id} id=${id} />${row.payment && html`<${Link} to="payments/${row.payment}">The payment<//>`}</div></header>
    <div class="scroll pad"><h2>Request</h2><${Code} label="Request" text=${message(target, request.headers, request.body)} /><h2>Response</h2><${Code} label="Response" text=${message(String(response.status), response.headers, response.body)} /><h2>Code</h2><${RequestCode} id=${id} label=${target} /></div>`;
}

// ---- try it out ------------------------------------------------------------------------------------------------

// The operations of the description, in its order, with what they are filled in with.
function useOperations() {
  const { data } = useRead("/openapi.json");
  return Object.entries(data?.paths ?? {}).flatMap(([path, methods]) => Object.entries(methods).filter(([, each]) => each.operationId).map(([method, each]) => {
    const content = each.requestBody?.content?.["application/json"];
    const examples = Object.entries(content?.examples ?? (content?.example ? { example: { value: content.example } } : {}));
    const parameters = [...(methods.parameters ?? []), ...(each.parameters ?? [])].map((one) => (one.$ref ? one.$ref.split("/").slice(1).reduce((found, key) => found[key], data) : one));
    return { id: each.operationId, method: method.toUpperCase(), path, says: each.summary, tag: each.tags?.[0] ?? "", parameters, examples, takesBody: Boolean(content) };
  }));
}

function Operations({ chosen }) {
  const [text, setText] = useState("");
  const operations = useOperations().filter((each) => `${each.id} ${each.method} ${each.path} ${each.says}`.toLowerCase().includes(text.toLowerCase()));
  const tags = [...new Set(operations.map((each) => each.tag))];
  return html`<section class="list" aria-label="Operations"><div class="bar"><${Search} label="Search operations" value=${text} change=${setText} /><${Ways} isTry /></div>
    <div class="scroll operations">${tags.map((tag) => html`<section key=${tag}><h2>${tag}</h2><ul class="plain">${operations.filter((each) => each.tag === tag).map((each) => html`<li key=${each.id}>
      <${Link} to="requests/try/${each.id}" title=${each.says} current=${each.id === chosen ? "true" : undefined}><b class="method ${each.method}">${each.method}</b><code>${each.path}</code><//></li>`)}</ul></section>`)}</div></section>`;
}

const KEYS = [["", "the session's secret key"], ["publishable", "the publishable key"], ["none", "no key"]];

function TryOut({ operationId }) {
  const store = useStore();
  const operations = useOperations();
  const refill = useRef(store.kept.refill);
  delete store.kept.refill;
  const asked = refill.current;
  const fits = (each) => each.method === asked.method && new RegExp(`^${each.path.replace(/\{\w+\}/g, "[^/?]+")}$`).test(asked.path.split("?")[0]);
  const operation = operations.find((each) => (asked ? fits(each) : each.id === operationId));
  if (!operations.length) return null;
  if (!operation) return html`<${Empty} says=${operationId ? `There is no operation ${operationId}.` : "Choose an operation: it opens with its example filled in."} />`;
  return html`<${Operation} key=${operation.id} operation=${operation} asked=${asked} />`;
}

// What an operation begins with: the ids of the newest payment and of its own example.
function Operation({ operation: { id, method, path, says, parameters, examples, takesBody }, asked }) {
  const store = useStore();
  const form = useRef();
  const task = useTask();
  const [answer, setAnswer] = useState(null);
  const [example, setExample] = useState(examples[0]?.[0] ?? "");
  const written = (value) => (value === undefined ? "" : JSON.stringify(value, null, 2));
  const [body, setBody] = useState(asked?.body ?? written(examples[0]?.[1].value));
  const { data: newest } = useRead("/sandbox/payments?limit=1", of("payment"));
  const payment = newest?.data[0];
  const inPath = asked ? asked.path.split("?")[0].split("/") : [];
  const known = (each) => {
    const place = path.split("/").indexOf(`{${each.name}}`);
    const mine = { intent_id: payment?.id.startsWith("pi_") && payment.id, charge_id: payment?.charge, payment_id: payment?.id, charge: payment?.charge, phone: "+260961234567" }[each.name];
    if (each.in === "path") return inPath[place] ?? (mine || (each.example ?? ""));
    if (each.in === "query") return asked ? (new URLSearchParams(asked.path.split("?")[1]).get(each.name) ?? "") : "";
    return Object.entries(asked?.headers ?? {}).find(([name]) => name.toLowerCase() === each.name.toLowerCase())?.[1] ?? (each.required ? `try-${Math.random().toString(36).slice(2, 8)}` : "");
  };
  useEffect(() => setAnswer(null), [id]);
  const choose = (name) => {
    setExample(name);
    setBody(written(examples.find(([each]) => each === name)?.[1].value));
  };
  const send = async (event) => {
    event.preventDefault();
    const values = Object.fromEntries(new FormData(form.current));
    const of_ = (place) => parameters.filter((each) => each.in === place && values[`${place} ${each.name}`]);
    const queried = new URLSearchParams(of_("query").map((each) => [each.name, values[`query ${each.name}`]])).toString();
    const target = parameters.filter((each) => each.in === "path").reduce((text, each) => text.replace(`{${each.name}}`, encodeURIComponent(values[`path ${each.name}`]).replaceAll("%2B", "+")), path) + (queried && `?${queried}`);
    const headers = Object.fromEntries(of_("header").map((each) => [each.name, values[`header ${each.name}`]]));
    if (takesBody && body) headers["Content-Type"] = "application/json";
    await task.run(async () => {
      if (values.key === "publishable") headers.Authorization = `Bearer ${(await store.read("/sandbox/keys")).publishable_key}`;
      const request = { method, path: target, headers, body: takesBody && body ? body : undefined, anonymous: values.key === "none" };
      const start = performance.now();
      setAnswer({ ...(await store.send(request)), took: Math.round(performance.now() - start), target });
    });
    form.current.querySelector(".answer")?.scrollIntoView({ block: "nearest" });
  };
  const fields = (place) => parameters.filter((each) => each.in === place).map((each) => html`<${Field} key=${`${id} ${each.name}`} name="${place} ${each.name}" label=${each.name} title=${each.description} required=${each.required}
    ...${each.schema?.enum ? { options: each.required ? each.schema.enum : [["", "–"], ...each.schema.enum.map((one) => [one, one])] } : {}} defaultValue=${known(each)} />`);
  const optional = [...fields("query"), ...fields("header")];
  const logged = answer?.headers["request-id"]?.startsWith("req_") ? answer.headers["request-id"] : "";
  return html`<form ref=${form} class="detail" onSubmit=${send} aria-label="Try ${id}"><header class="title"><div class="lead"><${Back} to="requests/try" /><h1 class="mono"><b class="method ${method}">${method}</b>${path}</h1><span class="space" /><button type="submit" class="primary" disabled=${task.busy}>Send</button></div>
      <div class="sub"><span>${says}</span><a href="/docs#${id}" target="_blank" rel="noopener">Reference</a></div></header>
    <div class="scroll pad"><div class="fields">${fields("path")}</div>
      ${takesBody && html`<div class="stack"><div class="sub"><label for="wb-try-body"><b>Body</b></label><span class="space" />${examples.length > 1 && html`<select class="choice" aria-label="Example" value=${example} onChange=${(event) => choose(event.currentTarget.value)}>${examples.map(([name, each]) => html`<option value=${name}>${each.summary ?? name}</option>`)}</select>`}</div>
        <textarea id="wb-try-body" class="body-text" rows=${Math.min(14, body.split("\n").length + 1)} spellcheck="false" value=${body} onInput=${(event) => setBody(event.currentTarget.value)}></textarea></div>`}
      <details open=${Boolean(asked)}><summary class="dim">Query, headers, key</summary><div class="fields">${optional}<${Field} name="key" label="Sent with" options=${KEYS} /></div></details>
      <${Problem} problem=${task.problem} />
      ${answer && html`<section class="answer stack" aria-label="What came back"><div class="sub"><${Status} status=${answer.status} /><span>${answer.took} ms</span>${logged && html`<${Link} to="requests/${logged}">In the log<//>`}</div>
        <${Code} label="Response" text=${message(null, answer.headers, answer.text)} />${logged ? html`<h2>Code</h2><${RequestCode} key=${logged} id=${logged} label=${answer.target} />` : ""}</section>`}</div></form>`;
}
