"""The simulated service: one store file, its operations, and the two doors to them."""
