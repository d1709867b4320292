"""The contents of containers: make them read-only, and detect changes."""
