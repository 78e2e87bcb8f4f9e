"""Assembling apart: a process of its own rebuilds finished traces, so that the store need not."""
