// Sections of which one is seen at a time. Which one is this page's own matter: the kernel need not know.

const STEPPED = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

class Tabs {
  constructor(prefix) {
    this.prefix = prefix;
    this.made = []; // of each section: its id, its tab and its panel, in order
    this.list = h("div", { class: "wb-tablist", role: "tablist", "aria-label": "Parts", onkeydown: (event) => this.keydown(event) });
    this.root = h("div", { class: "wb-tabs" }, this.list);
  }

  // The panel of a section, made when it is first asked for, behind so many others.
  panel(id, place) {
    const [tabId, panelId] = [`${this.prefix}-tab-${id}`, `${this.prefix}-panel-${id}`];
    const name = h("span");
    const badge = h("span", { class: "wb-badge" });
    const tab = h("button", { type: "button", class: "wb-tab", role: "tab", id: tabId, "aria-controls": panelId, onclick: () => this.choose(id) }, name, " ", badge);
    const body = h("div", { class: "wb-items" });
    const node = h("div", { class: `wb-panel wb-is-${id}`, role: "tabpanel", id: panelId, "aria-labelledby": tabId, tabindex: "0" }, body);
    this.made.splice(place, 0, { id, tab, node });
    this.list.insertBefore(tab, this.list.children[place] ?? null);
    this.root.append(node);
    this.choose(this.chosen ?? id);
    return { node, title: name, body, badge };
  }

  forget(id) {
    const gone = this.made.find((each) => each.id === id);
    if (!gone) return;
    gone.tab.remove();
    this.made = this.made.filter((each) => each !== gone);
    if (this.chosen === id && this.made.length) this.choose(this.made[0].id);
  }

  choose(id) {
    this.chosen = id;
    for (const each of this.made) {
      const isChosen = each.id === id;
      each.tab.setAttribute("aria-selected", String(isChosen));
      each.tab.tabIndex = isChosen ? 0 : -1;
      each.node.hidden = !isChosen;
    }
  }

  keydown(event) {
    const step = STEPPED[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const [last, place] = [this.made.length - 1, this.made.findIndex((each) => each.id === this.chosen) + step];
    const next = Number.isFinite(step) ? (place + last + 1) % (last + 1) : Math.min(Math.max(place, 0), last);
    this.choose(this.made[next].id);
    this.made[next].tab.focus();
  }
}
