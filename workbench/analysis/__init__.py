"""Turns the sandbox's records into tables, and reconciles a ledger with statements; importing it loads pandas."""
