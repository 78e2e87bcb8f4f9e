"""Keys: what is stored of them, the file, and who a request is from."""

from __future__ import annotations

import json
import os
import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from tracejury_collector.errors import ConfigError, Forbidden, Unauthenticated, Unavailable
from tracejury_collector.keys.file import change_keys, read_keys
from tracejury_collector.keys.model import SCOPES, Key, NewKey, find_key, new_key
from tracejury_collector.keys.ring import ANYONE, LOOK_S, KeyRing, Refusals, authorize

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.duckdb.keys"


def store(path: Path, *keys: Key) -> None:
    change_keys(path, lambda old: (*old, *keys))


def bearer(made: NewKey) -> dict[str, str]:
    return {"authorization": f"Bearer {made.secret}"}


def ring(path: Path, clock: Clock | None = None, *, required: bool = False) -> KeyRing:
    return KeyRing(path, required=required, clock_s=clock or Clock(), now=lambda: NOW)


def test_a_key_has_256_random_bits_and_only_their_hash_is_stored(path: Path) -> None:
    made = [new_key("ci", ["read"], NOW) for _ in range(100)]
    assert len({one.secret for one in made}) == 100
    assert all(len(bytes.fromhex(one.secret.rpartition("_")[2])) == 32 for one in made)
    store(path, *[one.key for one in made])
    text = path.read_text()
    assert not any(one.secret.rpartition("_")[2] in text for one in made)


def test_a_key_is_found_by_its_whole_text_alone() -> None:
    made, other = new_key("a", ["read"], NOW), new_key("b", ["read"], NOW)
    keys = {one.key.id: one.key for one in (made, other)}
    assert find_key(keys, made.secret) == made.key
    mixed = f"tj_{made.key.id}_{other.secret.rpartition('_')[2]}"
    wrong = [mixed, made.secret[:-1], made.secret + "0", made.secret.upper(), "", "tj_", "é" * 80]
    assert [find_key(keys, text) for text in wrong] == [None] * len(wrong)


def test_a_key_for_everything_is_bound_to_no_project() -> None:
    with pytest.raises(ValidationError, match="leave the project out"):
        new_key("root", ["admin"], NOW, project="booking")


def test_the_file_is_for_its_owner_alone(path: Path) -> None:
    old = os.umask(0)
    try:
        store(path, new_key("a", ["read"], NOW).key)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("mode", [0o660, 0o602, 0o666])
def test_a_file_that_others_can_write_is_refused(path: Path, mode: int) -> None:
    store(path, new_key("a", ["read"], NOW).key)
    path.chmod(mode)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_keys(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version": 2, "keys": []}',
        '{"keys": [{"id": "x"}]}',
        '{"keys": [], "more": 1}',
        "\x00",
    ],
)
def test_what_is_no_file_of_keys_is_refused_with_the_remedy(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="no file of keys"):
        read_keys(path)


def test_two_keys_of_one_id_are_refused(path: Path) -> None:
    key = new_key("a", ["read"], NOW).key
    path.write_text(json.dumps({"keys": [json.loads(key.model_dump_json())] * 2}))
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="two keys have one id"):
        read_keys(path)


def test_changes_at_the_same_time_all_count(path: Path) -> None:
    made = [new_key(str(n), ["read"], NOW).key for n in range(20)]
    threads = [threading.Thread(target=store, args=(path, key)) for key in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key.id for key in read_keys(path)} == {key.id for key in made}


def test_a_change_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    store(path, new_key("a", ["read"], NOW).key)
    before = path.read_bytes()

    def fails(_: tuple[Key, ...]) -> tuple[Key, ...]:
        raise ConfigError("no")

    with pytest.raises(ConfigError):
        change_keys(path, fails)
    assert path.read_bytes() == before


def test_a_link_to_the_file_stays_a_link(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "real"
    path.symlink_to(real)
    store(path, new_key("a", ["read"], NOW).key)
    assert path.is_symlink()
    assert len(read_keys(real)) == 1


def test_without_keys_anyone_may_do_everything(path: Path) -> None:
    assert ring(path).caller({}) is ANYONE
    assert all(ANYONE.may(scope) for scope in SCOPES)


def test_where_keys_must_be_nobody_comes_in_without_a_file(path: Path) -> None:
    with pytest.raises(Unavailable):
        ring(path, required=True).caller({})


def test_with_a_key_in_the_file_only_those_with_a_key_come_in(path: Path) -> None:
    made = new_key("ci", ["read", "ingest"], NOW, project="booking")
    store(path, made.key)
    found = ring(path)
    caller = found.caller(bearer(made))
    assert (caller.key_id, caller.name, caller.project) == (made.key.id, "ci", "booking")
    assert caller.scopes == {"read", "ingest"}
    assert found.caller({"x-api-key": made.secret}) == caller
    assert found.caller({"authorization": f"bEaReR  {made.secret} "}) == caller
    assert found.caller({"authorization": "Basic cHJveHk6eA==", "x-api-key": made.secret}) == caller
    for headers in (
        {},
        {"authorization": made.secret},
        {"authorization": "Bearer"},
        {"authorization": f"Bearer {made.secret},Bearer {made.secret}"},
        {"authorization": "Bearer wrong", "x-api-key": made.secret},
        {"cookie": made.secret},
    ):
        with pytest.raises(Unauthenticated):
            found.caller(headers)


def test_a_revoked_key_keeps_the_others_out_too(path: Path) -> None:
    made = new_key("ci", ["read"], NOW)
    store(path, made.key.model_copy(update={"revoked_at": NOW}))
    with pytest.raises(Unauthenticated, match="needs a key"):
        ring(path).caller({})
    with pytest.raises(Unauthenticated, match="is revoked"):
        ring(path).caller(bearer(made))


def test_a_key_ends_at_its_time(path: Path) -> None:
    ends = new_key("a", ["read"], NOW, expires_at=NOW)
    lives = new_key("b", ["read"], NOW, expires_at=NOW + timedelta(seconds=1))
    store(path, ends.key, lives.key)
    found = ring(path)
    assert found.caller(bearer(lives)).name == "b"
    with pytest.raises(Unauthenticated, match="is expired"):
        found.caller(bearer(ends))


def test_a_change_of_the_file_counts_within_a_second(path: Path) -> None:
    clock = Clock()
    made = new_key("ci", ["read"], NOW)
    found = ring(path, clock)
    assert found.caller({}) is ANYONE
    store(path, made.key)
    clock.now_s += LOOK_S
    assert found.caller(bearer(made)).name == "ci"
    change_keys(path, lambda keys: tuple(k.model_copy(update={"revoked_at": NOW}) for k in keys))
    clock.now_s += LOOK_S
    with pytest.raises(Unauthenticated):
        found.caller(bearer(made))


@pytest.mark.parametrize("harm", ["delete", "spoil", "open"])
def test_a_file_that_is_harmed_opens_no_door_and_closes_none(path: Path, harm: str) -> None:
    clock = Clock()
    made, other = new_key("a", ["read"], NOW), new_key("b", ["read"], NOW)
    store(path, made.key)
    found = ring(path, clock)
    found.caller(bearer(made))
    if harm == "delete":
        path.unlink()
    elif harm == "spoil":
        path.write_text('{"keys": [')
    else:
        store(path, other.key)
        path.chmod(0o666)
    clock.now_s += LOOK_S
    assert found.caller(bearer(made)).name == "a"
    assert found.is_stale
    for headers in ({}, bearer(other)):
        with pytest.raises(Unauthenticated):
            found.caller(headers)
    path.unlink(missing_ok=True)
    store(path, other.key)
    clock.now_s += LOOK_S
    assert found.caller(bearer(other)).name == "b"
    assert not found.is_stale


def test_a_process_that_never_read_the_keys_lets_nobody_in(path: Path) -> None:
    path.write_text("{")
    path.chmod(0o600)
    with pytest.raises(Unavailable):
        ring(path).caller({})


def test_the_service_has_a_key_of_its_own_that_stands_in_no_file(path: Path) -> None:
    own, made = new_key("own", ["ingest"], NOW), new_key("ci", ["read"], NOW)
    store(path, made.key)
    found = KeyRing(path, own=own.key, now=lambda: NOW)
    assert found.caller(bearer(own)).name == "own"
    assert found.caller(bearer(made)).name == "ci"


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_allows_itself_and_admin_everything(path: Path, scope: str) -> None:
    made = {name: new_key(name, [name], NOW) for name in SCOPES}
    store(path, *[one.key for one in made.values()])
    found = ring(path)
    for name, one in made.items():
        caller = found.caller(bearer(one))
        if name in (scope, "admin"):
            authorize(caller, scope)  # type: ignore[arg-type]
        else:
            with pytest.raises(Forbidden, match=f"--scope {scope}"):
                authorize(caller, scope)  # type: ignore[arg-type]


def test_refusals_are_counted_all_and_told_now_and_then_without_the_secret(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = new_key("ci", ["read"], NOW)
    store(path, new_key("other", ["read"], NOW).key)
    found, clock = ring(path), Clock()
    refusals = Refusals(clock)
    for n in range(51):
        clock.now_s += 60 * (n == 50)
        with pytest.raises(Unauthenticated) as refused:
            found.caller(bearer(made))
        refusals.note(refused.value)
        refusals.note(ConfigError("no refusal"))
    assert refusals.counts == {"key": 51}
    assert len(caplog.records) == 2
    assert "50 like it" not in caplog.messages[0]
    assert "49 like it" in caplog.messages[1]
    assert made.secret.rpartition("_")[2] not in caplog.text
