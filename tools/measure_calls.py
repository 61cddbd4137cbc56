#!/usr/bin/env python3
"""Says what a call of an export costs beside its kernels, on a CUDA device (docs/measured/cuda_exports.md).

measure_calls.py NAME=MODEL.py=MODEL_NEW.py ...

MODEL.py defines Model, get_inputs and get_init_inputs as KernelBench's problems do, MODEL_NEW.py is hone's export of it. Of Model
("eager") and ModelNew ("ours") a line of JSON each pair, in milliseconds, medians: "swept", a call alone between two events after a
quarter of a gigabyte was written; "alone", without that; "ten", a tenth of ten calls in a row; "graph", one replay; "kernels", by the
profiler, {name: [calls, time]} of five calls; and "host_us", what the host is busy for with one call.
"""
import importlib.util
import json
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

CALLS = 15


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def median(values):
    return round(sorted(values)[len(values) // 2], 4)


def timed(call, sweep=False, in_a_row=1):
    swept = torch.empty(256 << 20, dtype=torch.uint8, device="cuda") if sweep else None
    for _ in range(3):
        call()
    times = []
    for _ in range(CALLS):
        if sweep:
            swept.fill_(42)
        torch.cuda.synchronize()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(in_a_row):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / in_a_row)
    return median(times)


def as_graph(call):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call()
    return lambda: (graph.replay(), result)


def kernels(call):
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(5):
            call()
            torch.cuda.synchronize()
    times = {}
    for event in seen.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            times.setdefault(event.name[:60], []).append(event.device_time / 1000)
    return {name: [len(some), median(some)] for name, some in times.items()}


def host_us(call):
    begin = time.perf_counter()
    for _ in range(20):
        call()
    took = time.perf_counter() - begin
    torch.cuda.synchronize()
    return round(took / 20 * 1e6, 1)


def main():
    for argument in sys.argv[1:]:
        name, model, model_new = argument.split("=")
        reference, export = load(model, "reference"), load(model_new, "export")
        with torch.device("cuda"):
            inputs = [one.cuda() if torch.is_tensor(one) else one for one in reference.get_inputs()]
        row = {"name": name}
        for who, kind in (("eager", reference.Model), ("ours", export.ModelNew)):
            torch.manual_seed(1)
            module = kind(*reference.get_init_inputs()).cuda()
            call = lambda: module(*inputs)
            with torch.no_grad():
                row[who] = {"swept": timed(call, sweep=True), "alone": timed(call), "ten": timed(call, in_a_row=10),
                            "graph": timed(as_graph(call)), "kernels": kernels(call), "host_us": host_us(call)}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
