"""The parts that the desk and the dashboard are made of: each one section, and what its buttons do."""
