"""The jobs of assembly: reading messages, joining tool calls, counting tokens, finding turns."""
