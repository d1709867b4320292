"""The contents of containers: make them read-only for receivers, and detect changes."""
