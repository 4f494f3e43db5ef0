"""How a benchmark talks with a peer: the peer says `ready`; each line with a number of windows is answered by wall and CPU seconds."""
import json
import resource
import sys
import time


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def asked():
    """The numbers of windows that are asked for."""
    for line in iter(sys.stdin.readline, ""):
        yield int(line)


def serve(train, wanted):
    """`train(n)` runs n windows; `wanted` yields such numbers."""
    print("ready", flush=True)
    for windows in wanted:
        wall, cpu = time.perf_counter(), cpu_seconds()
        train(windows)
        print(json.dumps({"wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu}), flush=True)
