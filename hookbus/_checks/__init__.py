"""Checks of connections and of required guards. The checks never run inside a call."""
