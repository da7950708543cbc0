"""The live work pool: exact instants, first in first out."""

from tasksim.live.workers import Work, WorkPool


def work(number: int, duration_ns: int) -> Work[str]:
    return Work(key=f"w{number}", number=number, duration_ns=duration_ns)


def test_work_ends_at_its_due_instant_however_late_the_timer() -> None:
    pool: WorkPool[str] = WorkPool(1)
    assert pool.order(work(0, 10), 100)
    assert pool.on_time(109) is None
    ended = pool.on_time(500)
    assert ended is not None
    assert ended[1] == 110


def test_the_next_in_the_queue_begins_when_a_worker_is_free() -> None:
    pool: WorkPool[str] = WorkPool(1)
    pool.order(work(0, 10), 0)
    assert not pool.order(work(1, 5), 1)
    assert not pool.order(work(2, 5), 2)
    assert (pool.busy, pool.queued) == (1, 2)
    ended = pool.on_time(100)
    assert ended is not None
    assert (ended[0].key, ended[1]) == ("w0", 10)
    assert ended[2] is not None
    assert ended[2].key == "w1"
    second = pool.on_time(100)
    assert second is not None
    assert (second[0].key, second[1]) == ("w1", 15)


def test_without_a_count_nobody_waits() -> None:
    pool: WorkPool[str] = WorkPool(None)
    assert all(pool.order(work(i, 10), 0) for i in range(100))


def test_ties_go_by_task_number() -> None:
    pool: WorkPool[str] = WorkPool(None)
    for number in (5, 3, 4):
        pool.order(work(number, 10), 0)
    ended = [pool.on_time(10) for _ in range(3)]
    assert [item[0].number for item in ended if item] == [3, 4, 5]


def test_a_stopped_worker_is_free_at_once_and_takes_the_next() -> None:
    pool: WorkPool[str] = WorkPool(1)
    pool.order(work(0, 100), 0)
    pool.order(work(1, 10), 0)
    follower = pool.stop("w0", 5)
    assert follower is not None
    assert follower.key == "w1"
    assert (pool.busy, pool.queued) == (1, 0)
    assert pool.next_deadline is not None
    assert pool.next_deadline[0] == 15
    ended = pool.on_time(200)
    assert ended is not None
    assert ended[0].key == "w1"
    assert (pool.busy, pool.next_deadline) == (0, None)


def test_work_stopped_in_the_queue_never_begins() -> None:
    pool: WorkPool[str] = WorkPool(1)
    pool.order(work(0, 10), 0)
    pool.order(work(1, 10), 0)
    assert pool.stop("w1", 5) is None
    ended = pool.on_time(10)
    assert ended is not None
    assert ended[2] is None
    assert (pool.busy, pool.queued) == (0, 0)


def test_work_that_was_stopped_behind_others_is_skipped_when_its_instant_comes() -> None:
    pool: WorkPool[str] = WorkPool(2)
    pool.order(work(0, 10), 0)
    pool.order(work(1, 20), 0)
    assert pool.stop("w1", 5) is None
    assert pool.busy == 1
    assert pool.on_time(100) is not None
    assert pool.on_time(100) is None
    assert pool.busy == 0


def test_a_stop_ends_the_work_it_meant_and_not_what_came_after_under_the_same_key() -> None:
    pool: WorkPool[str] = WorkPool(None)
    pool.order(work(9, 1), 0)
    pool.order(Work(key="again", number=0, duration_ns=100), 0)
    pool.stop("again", 0)
    pool.order(Work(key="again", number=1, duration_ns=10), 0)
    assert pool.busy == 2
    ended = [pool.on_time(1000), pool.on_time(1000)]
    assert [(item[0].number, item[1]) for item in ended if item] == [(9, 1), (1, 10)]
    assert (pool.on_time(1000), pool.busy, pool.next_deadline) == (None, 0, None)
