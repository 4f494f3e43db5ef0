"""Files of a workload that need NumPy or PyTorch, and the comparison of gradients.

    prepare.py data FOLDER            data.safetensors for the peers and the same samples in the form that the spec reads
    prepare.py reference FOLDER       reference.safetensors: the first window's gradient in FP64, as one big batch
    prepare.py loop_gradient FOLDER   gradient_loop.safetensors from one step of plain SGD: (before − after) / rate
    prepare.py compare FOLDER PEER…   the relative error of each peer's gradient, as JSON; exit 1 when one is above the workload's tolerance
"""
import gzip
import json
import pathlib
import subprocess
import sys

import numpy as np
import torch
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import models  # noqa: E402

IMAGES = "/usr/share/datasets/fashion-mnist/train-{}-ubyte.gz"


def images_8_by_8(samples):
    """Fashion-MNIST shrunk: the inner 24 × 24 pixels as means of 3 × 3, from 0 to 1."""
    pixels = np.frombuffer(gzip.open(IMAGES.format("images-idx3")).read(), np.uint8, offset=16).reshape(-1, 28, 28)[:samples]
    small = pixels[:, 2:26, 2:26].reshape(-1, 8, 3, 8, 3).mean((2, 4)) / 255
    labels = np.frombuffer(gzip.open(IMAGES.format("labels-idx1")).read(), np.uint8, offset=8)[:samples]
    return small.reshape(-1, 64).astype(np.float32), labels.astype(np.int64)


def write_mlp_data(folder, workload):
    inputs, targets = images_8_by_8(workload["samples"])
    np.save(folder / "inputs.npy", inputs)
    np.save(folder / "targets.npy", targets)
    return inputs, targets


def write_gpt_data(folder, workload):
    length = workload["model"]["context"]
    text = subprocess.run(["bible", "-l", "0", "gen1:1-rev22:21"], capture_output=True, check=True, text=True).stdout
    text = text[: workload["samples"] * length + 1]
    (folder / "corpus.txt").write_text(text)
    numbers = {character: number for number, character in enumerate(sorted(set(text)))}
    ids = np.array([numbers[character] for character in text], np.int64)
    workload["model"]["vocabulary"] = len(numbers)
    (folder / "workload.json").write_text(json.dumps(workload))
    return ids[:-1].reshape(-1, length), ids[1:].reshape(-1, length)


def write_embedding_data(folder, workload):
    """Random tokens; the labels are random as well, since only the time matters."""
    shape = workload["model"]
    random = np.random.default_rng(1)
    inputs = random.integers(0, shape["vocabulary"], (workload["samples"], shape["tokens"]), np.int64)
    targets = random.integers(0, shape["outputs"], workload["samples"], np.int64)
    np.save(folder / "inputs.npy", inputs)
    np.save(folder / "targets.npy", targets)
    return inputs, targets


WRITERS = {"mlp": write_mlp_data, "gpt": write_gpt_data, "embedding": write_embedding_data}


def write_data(folder, workload):
    inputs, targets = WRITERS[workload["kind"]](folder, workload)
    save_file({"inputs": torch.from_numpy(inputs.copy()), "targets": torch.from_numpy(targets.copy())}, folder / "data.safetensors")


def write_reference(folder, workload):
    torch.set_default_dtype(torch.float64)
    model = models.make_model(workload)
    model.load_state_dict({name: value.double() for name, value in load_file(folder / "parameters.safetensors").items()})
    data = load_file(folder / "data.safetensors")
    samples = workload["micro_batch"] * workload["micro_batches"] * workload.get("ranks", 1)
    x, y = data["inputs"][:samples], data["targets"][:samples]
    loss = models.summed_loss(model, x.double() if x.is_floating_point() else x, y) / y.numel()
    loss.backward()
    save_file({name: p.grad for name, p in model.named_parameters()}, folder / "reference.safetensors")


def write_loop_gradient(folder, workload):
    before, after = load_file(folder / "parameters.safetensors"), load_file(folder / "one_step.safetensors")
    save_file({name: (before[name] - after[name]) / workload["one_step_rate"] for name in before}, folder / "gradient_loop.safetensors")


def compare(folder, workload, peers):
    reference = load_file(folder / "reference.safetensors")
    norm = torch.cat([g.flatten() for g in reference.values()]).norm()
    errors = {}
    for peer in peers:
        gradient = load_file(folder / f"gradient_{peer}.safetensors")
        if gradient.keys() != reference.keys():
            raise SystemExit(f"error: {peer} has other parameters than the reference: {sorted(gradient.keys() ^ reference.keys())}")
        difference = torch.cat([(gradient[name].double() - reference[name]).flatten() for name in reference])
        errors[peer] = (difference.norm() / norm).item()
    print(json.dumps(errors))
    wrong = [peer for peer, error in errors.items() if not error <= workload["tolerance"]]
    if wrong:
        raise SystemExit(f"error: not the gradient of this window: {', '.join(wrong)}")


def main():
    task, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    workload = json.loads((folder / "workload.json").read_text())
    if task == "compare":
        compare(folder, workload, sys.argv[3:])
    else:
        {"data": write_data, "reference": write_reference, "loop_gradient": write_loop_gradient}[task](folder, workload)


if __name__ == "__main__":
    main()
