"""What is wrong with a connection: checked outside of any call."""
