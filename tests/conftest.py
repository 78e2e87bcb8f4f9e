"""What holds for all tests."""

from __future__ import annotations

import psutil
from hypothesis import HealthCheck, settings

from tracejury_collector.store.without_pandas import do_without_pandas

do_without_pandas()  # as in the store process

# How fast a busy machine makes up an example, or tries it, is nobody's fault.
settings.register_profile("tracejury", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tracejury")


def pytest_xdist_auto_num_workers() -> int:
    """Run more workers than there are cores where these are few: many tests wait for processes."""
    cores = psutil.cpu_count() or 1
    return max(cores, min(2 * cores, 4))
