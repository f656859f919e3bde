// JupyterLab hears keys at the document first, and its shortcuts act on whatever has the focus: only the window can hold
// keys back. Keys with Ctrl, Meta or Alt stay JupyterLab's, and so do text fields, where no letter is a shortcut.
// What the browser itself does with a key stays too.
export default {
  render({ el }) {
    const hold = (event) => {
      const isText = event.target.matches("textarea, input:not([type=checkbox])");
      const isLabs = event.ctrlKey || event.metaKey || event.altKey;
      if (!isText && !isLabs && el.closest(".jp-OutputArea-output")?.contains(event.target)) event.stopPropagation();
    };
    window.addEventListener("keydown", hold, true);
    return () => window.removeEventListener("keydown", hold, true);
  },
};
