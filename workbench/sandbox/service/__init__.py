"""The service: a function for each operation takes a transaction, the caller, path and body, and returns the result."""
