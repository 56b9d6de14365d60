"""Runs under way: start -> batch -> loop -> statuses."""
