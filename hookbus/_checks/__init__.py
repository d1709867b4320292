"""Checks of connections and of required guards, which never run inside a call."""
