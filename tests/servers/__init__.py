"""hookbus under servers that fork, patch threads, reload or bring a loop of their own."""
