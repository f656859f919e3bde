"""Notebooks run without a person."""
