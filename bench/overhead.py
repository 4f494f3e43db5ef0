"""What a window costs besides arithmetic: a small MLP in eight micro-batches of eight rows."""
from bench import training, workloads

TARGETS = training.TARGETS
PYTHON_PEERS = True
TITLE = "Overhead"


def measure(programs, quick):
    return [
        training.measure_workload(
            programs,
            quick,
            "MLP 64-128-128-10, 8 micro-batches of 8 rows",
            workloads.mlp(),
            largest=workloads.mlp(micro_batch=64, micro_batches=1),
            remark="Goals: 1.8× plain PyTorch, 6× with the largest micro-batch, within 3 % of the arena.",
        )
    ]
