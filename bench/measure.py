"""Times of fresh processes: runs are interleaved, so that what disturbs the machine disturbs all cases alike."""
import math
import os
import statistics
import time
from dataclasses import dataclass, field


@dataclass
class Case:
    """A command, or several that start together. `runs` collects one (wall, CPU) pair in milliseconds per round."""

    name: str
    command: list
    rounds: int = 15
    accepted: tuple = (0,)  # exit statuses
    together: list = field(default_factory=list)  # further commands that run at the same time
    runs: list = field(default_factory=list)

    def wall_ms(self):
        return statistics.median(run[0] for run in self.runs)

    def cpu_ms(self):
        return statistics.median(run[1] for run in self.runs)

    def spread_ms(self):
        """First and third quartile of the wall time."""
        walls = sorted(run[0] for run in self.runs)
        if len(walls) < 4:
            return walls[0], walls[-1]
        quartiles = statistics.quantiles(walls, n=4)
        return quartiles[0], quartiles[2]


def run_once(case):
    silent = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    start = time.perf_counter()
    children = [
        (command, os.posix_spawn(command[0], command, os.environ, file_actions=silent))
        for command in [case.command, *case.together]
    ]
    cpu = 0.0
    for command, child in children:
        _, status, usage = os.wait4(child, 0)
        cpu += usage.ru_utime + usage.ru_stime
        if os.waitstatus_to_exitcode(status) not in case.accepted:
            raise SystemExit(f"error: `{' '.join(command)}` ended with {os.waitstatus_to_exitcode(status)}")
    return (time.perf_counter() - start) * 1e3, cpu * 1e3


def run_interleaved(cases):
    for case in cases:
        run_once(case)  # the first run fills the file cache and is not counted
    for number in range(max(case.rounds for case in cases)):
        for case in cases:
            if number < case.rounds:
                case.runs.append(run_once(case))


def fitted_exponent(sizes, times):
    """b of times ≈ a · sizes^b, by least squares of the logarithms: 1 is linear."""
    xs, ys = [math.log(size) for size in sizes], [math.log(max(value, 1e-6)) for value in times]
    x_mean, y_mean = statistics.mean(xs), statistics.mean(ys)
    slope = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys))
    return slope / sum((x - x_mean) ** 2 for x in xs)
