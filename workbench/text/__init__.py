"""Output for people: tables, HTML, drawings, TOML, and requests as code."""
