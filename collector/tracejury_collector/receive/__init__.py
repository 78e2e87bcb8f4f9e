"""From bytes on a socket to an answer after the commit."""
