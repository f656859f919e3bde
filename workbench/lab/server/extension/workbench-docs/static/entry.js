// A tile in JupyterLab's launcher, an entry of its Help menu and its palette: the service's documentation, in a tab.
// And the name of the customer's phone beside a notebook, with what switches it on. And pictures of a cell: each with the
// colours of the theme, and with its own description, which JupyterLab leaves out, for whoever does not see it.
//
// JupyterLab loads an extension as a "container": an object with init, which is given the modules that all share,
// and get, which answers with a module. A bundler writes such objects; this one is short enough to be written by hand.
(() => {
  const COMMAND = "workbench:docs";
  const LABEL = "API docs";
  const HANDSET_CLASS = "workbench-handset";
  // Until a cell has run, the view would show the picture that the notebook was saved with.
  const STYLE = `
    .workbench-off { display: flex; justify-content: center; padding: 12px; }
    .workbench-handset .jp-OutputArea-output .wb-phone { margin-inline: auto; }
    .jp-RenderedSVG img { max-width: 100%; height: auto; }
    .workbench-handset:has(.jp-OutputArea .wb-phone) .workbench-off { display: none; }
    .workbench-handset:has(.workbench-off > *):not(:has(.jp-OutputArea .wb-phone)) .jp-OutputArea { display: none; }
    .workbench-handset.workbench-away > :not(.workbench-whose) { display: none; }
    .workbench-handset:not(.workbench-away) > .workbench-whose { display: none; }
    .workbench-whose { max-width: 22em; margin: 24px auto; padding-inline: 12px; color: var(--jp-ui-font-color1);
      font: var(--jp-content-font-size1) / 1.5 var(--jp-ui-font-family); }
    .workbench-whose button { min-height: 44px; }
    body[data-jp-theme-light="true"] .jp-RenderedSVG img { color-scheme: light; }
    body[data-jp-theme-light="false"] .jp-RenderedSVG img { color-scheme: dark; }`;
  const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><path class="jp-icon3"
    fill="#616161" d="M5 3h10l4 4v14H5zm2 2v14h10V9h-4V5zm2 7h6v1.6H9zm0 3.2h6v1.6H9z"/></svg>`;
  let shared = {};

  // A module that JupyterLab brings; each is there in one version.
  async function load(name) {
    const [version] = Object.values(shared[name]);
    return (await version.get())();
  }

  async function plugin() {
    const [apputils, components, coreutils, launchers, menus] = await Promise.all(
      ["apputils", "ui-components", "coreutils", "launcher", "mainmenu"].map((name) => load(`@jupyterlab/${name}`)),
    );
    const { ILayoutRestorer } = await load("@jupyterlab/application");

    const icon = new components.LabIcon({ name: COMMAND, svgstr: ICON });

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

    // The handset as it is drawn when it is live, and no kernel answers it: it says itself how it is switched on.
    async function showSwitchedOff(view) {
      const of = (name) => coreutils.URLExt.join(coreutils.PageConfig.getBaseUrl(), "workbench", name);
      const off = Object.assign(document.createElement("div"), { className: "workbench-off" });
      view.node.prepend(off);
      document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: of("phone.css") }));
      const nobody = () => {
        throw new Error("there is no kernel yet");
      };
      const model = { get: () => ({ name: "", operator: "" }), on() {}, off() {}, send: nobody };
      const close = (await import(of("phone.js"))).default.render({ model, el: off });
      off.firstChild.setAttribute("aria-label", "Customer's phone, switched off");
      view.disposed.connect(close);
    }

    // Beside another notebook it is nobody's phone: whose it is, stands in its place. In a tab over its own notebook,
    // which then is not to be seen, it stays.
    function followNotebooks(shell, view, notebook) {
      const go = document.createElement("button");
      go.className = "jp-mod-styled";
      go.onclick = () => shell.activateById(notebook.id);
      const whose = Object.assign(document.createElement("div"), { className: "workbench-whose" });
      const line = document.createElement("p");
      whose.append(line, go);
      view.node.append(whose);
      let front = notebook;
      const look = () => {
        const current = shell.currentWidget;
        if (current?.context && current.content?.widgets) front = current;
        const name = notebook.title.label;
        line.textContent = `This is the phone of ${name}. Another notebook shows its phone below the cell that uses it.`;
        go.textContent = `Go to ${name}`;
        view.toggleClass("workbench-away", front !== notebook && !front.isDisposed && !notebook.isVisible);
      };
      look();
      shell.layoutModified.connect(look);
      shell.currentChanged.connect(look);
      view.disposed.connect(() => {
        shell.layoutModified.disconnect(look);
        shell.currentChanged.disconnect(look);
      });
    }

    // Made before the notebook knew its kernel, as after a reload of the page, a copy of the cell's output waits for its
    // widgets for good: it is made again once they are known.
    async function copyAgain(view, { content, sessionContext }) {
      await sessionContext.ready;
      await new Promise((resolve) => setTimeout(resolve));
      if (view.isDisposed) return;
      for (const each of [...view.widgets]) each.dispose();
      view.addWidget(content.widgets[view.index].cloneOutputArea());
    }

    // A cell's output in a tab of its own is an "Output View"; that of a cell tagged so is the customer's phone.
    function nameHandsets(shell) {
      const panels = [...shell.widgets("main")];
      for (const panel of panels) {
        const view = panel.content;
        if (!view?.hasClass?.("jp-LinkedOutputView") || view.hasClass(HANDSET_CLASS)) continue;
        const notebook = panels.find((each) => each.context?.path === view.path && each.content?.widgets);
        const tags = notebook?.content.widgets[view.index]?.model.getMetadata("tags");
        if (!tags?.includes("handset")) continue;
        view.addClass(HANDSET_CLASS);
        view.title.label = "Customer's phone";
        // Only the server of `workbench lab` has the handset's two files.
        if (coreutils.PageConfig.getOption("workbenchHandset")) showSwitchedOff(view);
        copyAgain(view, notebook);
        followNotebooks(shell, view, notebook);
        const isNarrow = window.matchMedia("(max-width: 640px)").matches;
        if (isNarrow) shell.add(panel, "main", { mode: "tab-after", ref: notebook.id, activate: false });
      }
    }

    function activate(app, launcher, palette, menu, restorer) {
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
      app.restored.then(() => {
        nameHandsets(app.shell);
        app.shell.layoutModified.connect(nameHandsets);
      });
    }

    return {
      id: "workbench-docs:plugin",
      description: "Opens the service's documentation.",
      autoStart: true,
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
