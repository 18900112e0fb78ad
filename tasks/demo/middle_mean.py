"""Mean over the middle of three dimensions."""

import torch
import torch.nn as nn

planes, rows, columns = 32, 512, 384


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mean(x, dim=1)


def get_inputs():
    return [torch.randn(planes, rows, columns)]


def get_init_inputs():
    return []
