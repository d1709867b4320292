"""Evaluates Cedar policies: reads their files, determines the types of tools, and decides calls."""
