"""The parts of a bench that JupyterLab shows. A part is loaded at its first display."""
