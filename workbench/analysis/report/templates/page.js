// Filters, and decisions to download: nothing is sent anywhere, and without this script all is shown.
"use strict";
(() => {
  const rows = [...document.querySelectorAll("tr[data-code]")];
  const byId = (id) => document.getElementById(id);
  const make = (tag, more, options = []) => {
    const made = Object.assign(document.createElement(tag), more);
    options.forEach(([value, text]) => made.append(new Option(text, value)));
    return made;
  };
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

  function filter() {
    const [account, code, since] = ["account", "code", "since"].map((name) => byId(`by-${name}`).value);
    const wanted = byId("by-text").value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const { account: its, code: of, since: when } = row.dataset;
      const fits = (!account || its === account) && (!code || of === code) && (!since || when === since);
      row.hidden = !(fits && texts.get(row).includes(wanted));
      shown += !row.hidden;
    }
    for (const section of document.querySelectorAll("section[data-code]")) {
      section.hidden = !section.querySelector("tr[data-code]:not([hidden])");
    }
    byId("count").textContent = `${shown} of the ${rows.length} listed breaks shown.`;
  }

  for (const name of ["account", "code"]) {
    const found = new Map(rows.map(({ dataset }) => [dataset[name], dataset[`${name}Called`] ?? dataset[name]]));
    [...found].sort().forEach(([value, text]) => byId(`by-${name}`).append(new Option(text, value)));
  }
  byId("filters").addEventListener("input", filter);

  const verdicts = [["", "not decided"], ["match", "match"], ["accept", "accept"], ["write_off", "write off"],
    ["ignore", "ignore"], ["open", "open"]];
  const split = (text) => text.toLowerCase().split(/[;,\s]+/).filter(Boolean);
  const byBreak = new Map(rows.map((row) => [row.dataset.id, row]));
  const called = (id) => {
    const { label, key } = byBreak.get(id)?.dataset ?? {};
    return label || key || "a row without a key";
  };
  const [controls, atOnce, wholes] = [new Map(), new Map(), new Map()];
  const kept = JSON.parse(byId("deciding").dataset.others);

  const MOST_PARTNERS = 50;
  const number = (amount) => Number(amount.replaceAll(",", ""));
  const oneSided = new Map();
  // Account → its breaks that one side has, also those that are not listed: gathered when a partner is first looked for.
  function gather() {
    const listed = rows.filter(({ dataset }) => dataset.side !== "both")
      .map(({ dataset: { id, account, amount } }) => [account, id, called(id), amount]);
    const rest = [...document.querySelectorAll("section[data-code]")].flatMap(({ dataset }) => JSON.parse(dataset.rest))
      .filter((each) => each[5]).map(([id, account, key, , label, amount]) => [account, id, label || key, amount]);
    for (const [account, ...each] of [...listed, ...rest]) {
      if (!oneSided.has(account)) oneSided.set(account, []);
      oneSided.get(account).push(each);
    }
  }

  // Open breaks that may be the partner of a row, as options; first those that cancel its variance best.
  function further({ dataset: { id, account, amount } }) {
    if (!oneSided.size) gather();
    const isOpen = (other) => {
      const row = byBreak.get(other);
      const isOfRule = row?.dataset.verdict && !row.dataset.who;
      return !isOfRule && ["", "match", "open", undefined].includes(controls.get(row)?.verdict.value);
    };
    return (oneSided.get(account) ?? []).filter(([other]) => other !== id && isOpen(other))
      .map((each) => [Math.abs(number(each[2]) + number(amount)), each]).sort(([one], [two]) => one - two)
      .slice(0, MOST_PARTNERS).map(([, [other, label, its]]) => [other, `${label} ${its}`]);
  }

  for (const row of rows) {
    const { id, verdict, partner, why } = row.dataset;
    const partners = row.dataset.partners.split(" | ").filter(Boolean);
    const named = (what) => ({ ariaLabel: `${what} of ${called(id)}` });
    // A break with both sides is a pair already.
    const isMatchable = row.dataset.side !== "both" || partners.length || verdict === "match";
    const offered = verdicts.filter(([each]) => each !== "match" || isMatchable);
    const fields = {
      verdict: make("select", named("Verdict"), offered),
      partner: make("input", { ...named("Partner's id"), placeholder: "partner's id", value: partner }),
      why: make("input", { ...named("Why"), placeholder: "why", value: why }),
    };
    const withAmount = (other) => `${called(other)} ${byBreak.get(other)?.dataset.amount ?? ""}`.trim();
    const proposed = partners.map((each) => [each, split(each).map(withAmount).join(", ")]);
    const known = make("datalist", { id: `partners-${id}` });
    fields.partner.setAttribute("list", known.id);
    fields.partner.addEventListener("focus", () => {
      const more = further(row).filter(([each]) => !partners.includes(each));
      known.replaceChildren(...[...proposed, ...more].map(([value, text]) => new Option(text, value)));
    });
    fields.verdict.value = offered.some(([each]) => each === verdict) ? verdict : "";
    const changed = () => {
      const isMatch = fields.verdict.value === "match";
      fields.partner.hidden = !isMatch;
      fields.why.hidden = !fields.verdict.value;
      if (isMatch && !fields.partner.value && partners.length === 1) fields.partner.value = partners[0];
      count();
    };
    fields.verdict.addEventListener("input", changed);
    const tick = make("input", { type: "checkbox", ...named("Select the break") });
    row.querySelector(".tick").append(tick);
    controls.set(row, { ...fields, tick, changed });
    const place = make("div", { className: "decide" });
    place.append(...Object.values(fields), known);
    row.querySelector(".verdict").append(place);
    changed();
  }

  function count() {
    const made = [...controls.values()].filter((each) => each.verdict.value).length + atOnce.size;
    const all = made && made + kept.length;
    byId("decided").textContent = `${all} row${all === 1 ? "" : "s"} of decisions to download.`;
    byId("download").disabled = !made;
  }

  // Ticked breaks, or a whole code with those that are not listed, are decided with one reason.
  for (const section of document.querySelectorAll("section[data-code]")) {
    const all = make("input", { type: "checkbox", ariaLabel: `Select all of ${section.dataset.code}` });
    section.querySelector("thead .tick").append(all);
    all.addEventListener("input", () => {
      for (const [row, { tick }] of controls) if (section.contains(row)) tick.checked = all.checked && !row.hidden;
    });
    wholes.set(section, all);
  }
  verdicts.forEach(([value, text]) => byId("all-verdict").append(new Option(value ? text : "choose a verdict", value)));
  const isNarrowed = () => [...byId("filters").querySelectorAll("input, select")].some((each) => each.value);
  const ticked = () => [...controls].filter(([row, { tick }]) => tick.checked && !row.hidden);
  function ready() {
    const [selected, verdict] = [ticked(), byId("all-verdict")];
    const [many, match] = [selected.length, verdict.querySelector("[value=match]")];
    const isOneAccount = new Set(selected.map(([row]) => row.dataset.account)).size === 1;
    match.hidden = match.disabled = !(many > 1 && isOneAccount);
    if (match.disabled && verdict.value === "match") verdict.value = "";
    byId("apply").textContent = many ? `Decide ${many} selected` : "Decide selected";
    byId("apply").disabled = !(many && verdict.value && byId("all-why").value.trim());
  }
  document.querySelector("main").addEventListener("input", ready);
  byId("apply").addEventListener("click", () => {
    const [verdict, why] = [byId("all-verdict").value, byId("all-why").value.trim()];
    const selected = ticked();
    for (const [row, fields] of selected) {
      if (verdict === "match") {
        // Each is the partner of all others; a break with both sides had no match to choose.
        if (!fields.verdict.querySelector("[value=match]")) fields.verdict.add(new Option("match", "match"), 1);
        const others = selected.filter(([each]) => each !== row);
        fields.partner.value = others.map(([{ dataset }]) => dataset.id).join("; ");
      }
      Object.assign(fields.verdict, { value: verdict });
      Object.assign(fields.why, { value: why });
      fields.tick.checked = false;
      fields.changed();
    }
    for (const [section, all] of wholes) {
      if (!all.checked) continue;
      const rest = verdict === "match" || isNarrowed() ? [] : JSON.parse(section.dataset.rest);
      rest.forEach((each) => atOnce.set(each[0], [each.slice(0, 4), verdict, why]));
      all.checked = false;
    }
    count();
    ready();
  });
  ready();

  // The fields that `workbench reconcile` would refuse in the file, each with what to do there.
  function problems() {
    const found = byId("who").value.trim() ? [] : [[byId("who"), "Say who decides."]];
    const said = new Map();
    for (const [{ dataset: { id } }, { verdict, partner, why }] of controls) {
      if (!verdict.value) continue;
      const others = verdict.value === "match" ? split(partner.value) : [];
      const ids = [id, ...others].sort();
      const text = [verdict.value, ...ids].join(" ");
      const isNamed = others.length && others.every((each) => each !== id && /^b[a-z2-7]{11}$/.test(each));
      if (verdict.value === "match" && !isNamed) found.push([partner, `Name the partner of ${called(id)} by its id.`]);
      if (ids.some((each) => said.has(each) && said.get(each) !== text)) {
        found.push([verdict, `${called(id)} is decided in two ways.`]);
      }
      ids.forEach((each) => said.set(each, text));
      if (!why.value.trim()) found.push([why, `Say why for ${called(id)}.`]);
    }
    return found;
  }

  function isWhole() {
    const [first, ...more] = problems();
    document.querySelectorAll("[aria-invalid]").forEach((each) => each.removeAttribute("aria-invalid"));
    if (!first) return true;
    [first, ...more].forEach(([field]) => field.setAttribute("aria-invalid", "true"));
    const row = first[0].closest("tr");
    if (row) row.hidden = row.closest("section").hidden = false; // a filter may hide it
    first[0].focus();
    byId("decided").textContent = `Not downloaded. ${first[1]}${more.length ? ` And ${more.length} more.` : ""}`;
    return false;
  }

  // A spreadsheet that opens the file runs nothing, and what is quoted stays one cell; by its mark it knows UTF-8.
  const hostile = /^__FORMULA__/;
  const cell = (text) => {
    const safe = hostile.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  byId("download").addEventListener("click", () => {
    if (!isWhole()) return;
    const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
    const lines = [["break", "verdict", "partner", "who", "when", "why", "account", "key", "code"]];
    for (const [row, fields] of controls) {
      const { id, account, key, code, ...was } = row.dataset;
      const verdict = fields.verdict.value;
      const partner = verdict === "match" ? split(fields.partner.value).join("; ") : "";
      const why = fields.why.value.trim();
      const same = verdict === was.verdict && partner === was.partner && why === was.why;
      const [who, when] = same ? [was.who, was.when] : [byId("who").value.trim(), now];
      if (verdict) lines.push([id, verdict, partner, who, when, why, account, key, code]);
    }
    for (const [[id, ...about], verdict, why] of atOnce.values()) {
      lines.push([id, verdict, "", byId("who").value.trim(), now, why, ...about]);
    }
    lines.push(...kept);
    const text = lines.map((line) => line.map(cell).join(",") + "\r\n").join("");
    const link = make("a", { download: "decisions.csv" });
    link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    byId("decided").textContent = `Downloaded: ${lines.length - 1} row${lines.length === 2 ? "" : "s"} of decisions.`;
  });

  addEventListener("beforeprint", () => document.querySelectorAll(".list details").forEach((each) => { each.open = true; }));
  for (const id of ["filters", "deciding"]) byId(id).hidden = false;
  filter();
})();
