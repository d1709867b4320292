"""What knows nothing of hooks."""
