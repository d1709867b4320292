"""What can be hooked, and how it is switched on."""
