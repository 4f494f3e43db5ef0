"""Processes that train window by window when they are asked to, and tables of how long they take.

All of them are started first. Then short bursts go round: each peer trains for about half a second in turn, again and again, so that what
disturbs the machine disturbs all alike; a ratio is taken within one round.
"""
import json
import os
import statistics
import subprocess

BURST_SECONDS = 0.4
TRIAL_SECONDS = 0.2  # of the trial that says how many windows make a burst


class Peer:
    """`commands`: one process, or one for each rank; the first is the one that answers."""

    def __init__(self, name, *commands, environments=None):
        self.name = name
        self.wall, self.cpu = [], []  # seconds per window, one entry per round
        environments = environments or [{}] * len(commands)
        self.processes = [
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if number == 0 else subprocess.DEVNULL,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
            )
            for number, (command, environment) in enumerate(zip(commands, environments))
        ]
        self.windows = 1

    def wait_until_ready(self):
        if self._line() != "ready":
            raise SystemExit(f"error: {self.name} did not start")

    def _line(self):
        line = self.processes[0].stdout.readline().strip()
        if not line:
            raise SystemExit(f"error: {self.name} ended with {self.processes[0].wait()}")
        return line

    def ask(self, windows):
        self.processes[0].stdin.write(f"{windows}\n")
        self.processes[0].stdin.flush()

    def answer(self):
        return json.loads(self._line())

    def fit_burst(self, seconds):
        """Chooses the number of windows, by trials that also warm everything up."""
        while True:
            self.ask(self.windows)
            taken = self.answer()["wall"]
            if taken >= min(TRIAL_SECONDS, seconds / 2):
                break
            self.windows *= 2
        self.windows = max(1, round(self.windows * seconds / taken))

    def burst(self):
        self.ask(self.windows)
        answer = self.answer()
        self.wall.append(answer["wall"] / self.windows)
        self.cpu.append(answer["cpu"] / self.windows)

    def end(self):
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()


def run_rounds(peers, rounds, seconds=BURST_SECONDS):
    """Each round begins with another peer, so that none always follows the same one."""
    for peer in peers:
        peer.fit_burst(seconds)
    for number in range(rounds):
        first = number % len(peers)
        for peer in peers[first:] + peers[:first]:
            peer.burst()


def middle(values):
    """Median, first and third quartile."""
    if len(values) < 4:
        return statistics.median(values), min(values), max(values)
    low, median, high = statistics.quantiles(values, n=4)
    return median, low, high


def ratios(base, peer, of="wall"):
    """How many times faster than `base`, round by round."""
    return [b / p for b, p in zip(getattr(base, of), getattr(peer, of))]


def microseconds(values):
    median, low, high = middle(values)
    return f"{median * 1e6:,.0f}", f"{low * 1e6:,.0f} – {high * 1e6:,.0f}"


def factor(values):
    median, low, high = middle(values)
    return f"{median:.2f} ({low:.2f} – {high:.2f})"
