"""The parts of a shop's server: the typed client, its calls, and the receiver of webhooks."""
