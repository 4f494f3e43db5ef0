"""What `loopc plan --ranks R --data` predicts is what a run with R real processes counts.

    plan_test.py LOOPC
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LOOPC = sys.argv[1]
TWO_CLASSES = "loss {\n    main = cross_entropy() per tokens\n    z = 0.1 * z_loss() per samples\n  }"


def spec(window, loss="loss = cross_entropy() per tokens", update="step sgd(lr: 0.1)", width=8, params=""):
    return f"""
use std.optimizers.sgd
loop predicted {{
  seed = 3
  model = gpt(layers: 1, heads: 2, width: {width}, context: 16, dropout: 0.0)
  data {{
    train = lines("lines.txt", tokenizer: char)
    micro_batch = 1 samples
    order = sequential
  }}
  {params}
  {loss}
  window {{ {window} }}
  update {{ {update} }}
  stop = 2 updates
  log {{ every = 1 updates }}
}}
"""


def loopc(folder, environment, *arguments):
    done = subprocess.run([LOOPC, *arguments], cwd=folder, env={**os.environ, "LOOP_THREADS": "1", **environment}, text=True, capture_output=True, timeout=240)
    assert done.returncode == 0, f"{arguments}: exit {done.returncode}\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def compare(name, text, ranks, environment={}):
    with tempfile.TemporaryDirectory() as holder:
        folder = pathlib.Path(holder)
        (folder / "spec.loop").write_text(text)
        (folder / "lines.txt").write_text("abcd\n" * 48)
        predicted = json.loads(loopc(folder, environment, "plan", "spec.loop", "--ranks", str(ranks), "--data", "--json"))["prediction"]
        loopc(folder, environment, "run", "spec.loop", "--ranks", str(ranks), "--out", "out")
        events = map(json.loads, (folder / "out" / "metrics.jsonl").read_text().splitlines())
        updates = [event for event in events if event["event"] == "update"]
        assert len(updates) == 2, updates
        for update in updates:
            for key in ("collectives", "collective_bytes"):
                assert update[key] == predicted[key], f"{name}, R = {ranks}: {key} {predicted[key]} predicted, {update[key]} counted"
        print(f"{name}, R = {ranks}: {predicted['collectives']} collectives, {predicted['collective_bytes']} bytes, "
              f"{len(predicted['bucket_bytes'])} buckets")
        return predicted


for R in (2, 3, 4):
    assert compare("last", spec("size = 4 micro_batches; tail = flush"), R)["collectives"] == 2
    assert compare("every", spec("size = 4 micro_batches; tail = flush; sync = every"), R)["collectives"] == 5
    compare("samples, every", spec("size = 6 samples; tail = flush; sync = every"), R)
    compare("manual", spec("size = 4 micro_batches; tail = flush; sync = manual"), R)
    compare("two count classes", spec("size = 2 micro_batches; tail = flush", TWO_CLASSES), R)
    matrices = "params { matrices = ndim >= 2\n rest = others }"
    compare("two groups", spec("size = 2 micro_batches; tail = flush", params=matrices), R)
    several = compare("several buckets", spec("size = 1 micro_batches; tail = flush", width=768), R)
    assert len(several["bucket_bytes"]) > 1 and max(several["bucket_bytes"]) <= 16 << 20, several["bucket_bytes"]
    small = compare("small buckets", spec("size = 2 micro_batches; tail = flush; sync = every"), R, {"LOOP_BUCKET_BYTES": "2000"})
    assert small["collectives"] == 2 * len(small["bucket_bytes"]) + 1 > 3, small

    rounded = compare("compressed", spec("size = 2 micro_batches; tail = flush; compress = bf16"), R)
    exact = compare("not compressed", spec("size = 2 micro_batches; tail = flush"), R)
    assert [2 * b for b in rounded["bucket_bytes"]] == exact["bucket_bytes"] and rounded["memory"]["buckets"] == sum(rounded["bucket_bytes"]), rounded

# A thousand ranks exchange what two do: windows in micro-batches are per rank.
with tempfile.TemporaryDirectory() as holder:
    there = pathlib.Path(holder)
    (there / "spec.loop").write_text(spec("size = 4 micro_batches; tail = flush"))
    (there / "lines.txt").write_text("abcd\n" * 48)
    asked = [LOOPC, "plan", "spec.loop", "--ranks", "1024", "--data"]
    two, many = (json.loads(loopc(there, {}, "plan", "spec.loop", "--ranks", ranks, "--data", "--json"))["prediction"] for ranks in ("2", "1024"))
    assert many.pop("ranks") == 1024 and two.pop("ranks") == 2 and many == two, (many, two)
    assert all(isinstance(size, int) for size in many["memory"].values()), many
    wrong = subprocess.run(asked, cwd=there, env={**os.environ, "LOOP_BUCKET_BYTES": "many"}, text=True, capture_output=True)
    assert wrong.returncode == 2 and "LOOP_BUCKET_BYTES is 'many'" in wrong.stderr, wrong
