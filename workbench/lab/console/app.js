// The console: its head, its views, and the phone beside them.

import { render } from "./vendor/preact.js";
import { useEffect, useLayoutEffect, useRef } from "./vendor/hooks.js";
import { Dialog, Icon, Link, classes, html } from "./parts.js";
import { First, NewPayment, Payments } from "./payments.js";
import { Payment } from "./payment.js";
import { Phone, useHandsets } from "./phone.js";
import { Webhooks, useDeadLetters } from "./webhooks.js";
import { Requests } from "./requests.js";
import { Money } from "./money.js";
import { Clock, Sandbox } from "./sandbox.js";
import { StoreProvider, makeStore, ofKind, useRead, useRedraw, useStore } from "./store.js";

const NOBODY = { all: [], others: [] };
const NAMES = { payments: "Payments", webhooks: "Webhooks", requests: "Requests", money: "Money", sandbox: "Sandbox" };

// Shows the console in an element. `options` are the `base` of addresses in code, an `address` to read and write and `keys`
// to hear, where the page has them, `only` the phone, and what it calls before it takes the focus, `rings`. Where others
// on the page may have the phone, it `claims` it: there is one. Returns a function that takes it away.
export function mount(element, transport, options = {}) {
  const store = makeStore(transport, options.address ?? inMemory(), options.base ?? "$BASE_URL");
  store.rings = options.rings;
  // On a page of others the landmarks are theirs, and it opens with the newest payment.
  if (!options.keys) store.state.pane = "detail";
  store.landmarks = options.keys ? { head: "header", main: "main" } : { head: "div", main: "div" };
  element.classList.add("wb-console");
  render(html`<${StoreProvider} value=${store}>${options.only ? html`<${Docked} />` : html`<${Console} keys=${options.keys} />`}<//>`, element);
  store.start();
  const release = options.claims ? claimed((hasPhone) => store.set({ hasPhone })) : () => {};
  return () => {
    release();
    store.stop();
    render(null, element);
  };
}

// The phone of a page that may have several consoles is that of the latest.
function claimed(take) {
  const all = (globalThis.workbenchPhones ??= []);
  all.at(-1)?.(false);
  all.push(take);
  take(!document.querySelector(".docked"));
  return () => {
    const isLast = all.at(-1) === take;
    all.splice(all.indexOf(take), 1);
    if (isLast) all.at(-1)?.(!document.querySelector(".docked"));
  };
}

const inMemory = () => ({ read: () => "payments", write: () => {}, listen: () => {} });

function Console({ keys }) {
  const store = useStore();
  const redraw = useRedraw();
  const root = useRef();
  useLayoutEffect(() => store.listen(redraw), []);
  useEffect(() => {
    const pressed = (event) => shortcut(event, store, root.current);
    keys?.addEventListener("keydown", pressed);
    return () => keys?.removeEventListener("keydown", pressed);
  }, []);
  const { status, route, pane, hasPhone } = store.state;
  const isReady = store.gaps !== null;
  return html`<div class=${classes("app", !hasPhone && "phoneless")} ref=${root} data-pane=${pane} data-view=${route.split("/")[0]} data-status=${status}>
    ${status === "ended" ? html`<${Ended} />` : isReady ? html`<${Ready} key=${store.state.resets} />` : html`<${Head} /><${store.landmarks.main} class="view" />
      ${hasPhone && html`<${Phone} handsets=${NOBODY} />`}`}
    ${store.state.dialog && html`<${Dialog} ...${store.state.dialog} />`}</div>`;
}

// The phone alone, of whoever is asked.
function Docked() {
  const store = useStore();
  const redraw = useRedraw();
  useLayoutEffect(() => store.listen(redraw), []);
  return html`<div class="app docked" data-pane="phone" data-status=${store.state.status}>${store.gaps === null ? html`<${Phone} handsets=${NOBODY} />`
    : html`<${Rung} key=${store.state.resets} />`}</div>`;
}

const Rung = () => html`<${Phone} handsets=${useHandsets()} />`;

function Ready() {
  const store = useStore();
  const [view, ...place] = store.state.route.split("/");
  const { data: latest } = useRead("/sandbox/payments?limit=1", ofKind("payment"), { keep: true, pause: 250 });
  const newest = latest && (latest.data[0]?.id ?? null);
  const isNew = view === "payments" && place[0] === "new";
  const chosen = view === "payments" && !isNew ? place[0] : undefined;
  const before = useRef(null);
  // A payment whose PIN is half typed is not left for a newer one.
  const selected = chosen ?? (store.typing && before.current ? before.current : newest);
  before.current = selected;
  const { data: details } = useRead(selected && `/sandbox/payments/${selected}`, (row) => row.kind === "payment" && row.id === selected);
  // By its id before it is read: what an earlier reading of all phones has told may be over.
  const handsets = useHandsets(details?.payment ?? (selected && { id: selected }));
  const dead = useDeadLetters();
  const views = {
    webhooks: () => html`<${Webhooks} place=${place} dead=${dead} />`,
    requests: () => html`<${Requests} place=${place} />`,
    money: () => html`<${Money} place=${place} />`,
    sandbox: () => html`<${Sandbox} />`,
  };
  const none = () => (newest === null ? html`<${First} />` : html`<section class="detail" />`);
  const one = () => (selected ? html`<${Payment} id=${selected} phone=${handsets.handset?.phone} />` : none());
  const middle = isNew ? html`<${NewPayment} />` : one();
  const payments = () => html`<div class=${classes("two", middle.type === First && "only")}><${Payments} selected=${selected} follows=${store.follows()} />${middle}</div>`;
  return html`<${Head} dead=${dead} /><${store.landmarks.main} class="view"><h1 class="unseen">${NAMES[view] ?? NAMES.payments}</h1>${(views[view] ?? payments)()}<//>
    ${store.state.hasPhone && html`<${Phone} handsets=${handsets} payment=${details?.payment} />`}<${Panes} rings=${Boolean(handsets.handset?.waiting || handsets.others.length)} />`;
}

function Mark() {
  return html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#0b57d0" />
    <rect x="9" y="5" width="14" height="22" rx="2" fill="#fff" /><path d="m12.5 15.5 2.6 2.8 4.6-5.6M14 23.5h4" fill="none" stroke="#0b57d0" stroke-width="2.2" /></svg>`;
}

function Head({ dead }) {
  const store = useStore();
  const view = store.state.route.split("/")[0];
  const { data: late } = useRead(store.clock && "/sandbox/suspense?status=waiting", ofKind("entry"), { pause: 500, keep: true });
  const badges = { webhooks: dead, money: late?.data.length };
  const says = { webhooks: "dead letters", money: "sums in suspense" };
  const badge = (name) => badges[name] && html`<span class="badge bad" title="${badges[name]} ${says[name]}">${badges[name]}</span>`;
  const link = ([name, label]) => html`<${Link} to=${name} current=${name === view ? "page" : undefined}>${label}${badge(name) || ""}<//>`;
  return html`<${store.landmarks.head} class="head"><span class="brand"><${Mark} /><b>Sandbox</b></span>
    <nav aria-label="Views">${Object.entries(NAMES).map(link)}</nav>
    <span class="space" /><${Clock} /><//>`;
}

// In one column, the buttons choose which of the three panes is shown.
function Panes({ rings }) {
  const store = useStore();
  const button = (pane, label) => html`<button type="button" aria-pressed=${store.state.pane === pane} onClick=${() => store.set({ pane })}>
    <${Icon} name=${pane} />${label}${pane === "phone" && rings && html`<span class="badge ring">rings</span>`}</button>`;
  const isPayments = store.state.route.startsWith("payments");
  return html`<div class="panes" role="group" aria-label="What is shown">${button("list", "List")}${isPayments && button("detail", "Payment")}${store.state.hasPhone && button("phone", "Phone")}</div>`;
}

function Ended() {
  return html`<main class="ended-page"><${Mark} /><h1>This page's session has ended</h1>
    <p>The sandbox was started anew, or the link was used elsewhere. Open the link that <code>workbench serve</code> printed last, or paste its code.</p>
    <a class="button primary" href="/">Paste a code</a></main>`;
}

function shortcut(event, store, root) {
  if (event.ctrlKey || event.metaKey || event.altKey || root.querySelector("dialog[open]")) return;
  const isText = event.target.closest?.("input, textarea, select, [contenteditable=true]");
  if (event.key === "Escape" && event.target.closest?.("details[open]")) return event.target.closest("details[open]").removeAttribute("open");
  if (event.key === "Escape" && isText) return event.target.blur();
  if (event.key === "Escape" && store.state.route.split("/").length > 1) return store.go(store.state.route.split("/").slice(0, -1).join("/"));
  if (isText) return undefined;
  if (event.key === "/") {
    const search = root.querySelector("[data-search]");
    search?.focus();
    if (search) event.preventDefault();
  }
  if (event.key === "n") {
    store.go("payments/new");
    event.preventDefault();
  }
  if (event.key === "ArrowDown" && event.target.matches("body, h1")) root.querySelector("a.row")?.focus();
  return undefined;
}
