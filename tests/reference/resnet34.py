"""Writes resnet34.json: features of a ResNet34 by PyTorch, for tests/it/encoder.rs.

usage: resnet34.py WEIGHTS > resnet34.json     (needs torch, numpy and safetensors)

WEIGHTS is resnet34-imagenet-v1-bn-reestimated.safetensors. `untrained` is computed in double precision, so that it
does not depend on the processor.
"""

import json
import math
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import load_file


def convolutions():
    yield "conv1", "bn1", (64, 3, 7, 7)
    inputs = 64
    for layer, blocks in enumerate([3, 4, 6, 3]):
        width = 64 << layer
        for block in range(blocks):
            name = f"layer{layer + 1}.{block}"
            yield f"{name}.conv1", f"{name}.bn1", (width, inputs, 3, 3)
            yield f"{name}.conv2", f"{name}.bn2", (width, width, 3, 3)
            if inputs != width:
                yield f"{name}.downsample.0", f"{name}.downsample.1", (width, inputs, 1, 1)
            inputs = width


def untrained():
    """Weights that look random and are the same on every machine."""
    weights = {}
    for number, (conv, bn, shape) in enumerate(convolutions()):
        i = torch.arange(math.prod(shape), dtype=torch.int64)
        hashed = ((i * i % 65521) * (i % 8191 + 1 + number) + i * 40503) % 65536
        scale = math.sqrt(6 / math.prod(shape[1:]))
        weights[f"{conv}.weight"] = ((hashed.double() / 32768 - 1) * scale).float().view(shape)
        for part, value in [("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)]:
            weights[f"{bn}.{part}"] = torch.full((shape[0],), float(value))
    return weights


def pixels(side, images):
    i = torch.arange(images).view(-1, 1, 1, 1)
    plane = torch.arange(3).view(-1, 1, 1)
    y, x = torch.arange(side).view(-1, 1), torch.arange(side)
    return ((7 * x + 13 * y + 29 * plane + 51 * i) % 256).double()


def features(weights, images, training, kind):
    """Features of the last image."""
    weights = {name: tensor.to(kind) for name, tensor in weights.items()}
    mean = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1).to(kind)
    deviation = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1).to(kind)

    def convolve(x, conv, bn, stride):
        weight = weights[f"{conv}.weight"]
        y = F.conv2d(x, weight, None, stride, weight.shape[2] // 2)
        parts = [weights[f"{bn}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
        return F.batch_norm(y, parts[0].clone(), parts[1].clone(), *parts[2:], training, 0.1, 1e-5)

    x = (images.to(kind) / 255 - mean) / deviation
    x = F.max_pool2d(convolve(x, "conv1", "bn1", 2).relu(), 3, 2, 1)
    for layer, blocks in enumerate([3, 4, 6, 3]):
        for block in range(blocks):
            name, stride = f"layer{layer + 1}.{block}", 2 if layer > 0 and block == 0 else 1
            y = convolve(x, f"{name}.conv1", f"{name}.bn1", stride).relu()
            y = convolve(y, f"{name}.conv2", f"{name}.bn2", 1)
            if f"{name}.downsample.0.weight" in weights:
                x = convolve(x, f"{name}.downsample.0", f"{name}.downsample.1", stride)
            x = (y + x).relu()
    return [float(f"{value:.6g}") for value in x.mean((2, 3))[-1].tolist()]


torch.set_num_threads(1)
with torch.no_grad():
    weights = untrained()
    print(json.dumps({
        "about": f"Features of a ResNet34 by PyTorch {torch.__version__.split("+")[0]}, written by resnet34.py. `untrained`: pixels of "
        "64 x 64, image 0 in evaluation mode, and the last of images 0 to 3 as a batch in training mode. `pretrained`: "
        "the re-estimated ImageNet weights, image 0 at 224 x 224, evaluation mode.",
        "untrained": {
            "evaluation": features(weights, pixels(64, 1), False, torch.float64),
            "training": features(weights, pixels(64, 4), True, torch.float64),
        },
        "pretrained": features(load_file(sys.argv[1]), pixels(224, 1), False, torch.float32),
    }))
