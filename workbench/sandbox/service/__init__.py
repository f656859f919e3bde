"""What the service does: one function for each operation, each within one transaction.

A function takes the transaction, who calls, what the path names and the body, and returns the
answer. What it raises rolls everything back; a decline is `Refused`, since a failed charge is kept.
"""
