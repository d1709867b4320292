"""The gate of coding agents."""
