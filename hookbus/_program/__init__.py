"""A running program: settings, recording with HOOKBUS_JOURNAL, and a socket for its own user
only.
"""
