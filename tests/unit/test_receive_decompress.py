"""Bodies are decompressed up to the limit and no further."""

from __future__ import annotations

import contextlib
import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tracejury_collector.errors import MalformedRequest, TooLarge, UnsupportedMediaType
from tracejury_collector.receive.decompress import check_encoding, decompress

LIMIT = 1 << 20
NAMES = ["gzip", "deflate", "zstd"]
DATA = bytes(range(256)) * 1000


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


def streamed_zstd(data: bytes) -> bytes:
    compressor = zstandard.ZstdCompressor().compressobj()
    return compressor.compress(data) + compressor.flush()


COMPRESSED = [
    pytest.param("identity", DATA, id="identity"),
    pytest.param("gzip", gzip.compress(DATA), id="gzip"),
    pytest.param("gzip", gzip.compress(DATA[:999]) + gzip.compress(DATA[999:]), id="two members"),
    pytest.param("gzip", gzip.compress(DATA) + b"\0" * 100, id="gzip, padded"),
    pytest.param("deflate", zlib.compress(DATA), id="zlib"),
    pytest.param("deflate", raw_deflate(DATA), id="bare deflate"),
    pytest.param("zstd", zstandard.compress(DATA), id="zstd"),
    pytest.param("zstd", streamed_zstd(DATA), id="zstd of unknown size"),
    pytest.param(
        "zstd", zstandard.compress(DATA[:999]) + zstandard.compress(DATA[999:]), id="two frames"
    ),
]


@pytest.mark.parametrize(("name", "body"), COMPRESSED)
def test_every_encoding_gives_the_data_back(name: str, body: bytes) -> None:
    assert decompress(body, name, LIMIT) == DATA
    assert decompress(body, name, len(DATA)) == DATA


@pytest.mark.parametrize(("name", "body"), COMPRESSED)
def test_a_body_one_byte_over_the_limit_is_too_large(name: str, body: bytes) -> None:
    with pytest.raises(TooLarge):
        decompress(body, name, len(DATA) - 1)


@pytest.mark.parametrize(("name", "body"), COMPRESSED[1:])
def test_a_body_cut_short_or_damaged_is_malformed(name: str, body: bytes) -> None:
    middle = len(body) // 2
    for bad in (body.rstrip(b"\0")[:-1], body[:5], b"", b"garbage!", body[:middle] + b"!!!!"):
        with pytest.raises(MalformedRequest):
            decompress(bad, name, LIMIT)


@pytest.mark.parametrize("name", NAMES)
def test_garbage_after_the_end_is_malformed(name: str) -> None:
    body = {
        "gzip": gzip.compress(DATA),
        "deflate": zlib.compress(DATA),
        "zstd": zstandard.compress(DATA),
    }[name]
    with pytest.raises(MalformedRequest):
        decompress(body + b"garbage", name, LIMIT)


@pytest.mark.parametrize(
    ("name", "bomb"),
    [
        ("gzip", lambda: gzip.compress(bytes(256 << 20), 9)),
        ("deflate", lambda: zlib.compress(bytes(256 << 20), 9)),
        ("zstd", lambda: zstandard.compress(bytes(256 << 20))),
        ("gzip", lambda: gzip.compress(b"") * 20_000),
        ("zstd", lambda: zstandard.compress(b"") * 20_000),
    ],
    ids=["gzip", "deflate", "zstd", "many members", "many frames"],
)
def test_a_bomb_is_refused_before_it_takes_memory(name: str, bomb: Callable[[], bytes]) -> None:
    body = bomb()
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            decompress(body, name, LIMIT)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["br", "snappy", "gzip, gzip", "x"])
def test_an_unknown_encoding_is_not_spoken(name: str) -> None:
    with pytest.raises(UnsupportedMediaType, match="gzip"):
        check_encoding(name)


@pytest.mark.parametrize(("given_name", "name"), [("", "identity"), (" GZip ", "gzip")])
def test_encodings_are_named_in_any_case(given_name: str, name: str) -> None:
    assert check_encoding(given_name) == name


@given(st.binary(max_size=300), st.sampled_from(NAMES))
def test_any_bytes_are_data_or_malformed(body: bytes, name: str) -> None:
    with contextlib.suppress(MalformedRequest, TooLarge):
        assert isinstance(decompress(body, name, LIMIT), bytes)
