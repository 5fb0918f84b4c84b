"""Measures plain PyTorch for benches/deep.rs, with a ResNet34 that was never trained.

usage: deep_pytorch.py step|encode SIDE IMAGES BATCH THREADS

`step` runs an epoch of fine-tuning with SGD and prints the seconds per step.
`encode` computes the features of all images in inference mode and prints the seconds.
Both do so once for each line of input, so that the two programs can take turns.
"""
import sys
import time

import torch
from torch import nn
import torch.nn.functional as F

what, side, images, batch, threads = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
CLASSES = 102
MEAN = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)
DEVIATION = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1)


class Block(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if inputs != width:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


def resnet34():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for layer, blocks in enumerate([3, 4, 6, 3]):
        for block in range(blocks):
            width = 64 << layer
            layers.append(Block(inputs, width, 2 if layer > 0 and block == 0 else 1))
            inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


class Head(nn.Module):
    """The layers after the encoder, as in the paper's Figure A.1."""

    def __init__(self):
        super().__init__()
        parts = [nn.Linear(512, 512), nn.Dropout(0.25), nn.BatchNorm1d(512), nn.ReLU(inplace=True)]
        parts += [nn.Linear(512, 128), nn.Dropout(0.25), nn.BatchNorm1d(128), nn.ReLU(inplace=True)]
        self.mlp = nn.Sequential(*parts)
        self.ln = nn.LayerNorm(640)
        self.cls = nn.Linear(640, CLASSES)

    def forward(self, phi):
        return self.cls(self.ln(torch.cat((self.mlp(phi), phi), dim=1)))


def pixels(part):
    return (part.float() / 255 - MEAN) / DEVIATION


encoder, head = resnet34(), Head()
data = torch.randint(0, 256, (images, 3, side, side), dtype=torch.uint8)
labels = torch.arange(images) % CLASSES
parameters = list(encoder.parameters()) + list(head.parameters())
optimizer = torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, weight_decay=1e-4)


def epoch():
    for part in torch.randperm(images).split(batch):
        optimizer.zero_grad()
        F.cross_entropy(head(encoder(pixels(data[part]))), labels[part]).backward()
        optimizer.step()


def encode():
    with torch.inference_mode():
        return torch.cat([encoder(pixels(part)) for part in data.split(batch)])


for _ in sys.stdin:
    encoder.train(what == "step")
    begun = time.perf_counter()
    epoch() if what == "step" else encode()
    seconds = time.perf_counter() - begun
    print(seconds / (images // batch) if what == "step" else seconds, flush=True)
