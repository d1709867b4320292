"""Connections of receivers to senders: their options, their order and their lifetime."""
