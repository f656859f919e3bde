"""The commands of `workbench`. Slow imports wait until a command is called."""
