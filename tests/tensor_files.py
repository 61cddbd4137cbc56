"""Tensors in safetensors files, with hone's names of types."""
import ctypes
import json
import struct

import torch

from oracle_draws import EIGHT_BITS

DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
          torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}
DTYPES |= EIGHT_BITS  # old ones have none
TORCH_TYPES = {name: dtype for dtype, name in DTYPES.items()}
SAFETENSORS = {name: name.upper().replace("F8E", "F8_E") for name in TORCH_TYPES}


def raw(tensor):
    tensor = tensor.contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()) if tensor.numel() else b""


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, tensor in tensors:
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": SAFETENSORS[DTYPES[tensor.dtype]], "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, tensor in tensors:
            file.write(raw(tensor))


def read_safetensors(path):
    with open(path, "rb") as file:
        content = file.read()
    length = struct.unpack("<Q", content[:8])[0]
    found = {}
    for name, row in json.loads(content[8:8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + o for o in row["data_offsets"])
        dtype = TORCH_TYPES[row["dtype"].lower().replace("_", "")]
        found[name] = torch.frombuffer(bytearray(content[begin:end]), dtype=dtype).reshape(row["shape"]) if end > begin else \
            torch.zeros(row["shape"], dtype=dtype)
    return found
