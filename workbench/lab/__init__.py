"""What JupyterLab shows of a bench. Nothing here is loaded before it is shown."""
