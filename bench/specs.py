"""Specs of a wanted length that look like what people write: imports, definitions, comments, and loops with every block."""

HEAD = """\
# Settings of a sweep: one loop per variant, written by a script and read by people.
use std.optimizers.adamw
use std.optimizers.sgd
use std.schedules.warmup_cosine
use .shared

"""

SHARED = """\
# What all variants share.
const budget = 2000 updates
const peak   = 2e-3

optimizer heavy_ball(lr in [0, inf), beta = 0.9 in [0, 1)) {
  state m
  let u  = beta * m + grad
  m     <- u
  param <- param - lr * u
}

schedule ramp_down(clock, value, total) = value * (1 - min(clock / total, 1))
"""

# 46 lines and a blank one. The numbers differ, so that no two loops are alike.
LOOP = """\
# Variant {i}: width {width}, windows of {k} micro-batches.
loop variant_{i} {{
  seed  = {i}
  model = gpt(layers: 2, heads: 4, width: {width}, context: 64)

  data {{
    train       = text("corpus.txt", tokenizer: char, take: first(90%))
    valid       = text("corpus.txt", tokenizer: char, take: last(10%))
    micro_batch = {micro} samples           # per rank
  }}

  params {{
    decayed = ndim >= 2 and not "*embedding*"
    table   = "*embedding*"
    plain   = others                   # biases and norms
  }}

  loss = cross_entropy(ignore: -100) per tokens
  amp  = fp16(init_scale: 65536)

  window {{
    size = {k} micro_batches
    tail = flush
  }}

  micro {{
    sync_on(last) {{
      autocast {{ forward; loss }}
      scale_loss(loss_scale)
      backward
    }}
  }}

  update {{
    unscale
    normalize
    clip(norm: 1.0)
    step adamw(lr: warmup_cosine(peak: peak, warmup: 10%, total: horizon)) on decayed
    step heavy_ball(lr: ramp_down(value: 0.1, total: horizon)) on table
    step sgd(lr: 0.01) on plain
    update_scale
    zero_grad
  }}

  stop = budget
  evaluate held_out {{ on = valid; every = 200 updates; metrics = [loss] }}
  log {{ path = "runs/variant_{i}"; every = 10 updates }}
}}

"""


def many_loops(lines):
    """A file of about `lines` lines: the head and as many loops as fit, filled up with comments."""
    text, number = [HEAD], 0
    used = HEAD.count("\n")
    length = LOOP.count("\n")
    while used + length <= lines or number == 0:
        text.append(LOOP.format(i=number, width=64 + 4 * (number % 50), k=2 + number % 7, micro=1 + number % 9))
        used += length
        number += 1
    while used < lines:
        text.append(f"# Reserved for a variant, line {used + 1}.\n")
        used += 1
    return "".join(text)


def one_loop(lines):
    """A file of about `lines` lines that is one loop: half of it a list of groups, half a list of steps, one for each group."""
    groups = max((lines - 40) // 2, 4)
    text = [HEAD, "loop wide {\n  model = my_model(width: 64)\n"]
    text.append('  data {\n    train       = text("corpus.txt", tokenizer: char, length: 64)\n    micro_batch = 8 samples\n  }\n')
    text.append("  params {\n")
    text += [f'    g{i} = "blocks.{i}.*"\n' for i in range(groups)]
    text.append("    rest = others\n  }\n  loss = cross_entropy() per tokens\n")
    text.append("  window {\n    size = 4 micro_batches\n    tail = flush\n  }\n")
    text.append("  update {\n    normalize\n    clip(norm: 1.0)\n")
    text += [f"    step sgd(lr: {1e-4 * (1 + i % 90):.4f}) on g{i}\n" for i in range(groups)]
    text.append("    step sgd(lr: 0.1) on rest\n    zero_grad\n  }\n  stop = budget\n}\n")
    return "".join(text)
