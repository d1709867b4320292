"""Which receivers are connected to which senders, and in which order."""
