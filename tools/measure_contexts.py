#!/usr/bin/env python3
"""What it takes to start a context on a CUDA device, in N processes at once: medians of cuInit, of making the primary
context and of giving it back, and of the processors' time in the kernel.

    tools/measure_contexts.py [--processes 1,4,16] [--devices 1]
"""

import argparse
import ctypes
import json
import os
import resource
import statistics
import time

WAYS = {
    "one device seen": {"see": "one"},
    "one device seen, one queue": {"see": "one", "CUDA_DEVICE_MAX_CONNECTIONS": "1"},
    "all devices seen": {"see": "all"},
}


def start(way, device):
    if way["see"] == "one":
        os.environ["CUDA_VISIBLE_DEVICES"] = str(device)
        device = 0
    os.environ.update({name: value for name, value in way.items() if name != "see"})
    driver = ctypes.CDLL("libcuda.so.1")
    handle, context = ctypes.c_int(), ctypes.c_void_p()

    def timed(function, *arguments):
        begun = time.monotonic()
        code = function(*arguments)
        if code != 0:
            raise SystemExit(f"{function.__name__}: CUDA error {code}")
        return time.monotonic() - begun

    said = {"init": timed(driver.cuInit, 0)}
    timed(driver.cuDeviceGet, ctypes.byref(handle), device)
    said["context"] = timed(driver.cuDevicePrimaryCtxRetain, ctypes.byref(context), handle)
    said["release"] = timed(driver.cuDevicePrimaryCtxRelease_v2, handle)
    said["kernel"] = resource.getrusage(resource.RUSAGE_SELF).ru_stime
    return said


def measure(way, processes, devices):
    read, write = os.pipe()
    begun = time.monotonic()
    for i in range(processes):
        if os.fork() == 0:
            os.close(read)
            os.write(write, (json.dumps(start(way, i % devices)) + "\n").encode())
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as lines:
        said = [json.loads(line) for line in lines]
    failed = sum(os.wait()[1] != 0 for _ in range(processes))
    if failed:
        raise SystemExit(f"{failed} of {processes} processes failed")
    wall = time.monotonic() - begun
    return wall, {name: statistics.median(one[name] for one in said) for name in said[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", default="1,4,16")
    parser.add_argument("--devices", type=int, default=1)
    arguments = parser.parse_args()
    print("| processes | devices | | cuInit | context | release | in the kernel, each | all done after |")
    print("|---|---|---|---|---|---|---|---|")
    for processes in map(int, arguments.processes.split(",")):
        for name, way in WAYS.items():
            wall, each = measure(way, processes, arguments.devices)
            cells = " | ".join(f"{each[part]:.3f} s" for part in ("init", "context", "release", "kernel"))
            print(f"| {processes} | {arguments.devices} | {name} | {cells} | {wall:.2f} s |", flush=True)


if __name__ == "__main__":
    main()
