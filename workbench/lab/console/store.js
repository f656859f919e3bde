// What the page knows of the sandbox. A reading is one GET that somebody looks at; it is asked anew when a change
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

export function useStore() {
  return useContext(Context);
}

// Whether a change is of one of these kinds.
export function of(...kinds) {
  return (change) => kinds.includes(change.kind);
}

// What a path answers, `data`, and again whenever a change concerns it. `keep` shows what the path before has answered
// until this one does; `pause` is the least time between two askings.
export function useRead(path, concerns = of(), { keep = false, pause = PAUSE_MS } = {}) {
  const store = useStore();
  const [, redraw] = useReducer((count) => count + 1, 0);
  const before = useRef(NOTHING);
  useLayoutEffect(() => (path ? store.watch(path, concerns, pause, redraw) : undefined), [path]);
  const known = (path && store.known(path)) || NOTHING;
  if (known.data !== undefined) before.current = known;
  return known.data === undefined && !known.error && keep ? before.current : known;
}

// What somebody chose in a view; it is still there when they come back to it.
export function useKept(name, first) {
  const store = useStore();
  const [, redraw] = useReducer((count) => count + 1, 0);
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
  const [, redraw] = useReducer((count) => count + 1, 0);
  useEffect(() => {
    const timer = ticks ? setInterval(() => store.clock?.mode === "running" && redraw(), 1000) : 0;
    return () => clearInterval(timer);
  }, [ticks]);
  return store.now();
}

export function makeStore(transport, address, base) {
  const readings = new Map();
  const sent = new Map(); // Request-Id → a request of this page, to send it again
  const listeners = new Set();
  let end = null;

  const store = {
    base,
    sent,
    state: { route: address.read(), status: "starting", pane: paneOf(address.read()), number: null },
    kept: {},
    gaps: {},
    clock: null,
    offers: { test_numbers: [], scenarios: [], operators: [], pin: "1234" },
    typing: false, // a PIN is half typed: what follows does not leave its payment

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
      return store.clock ? store.clock.now_ms + (store.clock.mode === "running" ? Date.now() - store.clock.read_ms : 0) : 0;
    },

    // Where an operation is that the interface may not offer: then the sandbox's own dashboard has it.
    v1(path) {
      const gone = store.gaps.extra_endpoints === "absent"
        || (store.gaps.endpoint_registration === "dashboard" && path.startsWith("/webhook_endpoints"));
      return (gone ? "/sandbox/dashboard" : "/v1") + path;
    },

    async ask(request) {
      let response;
      try {
        response = await transport.send(request);
      } catch {
        throw failure("The sandbox does not respond.", "Is it still running? The page goes on by itself when it is back.");
      }
      if (response.status >= 400) throw problemIn(response);
      return response;
    },

    // Why no money moved, in a sentence.
    says: (code) => store.offers.failures?.[code] ?? words(code),

    // Whether the newest payment is shown, whichever it is.
    follows: () => !/^payments\/(?!new)./.test(store.state.route),

    read: (path) => store.ask({ path, headers: UNSEEN }).then(({ body }) => body),

    // Sends what somebody decided; then everything that is looked at is asked anew.
    async act(method, path, value, headers = {}) {
      const body = value === undefined ? undefined : typeof value === "string" ? value : JSON.stringify(value);
      const typed = body === undefined ? headers : { "Content-Type": "application/json", ...headers };
      const request = { method, path, body, headers: typed };
      try {
        const response = await store.ask(request);
        keep(response, request);
        return response.body;
      } finally {
        store.refresh();
      }
    },

    // Sends a request as it is; a refusal is a response too.
    async send(request) {
      const response = await transport.send(request);
      keep(response, request);
      store.refresh();
      return response;
    },

    known: (path) => readings.get(path),

    watch(path, concerns, pause, heard) {
      const each = readings.get(path) ?? { path, data: undefined, error: null, heard: new Set(), text: null, at: 0 };
      Object.assign(each, { concerns, pause });
      readings.delete(path);
      readings.set(path, each);
      each.heard.add(heard);
      if (!each.busy) load(each);
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
        const [gaps, offers] = await Promise.all([store.read("/sandbox/gaps"), store.read("/sandbox/scenarios"), tick()]);
        store.gaps = Object.fromEntries(gaps.data.map((row) => [row.name, row.value]));
        store.offers = offers;
        end = transport.subscribe(store.clock.seq, changed, (status) => status !== store.state.status && came(status));
        store.set({ status: "live" });
      } catch (error) {
        store.set({ status: [401, 403].includes(error.status) ? "ended" : "lost" });
        if (store.state.status === "lost") setTimeout(store.start, 2000);
      }
    },

    stop() {
      end?.();
      for (const each of readings.values()) clearTimeout(each.timer);
    },
  };

  function keep(response, request) {
    const id = response.headers["request-id"];
    if (!id?.startsWith("req_")) return;
    sent.set(id, request);
    if (sent.size > KEPT) sent.delete(sent.keys().next().value);
  }

  function came(status) {
    // What changed while nobody heard is asked for.
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
    if (rows.some((row) => row.kind === "reset")) {
      for (const each of readings.values()) Object.assign(each, { data: undefined, text: null });
      store.go(store.state.route.split("/")[0], { number: null });
      tick();
      store.refresh();
      return;
    }
    if (rows.some(of("clock"))) tick();
    for (const each of readings.values()) if (each.heard.size && rows.some(each.concerns)) soon(each);
  }

  function soon(each) {
    if (each.busy) each.later = true;
    else if (!each.timer) each.timer = setTimeout(() => load(each), Math.max(0, each.at + each.pause - performance.now()));
  }

  function load(each) {
    clearTimeout(each.timer);
    each.timer = 0;
    if (each.busy) {
      each.again = true;
      return each.busy;
    }
    each.busy = (async () => {
      do {
        each.again = false;
        try {
          const { body, text } = await store.ask({ path: each.path, headers: UNSEEN });
          if (text !== each.text || each.error) tell(each, body, null, text);
        } catch (error) {
          tell(each, each.data, error);
        }
        each.at = performance.now();
      } while (each.again);
      each.busy = null;
      if (each.later && each.heard.size) soon(each);
      each.later = false;
    })();
    return each.busy;
  }

  function tell(each, data, error, text = null) {
    Object.assign(each, { data, error, text });
    for (const heard of each.heard) heard();
  }

  // It opens with the newest payment.
  if (store.state.route === "payments") store.state.pane = "detail";
  address.listen((route) => store.set({ route, pane: paneOf(route) }));
  return store;
}

// Where there is room for one column, a route that names one thing shows it, and any other the list.
function paneOf(route) {
  return /^payments\/.|^requests\/(?!try$).|^webhooks\/\w+\/./.test(route) ? "detail" : "list";
}

export function failure(says, hint = "") {
  return Object.assign(new Error(says), { hint, status: 0, fields: {} });
}

// A refusal, in whichever of its three formats: its sentence, and what is wrong with which field.
function problemIn({ status, body, headers }) {
  const facts = body?.error && typeof body.error === "object" ? body.error : (body ?? {});
  const fields = Object.fromEntries((facts.errors ?? []).map(({ pointer, detail }) => [pointer.split("/").at(-1), detail]));
  if (facts.param && !fields[facts.param]) fields[facts.param] = facts.detail ?? facts.message;
  const says = facts.detail ?? facts.message ?? `The response is ${status}.`;
  return Object.assign(failure(says, facts.hint), {
    status, fields, code: facts.code, charge: facts.charge, request: headers["request-id"],
  });
}
