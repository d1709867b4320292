"""The contents of containers: read-only for receivers, and compared for changes."""
