"""Lists what PyInstaller cannot detect: modules imported on first use, and their data files."""
