"""Approvals of calls, and passed-on calls that need no second approval."""
