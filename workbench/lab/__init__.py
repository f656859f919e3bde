"""The parts of a bench that JupyterLab shows. Each is loaded when it is first shown."""
