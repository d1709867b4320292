"""A program that runs: recorded where HOOKBUS_JOURNAL says so, asked by nobody but its own user."""
