"""Hookables, and how their hooks are switched on."""
