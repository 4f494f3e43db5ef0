"""What PyTorch does, as JSON: its GradScaler on scripted overflows, whole updates with it, gradients under autocast.

usage: reference.py FILE
"""
import json
import sys

import torch

INFINITE = float("inf")


def scaler_path(rule, verdicts):
    """Scale and growth tracker of a GradScaler after each update, some of which overflow."""
    scaler = torch.amp.GradScaler("cpu", **rule)
    parameter = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.SGD([parameter], lr=0.0)
    path = []
    for finite in verdicts:
        optimizer.zero_grad()
        scaler.scale((parameter * 1e-9).sum()).backward()
        if not finite:
            parameter.grad[1] = INFINITE
        scaler.step(optimizer)
        scaler.update()
        path.append([scaler.get_scale(), scaler._get_growth_tracker()])
    return {"rule": rule, "verdicts": verdicts, "path": path}


def scripted(length, seed, share_bad):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(length, generator=generator) >= share_bad).tolist()


def scalers():
    defaults = {"init_scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000}
    return [
        scaler_path(defaults, [False] * 5 + [True] * 20 + [False, True, False]),
        scaler_path(defaults | {"growth_interval": 3}, scripted(200, 1, 0.2)),
        scaler_path(defaults | {"growth_interval": 1}, [True] * 130),  # to the end of fp32's range
        scaler_path({"init_scale": 1000.0, "growth_factor": 1.7, "backoff_factor": 0.3, "growth_interval": 4},
                    scripted(300, 2, 0.15)),
        scaler_path({"init_scale": 3.3, "growth_factor": 1.1, "backoff_factor": 0.9, "growth_interval": 2},
                    scripted(300, 3, 0.5)),
    ]


WINDOWS, MICRO_BATCHES, FEATURES = 40, 3, 4
BAD_ROWS = {(3, 0), (4, 2), (5, 1), (17, 2), (30, 0), (39, 1)}  # (window, micro-batch)


def training():
    """Linear model, target -1/2, one row per micro-batch: the loop of the GradScaler documentation with accumulation."""
    generator = torch.Generator().manual_seed(4)
    rows = torch.randn(WINDOWS, MICRO_BATCHES, FEATURES, generator=generator, dtype=torch.float64) * 2
    for window, k in BAD_ROWS:
        rows[window, k, 1] = INFINITE
    rule = {"init_scale": 4096.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 6}
    scaler = torch.amp.GradScaler("cpu", **rule)
    theta = torch.zeros(FEATURES, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([theta], lr=1.0, momentum=0.9)
    applied, path = 0, []
    for window in rows:
        for row in window:
            loss = (row @ theta + 0.5).square() / MICRO_BATCHES
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = theta.grad.norm()
        if torch.isfinite(norm) and norm > 0.5:
            theta.grad *= 0.5 / norm
        for group in optimizer.param_groups:
            group["lr"] = 0.1 / (1 + applied)
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        applied += scaler.get_scale() >= before
        path.append({"theta": theta.tolist(), "applied": applied, "scale": scaler.get_scale(),
                     "tracker": scaler._get_growth_tracker()})
    return {"rule": rule, "rows": [["inf" if x == INFINITE else x for x in row]
                                   for row in rows.reshape(-1, FEATURES).tolist()],
            "micro_batches": MICRO_BATCHES, "path": path}


IN, HIDDEN, CLASSES, ROWS = 24, 48, 10, 8


def gradients():
    """Two layers, cross entropy, four micro-batches under autocast; the mean's gradient in fp32, and for each mode."""
    generator = torch.Generator().manual_seed(5)
    normal = lambda *shape: torch.randn(*shape, generator=generator)
    weights = [normal(HIDDEN, IN) / IN**0.5, normal(HIDDEN) / 4, normal(CLASSES, HIDDEN) / HIDDEN**0.5, normal(CLASSES) / 4]
    inputs, targets = normal(4, ROWS, IN), torch.randint(CLASSES, (4, ROWS), generator=generator)
    result = {"weights": [w.flatten().tolist() for w in weights], "hidden": HIDDEN, "classes": CLASSES,
              "inputs": inputs.reshape(-1, IN).tolist(), "targets": targets.flatten().tolist(),
              "rows": ROWS, "modes": {}}
    for mode, dtype, scale in (("off", None, 1.0), ("bf16", torch.bfloat16, 1.0), ("fp16", torch.float16, 4096.0)):
        parameters = [w.clone().requires_grad_() for w in weights]
        for x, y in zip(inputs, targets):
            with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
                hidden = torch.tanh(torch.nn.functional.linear(x, parameters[0], parameters[1]))
                logits = torch.nn.functional.linear(hidden, parameters[2], parameters[3])
                loss = torch.nn.functional.cross_entropy(logits, y, reduction="sum") / (4 * ROWS)
            (loss * scale).backward()
        result["modes"][mode] = [x for p in parameters for x in (p.grad / scale).flatten().tolist()]
    return result


with open(sys.argv[1], "w") as out:
    json.dump({"scalers": scalers(), "training": training(), "gradients": gradients()}, out)
