"""Several real processes train what one process trains: same parameters, losses and norms in FP64, to 1e-10.

    ranks_test.py LOOPC CASE [TORCHRUN]
"""
import json
import math
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time

LOOPC, CASE = sys.argv[1], sys.argv[2]
TOLERANCE = 1e-10
ALPHABET = "abcdefgh"


def lines(lengths):
    """A line of n + 1 letters has n counted tokens."""
    letter = iter(ALPHABET[(i * i + 3 * i) % 8] for i in range(100000))
    return "".join("".join(next(letter) for _ in range(n + 1)) + "\n" for n in lengths)


def spec(window="size = 4 samples; tail = flush", micro_batch=2, stop="3 updates", blocks="", rule="sgd(lr: 0.5, momentum: 0.9)",
         update=None, model="gpt(layers: 1, heads: 2, width: 8, context: 16, dropout: 0.0)", loss="cross_entropy() per tokens"):
    update = f"step {rule}" if update is None else update
    return f"""
use std.optimizers.sgd
loop ranks {{
  seed = 3
  dtype = fp64
  model = {model}
  data {{
    train = lines("lines.txt", tokenizer: char)
    valid = lines("lines.txt", tokenizer: char)
    micro_batch = {micro_batch} samples
    order = sequential
  }}
  loss = {loss}
  window {{ {window} }}
  update {{ {update} }}
  stop = {stop}
  log {{ every = 1 updates }}
  {blocks}
}}
"""


def clean_environment(extra):
    launched = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    environment = {k: v for k, v in os.environ.items() if k not in launched and not k.startswith(("SLURM_", "OMPI_", "TORCHELASTIC_"))}
    return {**environment, "LOOP_THREADS": "1", **extra}


class Run:
    """One run of a spec, in a folder of its own or in that of an earlier run."""

    def __init__(self, text, lengths, ranks, prefix=(), environment=None, flag=True, corpus=None, out="out", after=None):
        self.holder = after.holder if after else tempfile.TemporaryDirectory()
        self.out = f"{out}-{after.number + 1}" if after else out
        self.number = after.number + 1 if after else 1
        self.folder = pathlib.Path(self.holder.name)
        (self.folder / "spec.loop").write_text(text)
        (self.folder / "lines.txt").write_text(lines(lengths) if corpus is None else corpus)
        command = [*prefix, LOOPC, "run", "spec.loop", "--out", out]
        if flag and ranks > 1:
            command += ["--ranks", str(ranks)]
        self.process = subprocess.Popen(command, cwd=self.folder, env=clean_environment(environment or {}), text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def wait(self, timeout=240):
        self.output, self.errors = self.process.communicate(timeout=timeout)
        self.code = self.process.returncode
        return self

    def done(self, code=0):
        self.wait()
        assert self.code == code, f"exit {self.code} instead of {code}\n{self.output[-1500:]}\n{self.errors[-3000:]}"
        return self

    def events(self, kind):
        text = (self.folder / self.out / "metrics.jsonl").read_text()
        return [event for event in map(json.loads, text.splitlines()) if event["event"] == kind]

    def parameters(self):
        return [value for _, values in sorted(self.tensors().items()) for value in values]

    def tensors(self):
        """The numbers of model.safetensors, by name."""
        data = (self.folder / self.out / "model.safetensors").read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + size])
        values = {}
        for name in sorted(header):
            if name == "__metadata__":
                continue
            first, last = header[name]["data_offsets"]
            kind = {"F64": "d", "F32": "f", "I64": "q"}[header[name]["dtype"]]
            values[name] = struct.unpack(f"<{(last - first) // struct.calcsize(kind)}{kind}", data[8 + size + first : 8 + size + last])
        return values

    def ranks_processes(self):
        """The ids of the rank processes, by rank."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
                name = os.readlink(entry / "exe")
                here = os.readlink(entry / "cwd") == str(self.folder.resolve())
            except OSError:
                continue
            rank = [v[5:] for v in variables if v.startswith(b"RANK=")]
            if here and rank and name.endswith("looprun"):
                found[int(rank[0])] = int(entry.name)
        return found

    def wait_for_updates(self, count=2):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            path = self.folder / "out" / "metrics.jsonl"
            if path.exists() and path.read_text().count('"update"') >= count:
                return
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.05)
        raise AssertionError("no update was logged")


def distance(a, b):
    assert len(a) == len(b)
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)) / sum(y * y for y in b))


def same(run, reference, what):
    far = distance(run.parameters(), reference.parameters())
    assert far < TOLERANCE, f"{what}: parameters differ by {far}"
    ours, theirs = run.events("update"), reference.events("update")
    assert len(ours) == len(theirs), what
    for mine, other in zip(ours, theirs):
        for key in ("loss", "grad_norm", "global_effective_tokens", "samples", "optimizer_step", "applied", "epoch"):
            a, b = mine[key], other[key]
            equal = a == b or (isinstance(a, float) and math.isclose(a, b, rel_tol=1e-9))
            assert equal, f"{what}: {key} is {a}, with one process {b}"
    evaluations = run.events("evaluation"), reference.events("evaluation")
    assert len(evaluations[0]) == len(evaluations[1]), what
    print(f"{what}: {far:.1e}")


def exact():
    """Counts of ranks (2, 6), (1, 9), (0, 12), ragged ones; any micro-batch; R = 1 … 4."""
    evaluation = "evaluate held_out { on = valid; every = 1 updates; metrics = [loss] }"
    cases = [
        ("2 and 6", [2, 6] * 3, "size = 2 samples; tail = flush", 1, (2,)),
        ("1 and 9", [1, 9] * 3, "size = 2 samples; tail = flush", 1, (2, 3)),
        ("0 and 12", [12] * 3, "size = 1 samples; tail = flush", 1, (2, 4)),
        ("ragged, samples", [5, 1, 7, 3, 2, 9, 4, 8, 1, 6, 3], "size = 5 samples; tail = flush", 2, (2, 3, 4)),
        ("ragged, tokens", [5, 1, 7, 3, 2, 9, 4, 8, 1, 6, 3], "size = 14 tokens; tail = flush", 1, (2, 3)),
        ("ragged, carry", [5, 1, 7, 3, 2, 9, 4], "size = 3 samples; tail = carry", 2, (3,)),
    ]
    for name, lengths, window, micro_batch, sizes in cases:
        text = spec(window, micro_batch, blocks=evaluation)
        reference = Run(text, lengths, 1).done()
        for ranks in sizes:
            same(Run(text, lengths, ranks).done(), reference, f"{name}, R = {ranks}")
    # Windows in micro-batches are per rank: R ranks of b samples take what one process of R·b takes, and the epoch's end
    # leaves one rank with nothing.
    lengths = [5, 1, 7, 3, 2, 9, 4, 8, 1, 6, 3]
    for tail in ("flush", "carry", "drop"):
        window = f"size = 2 micro_batches; tail = {tail}"
        text = spec(window, 1, stop="2 epochs", blocks=evaluation)
        reference = Run(spec(window, 2, stop="2 epochs", blocks=evaluation), lengths, 1).done()
        same(Run(text, lengths, 2).done(), reference, f"micro-batches, {tail}, R = 2")


def reductions():
    """sync and reduce in all their spellings are one gradient; several count classes; drop."""
    lengths = [5, 1, 7, 3, 2, 9, 4, 8, 1, 6]
    reference = Run(spec("size = 5 samples; tail = flush", 1), lengths, 1).done()
    for extra in ("sync = every", "reduce = mean", "sync = every; reduce = mean", "sync = manual", "sync = manual; reduce = mean"):
        text = spec(f"size = 5 samples; tail = flush; {extra}", 1)
        same(Run(text, lengths, 2).done(), reference, extra)
    loss = """{
    main = cross_entropy() per tokens
    z = 0.1 * z_loss() per samples
  }"""
    for extra in ("", "; reduce = mean"):
        text = spec("size = 5 samples; tail = flush" + extra, 1).replace("loss = cross_entropy() per tokens", "loss " + loss)
        same(Run(text, lengths, 3).done(), Run(text, lengths, 1).done(), "two count classes" + extra)
    text = spec("size = 4 samples; tail = drop", 1, stop="2 epochs")
    same(Run(text, lengths, 2).done(), Run(text, lengths, 1).done(), "drop")


def skips():
    """A gradient that overflows is refused by all ranks, with equal clocks."""
    text = spec("size = 4 samples; tail = flush", 1, stop="6 attempts", rule="sgd(lr: 1e200)").replace("stop =", "nonfinite { limit = 50 }\n  stop =")
    run = Run(text, [5, 1, 7, 3, 2, 9, 4, 8], 2).done()
    updates = run.events("update")
    skipped = [u for u in updates if not u["applied"]]
    assert skipped and len(updates) == 6, updates
    assert "rank" in skipped[0]["skipped"], skipped[0]["skipped"]
    assert updates[-1]["optimizer_step"] == sum(u["applied"] for u in updates)
    run = Run(text.replace("limit = 50", "action = stop"), [5, 1, 7, 3, 2, 9, 4, 8], 3).done(4)
    assert "not finite" in run.errors, run.errors


def counts():
    """Collectives per window: buckets and one small vector, whatever K."""
    for size, ranks in ((2, 2), (8, 2), (9, 3)):
        run = Run(spec(f"size = {size} samples; tail = flush", 1), [3] * 18, ranks).done()
        for update in run.events("update"):
            assert update["collectives"] == 2, update
        assert run.events("start")[0]["ranks"] == ranks
    every = Run(spec("size = 8 samples; tail = flush; sync = every", 1), [3] * 16, 2).done()
    assert [u["collectives"] for u in every.events("update")] == [5, 5, 5]


def stops():
    """SIGINT to one rank ends all after their window; time is agreed."""
    endless = spec("size = 4 samples; tail = flush", 1, stop="1000000 updates")
    run = Run(endless, [5, 1, 7, 3, 2, 9, 4, 8], 2)
    run.wait_for_updates()
    os.kill(run.ranks_processes()[1], signal.SIGINT)
    run.done(130)
    assert run.events("end")[0]["status"] == "interrupted"
    assert run.parameters()
    Run(spec("size = 4 samples; tail = flush", 1, stop="2 s"), [5, 1, 7, 3, 2, 9, 4, 8], 3).done()


def failures():
    """A rank that is killed or stopped: the others say so and end; exit code 5."""
    endless = spec("size = 4 samples; tail = flush", 1, stop="1000000 updates")
    run = Run(endless, [5, 1, 7, 3, 2, 9, 4, 8], 3)
    run.wait_for_updates()
    os.kill(run.ranks_processes()[1], signal.SIGKILL)
    begun = time.monotonic()
    run.done(5)
    print(f"killed: {time.monotonic() - begun:.1f} s")
    assert "rank 1 did not answer" in run.errors and "#" in run.errors, run.errors
    run = Run(endless, [5, 1, 7, 3, 2, 9, 4, 8], 3, environment={"LOOP_COLLECTIVE_TIMEOUT_S": "3"})
    run.wait_for_updates()
    os.kill(run.ranks_processes()[2], signal.SIGSTOP)
    begun = time.monotonic()
    run.done(5)
    print(f"stopped: {time.monotonic() - begun:.1f} s")
    assert "rank 2 did not answer" in run.errors, run.errors
    # A rank that fails by itself says why, and the others end with its exit code instead of waiting.
    begun = time.monotonic()
    run = Run(endless, [5, 1, 7, 3, 2, 9, 4, 8], 3, out="lines.txt/x").done(2)
    assert "cannot make the folder" in run.errors and time.monotonic() - begun < 60, run.errors


def launch():
    """Environments that contradict themselves; the number of ranks that a spec fixes."""
    text = spec()
    for environment, words in (({"RANK": "1"}, "WORLD_SIZE is not set"), ({"WORLD_SIZE": "2"}, "RANK is not set"),
                               ({"RANK": "2", "WORLD_SIZE": "2"}, "contradicts itself"), ({"RANK": "x", "WORLD_SIZE": "2"}, "whole number"),
                               ({"RANK": "0", "WORLD_SIZE": "2"}, "MASTER_ADDR")):
        run = Run(text, [3] * 4, 1, environment=environment).done(2)
        assert words in run.errors, run.errors
    missing = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29719", "LOOP_START_TIMEOUT_S": "2"}
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder) / "errors" / "0.json"
        run = Run(text, [3] * 4, 1, environment={**missing, "TORCHELASTIC_ERROR_FILE": str(record)}).done(5)
        assert "rank 1 did not arrive" in run.errors, run.errors
        assert "rank 1 did not arrive" in json.loads(record.read_text())["message"]["message"]
    # Ranks that start with different specs or data say so before the first step.
    for one, other, words in ((([3] * 4), text.replace("seed = 3", "seed = 4"), "the plan of rank 1"), ([3] * 6, text, "training source of rank 1")):
        both = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29721", "TORCHELASTIC_RUN_ID": "x"}
        first = Run(text, [3] * 4, 1, environment={**both, "RANK": "0"})
        second = Run(other, one, 1, environment={**both, "RANK": "1"})
        assert words in first.done(5).errors and words in second.done(5).errors, (first.errors, second.errors)
    fixed = text.replace("seed = 3", "seed = 3\n  ranks = 2")
    Run(fixed, [3] * 4, 2).done()
    assert Run(fixed, [3] * 4, 1).wait().code == 1


def buckets():
    """Many buckets, launched while backward still runs; the shared embedding waits for its end. Same gradient for each size."""
    lengths = [5, 1, 7, 3, 2, 9, 4, 8, 1, 6]
    text = spec("size = 5 samples; tail = flush", 1)
    reference = Run(text, lengths, 1).done()
    for ranks in (2, 3):
        numbers = []
        for size in ("1", "2000", "1000000"):
            run = Run(text, lengths, ranks, environment={"LOOP_BUCKET_BYTES": size}).done()
            same(run, reference, f"buckets of {size} bytes, R = {ranks}")
            numbers.append(run.events("update")[0]["collectives"])
        assert numbers[0] > numbers[1] > numbers[2] == 2, numbers
    # One rank has no member of the window, so that none of its parameters is reached.
    alone = spec("size = 1 samples; tail = flush", 1)
    same(Run(alone, [12] * 3, 3, environment={"LOOP_BUCKET_BYTES": "1"}).done(), Run(alone, [12] * 3, 1).done(), "buckets, ranks without members")
    assert "LOOP_BUCKET_BYTES" in Run(text, lengths, 2, environment={"LOOP_BUCKET_BYTES": "many"}).done(2).errors


def literal():
    """`micro` written out is what the compiler writes."""
    lengths = [5, 1, 7, 3, 2, 9, 4, 8, 1, 6]
    window = "size = 5 samples; tail = flush"
    reference = Run(spec(window, 1), lengths, 1).done()
    update = "normalize; step sgd(lr: 0.5, momentum: 0.9); zero_grad"
    for scope, extra in (("last", ""), ("last", "; reduce = mean"), ("every", "; reduce = mean")):
        text = spec(window + extra, 1, update=update).replace("update {", f"micro {{ sync_on({scope}) {{ forward; loss; backward }} }}\n  update {{")
        for ranks in (2, 3):
            same(Run(text, lengths, ranks).done(), reference, f"sync_on({scope}){extra}, R = {ranks}")


def evaluations():
    """Every number of ranks measures the same."""
    lengths = [5, 1, 7, 3, 2, 9, 4, 8, 1, 6, 3]
    text = spec("size = 5 samples; tail = flush", 2, blocks="evaluate held_out { on = valid; every = 1 updates; also = [start, end]; metrics = [loss, accuracy] }")
    reference = Run(text, lengths, 1).done().events("evaluation")
    assert len(reference) > 3
    for ranks in (2, 3):
        found = Run(text, lengths, ranks).done().events("evaluation")
        assert len(found) == len(reference)
        for ours, theirs in zip(found, reference):
            assert numbers(ours).keys() == numbers(theirs).keys()
            for key, value in numbers(theirs).items():
                assert math.isclose(numbers(ours)[key], value, rel_tol=1e-12), (ranks, key, ours, theirs)


def numbers(event, prefix=""):
    """The measured numbers of an event, by path; times are not measured twice alike."""
    found = {}
    for key, value in event.items():
        if isinstance(value, dict):
            found.update(numbers(value, prefix + key + "."))
        elif isinstance(value, (int, float)) and not any(word in key for word in ("time", "second", "elapsed")):
            found[prefix + key] = value
    return found


def loader():
    """One rank cannot read its data: all end with its exit code and its words, and nobody waits."""
    both = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29725", "TORCHELASTIC_RUN_ID": "x"}
    text = spec()
    begun = time.monotonic()
    first = Run(text, [3] * 4, 1, environment={**both, "RANK": "0"})
    second = Run(text, [], 1, environment={**both, "RANK": "1"})
    second.wait(60)
    assert second.code not in (0, 5) and "lines.txt" in second.errors, (second.code, second.errors)
    first.done(second.code)
    assert "rank 1: " in first.errors and "lines.txt" in first.errors, first.errors
    print(f"loader: {time.monotonic() - begun:.1f} s")


def empties():
    """A rank that counts nothing changes nothing; a window in which nobody counts is skipped by all, or ends all."""
    corpus = "abcd\naaaa\nabca\naaaa\naaaa\naaaa\nabdd\nadbc\n"  # `a` is the ignored token 0
    window = "size = 2 samples; tail = flush"
    text = spec(window, 1, stop="8 attempts", loss="cross_entropy(ignore: 0) per tokens")
    reference = Run(text, [], 1, corpus=corpus).done()
    assert [u["applied"] for u in reference.events("update")] == [True, True, False, True] * 2
    for ranks in (2, 3):
        same(Run(text, [], ranks, corpus=corpus).done(), reference, f"empty = skip, R = {ranks}")
        failed = Run(text.replace(window, window + "; empty = error"), [], ranks, corpus=corpus).wait()
        assert failed.code not in (0, 5) and "empty = skip" in failed.errors, (failed.code, failed.errors)
    partly = spec(window + "; empty = error", 1, stop="2 attempts", loss="cross_entropy(ignore: 0) per tokens")
    same(Run(partly, [], 2, corpus=corpus).done(), Run(partly, [], 1, corpus=corpus).done(), "empty = error, one rank counts nothing")


def batch_norm():
    """Statistics are each rank's own while it trains, and their mean over ranks is what is written."""
    rows = ["1,2,0\n", "3,1,1\n", "-2,5,1\n", "0,4,0\n", "7,1,1\n", "2,2,0\n", "1,6,1\n", "5,-3,0\n"]

    def run(chosen, ranks, stop, code=0):
        text = spec("size = 4 samples; tail = flush", 2, stop=stop, model="mlp(hidden: [4], batch_norm: true)", loss="cross_entropy() per samples")
        text = text.replace('lines("lines.txt", tokenizer: char)', 'csv("lines.txt", target: "y", task: classification)')
        text = text.replace("dtype = fp64", "dtype = fp64\n  batch_norm = per_micro")
        started = Run(text, [], ranks, corpus="a,b,y\n" + "".join(rows[i] for i in chosen))
        return started.wait() if code is None else started.done(code)

    both, first, second = run(range(4), 2, "1 updates"), run((0, 2), 1, "1 updates"), run((1, 3), 1, "1 updates")
    assert [u["collectives"] for u in both.events("update")] == [2], "training does not exchange buffers"
    parts = [one.tensors() for one in (both, first, second)]
    running = [name for name in parts[0] if "running" in name]
    assert len(running) == 2, parts[0].keys()
    for name in running:
        for mean, a, b in zip(*(part[name] for part in parts)):
            assert math.isclose(mean, (a + b) / 2, rel_tol=1e-12), (name, mean, a, b)
    # Ranks take rows in turn: parameters are those of one process with the same micro-batches.
    ours, one = run(range(8), 2, "2 epochs").tensors(), run((0, 2, 1, 3, 4, 6, 5, 7), 1, "2 epochs").tensors()
    for name, values in ours.items():
        if "running" not in name and "num_batches" not in name:
            assert all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in zip(values, one[name])), name
    # A last window that leaves one row to a rank ends all of them, by name.
    failed = run(range(5), 2, "1 epochs", code=None)
    assert failed.code not in (0, 5) and "one sample has no batch statistics" in failed.errors, (failed.code, failed.errors)


def amp():
    """B27: an overflow on one rank is everybody's: all skip, and scales, clocks and parameters go on as those of one process."""
    precisions = {"fp16": ("fp16(init_scale: 1024, growth_interval: 2)", "1e6"), "bf16": ("bf16", "3.4e38")}  # beyond each range
    for name, (mode, huge) in precisions.items():
        rows = ["1,2,0\n", "3,1,1\n", "-2,5,1\n", "0,4,0\n", "2,1,1\n", f"{huge},2,0\n", "1,6,1\n", "5,-3,0\n",
                "1,1,0\n", "2,3,1\n", "4,-1,1\n", "0,2,0\n", "2,2,1\n", "-1,3,0\n", "3,0,1\n", "1,-2,0\n"]
        text = spec("size = 4 samples; tail = flush", 1, stop="8 attempts", model="mlp(hidden: [4])", loss="cross_entropy() per samples",
                    rule="sgd(lr: 0.1, momentum: 0.9)")
        text = text.replace('lines("lines.txt", tokenizer: char)', 'csv("lines.txt", target: "y", task: classification)')
        text = text.replace("dtype = fp64", f"dtype = fp32\n  amp = {mode}\n  check_replicas = 1 updates")
        corpus = "a,b,y\n" + "".join(rows)
        one = Run(text, [], 1, corpus=corpus).done()
        expected = [True, False, True, True] * 2
        for ranks in (2, 3):
            run = Run(text, [], ranks, corpus=corpus).done()
            ours, theirs = run.events("update"), one.events("update")
            assert [u["applied"] for u in ours] == expected == [u["applied"] for u in theirs], (name, ours)
            assert "rank" in ours[1]["skipped"], ours[1]
            for mine, other in zip(ours, theirs):
                for key in ("loss_scale", "optimizer_step", "samples", "epoch"):
                    assert mine.get(key) == other.get(key), (name, ranks, key, mine, other)
            # A scale of its own on one rank would weigh its gradients wrongly from there on.
            far = distance(run.parameters(), one.parameters())
            assert far < 1e-6, (name, ranks, far)
            print(f"{name}, R = {ranks}: {far:.1e}, scales {[u.get('loss_scale') for u in ours]}")


def compress():
    """Gradients rounded to bf16 for the wire: a quarter of the bytes, close to the exact ones, the same on all ranks."""
    lengths = [5, 1, 7, 3, 2, 9, 4, 8, 1, 6]
    window = "size = 5 samples; tail = flush"
    rule = "sgd(lr: 0.5)"
    exact = Run(spec(window, 1, stop="1 updates", rule=rule), lengths, 1).done().parameters()
    start = Run(spec(window, 1, stop="1 updates", rule="sgd(lr: 1e-300)"), lengths, 1).done().parameters()
    moved = math.sqrt(sum((a - b) ** 2 for a, b in zip(exact, start)))
    for ranks in (2, 3, 4):
        for extra in ("", "; sync = every", "; reduce = mean", "; sync = manual"):
            text = spec(f"{window}{extra}; compress = bf16", 1, stop="1 updates", rule=rule)
            run = Run(text, lengths, ranks, environment={"LOOP_BUCKET_BYTES": "2000"}).done()  # ends with a check of the replicas
            off = math.sqrt(sum((a - b) ** 2 for a, b in zip(run.parameters(), exact))) / moved
            # A rounding per rank and one per addition, each of at most 2^-9 of what it rounds.
            assert 1e-6 < off < 2 * ranks * 2**-8, (ranks, extra, off)
            print(f"compress{extra}, R = {ranks}: the update is off by {off:.1e} of its length")
    plain = Run(spec(window, 1), lengths, 2, environment={"LOOP_BUCKET_BYTES": "2000"}).done().events("update")[0]
    rounded = Run(spec(window + "; compress = bf16", 1), lengths, 2, environment={"LOOP_BUCKET_BYTES": "2000"}).done().events("update")[0]
    assert plain["collectives"] == rounded["collectives"]
    gradient = len(exact) * 8
    assert plain["collective_bytes"] - rounded["collective_bytes"] == gradient - gradient // 4, (plain, rounded)
    # One rank sends nothing and rounds nothing.
    assert Run(spec(window + "; compress = bf16", 1, stop="1 updates", rule=rule), lengths, 1).done().parameters() == exact


def rank_faults():
    """Reports of many ranks that no other case here runs; each with its number in the project's list of faults."""
    # B27, B50: one rank's micro-batch is not finite. All skip that window and no other, and train on as one process does.
    def overflow(ranks):
        text = spec("size = 4 samples; tail = flush", 1, stop="4 attempts", model="mlp(hidden: [64, 64])", loss="cross_entropy() per samples")
        text = text.replace('lines("lines.txt", tokenizer: char)', 'csv("lines.txt", target: "y", task: classification)')
        rows = ["1,2,0\n", "3,1,1\n", "-2,5,1\n", "0,4,0\n", "7,1,1\n", "1.7e308,1.7e308,0\n", "1,6,1\n", "5,-3,0\n"]
        return Run(text, [], ranks, corpus="a,b,y\n" + "".join(rows)).done()

    reference = overflow(1)
    assert [u["applied"] for u in reference.events("update")] == [True, False] * 2, reference.events("update")
    for ranks in (2, 3):
        run = overflow(ranks)
        updates = run.events("update")
        assert [u["applied"] for u in updates] == [True, False] * 2, updates
        assert "rank 1" in updates[1]["skipped"], updates[1]
        assert [u["optimizer_step"] for u in updates] == [1, 1, 2, 2], updates
        far = distance(run.parameters(), reference.parameters())
        assert far < TOLERANCE, far
        print(f"B27, B50: one rank's overflow, R = {ranks}: {far:.1e}")
    # B49: 24 samples on ranks that do not divide them: none is seen twice, none is missing.
    lengths = [1 + i % 5 for i in range(24)]
    text = spec("size = 10 samples; tail = flush", 1, stop="2 epochs")
    reference = Run(text, lengths, 1).done()
    for ranks in (3, 4):
        run = Run(text, lengths, ranks).done()
        assert sum(u["samples"] for u in run.events("update")) == 48, run.events("update")
        same(run, reference, f"B49: 24 samples, R = {ranks}")


def slurm():
    """The variables that srun gives two tasks of a step on one machine."""
    text = spec("size = 5 samples; tail = flush", 2)
    lengths = [5, 1, 7, 3, 2, 9, 4, 8, 1, 6, 3]
    step = {"SLURM_JOB_ID": "9753", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "2", "SLURM_STEP_NODELIST": "node03"}
    tasks = [Run(text, lengths, 1, environment={**step, "SLURM_PROCID": str(r), "SLURM_LOCALID": str(r)}) for r in range(2)]
    tasks = [task.done() for task in tasks]
    same(tasks[0], Run(text, lengths, 1).done(), "Slurm's variables")


def torchrun():
    text = spec("size = 5 samples; tail = flush", 2)
    lengths = [5, 1, 7, 3, 2, 9, 4, 8, 1, 6, 3]
    prefix = [sys.argv[3], "--no-python", "--nproc-per-node=2", "--master-addr=127.0.0.1", "--master-port=29733"]
    reference = Run(text, lengths, 1).done()
    same(Run(text, lengths, 2, prefix=prefix, flag=False).done(), reference, "torchrun")
    # The guide's command for two machines, with both agents here.
    prefix = [sys.argv[3], "--no-python", "--nproc-per-node=1", "--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:29737"]
    agents = [Run(text, lengths, 2, prefix=prefix, flag=False) for _ in range(2)]
    agents = [agent.done() for agent in agents]
    (first,) = [agent for agent in agents if (agent.folder / "out").exists()]
    same(first, reference, "torchrun, two agents")


if __name__ == "__main__":
    {f.__name__: f for f in (exact, reductions, skips, counts, stops, failures, launch, buckets, literal, evaluations, loader, empties, batch_norm, amp, compress, rank_faults, slurm, torchrun)}[CASE]()
