// The transport of the served console: `send` is a fetch, `subscribe` a stream of changes.
// A transport has these two verbs and nothing else; views know nothing of where they run.

const STREAMS = 4; // of the six connections that a browser has for one host
const POLL_MS = 2000;

export function served() {
  async function send({ method = "GET", path, headers = {}, body, anonymous = false }) {
    const credentials = anonymous ? "omit" : "same-origin";
    const response = await fetch(path, { method, headers, body, credentials, cache: "no-store" });
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
  }

  // Calls `onChanges` with rows of `/sandbox/changes` after this seq, and `onState` with live, asking, lost or ended.
  // A hidden tab hears nothing, and goes on where it stopped. Returns a function that ends it.
  function subscribe(after, onChanges, onState) {
    let [last, run, timer, source, release] = [after, 0, 0, null, null];

    function heard(rows, seq) {
      last = Math.max(last, seq || 0, ...rows.map((row) => row.seq));
      if (rows.length) onChanges(rows);
    }

    function wasReset(seq) {
      last = seq || 0;
      onChanges([{ kind: "reset" }]);
    }

    function stream() {
      source = new EventSource(`/sandbox/changes?after=${last}`);
      source.onopen = () => onState("live");
      source.onmessage = ({ data, lastEventId }) => heard([JSON.parse(data)], Number(lastEventId));
      source.addEventListener("reset", ({ lastEventId }) => wasReset(Number(lastEventId)));
      source.onerror = () => {
        onState("lost");
        if (source?.readyState !== EventSource.CLOSED) return;
        stop();
        timer = setTimeout(start, POLL_MS);
      };
    }

    // Asks once, and then streams if one of this browser's streams is free, else asks again.
    async function start() {
      const mine = (run += 1);
      if (document.hidden) return;
      try {
        const { status, text } = await send({ path: `/sandbox/changes?after=${last}`, headers: { "Sandbox-Unseen": "true" } });
        if (run !== mine) return;
        if (status === 401 || status === 403) return void onState("ended");
        const body = JSON.parse(text);
        if (body.reset) wasReset(body.last_seq);
        else heard(body.data, body.last_seq);
        onState("asking");
        if (await locked()) return void (run === mine ? stream() : release?.());
      } catch {
        onState("lost");
      }
      if (run === mine) timer = setTimeout(start, POLL_MS);
    }

    async function locked() {
      for (let place = 1; navigator.locks && place <= STREAMS; place += 1) {
        const isMine = await new Promise((tell) => {
          navigator.locks.request(`workbench-stream-${place}`, { ifAvailable: true }, (lock) => {
            tell(Boolean(lock));
            return lock && new Promise((end) => (release = end));
          });
        });
        if (isMine) return true;
      }
      return !navigator.locks;
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
