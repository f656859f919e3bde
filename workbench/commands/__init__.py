"""The commands of `workbench` that do more than a screen of code: one module each, loaded when it is called."""
