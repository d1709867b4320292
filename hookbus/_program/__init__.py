"""A running program: settings, HOOKBUS_JOURNAL, switches, and a socket for its own user."""
