"""What a form of ipywidgets needs in JupyterLab, which only a browser shows."""

import anywidget


class OwnKeys(anywidget.AnyWidget):
    """Within a form, and not seen: keys pressed in its dropdowns, boxes and buttons are the form's.

    Else an arrow in a dropdown goes to the next cell, and the `m` of `match` makes Markdown of this one. The Lab hears
    keys at the document before all others, and its shortcuts fit whatever has the focus, even within a node that
    suppresses them: only the window can hold keys back. What the browser itself does with them stays. Where text is
    typed the Lab keeps to its own, and so it does of keys with Ctrl.
    """

    _esm = """
    export default { render({ el }) {
      const hold = (event) => {
        const isText = event.target.matches("textarea, input:not([type=checkbox])");
        const isLabs = event.ctrlKey || event.metaKey || event.altKey;
        if (!isText && !isLabs && el.closest(".jp-OutputArea-output")?.contains(event.target)) event.stopPropagation();
      };
      window.addEventListener("keydown", hold, true);
      return () => window.removeEventListener("keydown", hold, true);
    } };
    """
