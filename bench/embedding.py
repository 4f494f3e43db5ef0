"""The window's end and the accumulation of gradients: a large embedding of which a window touches 64 rows."""
from bench import training, workloads

TARGETS = training.TARGETS
PYTHON_PEERS = True
TITLE = "Embedding"


def measure(programs, quick):
    return [
        training.measure_workload(
            programs,
            quick,
            "Embedding 50,000 × 256 with a small head, 64 tokens in 4 micro-batches",
            workloads.embedding(),
            largest=workloads.embedding(micro_batch=16, micro_batches=1),
            remark="Goals: 2.5× plain PyTorch, 4× C++ with torch::optim.",
        )
    ]
