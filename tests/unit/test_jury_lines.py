"""Lines of jobs: they read by themselves, hold each other up never, and let live jobs go first."""

from __future__ import annotations

from tracejury_collector.jury.jobs import QUERY, QUICK, Job, LineKey, Pair, line_key
from tracejury_collector.jury.lines import LOW_JOBS, START, Lines, Reading
from tracejury_collector.jury.roster import Seat
from tracejury_collector.store.ledger import PendingJob
from tracejury_evaluators.endpoint import Asked

MODEL = Asked(model="openai:gpt-5-mini", url="http://llm/v1")
OTHER = Asked(model="openai:gpt-5", url="http://llm/v1")


def seat(name: str = "fast", **fields: object) -> Seat:
    given = {"name": name, "type": "t", "config": {}, "fingerprint": name, **fields}
    return Seat(**given)  # type: ignore[arg-type]


def job(number: int, run_id: str = "", *seats: Seat) -> Job:
    pending = PendingJob(
        decision_id=f"{number:032x}",
        decided_at_ns=number,
        rule="r",
        rule_fingerprint="f",
        run_id=run_id,
        target_kind="trace",
        target_id=f"{number:032x}",
        trace_id=f"{number:032x}",
        revision=1,
        first_seq=0,
        last_seq=0,
        evaluators=(),
        fingerprints=(),
    )
    return Job(pending=pending, pairs={s.name: Pair(seat=s) for s in seats or (seat(),)})


def numbers(jobs: list[Job]) -> list[int]:
    return [each.pending.decided_at_ns for each in jobs]


def read_all(lines: Lines) -> list[Reading]:
    """Do every reading that is wanted, each without a result."""
    found = []
    while (reading := lines.next_reading()) is not None:
        found.append(reading)
        lines.took(reading, reading.after, has_more=False)
    return found


def test_a_decision_parts_into_what_each_line_judges() -> None:
    judges = [seat("kind", waits=True, asked=(MODEL,)), seat("true", waits=True, asked=(MODEL,))]
    parts = list(job(1, "", seat("a"), seat("q", type="sql"), *judges, seat("b")).parts())
    here: LineKey = ("waiting", "openai:gpt-5-mini at http://llm/v1")
    assert [(key, list(part.pairs)) for key, part in parts] == [
        (QUICK, ["a", "b"]),
        (QUERY, ["q"]),
        (here, ["kind"]),
        (here, ["true"]),
    ]


def test_evaluators_that_ask_several_places_have_a_line_of_their_own() -> None:
    both = seat("both", waits=True, asked=(OTHER, MODEL, OTHER))
    assert line_key(both) == (
        "waiting",
        "openai:gpt-5 at http://llm/v1 and openai:gpt-5-mini at http://llm/v1",
    )
    assert line_key(seat("script", waits=True)) == ("waiting", "")


def test_live_jobs_go_before_those_of_runs_and_what_comes_back_goes_first() -> None:
    line = Lines().quick
    for each in (job(1, "run"), job(2), job(3, "run"), job(4)):
        line.add(each)
    assert numbers(line.take(3)) == [2, 4, 1]
    line.put_back([job(2), job(1, "run")])
    line.add(job(5))
    assert numbers(line.take(9)) == [2, 5, 1, 3]
    assert len(line) == 0


def test_lines_that_came_equally_far_read_together() -> None:
    lines = Lines()
    live, runs = read_all(lines)
    assert live == Reading(of_runs=False, after=START, keys=frozenset({QUICK, QUERY}))
    assert runs == Reading(of_runs=True, after=START, keys=frozenset({QUICK, QUERY}))
    assert lines.next_reading() is None
    lines.note_news()
    assert lines.next_reading() == live


def test_a_line_that_has_enough_holds_up_no_other() -> None:
    lines = Lines()
    reading = lines.next_reading()
    assert reading is not None
    lines.took(reading, (7, "x"), has_more=True)
    key = line_key(seat(waits=True, asked=(MODEL,)))
    assert lines.is_for(reading, key)
    slow = lines.opened(key)
    for number in range(LOW_JOBS):
        slow.add(job(number))
    reading = lines.next_reading()
    assert reading == Reading(of_runs=False, after=(7, "x"), keys=frozenset({QUICK, QUERY}))
    assert not lines.is_for(reading, key)
    lines.took(reading, (9, "y"), has_more=False)
    slow.take(1)
    assert lines.next_reading() == Reading(of_runs=False, after=(7, "x"), keys=frozenset({key}))


def test_news_that_come_during_a_reading_are_not_lost() -> None:
    lines = Lines()
    reading = lines.next_reading()
    assert reading is not None
    lines.note_news()
    lines.took(reading, START, has_more=False)
    assert lines.next_reading() == reading


def test_only_the_quick_line_comes_across_new_lines() -> None:
    lines = Lines()
    new: LineKey = ("waiting", "somewhere")
    assert lines.is_for(Reading(of_runs=False, after=START, keys=frozenset({QUICK})), new)
    assert not lines.is_for(Reading(of_runs=False, after=START, keys=frozenset({QUERY})), new)
