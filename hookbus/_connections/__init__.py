"""Who is connected to what, and in which order."""
