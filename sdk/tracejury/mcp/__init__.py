"""Tracejury for assistants: a server of the Model Context Protocol over the client.

Needs the extra `mcp`; only `tracejury mcp` and the service load it.
"""
