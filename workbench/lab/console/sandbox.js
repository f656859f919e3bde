import { html } from "./parts.js"; export function Sandbox() { return html`<p>later</p>`; }
