"""How an answer is awaited: deadlines, worker threads, the loop thread."""
