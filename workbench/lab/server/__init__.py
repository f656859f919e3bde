"""JupyterLab on a folder of notebooks: what `workbench lab` brings, lays out and serves."""
