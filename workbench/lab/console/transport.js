// How the served console asks and hears: `send` is a fetch, `subscribe` a stream of what has changed.
// A transport has these two verbs and nothing else; views know nothing of where they run.

const STREAMS = 4; // of the six connections that a browser has for one host
const POLL_MS = 2000;

export function served() {
  async function send({ method = "GET", path, headers = {}, body, anonymous = false }) {
    const credentials = anonymous ? "omit" : "same-origin";
    const response = await fetch(path, { method, headers, body, credentials, cache: "no-store" });
    const text = await response.text();
    return { status: response.status, headers: Object.fromEntries(response.headers), text, body: parsed(text) };
  }

  // Calls `onChanges` with rows of `/sandbox/changes` after this seq, and `onState` with live, asking, lost or ended.
  // A hidden tab hears nothing, and goes on where it stopped. Returns a function that ends it.
  function subscribe(after, onChanges, onState) {
    const changes = (since) => `/sandbox/changes?after=${since}`;
    let [last, source, timer, release, run] = [after, null, 0, null, 0];

    function heard(rows, seq) {
      last = Math.max(last, seq || 0, ...rows.map((row) => row.seq || 0));
      if (rows.length) onChanges(rows);
    }

    function reset(seq) {
      last = seq || 0;
      onChanges([{ kind: "reset" }]);
    }

    function stream() {
      source = new EventSource(changes(last));
      source.onopen = () => onState("live");
      source.onmessage = ({ data, lastEventId }) => heard([parsed(data)].flat().filter(Boolean), Number(lastEventId));
      source.addEventListener("reset", ({ lastEventId }) => reset(Number(lastEventId)));
      source.onerror = () => {
        onState("lost");
        if (source?.readyState !== EventSource.CLOSED) return;
        stop();
        timer = setTimeout(start, POLL_MS);
      };
    }

    async function poll(mine) {
      try {
        const { status, body } = await send({ path: changes(last), headers: { "Sandbox-Unseen": "true" } });
        if (run !== mine) return;
        if (status === 401 || status === 403) return onState("ended");
        onState("asking");
        if (body.reset) reset(body.last_seq);
        else heard(body.data, body.last_seq);
      } catch {
        onState("lost");
      }
      timer = setTimeout(() => freed(mine), POLL_MS);
    }

    // Asks first whether one of the streams is free by now.
    async function freed(mine) {
      if (!(await locked()) || run !== mine) return run === mine && poll(mine);
      return stream();
    }

    async function locked() {
      if (!navigator.locks) return true;
      for (let place = 1; place <= STREAMS; place += 1) {
        const got = await new Promise((tell) => {
          navigator.locks.request(`workbench-stream-${place}`, { ifAvailable: true }, (lock) => {
            tell(Boolean(lock));
            return lock && new Promise((end) => { release = end; });
          });
        });
        if (got) return true;
      }
      return false;
    }

    async function start() {
      const mine = (run += 1);
      if (document.hidden) return;
      const { status } = await send({ path: changes(last), headers: { "Sandbox-Unseen": "true" } }).catch(() => ({}));
      if (run !== mine) return;
      if (status === 401 || status === 403) return onState("ended");
      await freed(mine);
    }

    function stop() {
      run += 1;
      clearTimeout(timer);
      source?.close();
      release?.();
      [source, release] = [null, null];
    }

    function turned() {
      stop();
      start();
    }

    document.addEventListener("visibilitychange", turned);
    start();
    return () => {
      document.removeEventListener("visibilitychange", turned);
      stop();
    };
  }

  return { send, subscribe };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
