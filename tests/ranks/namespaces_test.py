"""Two machines as far as the network can tell: a rank in each of two network namespaces with an address of its own trains what
one process trains.

    namespaces_test.py LOOPC

Exits with 77 where namespaces cannot be made (that needs root and iproute2).
"""
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
NAMES = [f"loop-test-{os.getpid()}-{rank}" for rank in (0, 1)]
LINKS = [f"loop{os.getpid() % 10**7}x{rank}" for rank in (0, 1)]
ADDRESSES = ["10.213.77.1", "10.213.77.2"]

LOOPC = str(pathlib.Path(sys.argv[1]).resolve())
sys.argv = [sys.argv[0], LOOPC, ""]
from ranks_test import Run, same, spec  # noqa: E402


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def make():
    for name in NAMES:
        ip("netns", "add", name)
    ip("link", "add", LINKS[0], "netns", NAMES[0], "type", "veth", "peer", "name", LINKS[1], "netns", NAMES[1])
    for name, link, address in zip(NAMES, LINKS, ADDRESSES):
        ip("-n", name, "address", "add", address + "/24", "dev", link)
        ip("-n", name, "link", "set", link, "up")
        ip("-n", name, "link", "set", "lo", "up")


def remove():
    for name in NAMES:  # a namespace takes its end of the link with it
        subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def two_machines(text, lengths, corpus=None):
    common = {"WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": "29741",
              "LOOP_START_TIMEOUT_S": "60"}
    runs = [Run(text, lengths, 1, prefix=("ip", "netns", "exec", NAMES[rank]), corpus=corpus,
                environment={**common, "RANK": str(rank), "GLOO_SOCKET_IFNAME": LINKS[rank]}) for rank in (0, 1)]
    for run in reversed(runs):
        run.done()
    return runs[0]


try:
    make()
except (OSError, subprocess.CalledProcessError) as error:
    remove()
    print(f"skipped: no network namespaces ({getattr(error, 'stderr', None) or error})")
    sys.exit(SKIPPED)
try:
    lengths = [5, 1, 7, 3, 2, 9, 4, 8, 1, 6, 3]
    for window in ("size = 5 samples; tail = flush", "size = 14 tokens; tail = flush"):
        text = spec(window, 2)
        same(two_machines(text, lengths), Run(text, lengths, 1).done(), f"two namespaces, {window}")
finally:
    remove()
