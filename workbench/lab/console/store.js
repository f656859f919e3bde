// Holds the page's knowledge of the sandbox. A reading is one GET that a view shows; it is repeated when a change
// concerns it, one at a time. An action is a request of the merchant, the customer or the operator.

import { createContext } from "./vendor/preact.js";
import { useContext, useEffect, useLayoutEffect, useReducer, useRef } from "./vendor/hooks.js";
import { words } from "./words.js";

const UNSEEN = { "Sandbox-Unseen": "true" }; // a GET that leaves no trace
const PAUSE_MS = 120;
const KEPT = 50;
const JUMP_MS = 900; // by less, only the way of the response differs
const NOTHING = { data: undefined, error: null };
const Context = createContext(null);
export const StoreProvider = Context.Provider;

export const useStore = () => useContext(Context);

export const useRedraw = () => useReducer((count) => count + 1, 0)[1];

// Makes a predicate: true if a change is of one of these kinds.
export const ofKind = (...kinds) => (change) => kinds.includes(change.kind);

// Reads a path as `data`, and reads it again whenever a change concerns it. `keep` shows the data of the path before
// until the new data is there; `pause` is the least time between two readings.
export function useRead(path, concerns = ofKind(), { keep = false, pause = PAUSE_MS } = {}) {
  const store = useStore();
  const redraw = useRedraw();
  const before = useRef(NOTHING);
  useLayoutEffect(() => (path ? store.watch(path, concerns, pause, redraw) : undefined), [path]);
  const known = (path && store.known(path)) || NOTHING;
  if (known.data !== undefined) before.current = known;
  return known.data === undefined && !known.error && keep ? before.current : known;
}

// Keeps a choice that was made in a view, also while another view is shown.
export function useKept(name, first) {
  const store = useStore();
  const redraw = useRedraw();
  store.kept[name] ??= first;
  const change = (more) => {
    store.kept[name] = { ...store.kept[name], ...more };
    redraw();
  };
  return [store.kept[name], change];
}

// The sandbox's clock in milliseconds; with `ticks`, drawn anew each second while it runs.
export function useNow(ticks = true) {
  const store = useStore();
  const redraw = useRedraw();
  useEffect(() => {
    const timer = ticks ? setInterval(() => store.clock?.mode === "running" && redraw(), 1000) : 0;
    return () => clearInterval(timer);
  }, [ticks]);
  return store.now();
}

export function makeStore(transport, address, base) {
  const readings = new Map();
  const listeners = new Set();
  let [end, isOver] = [null, false];

  const store = {
    base,
    off: () => transport.says ?? "Switched off: the sandbox does not respond.",
    sent: new Map(), // Request-Id → a request of this page, to send it again
    state: { route: address.read(), status: "starting", pane: paneOf(address.read()), number: null, dialog: null, resets: 0, hasPhone: true },
    kept: {},
    gaps: null,
    clock: null,
    offers: { test_numbers: [], scenarios: [], operators: [], pin: "1234" },
    typing: null, // the phone on which a PIN is half typed: what follows does not leave its payment

    set(change) {
      store.state = { ...store.state, ...change };
      for (const heard of listeners) heard();
    },

    listen(heard) {
      listeners.add(heard);
      return () => listeners.delete(heard);
    },

    go(route, change = {}) {
      address.write(route);
      store.set({ pane: paneOf(route), ...change, route });
    },

    now() {
      if (!store.clock) return 0;
      return store.clock.now_ms + (store.clock.mode === "running" ? Date.now() - store.clock.read_ms : 0);
    },

    // The path of an operation: the sandbox's own dashboard has it where the register takes it out of the interface.
    v1(path) {
      const { extra_endpoints: extra, endpoint_registration: registered } = store.gaps;
      const isGone = extra === "absent" || (registered === "dashboard" && path.startsWith("/webhook_endpoints"));
      return (isGone ? "/sandbox/dashboard" : "/v1") + path;
    },

    // A list there with so many rows on its page, by the name that the register has for that.
    listed: (path, count) => `${store.v1(path)}?${store.gaps.pagination === "page" ? "per_page" : "limit"}=${count}`,

    // Why no money moved, in a sentence.
    says: (code) => store.offers.failures?.[code] ?? words(code),

    isOn: () => ["live", "asking", "busy"].includes(store.state.status),

    operator: (id) => store.offers.operators.find((each) => each.id === id)?.name ?? id,

    // True while the page follows the newest payment.
    follows: () => !/^payments\/(?!new)./.test(store.state.route),

    async reach(request) {
      try {
        const response = await transport.send(request);
        return { ...response, body: parsed(response.text) };
      } catch {
        throw failure("The sandbox does not respond.", "Is it still running? The page goes on by itself when it is back.");
      }
    },

    async ask(request) {
      const response = await store.reach(request);
      if (response.status >= 400) throw problemIn(response);
      return response;
    },

    read: (path) => store.ask({ path, headers: UNSEEN }).then(({ body }) => body),

    // Sends what somebody decided; then everything that is looked at is asked anew.
    async act(method, path, value, headers = {}) {
      const body = value === undefined || typeof value === "string" ? value : JSON.stringify(value);
      const typed = body === undefined ? headers : { "Content-Type": "application/json", ...headers };
      return (await store.send({ method, path, body, headers: typed }, true)).body;
    },

    // Sends a request as it is; returns a refusal as a response too, unless it `raises`.
    async send(request, raises = false) {
      try {
        const response = await (raises ? store.ask : store.reach)(request);
        const id = response.headers["request-id"];
        if (id?.startsWith("req_")) store.sent.set(id, request);
        if (store.sent.size > KEPT) store.sent.delete(store.sent.keys().next().value);
        return response;
      } finally {
        store.refresh();
      }
    },

    // Deletes all payments. Nothing of them is asked for any more.
    async reset() {
      await store.ask({ method: "POST", path: "/sandbox/reset" });
      forget();
    },

    known: (path) => readings.get(path),

    watch(path, concerns, pause, heard) {
      const each = readings.get(path) ?? { path, data: undefined, error: null, heard: new Set(), text: null, at: 0 };
      Object.assign(each, { concerns, pause });
      readings.delete(path);
      readings.set(path, each);
      // While nobody looked, no change was heard: a response that is still under way may be older than one.
      if (!each.busy || !each.heard.size) load(each);
      each.heard.add(heard);
      return () => {
        each.heard.delete(heard);
        clearTimeout(each.timer);
        each.timer = 0;
        // The few that were looked at last are still known when somebody comes back.
        for (const old of readings.values()) {
          if (readings.size <= KEPT) break;
          if (!old.heard.size) readings.delete(old.path);
        }
      };
    },

    refresh: () => Promise.all([...readings.values()].filter((each) => each.heard.size).map(load)),

    // A part of a reading that is known already: it is shown at once.
    replace(path, change) {
      const each = readings.get(path);
      if (each?.data) tell(each, change(each.data), null);
    },

    async start() {
      try {
        const paths = ["/sandbox/gaps", "/sandbox/scenarios"];
        const [gaps, offers] = await Promise.all([...paths.map(store.read), tick()]);
        store.gaps = Object.fromEntries(gaps.data.map((row) => [row.name, row.value]));
        store.offers = offers;
        end = transport.subscribe(store.clock.seq, changed, (status) => status !== store.state.status && came(status));
        store.set({ status: "live" });
      } catch (error) {
        store.set({ status: [401, 403].includes(error.status) ? "ended" : "lost" });
        if (store.state.status === "lost" && !isOver) setTimeout(store.start, 2000);
      }
    },

    stop() {
      isOver = true;
      end?.();
      for (const each of readings.values()) clearTimeout(each.timer);
    },
  };

  function came(status) {
    // Asks for the changes of the time without a connection.
    if (store.state.status === "lost") store.refresh();
    store.set({ status });
  }

  async function tick() {
    const clock = { ...(await store.read("/sandbox/clock")), read_ms: Date.now() };
    const isMoved = !store.clock || Math.abs(clock.now_ms - store.now()) > JUMP_MS;
    store.clock = clock;
    if (isMoved) store.set({});
  }

  function changed(rows) {
    if (rows.some(ofKind("reset"))) return forget();
    if (rows.some(ofKind("clock"))) tick();
    for (const each of readings.values()) if (each.heard.size && rows.some(each.concerns)) soon(each);
    return undefined;
  }

  // Forgets all readings, which a reset has deleted, and draws the page anew.
  function forget() {
    readings.clear();
    store.go(store.state.route.split("/")[0], { number: null, resets: store.state.resets + 1 });
    tick();
  }

  function soon(each) {
    if (each.busy) each.later = true;
    else if (!each.timer) each.timer = setTimeout(() => load(each), Math.max(0, each.at + each.pause - performance.now()));
  }

  function load(each) {
    clearTimeout(each.timer);
    each.timer = 0;
    each.again = Boolean(each.busy);
    each.busy ??= asked(each);
    return each.busy;
  }

  async function asked(each) {
    do {
      each.again = false;
      try {
        const { body, text } = await store.ask({ path: each.path, headers: UNSEEN });
        // A response to a question from before an action may be older than the action: the next response decides.
        if (!each.again && (text !== each.text || each.error)) tell(each, body, null, text);
      } catch (error) {
        tell(each, each.data, error);
      }
      each.at = performance.now();
    } while (each.again);
    each.busy = null;
    if (each.later && each.heard.size) soon(each);
    each.later = false;
  }

  function tell(each, data, error, text = null) {
    Object.assign(each, { data, error, text });
    for (const heard of each.heard) heard();
  }

  address.listen((route) => store.set({ route, pane: paneOf(route) }));
  return store;
}

// In one column, a route that names one thing shows that thing, and any other route the list.
const paneOf = (route) => /^payments\/.|^requests\/(?!try$).|^webhooks\/\w+\/./.test(route) ? "detail" : "list";

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null; // a body that is no JSON is text alone
  }
}

const failure = (says, hint = "") => Object.assign(new Error(says), { hint, status: 0, fields: {} });

// A refusal, in whichever of its three formats: its sentence, and what is wrong with which field.
function problemIn({ status, body, headers }) {
  const facts = body?.error && typeof body.error === "object" ? body.error : (body ?? {});
  const { detail = facts.message ?? `The response is ${status}.`, errors = [], param, code, charge, hint } = facts;
  const fields = Object.fromEntries(errors.map((each) => [each.pointer.split("/").at(-1), each.detail]));
  if (param) fields[param] ??= detail;
  return Object.assign(failure(detail, hint), { status, fields, code, charge, request: headers["request-id"] });
}
