"""Prepare and control a program: settings, recording, switches, a control socket."""
