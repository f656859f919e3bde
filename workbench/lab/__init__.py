"""The parts of a bench that JupyterLab displays; each is loaded at its first display."""
