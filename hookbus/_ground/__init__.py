"""Helpers that do not depend on hooks."""
