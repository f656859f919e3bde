"""What a shop's server holds: the typed client, its calls, the receiver of webhooks."""
