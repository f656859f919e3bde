import { html } from "./parts.js"; export function Money() { return html`<p>later</p>`; }
