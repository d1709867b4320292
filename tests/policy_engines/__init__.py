"""Twelve tasks for policy engines. Each engine runs them in an environment of its own."""
