"""Checks: what looks wrong in a translation (`doubts`), and its repair (`repair`)."""
