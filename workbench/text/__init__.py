"""Text for people: tables, HTML, drawings, TOML, requests as code."""
