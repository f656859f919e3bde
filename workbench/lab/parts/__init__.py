"""The sections of the desk and the dashboard: what each shows, and what its buttons do."""
