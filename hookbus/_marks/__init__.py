"""Marked methods of plugin objects, and globs for the names of hooks."""
