"""What PyInstaller cannot see: modules that are loaded when first asked for, and files beside them.
"""
