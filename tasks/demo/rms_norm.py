"""Divides each row by its root mean square (with 1e-5 under the root) and scales its columns by a learnt gain."""

import torch
import torch.nn as nn

rows, columns = 4096, 1536


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(columns) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        root = torch.sqrt(torch.mean(x * x, dim=-1, keepdim=True) + 1e-5)
        return x / root * self.gain


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return [columns]
