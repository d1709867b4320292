"""Hookable functions: their hooks, their generated code, and the cache of their plans."""
