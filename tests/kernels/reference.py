"""Optimizers in FP64 that the rules of the standard library are compared with; run as a program, it writes their
trajectories as JSON.

Rules that PyTorch has are run by torch.optim; the others are written here from their papers:
  lion    Chen et al. 2023, algorithm 2
  lamb    You et al. 2020, algorithm 2, with bias correction and φ = identity
  lars    You et al. 2017, algorithm 1
  adan    Xie et al. 2022, algorithm 1, with the bias corrections of the authors' code
  sophia  Liu et al. 2023, algorithm 3 (the clipped step), with an average of g² as the estimate of the Hessian
"""
import json
import sys

import torch

torch.set_default_dtype(torch.float64)  # NAdam and others keep products of their own

STEPS = 100
SIZES = [5, 11]


def rates():
    return [0.05 * (1 + 0.5 * ((t * 7) % 5 - 2) / 2) * (1 - t / (2 * STEPS)) for t in range(STEPS)]


def gradients():
    generator = torch.Generator().manual_seed(20)
    return [[torch.randn(n, generator=generator, dtype=torch.float64) * (1 + t % 3) for n in SIZES]
            for t in range(STEPS)]


def start():
    generator = torch.Generator().manual_seed(21)
    return [torch.randn(n, generator=generator, dtype=torch.float64) for n in SIZES]


class ByTorch:
    """One of torch.optim on parameters of its own."""

    def __init__(self, make):
        self.make = make

    def begin(self, parameters):
        self.parameters = [p.clone().requires_grad_() for p in parameters]
        self.optimizer = self.make(self.parameters)
        return self

    def step(self, gradients, rate):
        for parameter, gradient in zip(self.parameters, gradients):
            parameter.grad = gradient.clone()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        return [p.detach() for p in self.parameters]


class ByFormula:
    """`rule`: (parameter, gradient, its states by name, number of the update from 1, rate) -> parameter"""

    def __init__(self, rule):
        self.rule = rule

    def begin(self, parameters):
        self.parameters, self.states, self.update = parameters, [{} for _ in parameters], 0
        return self

    def step(self, gradients, rate):
        self.update += 1
        self.parameters = [self.rule(p, g, s, self.update, rate)
                           for p, g, s in zip(self.parameters, gradients, self.states)]
        return self.parameters


def average(state, key, beta, value):
    state[key] = beta * state.get(key, torch.zeros_like(value)) + (1 - beta) * value
    return state[key]


def lion(p, g, s, t, lr, beta1=0.9, beta2=0.98, decay=0.1):
    m = s.get("m", torch.zeros_like(p))
    direction = torch.sign(beta1 * m + (1 - beta1) * g)
    average(s, "m", beta2, g)
    return p - lr * (direction + decay * p)


def lamb(p, g, s, t, lr, beta1=0.9, beta2=0.99, eps=1e-6, decay=0.05):
    m = average(s, "m", beta1, g) / (1 - beta1**t)
    v = average(s, "v", beta2, g * g) / (1 - beta2**t)
    u = m / (v.sqrt() + eps) + decay * p
    return p - lr * p.norm() / u.norm() * u


def lars(p, g, s, t, lr, momentum=0.9, decay=0.01, trust=0.02, eps=1e-8):
    local = trust * p.norm() / (g.norm() + decay * p.norm() + eps)
    s["b"] = momentum * s.get("b", torch.zeros_like(p)) + local * (g + decay * p)
    return p - lr * s["b"]


def adan(p, g, s, t, lr, beta1=0.98, beta2=0.92, beta3=0.99, eps=1e-8, decay=0.02):
    difference = g - s["last"] if "last" in s else torch.zeros_like(g)
    s["last"] = g
    m = average(s, "m", beta1, g) / (1 - beta1**t)
    v = average(s, "v", beta2, difference) / (1 - beta2**t)
    n = average(s, "n", beta3, (g + beta2 * difference) ** 2) / (1 - beta3**t)
    return (p - lr * (m + beta2 * v) / (n.sqrt() + eps)) / (1 + lr * decay)


def sophia(p, g, s, t, lr, beta1=0.965, beta2=0.99, rho=0.04, eps=1e-15, decay=0.1):
    m = average(s, "m", beta1, g)
    h = average(s, "h", beta2, g * g)
    return p - lr * decay * p - lr * (m / torch.clamp(rho * h, min=eps)).clamp(-1, 1)


optim = torch.optim
CASES = [
    ("sgd()", ByTorch(lambda p: optim.SGD(p))),
    ("sgd(momentum: 0.9, dampening: 0.1, weight_decay: 0.01)",
     ByTorch(lambda p: optim.SGD(p, momentum=0.9, dampening=0.1, weight_decay=0.01))),
    ("sgd(momentum: 0.9, nesterov: true)", ByTorch(lambda p: optim.SGD(p, momentum=0.9, nesterov=True))),
    ("adam(weight_decay: 0.1)", ByTorch(lambda p: optim.Adam(p, weight_decay=0.1))),
    ("adamw(beta1: 0.8, beta2: 0.99, weight_decay: 0.1)",
     ByTorch(lambda p: optim.AdamW(p, betas=(0.8, 0.99), weight_decay=0.1))),
    ("amsgrad(weight_decay: 0.02)", ByTorch(lambda p: optim.AdamW(p, weight_decay=0.02, amsgrad=True))),
    ("nadam(weight_decay: 0.02)", ByTorch(lambda p: optim.NAdam(p, weight_decay=0.02))),
    ("rmsprop()", ByTorch(lambda p: optim.RMSprop(p))),
    ("rmsprop(momentum: 0.8, centered: true, weight_decay: 0.01)",
     ByTorch(lambda p: optim.RMSprop(p, momentum=0.8, centered=True, weight_decay=0.01))),
    ("adagrad(lr_decay: 0.1, weight_decay: 0.01, initial: 0.5)",
     ByTorch(lambda p: optim.Adagrad(p, lr_decay=0.1, weight_decay=0.01, initial_accumulator_value=0.5))),
    ("lion(beta2: 0.98, weight_decay: 0.1)", ByFormula(lion)),
    ("lamb(beta2: 0.99, weight_decay: 0.05)", ByFormula(lamb)),
    ("lars(weight_decay: 0.01, trust: 0.02)", ByFormula(lars)),
    ("adan(weight_decay: 0.02)", ByFormula(adan)),
    ("sophia()", ByFormula(sophia)),
]

def path(optimizer):
    optimizer.begin(start())
    return [[p.tolist() for p in optimizer.step(gradient, rate)] for rate, gradient in zip(rates(), gradients())]


if __name__ == "__main__":
    with open(sys.argv[1], "w") as out:
        json.dump({"start": [p.tolist() for p in start()], "rates": rates(),
                   "gradients": [[g.tolist() for g in gradient] for gradient in gradients()],
                   "paths": [{"step": name, "path": path(optimizer)} for name, optimizer in CASES]}, out)
