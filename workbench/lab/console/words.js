// Captions of states and accounts; formats of amounts, moments and other people's texts.

export const STATES = {
  new: ["calm", "Created and not confirmed: no customer was asked yet. The intent is requires_payment_method."],
  waiting: ["busy", "The customer was asked, and the outcome is not known yet: requires_action or processing."],
  succeeded: ["good", "The customer paid, and the money is in the ledger."],
  part_refunded: ["warn", "Paid; a part of the money went back to the customer."],
  refunded: ["warn", "Paid; all of the money went back to the customer."],
  failed: ["bad", "The last attempt failed and no money moved. An intent can be confirmed again."],
  canceled: ["calm", "You canceled it before the customer paid; it cannot be confirmed again."],
  pending: ["busy", "Not done yet."],
  delivered: ["good", "The endpoint responded with a 2xx status."],
  dead_letter: ["bad", "Every attempt failed, and no more will be made until it is replayed."],
  enabled: ["good", "Events are sent to this endpoint."],
  disabled: ["calm", "Nothing is sent to this endpoint, until it is enabled."],
  active: ["good", "The key works."],
  rolled: ["warn", "Another key has replaced this one."],
  revoked: ["calm", "The key no longer works."],
  paid: ["good", "The bank took the payout."],
  credited: ["good", "The merchant got the money, less the fee."],
  returned: ["warn", "The customer got the money back."],
  up: ["good", "The operator responds."],
  down: ["bad", "Payments by this operator's wallets fail with operator_unavailable."],
  nowhere: ["calm", "No enabled endpoint takes this event."],
};
export const PAYMENT_STATES = ["new", "waiting", "succeeded", "part_refunded", "refunded", "failed", "canceled"];
export const LANES = ["your server", "payment service", "customer's phone", "ledger", "webhook receiver"];
export const ACCOUNTS = {
  1010: "money at the bank",
  1100: "money at the operator",
  1200: "on its way to the bank",
  1310: "what the merchant owes",
  2000: "the merchant's, not cleared yet",
  2010: "the merchant's, to be paid out",
  2020: "the merchant's, being paid out",
  2100: "owed to the customer",
  2900: "nobody's yet: suspense",
  4000: "the service's fee",
  5000: "the operator's fee",
  5020: "written off",
  5030: "rounding",
};

// ---- amounts ---------------------------------------------------------------------------------------------------

const places = new Map();

export function decimals(currency) {
  const code = (currency || "ZMW").toUpperCase();
  if (!places.has(code)) places.set(code, new Intl.NumberFormat("en", { style: "currency", currency: code }).resolvedOptions().maximumFractionDigits);
  return places.get(code);
}

// Minor units, a whole number, as `150.00`; digits are placed, never divided.
export function major(minor, currency = "ZMW") {
  const count = decimals(currency);
  const digits = String(Math.abs(minor)).padStart(count + 1, "0");
  const whole = digits.slice(0, digits.length - count).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${minor < 0 ? "-" : ""}${whole}${count ? `.${digits.slice(-count)}` : ""}`;
}

export function money(minor, currency = "ZMW") {
  const before = (currency || "ZMW").toUpperCase() === "ZMW" ? "K" : `${currency.toUpperCase()} `;
  return `${minor < 0 ? "-" : ""}${before}${major(Math.abs(minor), currency)}`;
}

// An amount in major units, as `/v1` has it.
export const moneyOf = ({ amount, currency }) => money(Math.round(Number(amount) * 10 ** decimals(currency)), currency);

// A typed amount in minor units; null if it is no amount, or finer than a minor unit.
export function minorOf(text, currency = "ZMW") {
  const found = /^K?\s*(\d[\d,]*)(?:\.(\d*))?$/.exec(String(text).trim());
  const count = decimals(currency);
  if (!found || (found[2] ?? "").replace(/0+$/, "").length > count) return null;
  const minor = Number(found[1].replaceAll(",", "") + (found[2] ?? "").slice(0, count).padEnd(count, "0"));
  return Number.isSafeInteger(minor) ? minor : null;
}

// ---- moments ---------------------------------------------------------------------------------------------------

const LUSAKA_MS = 2 * 3_600_000; // UTC+2, without summer time
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// A moment in Lusaka as a `day` (5 Jan), a `time` (08:00:12), a `minute` (08:00), a `clock` (Mon 5 Jan 08:00) or a `whole` (5 Jan 2026 08:00:12).
export function lusaka(ms, shape = "whole") {
  const moment = new Date(ms + LUSAKA_MS);
  const time = moment.toISOString().slice(11, 19);
  const day = `${moment.getUTCDate()} ${MONTHS[moment.getUTCMonth()]}`;
  if (shape === "time") return time;
  if (shape === "minute") return time.slice(0, 5);
  if (shape === "day") return day;
  return shape === "clock" ? `${DAYS[moment.getUTCDay()]} ${day} ${time.slice(0, 5)}` : `${day} ${moment.getUTCFullYear()} ${time}`;
}

export const utc = (ms) => `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;

export function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  const [d, h, m] = [Math.floor(s / 86400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60];
  if (d) return `${d} d${h ? ` ${h} h` : ""}`;
  if (h) return `${h} h${m ? ` ${m} min` : ""}`;
  return m ? `${m} min${s % 60 ? ` ${s % 60} s` : ""}` : `${s} s`;
}

// ---- texts -----------------------------------------------------------------------------------------------------

const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e007f}]/gu;

// A text of somebody else's, with every control and every invisible mark as a symbol.
export function visible(text) {
  return String(text ?? "").replaceAll("\r\n", "\n").replace(UNSEEN, (found) => {
    const code = found.codePointAt(0);
    return code < 0x20 ? String.fromCodePoint(0x2400 + code) : `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
  });
}

export const words = (name) => String(name ?? "").replaceAll("_", " ");

export function counted(count, one) {
  const many = one.endsWith("ry") ? `${one.slice(0, -1)}ies` : `${one}s`;
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

export const shortId = (id) => String(id ?? "").replace(/\b([a-z]{2,4}_[0-9A-Za-z]{6})[0-9A-Za-z]{18}\b/g, "$1…");

export const phoneText = (number) => String(number ?? "").replace(/^(\+260)(\d\d)/, "$1 $2 ");

// A customer's number as the sandbox masks it.
export const masked = (number) => `${number.slice(0, 6)}••••${number.slice(-3)}`;

// JSON laid out for reading, every number as it was written; null for anything else.
export function laidOut(text) {
  try {
    const value = JSON.parse(text, (_, each, { source }) => (typeof each === "number" ? JSON.rawJSON(source) : each));
    return JSON.stringify(value, null, 2);
  } catch {
    return null;
  }
}

// Rows of cells as a file. Text that begins with neither a letter nor a digit might be run by a spreadsheet: it is quoted.
export function csv(rows) {
  const cell = (value) => {
    const text = String(value ?? "");
    const armed = typeof value === "string" && /^[^\p{L}\p{N}]/u.test(text) && !/^[+-]?\d[\d•., ]*$/.test(text) ? `'${text}` : text;
    return /[",'\r\n]/.test(armed) ? `"${armed.replaceAll('"', '""')}"` : armed;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
