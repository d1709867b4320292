"""Prepare and control a running program: settings, recording, and a control socket."""
