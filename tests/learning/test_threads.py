"""Jobs that threads share: all done, errors told, and nothing left behind."""

import os
import threading

import pytest
import torch

from fedabm.learning.engine import threads


@pytest.mark.parametrize("number", [0, 1, 2, 5])
def test_every_job_is_done_once_with_the_tool_of_its_thread(number):
    done, owners = [], []

    def tool():
        return threading.get_ident()

    def work(mine, job):
        owners.append(mine == threading.get_ident())
        done.append(job)

    threads.run(range(20), work, tool, number)
    assert sorted(done) == list(range(20))
    assert all(owners)


def test_threads_stay_and_tools_do_not():
    seen, tools = [set(), set()], []

    def tool():
        tools.append(object())
        return tools[-1]

    for turn in range(2):
        threads.run(range(30), lambda mine, job, turn=turn: seen[turn].add(threading.get_ident()), tool, 2)
    assert len(seen[0] | seen[1]) <= 2
    assert 2 <= len(tools) <= 4


def test_inside_a_job_one_thread_computes_and_no_gradient_is_recorded():
    states: list[tuple[int, bool]] = []
    before = torch.get_num_threads()

    def work(mine, job):
        states.append((torch.get_num_threads(), torch.is_grad_enabled()))

    threads.run(range(4), work, lambda: None, 2)
    assert states == [(1, False)] * 4
    assert torch.get_num_threads() == before


def test_an_error_is_told_when_the_other_jobs_are_done():
    done = []

    def work(mine, job):
        if job == 0:
            raise ValueError("job 0")
        done.append(job)

    with pytest.raises(ValueError, match="job 0"):
        threads.run(range(10), work, lambda: None, 2)
    assert sorted(done) == list(range(1, 10))
    threads.run(range(10), lambda mine, job: done.append(job), lambda: None, 2)
    assert len(done) == 19


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_has_threads_of_its_own():
    threads.run(range(4), lambda mine, job: None, lambda: None, 2)
    child = os.fork()
    if not child:
        done: list[int] = []
        threads.run(range(4), lambda mine, job: done.append(job), lambda: None, 2)
        os._exit(0 if sorted(done) == [0, 1, 2, 3] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
