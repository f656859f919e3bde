"""The commands of `workbench`: one module each. What takes its time to load is loaded when it is called."""
