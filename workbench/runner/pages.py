"""An executed notebook as one HTML page that loads nothing."""

import re
from pathlib import Path

import nbformat

_OFFLINE = """
{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block jupyter_widgets -%}{%- endblock -%}
{%- block data_png scoped -%}
<div class="jp-RenderedImage jp-OutputArea-output {{ extra_class }}">
<img src="data:image/png;base64,{{ output.data['image/png'] | escape_html }}"
 alt="{{ (output | get_metadata('alt', 'image/png')) or output.data.get('text/plain', '') | escape_html }}">
</div>
{%- endblock -%}
{%- block data_svg scoped -%}
<div class="jp-RenderedSVG jp-OutputArea-output {{ extra_class }}">
<img src="data:image/svg+xml;base64,{{ output.data['image/svg+xml'] | text_base64 | escape_html }}"
 alt="{{ (output | get_metadata('alt', 'image/svg+xml')) or output.data.get('text/plain', '') | escape_html }}">
</div>
{%- endblock -%}
{%- block extra_css -%}
<link rel="icon" href="data:,">
<style>
  main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
  .jp-RenderedHTMLCommon caption { text-align: left; font-weight: 600; padding: .3rem 0; caption-side: top; }
  .jp-RenderedMarkdown .highlight { margin: 0 0 1em; }
  .jp-OutputArea-output { overflow-x: auto; padding-left: .6rem; }
  .jp-OutputArea-output > img { max-width: 100%; height: auto; }
  main .jp-OutputArea-prompt { box-sizing: border-box; width: 76px; }
  main .jp-OutputArea-output pre { word-break: normal; overflow-wrap: anywhere; }
</style>
{%- endblock -%}
"""
"""The Lab's own look, without the four scripts that it would fetch, and with descriptions of pictures."""

_NEXT = re.compile(r'href="([\w-]+)\.ipynb"')
"""A link to another notebook, whose page stands beside this one."""

_PRIORITY = ["text/html", "image/svg+xml", "image/png", "text/markdown", "text/plain"]
"""No widgets: a page shows the HTML or text beside them."""


def write_page(node: nbformat.NotebookNode, path: Path) -> None:
    """Write the page of a notebook; its images are in it."""
    from jinja2 import DictLoader
    from nbconvert import HTMLExporter
    from traitlets.config import Config

    exporter = HTMLExporter(
        config=Config(NbConvertBase={"display_data_priority": _PRIORITY}),
        extra_loaders=[DictLoader({"offline.html.j2": _OFFLINE})],
        template_file="offline.html.j2",
        embed_images=True,
    )
    body, _ = exporter.from_notebook_node(node, resources={"metadata": {"name": path.stem}})
    path.write_text(_NEXT.sub(r'href="\1.html"', body), "utf-8")
