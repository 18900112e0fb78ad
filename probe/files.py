"""Writes the files of a pack: safetensors and JSON, the same bytes for the same values."""

import json
import os

import torch

_NAMES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
          torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL"}
_ALIGNMENT = 64


def _bytes_of(tensor):
    flat = tensor.detach().contiguous().reshape(-1)
    if flat.numel() == 0:
        return b""
    return bytes(flat.view(torch.uint8).tolist()) if not _has_numpy() else flat.view(torch.uint8).numpy().tobytes()


def _has_numpy():
    try:
        import numpy  # noqa: F401
        return True
    except ImportError:
        return False


def write_safetensors(path, tensors):
    """Each tensor's data begins at a multiple of 64 bytes of the file; gaps are named tensors of bytes, as the format forbids holes."""
    header, chunks, offset, pads = {}, [], 0, 0
    for name, tensor in tensors.items():
        data = _bytes_of(tensor)
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, offset + len(data)]}
        chunks.append(data)
        offset += len(data)
        gap = -offset % _ALIGNMENT
        if gap:
            header[f"__pad{pads}"] = {"dtype": "U8", "shape": [gap], "data_offsets": [offset, offset + gap]}
            chunks.append(b"\0" * gap)
            offset += gap
            pads += 1
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for chunk in chunks:
            file.write(chunk)


def pretty(value, depth=0, width=112):
    """JSON with short values on one line."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(line) + 2 * depth <= width or not isinstance(value, (dict, list)) or not value:
        return line
    inner, outer = "  " * (depth + 1), "  " * depth
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(k, ensure_ascii=False)}: {pretty(v, depth + 1, width)}" for k, v in value.items()]
        return "{\n" + ",\n".join(parts) + "\n" + outer + "}"
    parts = [inner + pretty(v, depth + 1, width) for v in value]
    return "[\n" + ",\n".join(parts) + "\n" + outer + "]"


def write_json(path, value):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(pretty(value) + "\n")


def make_folder(path):
    os.makedirs(path, exist_ok=True)
