"""Runs one example in a short form and checks its outcome with readers that are not Loop's own."""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from safetensors import safe_open


def run(loopc, spec, out, updates):
    command = [loopc, "run", str(spec), "--out", str(out)]
    if updates:
        command += ["--set", f"stop={updates} updates"]
    subprocess.run(["bash", str(spec.parent / "prepare")], check=True)
    finished = subprocess.run(command, capture_output=True, text=True, timeout=850)
    assert finished.returncode == 0, f"exit {finished.returncode}\n{finished.stdout[-2000:]}\n{finished.stderr[-4000:]}"


def check_events(events, updates):
    kinds = [event["event"] for event in events]
    assert kinds[0] == "start" and kinds[-1] == "end", kinds[:1] + kinds[-1:]
    lines = [event for event in events if event["event"] == "update"]
    assert lines, "no update was logged"
    steps = [line["optimizer_step"] for line in lines]
    assert steps == sorted(steps) and (not updates or steps[-1] == updates), steps[-3:]
    for line in lines:
        assert line["applied"] and math.isfinite(line["loss"]) and line["grad_norm"] > 0, line
        assert line["global_effective_tokens"] > 0
    assert lines[-1]["loss"] < lines[0]["loss"], (lines[0]["loss"], lines[-1]["loss"])
    return lines


def check_weights(path):
    """Read back by the safetensors package itself."""
    with safe_open(path, framework="numpy") as weights:
        names = list(weights.keys())
        assert names
        for name in names:
            assert np.isfinite(weights.get_tensor(name)).all(), name
    return names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("loopc")
    parser.add_argument("example")
    parser.add_argument("--updates", type=int)
    parser.add_argument("--metric", required=True)
    parser.add_argument("--at-most", type=float, default=math.inf)
    parser.add_argument("--at-least", type=float, default=-math.inf)
    options = parser.parse_args()

    root = pathlib.Path(__file__).resolve().parents[2]
    spec = root / "examples" / options.example / f"{options.example}.loop"
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run"
        run(options.loopc, spec, out, options.updates)
        events = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        lines = check_events(events, options.updates)
        names = check_weights(out / "model.safetensors")
        evaluation, metric = options.metric.split(".")
        values = [event["metrics"][metric] for event in events if event["event"] == "evaluation" and event["name"] == evaluation]
        assert values, f"no evaluation named {evaluation}"
        print(f"{options.example}: {lines[-1]['optimizer_step']} updates, {options.metric} = {values[-1]:.4f}, {len(names)} tensors")
        assert options.at_least <= values[-1] <= options.at_most, values


if __name__ == "__main__":
    sys.exit(main())
