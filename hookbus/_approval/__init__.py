"""Approvals: of calls, of calls that a body passes on, and lists of people."""
