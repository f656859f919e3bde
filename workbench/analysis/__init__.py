"""Gives analysts the sandbox's records as tables, and reconciles them with statements; pandas is loaded here."""
