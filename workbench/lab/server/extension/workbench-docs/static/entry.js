// A tile in JupyterLab's launcher, an entry of its Help menu and its palette: the service's documentation, in a tab.
// And the customer's phone beside every notebook. And pictures of a cell: each with the colours of the theme, and with its
// own description, which JupyterLab leaves out, for whoever does not see it.
//
// JupyterLab loads an extension as a "container": an object with init, which is given the modules that all share,
// and get, which answers with a module. A bundler writes such objects; this one is short enough to be written by hand.
(() => {
  const COMMAND = "workbench:docs";
  const LABEL = "API docs";
  const NEWS = "workbench.news";
  const SUBSHELL_MS = 1000;
  const STYLE = `
    #jp-right-stack > #workbench-phone { min-width: 308px; }
    #workbench-phone > div { height: 100%; }
    #workbench-phone > [hidden] { display: none; }
    .jp-RenderedSVG img { max-width: 100%; height: auto; }
    .jp-InputPlaceholder > .jp-Placeholder-content { min-width: 0; }
    body[data-jp-theme-light="true"] .jp-RenderedSVG img { color-scheme: light; }
    body[data-jp-theme-light="false"] .jp-RenderedSVG img { color-scheme: dark; }`;
  const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><path class="jp-icon3"
    fill="#616161" d="M5 3h10l4 4v14H5zm2 2v14h10V9h-4V5zm2 7h6v1.6H9zm0 3.2h6v1.6H9z"/></svg>`;
  const PHONE = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><path class="jp-icon3"
    fill="#616161" d="M7 2h10v20H7zm2 3v11h6V5zm1.6 13v1.6h2.8V18z"/></svg>`;
  let shared = {};

  // A module that JupyterLab brings; each is there in one version.
  async function load(name) {
    const [version] = Object.values(shared[name]);
    return (await version.get())();
  }

  async function plugin() {
    const [apputils, components, coreutils, launchers, menus, notebooks] = await Promise.all(
      ["apputils", "ui-components", "coreutils", "launcher", "mainmenu", "notebook"].map((name) => load(`@jupyterlab/${name}`)),
    );
    const { ILayoutRestorer } = await load("@jupyterlab/application");
    const widgets = await load("@lumino/widgets");

    const icon = new components.LabIcon({ name: COMMAND, svgstr: ICON });
    const phoneIcon = new components.LabIcon({ name: "workbench:phone", svgstr: PHONE });

    function page() {
      const frame = new components.IFrame();
      const inner = frame.node.querySelector("iframe");
      inner.removeAttribute("sandbox"); // the page is ours, and its own policy holds it to this server
      inner.title = LABEL;
      frame.url = coreutils.URLExt.join(coreutils.PageConfig.getBaseUrl(), "docs");
      const widget = new apputils.MainAreaWidget({ content: frame });
      widget.id = "workbench-docs";
      widget.title.label = LABEL;
      widget.title.icon = icon;
      widget.title.closable = true;
      widget.toolbar.hide();
      return widget;
    }

    function describe(changes) {
      const added = changes.flatMap(({ addedNodes }) => [...addedNodes]).filter((each) => each.querySelectorAll);
      for (const image of added.flatMap((each) => [each, ...each.querySelectorAll("img")])) {
        if (!image.matches(".jp-RenderedSVG img:not([alt])")) continue;
        const drawn = decodeURIComponent(image.src.slice(image.src.indexOf(",") + 1));
        image.alt = new DOMParser().parseFromString(drawn, "image/svg+xml").querySelector("desc")?.textContent ?? "";
      }
    }

    // The customer's phone at the right of every notebook: the one of the notebook in front, or of one whose phone rings.
    async function dockPhones(shell, tracker) {
      const { dock } = await import(new URL("console/jupyter.js", coreutils.PageConfig.getBaseUrl()));
      const panel = new widgets.Widget();
      const phones = new Map();
      panel.id = "workbench-phone";
      panel.title.caption = "Customer's phone";
      panel.title.icon = phoneIcon;
      // A notebook keeps about half of the window: the list of files is a click away, on a small screen the phone too.
      const isAtMost = (width) => window.matchMedia(`(max-width: ${width}px)`).matches;
      if (isAtMost(1200)) shell.collapseLeft();
      if (isAtMost(800)) {
        panel.title.label = panel.title.caption;
        shell.add(panel, "main", { activate: false });
      } else {
        shell.add(panel, "right", { rank: 1 });
        shell.activateById(panel.id);
      }

      function show(notebook) {
        for (const [each, element] of phones) element.hidden = each !== notebook;
      }

      async function follow(notebook) {
        const [element, { sessionContext }] = [document.createElement("div"), notebook];
        panel.node.append(element);
        phones.set(notebook, element);
        show(tracker.currentWidget);
        const phone = await dock(element, { rings: () => show(notebook) });

        async function hear(kernel, news) {
          const ask = kernel.createComm("workbench.ask");
          // Until its subshell is there, the kernel would answer after the running cell; some have none.
          await Promise.race([ask.subshellStarted, new Promise((resolve) => setTimeout(resolve, SUBSHELL_MS))]);
          ask.open({});
          news.onClose = () => phone.end();
          phone.connect(port(ask), port(news));
        }

        async function connect() {
          const kernel = sessionContext.session?.kernel;
          if (!kernel) return phone.end();
          kernel.registerCommTarget(NEWS, (comm) => void hear(kernel, comm));
          const { content } = await kernel.requestCommInfo({ target_name: NEWS });
          const id = Object.keys(content.comms ?? {}).find((each) => !kernel.hasComm(each));
          return id && hear(kernel, kernel.createComm(NEWS, id));
        }

        await sessionContext.ready;
        sessionContext.kernelChanged.connect(connect);
        sessionContext.statusChanged.connect((_, status) => /restarting|dead|terminating/.test(status) && phone.end());
        notebook.disposed.connect(() => {
          phone.end();
          element.remove();
          phones.delete(notebook);
        });
        connect();
      }

      tracker.forEach(follow);
      tracker.widgetAdded.connect((_, notebook) => follow(notebook));
      tracker.currentChanged.connect((_, notebook) => show(notebook));
    }

    function port(comm) {
      let heard = () => {};
      comm.onMsg = ({ content }) => heard(content.data);
      return {
        send: (data) => comm.send(data),
        hear: (hears) => {
          heard = hears;
          return () => (heard = () => {});
        },
      };
    }

    function activate(app, tracker, launcher, palette, menu, restorer) {
      document.head.append(Object.assign(document.createElement("style"), { textContent: STYLE }));
      new MutationObserver(describe).observe(document.body, { childList: true, subtree: true });
      const kept = new apputils.WidgetTracker({ namespace: "workbench-docs" });
      let opened = null;
      app.commands.addCommand(COMMAND, {
        label: LABEL,
        caption: "Read what the payment service takes and answers",
        icon,
        execute: async () => {
          if (!opened || opened.isDisposed) {
            opened = page();
            await kept.add(opened);
          }
          if (!opened.isAttached) app.shell.add(opened, "main");
          app.shell.activateById(opened.id);
        },
      });
      launcher?.add({ command: COMMAND, category: "Workbench", rank: 0 });
      palette?.addItem({ command: COMMAND, category: "Help" });
      menu?.helpMenu.addGroup([{ command: COMMAND }], 0);
      restorer?.restore(kept, { command: COMMAND, name: () => "docs" });
      // Only the server of `workbench lab` has the console's files.
      if (!coreutils.PageConfig.getOption("workbenchPhone")) return;
      app.restored.then(() => dockPhones(app.shell, tracker));
    }

    return {
      id: "workbench-docs:plugin",
      description: "Opens the service's documentation.",
      autoStart: true,
      requires: [notebooks.INotebookTracker],
      optional: [launchers.ILauncher, apputils.ICommandPalette, menus.IMainMenu, ILayoutRestorer],
      activate,
    };
  }

  globalThis._JUPYTERLAB ??= {};
  globalThis._JUPYTERLAB["workbench-docs"] = {
    init: (modules) => {
      shared = modules;
    },
    get: async () => {
      const made = await plugin();
      return () => ({ __esModule: true, default: made });
    },
  };
})();
