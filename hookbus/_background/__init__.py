"""Background observers: start them, limit and count them, and wait for them to finish."""
