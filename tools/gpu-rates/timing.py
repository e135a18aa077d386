"""Work repeated without pause for some seconds, with the rate of its first second and of its last windows apart."""
from __future__ import annotations

import statistics
import time
from collections import deque
from typing import Callable, NamedTuple

# One turn through all tasks: long against a launch, short against a window.
TURN_S = 0.04
WINDOW_S = 0.25
# Turns queued ahead of the GPU, so that it never waits for the host, and Ctrl-C never waits long for it.
AHEAD = 2
MOST_REPEATS = 512
# Lets the clock rise again after what came before, so that the first second is a burst.
REST_S = 0.3


class Task(NamedTuple):
    name: str
    # One a copy of its operands: taken in turn, so that no operand is found in a cache again.
    calls: list[Callable[[], object]]
    # Operations or bytes of one call.
    work: float


class Course(NamedTuple):
    """What came of a task. Rates are work per second."""

    burst: float
    sustained: float
    # Time of one call in the last windows.
    call_s: float


class Run(NamedTuple):
    courses: dict[str, Course]
    # Length without pause, the part of it that the sustained rates are taken from, and in how many windows.
    seconds: float
    counted_s: float
    windows: int
    graph: bool
    # Of the whole run, on the monotonic clock.
    started: float
    ended: float


class Clock:
    """Marks in the stream of work, and the seconds between two of them: CUDA events, or the host's clock on a CPU."""

    def __init__(self, torch, device):
        self.torch = torch
        self.cuda = device.type == 'cuda'

    def mark(self):
        if not self.cuda:
            return time.perf_counter()
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def wait(self, mark):
        if self.cuda:
            mark.synchronize()

    def between(self, first, second):
        return first.elapsed_time(second) / 1000 if self.cuda else second - first

    def idle(self):
        if self.cuda:
            self.torch.cuda.synchronize()


def call_seconds(clock, calls, repeats=3):
    """Seconds of one call, roughly, after a warm-up."""
    for call in calls:
        call()
    first = clock.mark()
    for _ in range(repeats):
        for call in calls:
            call()
    last = clock.mark()
    clock.wait(last)
    return max(clock.between(first, last) / repeats / len(calls), 1e-7)


def fastest(clock, candidates):
    """Of `{name: calls}` the name of the fastest that works. Raises what the last failure was when none does."""
    times, failure = {}, None
    for name, calls in candidates.items():
        try:
            times[name] = call_seconds(clock, calls)
        except Exception as error:
            failure = error
    if not times:
        raise failure or ValueError('no candidate')
    return min(times, key=times.get)


def launcher(clock, task, repeats, graph=True):
    """A function that queues `repeats` calls, as one CUDA graph if asked for and possible; and whether it is one."""
    calls = [task.calls[i % len(task.calls)] for i in range(repeats)]

    def one_by_one():
        for call in calls:
            call()

    if not clock.cuda or not graph:
        return one_by_one, False
    torch = clock.torch
    try:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for call in task.calls:
                call()
        torch.cuda.current_stream().wait_stream(side)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            one_by_one()
        return captured.replay, True
    except RuntimeError:
        clock.idle()
        return one_by_one, False


def run(clock, tasks, seconds):
    """
    Runs the tasks in turn without pause, each as often as the others. A task's burst is its rate in the first second,
    its sustained rate the median of the windows in the second half.
    """
    costs = [call_seconds(clock, task.calls) for task in tasks]
    most_copies = max(len(task.calls) for task in tasks)
    repeats = min(max(round(TURN_S / sum(costs)), most_copies, 1), MOST_REPEATS)
    launchers = [launcher(clock, task, repeats) for task in tasks]
    for launch, _ in launchers:
        launch()
    clock.idle()
    time.sleep(REST_S)

    queued, turns = deque(), []
    started = time.monotonic()
    origin = clock.mark()
    last = origin

    def finish():
        marks = queued.popleft()
        clock.wait(marks[-1])
        turns.append([clock.between(origin, mark) for mark in marks])

    while not turns or turns[-1][-1] < seconds:
        marks = [last]
        for launch, _ in launchers:
            launch()
            marks.append(clock.mark())
        last = marks[-1]
        queued.append(marks)
        if len(queued) > AHEAD:
            finish()
    while queued:
        finish()
    ended = time.monotonic()

    windows = windows_of(turns)
    total = turns[-1][-1]
    counted = [w for w in windows if w[0][0] >= total / 2] or windows[-1:]
    first = [turn for turn in turns if turn[0] < min(1.0, total / 2)]

    def seconds_in(some, i):
        return sum(turn[i + 1] - turn[i] for turn in some)

    courses = {}
    for i, task in enumerate(tasks):
        rates = [task.work * repeats * len(w) / max(seconds_in(w, i), 1e-9) for w in counted]
        sustained = statistics.median(rates)
        burst = task.work * repeats * len(first) / max(seconds_in(first, i), 1e-9)
        courses[task.name] = Course(burst, sustained, task.work / sustained)
    counted_s = sum(w[-1][-1] - w[0][0] for w in counted)
    return Run(courses, total, counted_s, len(counted), all(g for _, g in launchers), started, ended)


def windows_of(turns):
    """Turns in groups of at least WINDOW_S; what is left at the end joins the last group."""
    windows, open_window = [], []
    for turn in turns:
        open_window.append(turn)
        if turn[-1] - open_window[0][0] >= WINDOW_S:
            windows.append(open_window)
            open_window = []
    if open_window:
        windows = [*windows[:-1], [*(windows[-1] if windows else []), *open_window]]
    return windows
