"""Methods of plugin objects that are marked as receivers, and globs of hook names."""
