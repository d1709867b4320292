"""What PyInstaller cannot see: modules that are imported on first use, and their data files."""
