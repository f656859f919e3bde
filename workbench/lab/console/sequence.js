// The sequence diagram of a payment, in SVG: a lifeline for each who takes part, an arrow for each step, at any width.
// A row's height follows from its own words and the width alone, so what comes later moves nothing that is read.

import { useLayoutEffect, useRef, useState } from "./vendor/hooks.js";
import { classes, download, html } from "./parts.js";
import { LANES, lusaka, utc, visible } from "./words.js";

const LINE = 14;
const ROOMY = 520; // from this width on, the times stand in a column of their own
const WIDE = [1.8, 1.3, 0.75, 0.75]; // of the width, between two lanes
const TIGHT = [1.2, 1.15, 1, 1];
const BOLD = 1.07; // by which the names above the lanes are wider than other text
const MARGIN = 16;
const PADDING = 6;

let context = null;
let lastFont = "";
let lastWidth = 0; // what was measured last is most likely what is measured next

function widthOf(text, font) {
  context ??= document.createElement("canvas").getContext("2d");
  context.font = font;
  return context.measureText(text).width;
}

// Text in lines that are no wider than `room`, broken after blanks, slashes, points and
// underscores, never within an amount; where that does not suffice, anywhere.
export function wrapped(text, room, measure) {
  const lines = [""];
  for (const piece of visible(text).match(/(?:[^ /_.]|\.(?=\d))*[ /_.]|(?:[^ /_.]|\.(?=\d))+/g) ?? []) {
    if (lines.at(-1) && measure((lines.at(-1) + piece).trimEnd()) > room) lines.push("");
    for (const letter of measure(piece.trimEnd()) > room ? piece : [piece]) {
      if (lines.at(-1) && measure((lines.at(-1) + letter).trimEnd()) > room) lines.push("");
      lines[lines.length - 1] += letter;
    }
  }
  return lines.map((line) => line.trim());
}

// Places the lanes and the rows for a width.
export function placed(steps, width, measure) {
  const isRoomy = width >= ROOMY;
  const [times, shares] = isRoomy ? [56, WIDE] : [0, TIGHT];
  const [sum, least] = [shares.reduce((a, b) => a + b), Math.min(...shares)];
  // The name above a lane takes as much as the nearest lanes leave.
  const half = Math.min(56, ((width - times) * least) / (2 * sum + 2 * least) - 2);
  const small = 2 * half - 4 < measure("customer's") * BOLD ? 0.87 : 1;
  const left = times + half + 2;
  const between = width - left - half - 2;
  const xs = shares.reduce((all, share) => [...all, all.at(-1) + (between * share) / sum], [left]);
  const heads = LANES.map((name) => wrapped(name, 2 * half - 4, (text) => measure(text) * small * BOLD));
  let [y, time, day] = [PADDING, "", ""];
  const rows = steps.map((step) => {
    const [from, to] = [xs[LANES.indexOf(step.from)], xs[LANES.indexOf(step.to)]];
    const room = Math.abs(to - from) - MARGIN;
    const isBadCall = step.is_bad && !step.response;
    // The response to a webhook is a status alone: it stands on the same arrow.
    const isOne = step.kind === "webhook" && step.response;
    const label = wrapped(`${isBadCall || (isOne && step.is_bad) ? "✗ " : ""}${step.label}${isOne ? ` ${step.response}` : ""}`, room, measure);
    const response = step.response && !isOne ? wrapped(`${step.is_bad ? "✗ " : ""}${step.response}`, room, measure) : [];
    const [clock, date] = ["time", "day"].map((shape) => lusaka(Date.parse(step.at), shape));
    const next = day && date !== day ? date : ""; // another day has a line of its own
    const said = clock === time && !next ? "" : clock;
    [time, day] = [clock, date];
    const top = y;
    const begin = top + PADDING + (next ? LINE : 0);
    const there = begin + (said && !times ? LINE : 0) + label.length * LINE;
    const back = there + (response.length ? response.length * LINE + 6 : 0);
    y = back + PADDING;
    return { step, from, to, label, response, day: next, time: said, top, begin, there, back, height: y - top };
  });
  return { width, times, small, half, xs, heads, rows, height: y + PADDING, headHeight: Math.max(...heads.map((each) => each.length)) * LINE + 12 };
}

// All that an arrow says, for who does not see it, and on hover.
function spoken({ step }) {
  const at = Date.parse(step.at);
  const answered = step.response ? `, answered ${step.is_bad ? "✗ " : ""}${visible(step.response)}` : step.is_bad ? ", ✗" : "";
  return `${lusaka(at, "time")} in Lusaka (${utc(at)}), ${step.from} to ${step.to}: ${visible(step.label)}${answered}`;
}

function Arrow({ from, to, y, lines, back = false }) {
  const sign = to > from ? 1 : -1;
  const middle = (from + to) / 2;
  return html`<path class=${classes("line", back && "back")} d="M${from + 4 * sign} ${y}H${to - 7 * sign}" />
    <path class=${classes("tip", back && "open")} d="M${to - 8 * sign} ${y - 4}L${to - sign} ${y}L${to - 8 * sign} ${y + 4}${back ? "" : "z"}" />
    ${lines.map((line, place) => html`<text x=${middle} y=${y - 4 - LINE * (lines.length - 1 - place)} text-anchor="middle">${line}</text>`)}`;
}

function Row({ row, width, times, opened, focused, open }) {
  const { step, from, to, top, begin, height, there, back } = row;
  const pressed = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open(step);
  };
  return html`<g class=${classes("step", `of-${step.kind}`, step.is_bad && "bad", opened && "opened")} role="button" tabindex=${focused ? 0 : -1}
    aria-expanded=${opened} data-step="${step.seq}${step.kind}" onClick=${() => open(step)} onKeyDown=${pressed}>
    <title>${spoken(row)}</title><rect class="hit" x="0.5" y=${top + 0.5} width=${width - 1} height=${height - 1} rx="4" />
    ${row.day && html`<text class="time" x="8" y=${begin - 4}>${row.day}</text>`}
    ${row.time && html`<text class="time" x=${times ? 8 : Math.min(from, to)} y=${times ? there - 4 - LINE * (row.label.length - 1) : begin + LINE - 4}>${row.time}</text>`}
    <${Arrow} from=${from} to=${to} y=${there} lines=${row.label} />
    ${row.response.length > 0 && html`<${Arrow} from=${to} to=${from} y=${back} lines=${row.response} back />`}
    <circle class="dot" cx=${from} cy=${there} r="3" /></g>`;
}

function Lanes({ drawn }) {
  const { xs, half, heads, headHeight, width, small } = drawn;
  return html`<svg class=${classes("lanes", small < 1 && "tight")} width=${width} height=${headHeight + 6} aria-hidden="true">${LANES.map((name, lane) => html`
    <rect class="lane" x=${xs[lane] - half} y="0.5" width=${2 * half} height=${headHeight} rx="5" />
    <path class="life" d="M${xs[lane]} ${headHeight + 0.5}V${headHeight + 6}" />
    ${heads[lane].map((line, place) => html`<text x=${xs[lane]} y=${headHeight / 2 + 4.5 + LINE * (place - (heads[lane].length - 1) / 2)} text-anchor="middle">${line}</text>`)}`)}</svg>`;
}

// `open` gets the step whose arrow was pressed. The list stays at its end while it grows, unless somebody scrolled.
export function Sequence({ steps, opened, open, about }) {
  const [box, last] = [useRef(), useRef()];
  const [width, setWidth] = useState(lastWidth);
  const [focus, setFocus] = useState(0);
  const [end, known] = [useRef(false), useRef(0)];
  useLayoutEffect(() => {
    const sized = new ResizeObserver(([{ contentRect }]) => setWidth((lastWidth = Math.floor(contentRect.width))));
    const seen = new IntersectionObserver(([entry]) => (end.current = entry.isIntersecting), { root: box.current });
    sized.observe(box.current);
    seen.observe(last.current);
    return () => [sized, seen].forEach((each) => each.disconnect());
  }, []);
  useLayoutEffect(() => {
    if (end.current && known.current && steps.length > known.current) box.current.scrollTop = 1e6;
    known.current = steps.length;
  }, [steps.length]);
  useLayoutEffect(() => opened && box.current.querySelector(".step.opened")?.scrollIntoView({ block: "nearest" }), [opened]);
  const font = (lastFont ||= box.current ? `500 11.5px ${getComputedStyle(box.current).fontFamily}` : "") || "11.5px sans-serif";
  const drawn = width ? placed(steps, width, (text) => widthOf(text, font)) : null;
  const turn = (event) => {
    const next = { ArrowDown: focus + 1, ArrowUp: focus - 1, Home: 0, End: steps.length - 1 }[event.key];
    if (next === undefined || !steps[next]) return;
    event.preventDefault();
    setFocus(next);
    box.current.querySelectorAll(".step")[next].focus();
  };
  return html`<div class="sequence" ref=${box}>${drawn && html`<${Lanes} drawn=${drawn} />
    <svg class="steps" width=${width} height=${drawn.height} role="group" aria-label="Messages, in order, ${about}, times in Lusaka" onKeyDown=${turn}>
      ${drawn.xs.map((x) => html`<path class="life" d="M${x} 0V${drawn.height}" />`)}
      ${drawn.rows.map((row, place) => html`<${Row} key=${`${row.step.seq}${row.step.kind}`} row=${row} width=${width} times=${drawn.times}
        opened=${row.step === opened} focused=${place === Math.min(focus, steps.length - 1)} open=${open} />`)}</svg>`}<div class="last" ref=${last} /></div>`;
}

// ---- saved -----------------------------------------------------------------------------------------------------

const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family", "font-weight", "paint-order"];

// Keeps the diagram in this element as a file, with the colours that it has.
export function save(box, name) {
  const [lanes, steps] = [...box.querySelectorAll("svg")];
  const [width, top] = [Number(steps.getAttribute("width")), Number(lanes.getAttribute("height"))];
  const copies = [lanes, steps].map((part) => {
    const [copy, shown] = [part.cloneNode(true), part.querySelectorAll("*")];
    copy.setAttribute("y", part === steps ? top : 0);
    for (const [place, each] of copy.querySelectorAll("*").entries()) {
      const style = getComputedStyle(shown[place]);
      for (const property of each.matches("g, title") ? [] : KEPT) each.setAttribute(property, style.getPropertyValue(property));
      for (const attribute of ["class", "tabindex", "data-step", "aria-expanded", "role"]) each.removeAttribute(attribute);
    }
    return new XMLSerializer().serializeToString(copy);
  });
  const height = top + Number(steps.getAttribute("height"));
  download(`${name}.svg`, `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${copies.join("")}</svg>`, "image/svg+xml");
}
