"""The parts of a shop's server: the typed client, its calls, the receiver of webhooks."""
