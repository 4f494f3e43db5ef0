"""One window of training in Python, as people write it: plain PyTorch, Lightning Fabric, Accelerate, DistributedDataParallel.

    python_peer.py PEER FOLDER

FOLDER holds workload.json, data.safetensors and parameters.safetensors. Before it is timed, the gradient of the first window goes to
FOLDER/gradient_PEER.safetensors, for a comparison with the one in FP64.
"""
import contextlib
import itertools
import json
import os
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file
from torch.nn.utils import clip_grad_norm_

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import models  # noqa: E402
import pace  # noqa: E402


def make_optimizer(model, workload):
    return torch.optim.AdamW(model.parameters(), **workload["adamw"], fused=True)


class Plain:
    """Clip by foreach, fused AdamW, gradients set to none."""

    def __init__(self, model, workload):
        self.model, self.clip = model, workload["clip"]
        self.optimizer = make_optimizer(model, workload)

    def accumulate(self, window, units):
        for x, y in window:
            loss = models.summed_loss(self.model, x, y) / units
            loss.backward()

    def update(self):
        clip_grad_norm_(self.model.parameters(), self.clip, foreach=True)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


class Fabric:
    def __init__(self, model, workload):
        from lightning_fabric import Fabric as LightningFabric

        self.fabric = LightningFabric(accelerator="cpu", devices=1, precision="32-true")
        self.clip = workload["clip"]
        self.model, self.optimizer = self.fabric.setup(model, make_optimizer(model, workload))

    def accumulate(self, window, units):
        for k, (x, y) in enumerate(window):
            with self.fabric.no_backward_sync(self.model, enabled=k + 1 < len(window)):
                loss = models.summed_loss(self.model, x, y) / units
                self.fabric.backward(loss)

    def update(self):
        self.fabric.clip_gradients(self.model, self.optimizer, max_norm=self.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()


class Accelerate:
    def __init__(self, model, workload):
        from accelerate import Accelerator

        self.micro_batches, self.clip = workload["micro_batches"], workload["clip"]
        self.accelerator = Accelerator(cpu=True, gradient_accumulation_steps=self.micro_batches)
        self.model, self.optimizer = self.accelerator.prepare(model, make_optimizer(model, workload))

    def accumulate(self, window, units):
        # The body that its documentation gives, without the step of the last micro-batch, which `update` is.
        for x, y in window:
            with self.accelerator.accumulate(self.model):
                # `backward` divides by the number of micro-batches.
                loss = models.summed_loss(self.model, x, y) * (self.micro_batches / units)
                self.accelerator.backward(loss)
                if not self.accelerator.sync_gradients:
                    self.optimizer.step()
                    self.optimizer.zero_grad()

    def update(self):
        self.accelerator.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()


class Ddp(Plain):
    """`no_sync` encloses forward and backward of all micro-batches but the last."""

    synchronises_every = False

    def __init__(self, model, workload):
        torch.distributed.init_process_group("gloo")
        super().__init__(model, workload)
        self.ranks = torch.distributed.get_world_size()
        self.model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=workload["bucket_mib"], gradient_as_bucket_view=True)

    def accumulate(self, window, units):
        for k, (x, y) in enumerate(window):
            quiet = k + 1 < len(window) and not self.synchronises_every
            with self.model.no_sync() if quiet else contextlib.nullcontext():
                loss = models.summed_loss(self.model, x, y) * (self.ranks / units)  # the ranks' mean is taken
                loss.backward()


class DdpEvery(Ddp):
    """Without `no_sync`: every backward reduces."""

    synchronises_every = True


PEERS = {"plain": Plain, "fabric": Fabric, "accelerate": Accelerate, "ddp": Ddp, "ddp_every": DdpEvery}


def read_windows(folder, workload, rank, ranks):
    """This rank's micro-batches, window by window: samples are dealt to the ranks in turn."""
    data = load_file(folder / "data.safetensors")
    size, micro = workload["micro_batch"], workload["micro_batches"]
    batches = []
    for first in range(0, len(data["inputs"]), size * ranks):
        mine = slice(first + rank, first + size * ranks, ranks)
        batches.append((data["inputs"][mine].contiguous(), data["targets"][mine].contiguous()))
    return [batches[i : i + micro] for i in range(0, len(batches), micro)]


def save_gradient(model, file):
    save_file({name.removeprefix("module."): p.grad.contiguous() for name, p in model.named_parameters()}, file)


def shared_among_ranks(rank):
    """Rank 0 is asked, the others learn of it."""
    wanted = pace.asked() if rank == 0 else itertools.repeat(0)
    for windows in itertools.chain(wanted, [0]):
        number = torch.tensor([windows])
        torch.distributed.broadcast(number, 0)
        if number.item() == 0:
            return
        yield int(number.item())


def main():
    name, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    torch.set_num_threads(1)
    workload = json.loads((folder / "workload.json").read_text())
    rank, ranks = (int(os.environ.get(key, default)) for key, default in (("RANK", 0), ("WORLD_SIZE", 1)))
    model = models.make_model(workload)
    model.load_state_dict(load_file(folder / "parameters.safetensors"))
    model.train()
    peer = PEERS[name](model, workload)
    windows = read_windows(folder, workload, rank, ranks)
    units = workload["units_per_window"] * ranks

    peer.accumulate(windows[0], units)
    if rank == 0:
        save_gradient(model, folder / f"gradient_{name}.safetensors")
    peer.update()

    endless = itertools.cycle(windows)

    def train(number):
        for window in itertools.islice(endless, number):
            peer.accumulate(window, units)
            peer.update()

    pace.serve(train, pace.asked() if ranks == 1 else shared_among_ranks(rank))
    if ranks > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
