import { html } from "./parts.js"; export function Requests() { return html`<p>later</p>`; }
