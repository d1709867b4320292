"""Wait for answers: deadlines, worker threads, and the thread of the event loop."""
