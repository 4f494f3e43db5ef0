"""Every rule of the standard library, and one of a user's, in a whole run of `loopc run`: windows, clipping and a schedule
around it as in a loop written by hand with the optimizers of reference.py.

    train_test.py LOOPC
"""
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file

from reference import CASES, ByFormula, lion

UPDATES, MICRO, K, ROWS, LIMIT = 25, 3, 4, 30, 0.5
USERS_RULE = """optimizer mine(lr, beta1 = 0.9 in [0, 1), beta2 = 0.98 in [0, 1), weight_decay = 0.1 in [0, inf)) {
  state m
  let u  = sign(beta1 * m + (1 - beta1) * grad)
  m     <- beta2 * m + (1 - beta2) * grad
  param <- param - lr * (u + weight_decay * param)
}
"""
SPEC = """{uses}
use std.schedules.linear
{definitions}
loop rule {{
  seed  = 3
  dtype = fp64
  model = mlp(hidden: [5])
  data {{
    train       = csv("rows.csv", target: "y", task: regression)
    micro_batch = {micro} samples
    order       = sequential
  }}
  loss = mse() per samples
  window {{ size = {k} micro_batches; tail = carry }}
  update {{ normalize; clip(norm: {limit}); step {step}; zero_grad }}
  stop = {updates} updates
}}
"""


def data():
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(ROWS, 3, generator=generator, dtype=torch.float64).round(decimals=3)
    y = (x.sum(1) * 2 + x[:, 0] ** 2).round(decimals=3)
    return x, y


def run(loopc, folder, step, updates=UPDATES, definitions="", options=()):
    name = step[:step.index("(")]
    uses = "" if definitions else f"use std.optimizers.{name}"
    (folder / "rule.loop").write_text(SPEC.format(uses=uses, definitions=definitions, micro=MICRO, k=K, limit=LIMIT,
                                                  step=step, updates=updates))
    out = folder / f"out{len(list(folder.iterdir()))}"
    command = [loopc, "run", "rule.loop", "--out", str(out), *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return load_file(out / "model.safetensors")


def reference(initial, optimizer):
    names = sorted(initial)
    x, y = data()
    parameters = [initial[name] for name in names]
    optimizer.begin(parameters)
    at = 0
    for update in range(UPDATES):
        taken = [(at + i) % ROWS for i in range(MICRO * K)]
        at += MICRO * K
        leaves = [p.clone().requires_grad_() for p in parameters]
        value = dict(zip(names, leaves))
        weights = sorted(name for name in names if name.endswith("weight"))
        hidden = x[taken]
        for i, name in enumerate(weights):
            hidden = hidden @ value[name].T + value[name.replace("weight", "bias")]
            if i + 1 < len(weights):
                hidden = torch.relu(hidden)
        loss = ((hidden.squeeze(1) - y[taken]) ** 2).mean()
        gradients = torch.autograd.grad(loss, leaves)
        norm = torch.cat([g.flatten() for g in gradients]).norm()
        scale = min(1.0, LIMIT / norm.item())
        rate = 0.02 * (1 - update / UPDATES)
        parameters = optimizer.step([g * scale for g in gradients], rate)
    return dict(zip(names, parameters))


def distance(ours, theirs):
    a = torch.cat([ours[name].flatten() for name in sorted(theirs)])
    b = torch.cat([theirs[name].flatten() for name in sorted(theirs)])
    return ((a - b).norm() / b.norm()).item()


def with_rate(step):
    rate = "lr: linear(from: 0.02, total: horizon)"
    return step.replace("()", f"({rate})") if step.endswith("()") else step.replace("(", f"({rate}, ", 1)


def main():
    loopc = sys.argv[1]
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        x, y = data()
        rows = ["a,b,c,y"] + [",".join(str(v) for v in [*row.tolist(), target.item()]) for row, target in zip(x, y)]
        (folder / "rows.csv").write_text("\n".join(rows) + "\n")
        initial = run(loopc, folder, "sgd(lr: 0)", updates=1)
        cases = [(step, "", optimizer) for step, optimizer in CASES] + [("mine()", USERS_RULE, ByFormula(lion))]
        for step, definitions, optimizer in cases:
            expected = reference(initial, optimizer)
            moved = distance(expected, initial)
            errors = []
            ways = [(), ("--without-pass", "fold_update")]
            if step.startswith(("sgd", "rmsprop")):  # with branches that constants decide
                ways.append(("--without-pass", "specialise_rules"))
            for way in ways:
                trained = run(loopc, folder, with_rate(step), definitions=definitions, options=way)
                errors.append(distance(trained, expected))
            good = moved > 1e-3 and max(errors) < 1e-10
            failed += not good
            print(f"{'ok  ' if good else 'FAIL'} {step}: moved {moved:.2g}, off by {max(errors):.2g}")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
