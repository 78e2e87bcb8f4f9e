"""Where processes of the service say what happens: on standard error."""

from __future__ import annotations

import logging
import os
import sys


def log_to_stderr(name: str) -> None:
    """Log from now on to standard error, under the name of this process."""
    wanted = os.environ.get("TRACEJURY_LOG_LEVEL", "INFO").upper()
    logging.basicConfig(
        level=wanted if wanted in logging.getLevelNamesMapping() else logging.INFO,
        format=f"%(asctime)s %(levelname)s {name}: %(message)s",
        stream=sys.stderr,
        force=True,
    )
    for client in ("httpx", "httpx2"):  # they tell each URL, and a URL may hold a secret
        logging.getLogger(client).setLevel(logging.WARNING)
