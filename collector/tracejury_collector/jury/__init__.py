"""Decisions become jobs, jobs become outcomes."""
