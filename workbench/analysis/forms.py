"""What a form of ipywidgets needs in JupyterLab, which only a browser shows."""

import anywidget


class OwnKeys(anywidget.AnyWidget):
    """Within a form, and not seen: the Lab leaves the form's keys alone.

    Else an arrow in a dropdown goes to the next cell, and the `m` of `match` makes Markdown of this one.
    """

    _esm = """
    export default { render({ el }) {
      const hold = (left) => {
        const form = el.closest(".jp-OutputArea-output");
        if (form) form.setAttribute("data-lm-suppress-shortcuts", "true");
        else if (left) requestAnimationFrame(() => hold(left - 1));
      };
      hold(600);
    } };
    """
