"""Helpers that are independent of hooks."""
