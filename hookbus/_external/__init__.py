"""Data from outside the program: trusted files, SQLite files, JSON and addresses."""
