"""Update rules: how long each takes to compile, and the epilogue's bandwidth against a copy of the same run."""
import json
import pathlib
import tempfile

from bench import peers, workloads

TARGETS = ["loopc", "looprun", "bench_peers"]
PYTHON_PEERS = True  # its data comes from the same scripts
TITLE = "Update rules"
GOAL_MS, GOAL_SHARE = 50, 0.9
SPEC_UPDATE = """\
    normalize
    step {rule}(lr: 1e-3)
    zero_grad"""


def write_rule_plan(programs, folder, rule):
    spec = workloads.spec_of(workloads.mlp(), SPEC_UPDATE.format(rule=rule), "1 updates")
    use = f"use std.optimizers.{rule}\n"
    workloads.write_plan(programs, folder, rule, spec if use in spec else use + spec)


def measure(programs, quick):
    rows, values = [], {}
    rules = sorted(path.stem for path in (workloads.ROOT / "stdlib" / "optimizers").glob("*.loop"))
    with tempfile.TemporaryDirectory(prefix="loop-bench-") as root:
        folder = pathlib.Path(root)
        (folder / "workload.json").write_text(json.dumps(workloads.mlp()))
        workloads.call(workloads.PYTHON, workloads.PEERS / "prepare.py", "data", folder)
        for rule in rules:
            write_rule_plan(programs, folder, rule)
            one = json.loads(workloads.call(programs / "bench_rules", folder / f"{rule}.json", 3 if quick else 9))
            share = [epilogue / copy for epilogue, copy in zip(one["epilogue_gb"], one["copy_gb"])]
            compile_ms, low, high = peers.middle(one["compile_ms"])
            copy, epilogue = peers.middle(one["copy_gb"])[0], peers.middle(one["epilogue_gb"])[0]
            rows.append([rule, f"{compile_ms:.1f}", f"{low:.1f} – {high:.1f}", f"{epilogue:.1f}", f"{copy:.1f}", peers.factor(share)])
            values[rule] = {"compile_ms": compile_ms, "share_of_copy": peers.middle(share)[0]}
    return [
        {
            "title": "Compile time, and norm + step on 16.8 million parameters in fp32, by CPU time of one thread",
            "columns": ["rule", "compile ms", "middle half", "epilogue GB/s", "copy GB/s", "epilogue / copy"],
            "rows": rows,
            "remark": f"Goals: under {GOAL_MS} ms, {GOAL_SHARE:.0%} of the copy.",
            "values": values,
        }
    ]
