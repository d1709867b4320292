"""Approvals of calls, passed-on calls that need no second approval, and lists of people."""
