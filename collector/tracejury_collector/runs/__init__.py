"""Judging of history on demand: what is asked for, decided page by page, and gathered."""
