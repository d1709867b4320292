"""Data from outside the program: files, SQLite, JSON, addresses, and the system."""
