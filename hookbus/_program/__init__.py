"""A running program: recorded if HOOKBUS_JOURNAL is set, and reachable only by its own user."""
