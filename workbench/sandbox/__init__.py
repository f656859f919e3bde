"""The simulated service: its store file, its operations, and two ways to call them, in process or through a port."""
