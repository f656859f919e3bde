"""For analysts: what the sandbox holds, as tables. This is where pandas is loaded."""
