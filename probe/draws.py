"""Inputs and parameters of the cases: seeds, distributions, and what the task's own generator promises (preconditions)."""

import hashlib
import math

import torch

PUBLIC_SEED = 42  # the benchmark's own
OTHER_SEED = 1042


def seed_of(*labels):
    digest = hashlib.sha256("|".join(str(label) for label in labels).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


class Draw:
    """Numbers from integers and float64 arithmetic only, so that processors agree on them."""

    def __init__(self, *labels):
        self.generator = torch.Generator().manual_seed(seed_of(*labels))

    def unit(self, shape):
        """float64 in [0, 1), multiples of 2^-24."""
        return torch.randint(0, 1 << 24, tuple(shape), generator=self.generator).double() / (1 << 24)

    def normal(self, shape):
        radius = torch.sqrt(-2.0 * torch.log(self.unit(shape) + 2.0 ** -25))
        return radius * torch.cos(2.0 * math.pi * self.unit(shape))

    def number(self, low, high):
        return low + (high - low) * float(self.unit(()))


def _all(tensors, holds):
    return all(bool(holds(t)) for t in tensors)


def precondition(name, first, second, others):
    """What both draws of the input have in common that chance does not explain."""
    both = (first, second)
    if first.dtype == torch.bool:
        return "bool"
    if not first.dtype.is_floating_point:
        low, high = min(int(t.min()) for t in both), max(int(t.max()) for t in both) + 1
        sizes = sorted(size for t in others for size in t.shape if size >= high)
        return f"labels[{min(low, 0)},{sizes[0] if sizes and low >= 0 else high})"
    if first.numel() < 8:
        return "none"
    if _all(both, lambda t: (t.abs() == 1).all()):
        return "sign"
    if _all(both, lambda t: ((t == 0) | (t == 1)).all()):
        return "binary"
    if first.dim() >= 2 and first.shape[-1] == first.shape[-2] > 1:
        if _all(both, lambda t: torch.equal(t, t.transpose(-1, -2))):
            zero = _all(both, lambda t: torch.equal(t, torch.diag_embed(torch.diagonal(t, dim1=-2, dim2=-1))))
            return "diagonal" if zero else "symmetric"
        if _all(both, lambda t: torch.equal(t, t.triu())):
            return "triu"
        if _all(both, lambda t: torch.equal(t, t.tril())):
            return "tril"
    if first.shape[-1] > 1 and _all(both, lambda t: (t >= 0).all() and ((t.double().sum(-1) - 1).abs() < 1e-4).all()):
        return "simplex_rows"
    return "none"


def distribution(tensor):
    if not tensor.dtype.is_floating_point or tensor.numel() < 8:
        return "other"
    values = tensor.double()
    low, high, mean, std = float(values.min()), float(values.max()), float(values.mean()), float(values.std())
    slack = 4 / math.sqrt(tensor.numel())
    if low >= 0 and high <= 1 and abs(mean - 0.5) < 0.3 * slack and abs(std - 0.2887) < 0.3 * slack:
        return "uniform01"
    if abs(mean) < slack and abs(std - 1) < slack:
        return "normal"
    return "other"


def counted(seed, low, step, shape):
    """float32 numbers by position alone; whoever verifies draws the same without reading a file."""
    count = 1
    for size in shape:
        count *= size
    mask = 0xFFFFFFFF
    v = (torch.arange(count, dtype=torch.int64) * 2654435761 + seed) & mask
    v = v ^ (v >> 15)
    v = (v * 2246822519) & mask
    v = v ^ (v >> 13)
    v = (v * 3266489917) & mask
    v = v ^ (v >> 16)
    return (low + step * (v >> 8).double()).float().reshape(tuple(shape))


def timed_range(role, rule, shape):
    """(low, span) of a tensor of the timed case; sixteenths and powers of two, so that the arithmetic is exact."""
    if role == "input":
        return (0.0625, 2.0) if rule == "nonneg" else (-2.0, 4.0)
    if role in ("gamma", "scalar", "scale", "running_var"):
        return 0.5, 1.0
    if role in ("beta", "bias", "running_mean"):
        return -0.5, 1.0
    fan_in = 1
    for size in shape[1:]:
        fan_in *= size
    span = 2.0 ** round(math.log2(3.5 / math.sqrt(max(1, fan_in))))
    return -span / 2, span


VARIANTS = ("wide", "scaled", "shifted")


def _spread(draw, variant, shape):
    if variant == "wide":
        return 1.5 * draw.normal(shape)
    reach = draw.number(0.25, 4.0)
    offset = reach * (draw.number(-0.5, 0.5) if variant == "scaled" else draw.number(0.25, 1.0))
    return (2.0 * draw.unit(shape) - 1.0) * reach + offset


def hidden_inputs(instance, preconditions, variant, labels, nonneg):
    """Inputs of a hidden case. What has a precondition keeps it; scalars stay as they are."""
    own = instance.draw(seed_of("own", *labels) % (1 << 31))
    made = []
    for index, (tensor, rule) in enumerate(zip(own, preconditions)):
        if not isinstance(tensor, torch.Tensor) or not tensor.dtype.is_floating_point or rule in ("sign", "binary"):
            made.append(tensor)
            continue
        draw = Draw("input", index, *labels)
        values = _spread(draw, variant, tensor.shape)
        if rule == "symmetric":
            values = (values + values.transpose(-1, -2)) / 2
        elif rule == "diagonal":
            values = torch.diag_embed(torch.diagonal(values, dim1=-2, dim2=-1))
        elif rule in ("triu", "tril"):
            values = getattr(torch, rule)(values)
        elif rule == "simplex_rows":
            values = torch.softmax(values, -1)
        elif nonneg:
            values = values.abs()
        made.append(values.to(tensor.dtype))
    return made


_NORMS = ("BatchNorm", "LayerNorm", "GroupNorm", "InstanceNorm", "RMSNorm", "LocalResponseNorm")


def roles(model):
    """{parameter or buffer name: role}."""
    owners = {}
    for prefix, module in model.named_modules():
        kind = type(module).__name__
        for name, tensor in list(module.named_parameters(recurse=False)) + list(module.named_buffers(recurse=False)):
            full = f"{prefix}.{name}" if prefix else name
            if any(word in kind for word in _NORMS):
                owners[full] = {"weight": "gamma", "bias": "beta"}.get(name, name)
            elif "bias" in name.lower():
                owners[full] = "bias"
            elif tensor.numel() == 1:
                owners[full] = "scalar"
            elif "scale" in name.lower() or "scaling" in name.lower() or "gamma" in name.lower():
                owners[full] = "scale"
            else:
                owners[full] = "weight"
    return owners


def hidden_state(model, labels):
    """New parameters and buffers by role: default initialisations leave norms at one and biases near zero."""
    state, names = {}, roles(model)
    for name, tensor in list(model.named_parameters()) + list(model.named_buffers()):
        role, draw = names.get(name, "weight"), Draw("param", name, *labels)
        if not tensor.dtype.is_floating_point:
            state[name] = tensor.detach().clone()
        elif role in ("gamma", "scalar", "scale", "running_var"):
            state[name] = (0.5 + draw.unit(tensor.shape)).to(tensor.dtype)
        elif role in ("beta", "bias", "running_mean"):
            state[name] = (0.5 * draw.normal(tensor.shape)).to(tensor.dtype)
        else:
            fan_in = max(1, tensor[0].numel() if tensor.dim() > 1 else 1)
            state[name] = (draw.normal(tensor.shape) / math.sqrt(fan_in)).to(tensor.dtype)
    return state
