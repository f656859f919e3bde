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
  const said = byId("count");

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
    said.textContent = `${shown} of the ${rows.length} listed breaks shown.`;
  }

  for (const name of ["account", "code"]) {
    const found = [...new Set(rows.map((row) => row.dataset[name]))].sort();
    found.forEach((each) => byId(`by-${name}`).append(new Option(each, each)));
  }
  byId("filters").addEventListener("input", filter);

  const verdicts = [["", "not decided"], ["match", "match"], ["accept", "accept"], ["write_off", "write off"],
    ["ignore", "ignore"]];
  const controls = new Map();
  for (const row of rows) {
    const { key, verdict, partner, why } = row.dataset;
    const named = (what) => ({ ariaLabel: `${what} of ${key || "a row without a key"}` });
    const fields = {
      verdict: make("select", named("Verdict"), verdicts),
      partner: make("input", { ...named("Partner's id"), placeholder: "partner's id", value: partner }),
      why: make("input", { ...named("Why"), placeholder: "why", value: why }),
    };
    fields.verdict.value = verdicts.some(([each]) => each === verdict) ? verdict : "";
    const changed = () => {
      fields.partner.hidden = fields.verdict.value !== "match";
      const made = [...controls.values()].filter((each) => each.verdict.value).length;
      byId("decided").textContent = `${made} decided.`;
      byId("download").disabled = !made;
    };
    fields.verdict.addEventListener("input", changed);
    controls.set(row, fields);
    const place = make("div", { className: "decide" });
    place.append(...Object.values(fields));
    row.querySelector(".why").append(place);
    changed();
  }

  // A spreadsheet that opens the file runs nothing, and what is quoted stays one cell; by its mark it knows UTF-8.
  const hostile = /^([\t\r\n]|[__BLANKS__]*[__SIGNS__])/;
  const cell = (text) => {
    const safe = hostile.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  byId("download").addEventListener("click", () => {
    if (!byId("who").value.trim()) {
      byId("decided").textContent = "Say who decides.";
      byId("who").focus();
      return;
    }
    const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
    const lines = [["break", "verdict", "partner", "who", "when", "why", "account", "key", "code"]];
    for (const [row, fields] of controls) {
      const { id, account, key, code, ...was } = row.dataset;
      const verdict = fields.verdict.value;
      const partner = verdict === "match" ? fields.partner.value.trim() : "";
      const why = fields.why.value.trim();
      const same = verdict === was.verdict && partner === was.partner && why === was.why;
      const [who, when] = same ? [was.who, was.when] : [byId("who").value.trim(), now];
      if (verdict) lines.push([id, verdict, partner, who, when, why, account, key, code]);
    }
    const text = lines.map((line) => line.map(cell).join(",") + "\r\n").join("");
    const link = make("a", { download: "decisions.csv" });
    link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  });

  for (const id of ["filters", "deciding"]) byId(id).hidden = false;
  filter();
})();
