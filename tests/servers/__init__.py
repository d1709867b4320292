"""hookbus under servers that fork, patch threads, reload, or use their own event loop."""
