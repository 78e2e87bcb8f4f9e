"""What a fuzzer guided by coverage does with the decoder and the dialects.

Run as a script it fuzzes: fuzzing.py CORPUS SECONDS. The first byte of an input chooses the signal
and the encoding, the rest is the body of a request. Only the documented errors may come of it.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Final

from tracejury_collector.config import Limits
from tracejury_collector.errors import MalformedRequest, TooLarge
from tracejury_collector.receive.otlp import Encoding, Signal, decode

LIMITS: Final = Limits(spans_per_request=1000, attributes_per_span=100, events_per_span=100)
MOST_BYTES: Final = 16_384
SECONDS_PER_INPUT: Final = 5
CHOICES: Final[tuple[tuple[Signal, Encoding], ...]] = (
    ("traces", "protobuf"),
    ("traces", "json"),
    ("logs", "protobuf"),
    ("logs", "json"),
    ("metrics", "protobuf"),
    ("metrics", "json"),
)
INSTRUMENTED: Final = ["tracejury_collector.receive", "tracejury.dialects", "tracejury.labels"]


def try_one(data: bytes) -> None:
    """Decode one input; whatever else than a documented error comes of it is a finding."""
    if data:
        signal, encoding = CHOICES[data[0] % len(CHOICES)]
        with contextlib.suppress(MalformedRequest, TooLarge):
            found = decode(signal, encoding, data[1:], LIMITS)
            assert found.rejected >= 0
            assert found.table is None or found.table.num_rows >= 0


def main(corpus: str, seconds: str) -> None:
    """Fuzz for some seconds, from the inputs in `corpus`, which grows."""
    import atheris

    for name in list(sys.modules):
        if name.startswith(tuple(INSTRUMENTED)):
            del sys.modules[name]
    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.promises.fuzzing import try_one as instrumented

    arguments = [
        sys.argv[0],
        corpus,
        f"-max_total_time={seconds}",
        f"-max_len={MOST_BYTES}",
        f"-timeout={SECONDS_PER_INPUT}",
        "-rss_limit_mb=2048",
        f"-artifact_prefix={Path(corpus)}/finding-",
        "-print_final_stats=1",
    ]
    atheris.Setup(arguments, instrumented)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
