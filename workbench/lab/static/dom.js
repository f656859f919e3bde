// What every widget's script draws with. A widget's script is one module: its files are joined in order.
// Text only ever becomes a text node: nothing that a payment carries can become markup.

const SIGNS = { plain: "", good: "✓", bad: "✗", warn: "!" };

function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((each) => each !== undefined && each !== null));
  return node;
}

// Nothing is written that stands there already: it would flicker, and be read aloud again.
function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Long names break where their words do, if they may break at all, and are copied as they are.
function breakable(text) {
  return text.split(/(?<=\/|[a-z]{4}[_.:])(?=\w)/).flatMap((each, place) => (place ? [h("wbr"), each] : [each]));
}

function copied(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = h("textarea", { class: "wb-unseen" });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  return Promise.resolve();
}

// A file for the person's own folder, made of text that is here already; a PNG is made of an SVG.
async function saved(name, text) {
  const url = URL.createObjectURL(name.endsWith(".png") ? await png(text) : new Blob([text]));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// Twice as large as it is drawn, so that it is sharp where it is printed, as far as a canvas goes. A picture that is
// light and dark is drawn as the page is now.
async function png(svg) {
  const isDark = document.body.dataset.jpThemeLight === "false";
  const themed = svg.replaceAll(/\(prefers-color-scheme: ?dark\)/g, isDark ? "all" : "not all");
  const image = new Image();
  image.src = `data:image/svg+xml;utf8,${encodeURIComponent(themed)}`;
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image;
  const scale = Math.min(2, 32_000 / height, Math.sqrt(2e8 / (width * height)));
  const canvas = h("canvas", { width: Math.floor(width * scale), height: Math.floor(height * scale) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve));
}
