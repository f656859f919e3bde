"""The simulated service: one store file, its operations, and two ways to call them, in process and on a port."""
