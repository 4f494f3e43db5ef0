"""Training where arithmetic dominates: a small GPT over characters."""
from bench import training, workloads

TARGETS = training.TARGETS
PYTHON_PEERS = True
TITLE = "Character GPT"


def measure(programs, quick):
    return [
        training.measure_workload(
            programs, quick, "GPT of 4 layers, 4 heads, width 128; 12 rows of 64 characters", workloads.gpt(), remark="Goal: 1.05× plain PyTorch."
        )
    ]
