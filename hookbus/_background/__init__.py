"""Background observers: start them, limit and count them, and wait for their end."""
