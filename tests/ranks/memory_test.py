"""`micro_batch = auto` and `recompute: blocks` through `loopc run`: memory is what they change, and nothing else.

    memory_test.py LOOPC CASE
"""
import json
import math
import subprocess

from ranks_test import CASE, LOOPC, Run, clean_environment, same, spec

LENGTHS = [5, 1, 7, 3, 2, 9, 4, 8, 1, 6, 3, 150, 90, 120, 60, 140]
MODEL = "gpt(layers: 2, heads: 2, width: 32, context: 160, dropout: 0.0)"
UPDATE = "normalize; clip(norm: 0.5); step sgd(lr: 0.2, momentum: 0.9); zero_grad"
PLENTY = "1 GiB"


def text(memory, window="size = 8 samples; tail = flush", model=MODEL, **others):
    """A spec with that budget, or with that many samples in a micro-batch."""
    if isinstance(memory, int):
        return spec(window, memory, model=model, update=UPDATE, stop="2 epochs", **others)
    written = spec(window, "AUTO", model=model, update=UPDATE, stop="2 epochs", **others)
    return written.replace("micro_batch = AUTO samples", "micro_batch = auto").replace("dtype = fp64", f"dtype = fp64\n  memory = {memory}")


def choice(run):
    return json.loads((run.folder / run.out / "choice.json").read_text())


def budget_below(run, share):
    """So much of what the chosen micro-batch takes, in whole bytes."""
    return f"{int(choice(run)['step_bytes'] * share)} B"


def loopc(run, *arguments, code=0):
    done = subprocess.run([LOOPC, *arguments], cwd=run.folder, env=clean_environment({}), text=True, capture_output=True, timeout=240)
    assert done.returncode == code, f"{arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def budgets():
    """Every budget and every number chosen by hand give the same parameters; events, file and terminal tell the choice."""
    for window in ("size = 8 samples; tail = flush", "size = 300 tokens; tail = flush"):
        whole = Run(text(PLENTY, window), LENGTHS, 1).done()
        small = Run(text(budget_below(whole, 0.7), window), LENGTHS, 1).done()
        smaller = Run(text(budget_below(small, 0.8), window), LENGTHS, 1).done()
        taken = [choice(one) for one in (whole, small, smaller)]
        assert taken[0]["micro_batches"] == 1 and taken[0]["larger_step_bytes"] == 0, taken
        assert taken[0]["micro_batch_samples"] > taken[1]["micro_batch_samples"] > taken[2]["micro_batch_samples"] >= 1, taken
        for one, chosen in zip((small, smaller), taken[1:]):
            assert chosen["step_bytes"] <= chosen["budget_bytes"] < chosen["larger_step_bytes"], chosen
            (start,) = one.events("start")
            told = start["micro_batch_auto"]
            assert told["samples"] == start["micro_batch_samples"] == chosen["micro_batch_samples"], start
            for key in ("micro_batches", "budget_bytes", "step_bytes", "larger_step_bytes", "reason", "taken_from"):
                assert told[key] == chosen[key], (key, start, chosen)
            shown = f"{chosen['micro_batch_samples']} sample"
            assert "micro_batch = auto: " + shown in one.output and chosen["reason"] in one.output, one.output
        for samples in (1, 2, 3, 8, 16):
            by_hand = Run(text(samples, window), LENGTHS, 1).done()
            for one in (whole, small, smaller):
                same(one, by_hand, f"{window}: {choice(one)['micro_batch_samples']} chosen, {samples} by hand")


def recorded():
    """The next run into the same folder takes the recorded choice, says from where, and gives the same bits."""
    whole = Run(text(PLENTY), LENGTHS, 1).done()
    spec_text = text(budget_below(whole, 0.7))
    first = Run(spec_text, LENGTHS, 1).done()
    second = Run(spec_text, LENGTHS, 1, after=first).done()
    a, b = choice(first), choice(second)
    assert a["taken_from"] == "" and b["taken_from"].endswith("out/choice.json"), (a, b)
    assert {**b, "taken_from": "", "reason": a["reason"]} == a, (a, b)
    assert b["taken_from"] in second.output, second.output
    assert (first.folder / first.out / "model.safetensors").read_bytes() == (second.folder / second.out / "model.safetensors").read_bytes()
    third = Run(text(PLENTY), LENGTHS, 1, after=second).done()
    assert choice(third)["taken_from"] == "" and choice(third)["micro_batch_samples"] == 8, choice(third)


def refused():
    """A budget under one sample's step, and specs whose result would depend on the choice, end with exit code 1."""
    small = Run(text("1 KiB"), LENGTHS, 1).done(1)
    assert "with one sample in a micro-batch takes" in small.errors and "`memory` is 1" in small.errors, small.errors
    assert "raise `memory`" in small.errors, small.errors
    assert not (small.folder / small.out).exists()
    both = Run(text("1 KiB"), LENGTHS, 2).done(1)
    assert "with one sample in a micro-batch takes" in both.errors, both.errors
    counted = Run(text(PLENTY, "size = 4 micro_batches; tail = flush"), LENGTHS, 1).done(1)
    assert "L813" in counted.errors, counted.errors
    means = Run(text(PLENTY, loss="cross_entropy() per micro_batch"), LENGTHS, 1).done(1)
    assert "L812" in means.errors, means.errors
    none = Run(text(PLENTY).replace(f"memory = {PLENTY}", ""), LENGTHS, 1).done(1)
    assert "L043" in none.errors and "memory" in none.errors, none.errors


def ranks():
    """All ranks take one size, and train what one process trains; the second run is told the recorded one."""
    whole = Run(text(PLENTY), LENGTHS, 1).done()
    reference = Run(text(2), LENGTHS, 1).done()
    for window in ("", "; sync = every"):
        budget = budget_below(whole, 0.4)
        spec_text = text(budget, "size = 8 samples; tail = flush" + window)
        both = Run(spec_text, LENGTHS, 2).done()
        same(both, reference, f"two ranks{window}")
        again = Run(spec_text, LENGTHS, 2, after=both).done()
        assert choice(again)["taken_from"].endswith("out/choice.json"), choice(again)
        assert again.parameters() == both.parameters()
        assert both.events("start")[0]["micro_batch_auto"]["samples"] == choice(both)["micro_batch_samples"] < 4
    (all_of_it,) = Run(text(PLENTY), LENGTHS, 2).done().events("start")
    assert all_of_it["micro_batch_samples"] == 4, all_of_it


def plan():
    """`loopc plan --data` says what a run would choose and recomputing saves, `--ranks` for so many; `loopc verify` takes auto."""
    whole = Run(text(PLENTY), LENGTHS, 1).done()
    model = MODEL.replace("dropout: 0.0", "dropout: 0.0, recompute: blocks")
    run = Run(text(budget_below(whole, 0.7), model=model), LENGTHS, 1).done()
    reason = choice(run)["reason"]
    shown = loopc(run, "plan", "spec.loop", "--data").stdout
    assert f"note          micro_batch = auto: {reason}\n" in shown, shown
    (saved,) = [line for line in shown.splitlines() if "recompute: a step with" in line]
    assert saved.endswith(" less"), saved
    print(saved)
    assert "--data runs steps" in loopc(run, "plan", "spec.loop").stdout
    for ranks, most in ((1, 8), (2, 4), (1024, 1)):
        several = loopc(run, "plan", "spec.loop", "--data", "--ranks", str(ranks), "--json", "--set", f"memory={PLENTY}").stdout
        assert json.loads(several)["prediction"]["micro_batches"] == 1, several
        told = loopc(run, "plan", "spec.loop", "--data", "--ranks", str(ranks), "--set", f"memory={PLENTY}").stdout
        assert f"micro_batch = auto: {most} sample" in told, told
    verified = loopc(run, "verify", "spec.loop").stdout
    assert "`micro_batch = auto` is one sample here" in verified, verified


def recompute():
    """gpt(recompute: blocks) trains what gpt trains, dropout and all, and its step takes less."""
    for dropout in (0.0, 0.2):
        kept = MODEL.replace("dropout: 0.0", f"dropout: {dropout}").replace("layers: 2", "layers: 4")
        again = kept.replace(")", ", recompute: blocks)")
        plain = Run(text(2, model=kept), LENGTHS, 1).done()
        recomputed = Run(text(2, model=again), LENGTHS, 1).done()
        same(recomputed, plain, f"recompute: blocks, dropout {dropout}")
        for mine, other in zip(recomputed.events("update"), plain.events("update")):
            assert math.isclose(mine["loss"], other["loss"], rel_tol=1e-12), (mine, other)
    budget = budget_below(Run(text(PLENTY, model=kept), LENGTHS, 1).done(), 0.5)
    fewer, more = (choice(Run(text(budget, model=model), LENGTHS, 1).done()) for model in (kept, again))
    print(f"in {budget}: {fewer['micro_batch_samples']} samples, recomputed {more['micro_batch_samples']}")
    assert fewer["micro_batch_samples"] < more["micro_batch_samples"], (fewer, more)


{f.__name__: f for f in (budgets, recorded, refused, ranks, plan, recompute)}[CASE]()
