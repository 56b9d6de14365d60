"""Work on threads: all of it, a few items ahead, with errors and interruptions heard at once."""

import signal
import threading
import time

import pytest

from weightnorm._support.pool import run_all, share


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 7, 1000])
def test_every_item_once(workers, count):
    answers = []
    run_all(lambda item: item * item, range(count), workers, threading.Event(), answers.extend)
    assert sorted(answers) == [item * item for item in range(count)]


def test_items_are_taken_as_they_are_needed():
    """The number of items taken and not finished stays small: work does not pile up."""
    taken, finished, most = [0], [0], [0]

    def items():
        for item in range(5000):
            taken[0] += 1
            most[0] = max(most[0], taken[0] - finished[0])
            yield item

    def count(answers):
        finished[0] += len(answers)

    run_all(lambda item: item, items(), 2, threading.Event(), count)
    assert finished[0] == 5000
    assert most[0] <= 64


def test_the_cost_of_an_item_does_not_grow_with_their_number():
    """Counted, not timed: the futures looked at per answer."""
    from concurrent import futures

    import weightnorm._support.pool as pool

    looked, wait = [0], futures.wait

    def counting(pending, **options):
        looked[0] += len(pending)
        return wait(pending, **options)

    pool.wait = counting
    try:
        run_all(
            lambda item: time.sleep(1e-4), range(2000), 2, threading.Event(), lambda answers: None
        )
    finally:
        pool.wait = wait
    assert looked[0] < 2000 * 64


def test_an_error_stops_the_rest_and_is_raised():
    stop, begun = threading.Event(), []

    def work(item):
        begun.append(item)
        if item == 5:
            raise ValueError("item 5")

    with pytest.raises(ValueError, match="item 5"):
        run_all(work, range(10_000), 2, stop, lambda answers: None)
    assert stop.is_set()
    assert len(begun) < 200


def test_an_error_in_the_items_or_in_finished_is_raised_too():
    def items():
        yield from range(50)
        raise OSError("no more items")

    stop = threading.Event()
    with pytest.raises(OSError, match="no more items"):
        run_all(lambda item: item, items(), 2, stop, lambda answers: None)
    assert stop.is_set()

    def broken(answers):
        raise RuntimeError("progress")

    stop = threading.Event()
    with pytest.raises(RuntimeError, match="progress"):
        run_all(lambda item: item, range(50), 2, stop, broken)
    assert stop.is_set()


def test_an_interruption_reaches_long_work():
    """Work of two minutes ends at once because it looks at `stop`."""
    stop, begun = threading.Event(), time.monotonic()

    def work(item):
        if item == 3:
            raise KeyboardInterrupt
        stop.wait(120)

    with pytest.raises(KeyboardInterrupt):
        run_all(work, range(8), 4, stop, lambda answers: None)
    assert stop.is_set()
    assert time.monotonic() - begun < 60


def test_all_parts_are_done_before_ctrl_c_is_heard():
    """It comes while threads are being started, and while they are waited for."""
    usual, main = signal.getsignal(signal.SIGINT), threading.main_thread().ident
    for when in (0, 20, 39):
        done = []

        def work(part, when=when, done=done):
            if part == when:
                signal.pthread_kill(main, signal.SIGINT)
            time.sleep(0.002)
            done.append(part)

        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                share(work, range(40), 40)
            assert sorted(done) == list(range(40))
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        finally:
            signal.signal(signal.SIGINT, usual)


def test_an_error_of_a_part_is_raised_when_all_are_done():
    done = []

    def work(part):
        if part == 0:
            raise ValueError("part 0")
        time.sleep(0.01)
        done.append(part)

    with pytest.raises(ValueError, match="part 0"):
        share(work, range(4), 2)
    assert sorted(done) == [1, 2, 3]
