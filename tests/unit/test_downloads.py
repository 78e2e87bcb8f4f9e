"""A file that is downloaded is there whole, for its owner alone, or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tracejury.client.downloads import _written


@pytest.fixture(params=["links", "no links"])
def file(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "no links":

        def refused(*_: object, **__: object) -> None:
            raise OSError(errno.EPERM, "not permitted")

        monkeypatch.setattr(os, "link", refused)
    return tmp_path / "rows.parquet"


def test_what_was_written_whole_has_the_name_and_is_for_its_owner(file: Path) -> None:
    with _written(file) as out:
        out.write(b"all of it")
        assert not file.exists()
    assert file.read_bytes() == b"all of it"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [*file.parent.iterdir()] == [file]


def test_of_what_broke_off_nothing_is_left(file: Path) -> None:
    def broken_off() -> None:
        with _written(file) as out:
            out.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert [*file.parent.iterdir()] == []


def test_a_file_that_came_meanwhile_is_not_replaced(file: Path) -> None:
    def written_meanwhile() -> None:
        with _written(file) as out:
            out.write(b"new")
            file.write_bytes(b"old")

    with pytest.raises(FileExistsError):
        written_meanwhile()
    assert file.read_bytes() == b"old"
    assert [*file.parent.iterdir()] == [file]


def test_what_a_killed_download_left_is_written_over(file: Path) -> None:
    file.with_name(f"{file.name}.part").write_bytes(b"half of an older and longer file")
    with _written(file) as out:
        out.write(b"new")
    assert file.read_bytes() == b"new"


def test_two_downloads_do_not_write_one_file(file: Path) -> None:
    with _written(file) as out:
        out.write(b"first")
        with pytest.raises(FileExistsError, match="another download"), _written(file):
            pass
    assert file.read_bytes() == b"first"
