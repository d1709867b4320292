"""Checks of connections and of required guards. They never run inside a call."""
