"""Files of a training workload: data, spec, plans, initial parameters and the reference gradient, in one folder.

Loop draws the initial parameters; the peers read the file that it wrote. Its gradient of the first window is read off one step of plain SGD.
"""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench" / "peers"
PYTHON = ROOT / ".deps" / "venv" / "bin" / "python"

ADAMW = {"lr": 1e-3, "betas": [0.9, 0.99], "eps": 1e-8, "weight_decay": 0.1}
CLIP = 1.0
ONE_STEP_RATE = 1024.0  # so large that (before − after) / rate loses no digits of the gradient
TOLERANCE = 1e-4  # of a gradient in fp32, by norm

SPEC = """\
use std.optimizers.adamw
use std.optimizers.sgd

loop {kind} {{
  seed  = 1
  model = {model}
  data {{
    train       = {source}
    micro_batch = {micro_batch} samples
    order       = sequential
  }}
  loss = cross_entropy() per {unit}
  window {{
    size = {micro_batches} micro_batches
    tail = flush
  }}
  update {{
{update}
  }}
  stop = {stop}
  log {{ path = "run"; every = 10 updates }}
}}
"""

TRAIN = """\
    normalize
    clip(norm: {clip})
    step adamw(lr: {lr}, beta1: {betas[0]}, beta2: {betas[1]}, eps: {eps}, weight_decay: {weight_decay})
    zero_grad"""

ONE_STEP = """\
    normalize
    step sgd(lr: {rate})
    zero_grad"""

ENDLESS = "1_000_000_000 updates"


def mlp(micro_batch=8, micro_batches=8):
    """Overhead: 26,000 parameters, windows of 64 rows."""
    return {
        "kind": "mlp",
        "model": {"widths": [64, 128, 128, 10]},
        "spec_model": "mlp(hidden: [128, 128])",
        "source": 'npy(inputs: "inputs.npy", targets: "targets.npy")',
        "unit": "samples",
        "micro_batch": micro_batch,
        "micro_batches": micro_batches,
        "samples": 32_768,
        "units_per_window": micro_batch * micro_batches,
    }


def gpt(micro_batch=12, micro_batches=1):
    """Arithmetic: 0.8 million parameters, sequences of 64 characters."""
    context = 64
    return {
        "kind": "gpt",
        "model": {"layers": 4, "heads": 4, "width": 128, "context": context},
        "spec_model": f"gpt(layers: 4, heads: 4, width: 128, context: {context})",
        "source": 'text("corpus.txt", tokenizer: char)',
        "unit": "tokens",
        "micro_batch": micro_batch,
        "micro_batches": micro_batches,
        "samples": micro_batch * micro_batches * 128,
        "units_per_window": micro_batch * micro_batches * context,
    }


def embedding(micro_batch=4, micro_batches=4):
    """Epilogue and accumulation: 12.8 million parameters, windows of 64 tokens."""
    tokens, vocabulary = 4, 50_000
    return {
        "kind": "embedding",
        "model": {"vocabulary": vocabulary, "width": 256, "hidden": [64], "outputs": 10, "tokens": tokens},
        "spec_model": "embedding_classifier(width: 256, hidden: [64])",
        "source": f'npy(inputs: "inputs.npy", targets: "targets.npy", vocabulary: {vocabulary})',
        "unit": "samples",
        "micro_batch": micro_batch,
        "micro_batches": micro_batches,
        "samples": 4_096,
        "units_per_window": micro_batch * micro_batches,
    }


def spec_of(workload, update, stop):
    return SPEC.format(
        kind=workload["kind"],
        model=workload["spec_model"],
        source=workload["source"],
        micro_batch=workload["micro_batch"],
        unit=workload["unit"],
        micro_batches=workload["micro_batches"],
        update=update,
        stop=stop,
    )


def call(*command, folder=None):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        raise SystemExit(f"error: `{' '.join(str(part) for part in command)}` ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def write_plan(programs, folder, name, spec):
    (folder / f"{name}.loop").write_text(spec)
    (folder / f"{name}.json").write_text(call(programs / "loopc", "plan", "--json", f"{name}.loop", folder=folder))


def parameters_after(programs, folder, name, rate):
    """The parameters after one step of plain SGD; a rate of 0 gives the initial ones."""
    update = ONE_STEP.format(rate=rate)
    write_plan(programs, folder, name, spec_of(json.loads((folder / "workload.json").read_text()), update, "1 updates"))
    call(programs / "looprun", "--quiet", "--plan", f"{name}.json", "--out", name, folder=folder)
    os.replace(folder / name / "model.safetensors", folder / f"{name}.safetensors")


def prepare(programs, folder, workload):
    """Fills `folder`; afterwards every peer can start in it."""
    folder.mkdir(parents=True)
    workload = {**workload, "adamw": ADAMW, "clip": CLIP, "tolerance": TOLERANCE, "one_step_rate": ONE_STEP_RATE}
    (folder / "workload.json").write_text(json.dumps(workload))
    call(PYTHON, PEERS / "prepare.py", "data", folder)
    parameters_after(programs, folder, "parameters", 0)
    parameters_after(programs, folder, "one_step", ONE_STEP_RATE)
    write_plan(programs, folder, "train", spec_of(workload, TRAIN.format(clip=CLIP, **ADAMW), ENDLESS))
    call(PYTHON, PEERS / "prepare.py", "reference", folder)
    call(PYTHON, PEERS / "prepare.py", "loop_gradient", folder)


def compare_gradients(folder, names):
    """Relative errors of the first window's gradient against FP64; ends the benchmark when one is too large."""
    return json.loads(call(PYTHON, PEERS / "prepare.py", "compare", folder, *names))


def python_peer(name, folder):
    return [str(PYTHON), str(PEERS / "python_peer.py"), name, str(folder)]


def cpp_peer(programs, name, folder):
    return [str(programs / "bench_cpp_peer"), name, str(folder)]


def loop_peer(programs, folder, run="run"):
    return [str(programs / "bench_loop"), str(folder / "train.json"), str(folder / run)]
