"""Tables of a training workload: every peer's time per window, and how much faster than plain PyTorch it is."""
import pathlib
import tempfile

from bench import peers, workloads

TARGETS = ["loopc", "looprun", "bench_peers"]
PYTHON = {"plain": "PyTorch, foreach clip + fused AdamW", "fabric": "Lightning Fabric", "accelerate": "Accelerate"}
CPP = {"torch_optim": "C++, torch::optim", "arena": "C++, `_fused_adamw_` on an arena"}
LOOP = "Loop"
LOOP_LARGEST = "Loop, largest micro-batch"


def start_peers(programs, folder, largest):
    """All peers of the workload in `folder`, by the name that tables give them. `largest`: the folder of the same windows as one micro-batch."""
    started = {title: peers.Peer(title, workloads.python_peer(name, folder)) for name, title in PYTHON.items()}
    started |= {title: peers.Peer(title, workloads.cpp_peer(programs, name, folder)) for name, title in CPP.items()}
    started[LOOP] = peers.Peer(LOOP, workloads.loop_peer(programs, folder))
    if largest:
        started[LOOP_LARGEST] = peers.Peer(LOOP_LARGEST, workloads.loop_peer(programs, largest))
    for peer in started.values():
        peer.wait_until_ready()
    return started


def gradient_errors(folder, largest):
    """Every peer's gradient against FP64, by title; a wrong one ends the benchmark."""
    errors = workloads.compare_gradients(folder, [*PYTHON, *CPP, "loop"])
    by_title = {title: errors[name] for name, title in {**PYTHON, **CPP, "loop": LOOP}.items()}
    if largest:
        by_title[LOOP_LARGEST] = workloads.compare_gradients(largest, ["loop"])["loop"]
    return by_title


def table(title, started, errors, remark):
    base = started[PYTHON["plain"]]
    rows, values = [], {}
    for name, peer in started.items():
        wall, cpu = peers.ratios(base, peer), peers.ratios(base, peer, "cpu")
        rows.append([name, *peers.microseconds(peer.wall), f"{peers.middle(peer.cpu)[0] * 1e6:,.0f}", peers.factor(wall), peers.factor(cpu), f"{errors[name]:.0e}"])
        values[name] = {"wall_us": peers.middle(peer.wall)[0] * 1e6, "cpu_us": peers.middle(peer.cpu)[0] * 1e6}
        values[name] |= {"wall_ratio": peers.middle(wall)[0], "cpu_ratio": peers.middle(cpu)[0], "gradient_error": errors[name]}
    return {
        "title": title,
        "columns": ["peer", "µs per window", "middle half", "CPU µs", "× plain PyTorch", "by CPU time", "gradient error"],
        "rows": rows,
        "remark": " ".join([remark, *(comparison(started, other) for other in CPP.values())]),
        "values": values,
    }


def comparison(started, other):
    wall, cpu = (peers.middle(peers.ratios(started[other], started[LOOP], of))[0] for of in ("wall", "cpu"))
    return f"Loop against {other}: {wall:.2f}× by wall time, {cpu:.2f}× by CPU time."


def measure_workload(programs, quick, title, workload, largest=None, remark=""):
    """`largest`: the workload with each window as one micro-batch, which is what `micro_batch = auto` picks."""
    with tempfile.TemporaryDirectory(prefix="loop-bench-") as root:
        folder, whole = pathlib.Path(root) / "split", pathlib.Path(root) / "whole"
        workloads.prepare(programs, folder, workload)
        if largest:
            workloads.prepare(programs, whole, largest)
        started = start_peers(programs, folder, largest and whole)
        try:
            errors = gradient_errors(folder, largest and whole)
            peers.run_rounds(list(started.values()), 3 if quick else 15)
        finally:
            for peer in started.values():
                peer.end()
        return table(title, started, errors, remark)
