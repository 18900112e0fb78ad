"""What older torch releases lack, or newer ones hide, and published task files use. Installed before a task file is imported."""

import math

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode


def install():
    # Also where torch has its own: that one is traced as a single operation, which tells a kernel's writer nothing.
    F.scaled_dot_product_attention = _attention
    if not hasattr(F, "rms_norm"):
        F.rms_norm = _rms_norm
    if not hasattr(torch.nn, "RMSNorm"):
        torch.nn.RMSNorm = _RMSNorm
    _add_max_pool3d_on_meta()


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        key = key.repeat_interleave(query.size(-3) // key.size(-3), -3)
        value = value.repeat_interleave(query.size(-3) // value.size(-3), -3)
    factor = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = torch.matmul(query, key.transpose(-2, -1)) * factor
    if is_causal:
        keep = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool, device=query.device).tril()
        scores = scores.masked_fill(keep.logical_not(), -math.inf)
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(attn_mask.logical_not(), -math.inf)
        else:
            scores = scores + attn_mask
    return torch.matmul(torch.softmax(scores, -1), value)


def _rms_norm(input, normalized_shape, weight=None, eps=None):
    dims = tuple(range(-len(tuple(normalized_shape)), 0))
    floor = torch.finfo(input.dtype).eps if eps is None else eps
    made = input * torch.rsqrt(input.pow(2).mean(dims, keepdim=True) + floor)
    return made if weight is None else made * weight


class _RMSNorm(torch.nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape, self.eps = tuple(normalized_shape), eps
        weight = torch.nn.Parameter(torch.ones(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", weight if elementwise_affine else None)

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


def _pooled(size, kernel, stride, padding, dilation, ceil_mode):
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (span + stride - 1) // stride + 1 if ceil_mode else span // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


def _max_pool3d_meta(x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    def three(value):
        value = list(value) if isinstance(value, (list, tuple)) else [value]
        return value * 3 if len(value) == 1 else value

    kernel, padding, dilation = three(kernel_size), three(padding), three(dilation)
    stride = three(stride) if stride else kernel
    sizes = [_pooled(*each, ceil_mode) for each in zip(x.shape[-3:], kernel, stride, padding, dilation)]
    if min(sizes) < 1:
        raise RuntimeError("max_pool3d: the output would be empty")
    shape = list(x.shape[:-3]) + sizes
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int64)


_library = None


def _add_max_pool3d_on_meta():
    """Some releases cannot infer the shape of max_pool3d without computing it."""
    global _library
    try:
        torch.ops.aten.max_pool3d_with_indices(torch.empty(1, 1, 4, 4, 4, device="meta"), [2, 2, 2])
    except (NotImplementedError, RuntimeError):
        _library = torch.library.Library("aten", "IMPL", "Meta")
        _library.impl("max_pool3d_with_indices", _max_pool3d_meta)


class NarrowOnCpu(TorchDispatchMode):
    """Where torch's CPU has no kernel for half or bfloat16, or a wrong one, computes in float32 and rounds the result."""

    NARROW = (torch.float16, torch.bfloat16)
    WRONG = ("convolution",)  # bfloat16 transposed convolutions come out with another layout

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        narrow = self._narrow_type(args, kwargs)
        if narrow is None:
            return function(*args, **kwargs)
        if str(function).split(".")[1] not in self.WRONG:
            try:
                return function(*args, **kwargs)
            except RuntimeError as error:
                if "not implemented for" not in str(error) and "not supported" not in str(error):
                    raise
        made = function(*self._map(args, self._wide), **self._map(kwargs, self._wide))
        if function._schema.is_mutable and isinstance(args[0], torch.Tensor):
            return args[0].copy_(made)
        return self._map(made, lambda t: t.to(narrow) if t.dtype == torch.float32 else t)

    def _narrow_type(self, args, kwargs):
        found = []

        def look(tensor):
            if tensor.dtype in self.NARROW and tensor.device.type == "cpu":
                found.append(tensor.dtype)
            return tensor

        self._map((args, kwargs), look)
        return found[0] if found else None

    def _wide(self, tensor):
        return tensor.float() if tensor.dtype in self.NARROW else tensor

    def _map(self, value, change):
        if isinstance(value, torch.Tensor):
            return change(value)
        if isinstance(value, (list, tuple)):
            return type(value)(self._map(each, change) for each in value)
        if isinstance(value, dict):
            return {key: self._map(each, change) for key, each in value.items()}
        return value
