// The console in Jupyter: in a cell, and the phone beside the notebooks. What it asks goes to the kernel over a comm, each
// message with a number that is answered once; what changed comes over another comm.

const SHEETS = ["look.css", "console.css"];
const SLOW_MS = 2000;
const NO_KERNEL = "Its kernel has ended. Run the notebook's cells again to go on.";
const OFF = "Switched off. Run the notebook's first cells to switch it on.";

// A transport from `ask`, which sends and hears messages, and `news`, which hears them alone. `end` says that no kernel
// responds any more.
function throughKernel(ask, news) {
  const [waiting, own] = [new Map(), Math.random().toString(36).slice(2)];
  let [count, state, lost] = [0, () => {}, ""];
  const tell = (is) => lost || state(is);

  function message(content) {
    if (lost) return Promise.reject(new Error(lost));
    return new Promise((resolve, reject) => {
      const number = `${own}${(count += 1)}`;
      waiting.set(number, { resolve, reject, slow: setTimeout(() => tell("busy"), SLOW_MS) });
      ask.send({ ...content, number });
    });
  }

  ask.hear(({ number, ...response }) => {
    const { resolve, reject, slow } = waiting.get(number) ?? {};
    if (!waiting.delete(number)) return; // another view's
    clearTimeout(slow);
    tell("live");
    if (response.failed) reject(new Error(response.failed));
    else resolve(response);
  });

  const send = (request) => message({ request });

  function subscribe(after, onChanges, onState) {
    const told = ({ data = [], reset, lost: says }) => {
      lost = says ?? "";
      onState(lost ? "lost" : "live");
      if (reset) onChanges([{ kind: "reset" }]);
      else if (data.length) onChanges(data);
    };
    state = onState;
    const close = news.hear(told);
    // Asks for the changes between the first reading and the subscription.
    send({ path: `/sandbox/changes?after=${after}`, headers: { "Sandbox-Unseen": "true" } }).then(({ text }) => told(JSON.parse(text)), () => {});
    return close;
  }

  function end(says) {
    lost = says;
    for (const { reject, slow } of waiting.values()) {
      clearTimeout(slow);
      reject(new Error(says));
    }
    waiting.clear();
    state("lost");
  }

  return { get says() { return lost || OFF; }, send, subscribe, message, end };
}

// ---- in a cell -------------------------------------------------------------------------------------------------

async function render({ model, el }) {
  const told = await model.widget_manager.get_model(model.get("news")).catch(() => null);
  if (!told?.comm_live) return void el.replaceChildren(...record(model.get("record")), sentence(NO_KERNEL));
  const hears = (from) => (heard) => {
    from.on("msg:custom", heard);
    return () => from.off("msg:custom", heard);
  };
  const transport = throughKernel({ send: (each) => model.send(each), hear: hears(model) }, { hear: hears(told) });
  const { files, base } = await transport.message({ files: true });
  const { mount } = await import(linked(files, "app.js"));
  const root = document.createElement("div");
  el.replaceChildren(...SHEETS.map((each) => styled(files[each])), root);
  const close = opened(mount, root, transport, { base, claims: true });
  const gone = () => {
    if (told.comm_live) return;
    transport.end(NO_KERNEL);
    root.inert = true;
    el.append(sentence(NO_KERNEL));
  };
  told.on("comm_live_update", gone);
  return () => {
    told.off("comm_live_update", gone);
    close();
  };
}

// The address of a module whose imports are such addresses: nothing is served where the page is not ours.
function linked(files, name, known = {}) {
  const folder = name.slice(0, name.lastIndexOf("/") + 1);
  const text = () => files[name].replace(/from ?"\.\/([^"]+)"/g, (_, each) => `from"${linked(files, folder + each, known)}"`);
  known[name] ??= URL.createObjectURL(new Blob([text()], { type: "text/javascript" }));
  return known[name];
}

// Draws the saved record; no script in it runs.
const record = (html) => new DOMParser().parseFromString(html, "text/html").querySelectorAll("body > *");

const sentence = (text) => Object.assign(document.createElement("p"), { textContent: text });

// ---- anywhere ----------------------------------------------------------------------------------------------------

// The rules for this console alone. Those of what moves cannot be among them.
function styled(css) {
  const moves = /^@keyframes .*$/gm;
  const text = `@scope (.wb-console) { ${css.replace(moves, "").replaceAll(".wb-console", ":scope")} } ${css.match(moves)?.join("") ?? ""}`;
  return Object.assign(document.createElement("style"), { textContent: text });
}

// Shows it, light or dark as what is around it. What is typed in a field is not meant for the notebook.
function opened(mount, root, transport, options) {
  const look = () => {
    const { jpThemeLight, vscodeThemeKind = "" } = document.body.dataset;
    if (jpThemeLight ?? vscodeThemeKind) root.dataset.theme = jpThemeLight === "false" || /dark|contrast$/.test(vscodeThemeKind) ? "dark" : "light";
  };
  const themes = new MutationObserver(look);
  themes.observe(document.body, { attributes: true });
  const typed = (event) => {
    const isOurs = event.target.closest("input, select, textarea, dialog") && !event.ctrlKey && !event.metaKey;
    if (isOurs) event.stopPropagation();
  };
  for (const kind of ["keydown", "keypress", "keyup"]) root.addEventListener(kind, typed);
  root.classList.add("within");
  look();
  const close = mount(root, transport, options);
  return () => {
    themes.disconnect();
    close();
  };
}

// ---- docked ------------------------------------------------------------------------------------------------------

// The phone in an element: dark until `connect` has two comms of a kernel. `rings` is called before it takes the focus.
export async function dock(element, { rings }) {
  const sheets = await Promise.all(SHEETS.map(async (each) => (await fetch(new URL(each, import.meta.url))).text()));
  const { mount } = await import(new URL("app.js", import.meta.url));
  const root = document.createElement("div");
  element.replaceChildren(...sheets.map(styled), root);
  const nobody = { send: () => new Promise(() => {}), subscribe: () => () => {}, says: OFF };
  let [close, transport] = [() => {}, null];

  function show(through) {
    close();
    transport = through;
    close = opened(mount, root, through ?? nobody, { only: "phone", rings });
  }

  show(null);
  return {
    connect: (ask, news) => show(throughKernel(ask, news)),
    end: (says = NO_KERNEL) => transport?.end(says),
  };
}

export default { render };
