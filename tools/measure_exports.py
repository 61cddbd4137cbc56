#!/usr/bin/env python3
"""Exports kernels as ModelNew and has KernelBench's own evaluator judge and time them (docs/measured/cuda_exports.md).

measure_exports.py HONE KERNELBENCH -o FILE.jsonl --suite SUITE.json --state FOLDER [--only level1/5_x,level3/33_y] [--jobs N]

KERNELBENCH is a checkout of ScalingIntelligence/KernelBench; its `eval_kernel_against_ref` runs unchanged but for get_inputs under
torch.device("cuda"), since one core draws gigabytes in a minute. SUITE.json is what `hone optimize --suite KERNELBENCH --target cuda
--json` said: the best of each run is exported, from the run store that it names, into FOLDER. Runs with the Python that has PyTorch,
on a CUDA device. A line a problem:

    name, launches, libraries (whether cuDNN or cuBLASLt is called), compiled, correct (of the trials), eager_ms, ours_ms, speedup,
    hone_speedup, error
"""
import argparse
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor

TRIALS, RUNS = 5, 30


def child(kernelbench, reference, candidate, lock):
    """One evaluation: prints a JSON line. Waits for the device after it has compiled."""
    class Record:  # what the evaluator asks of pydantic.BaseModel
        def __init__(self, **given):
            for key, value in given.items():
                setattr(self, key, value)

    # Of other parts of the package, and not used here where they are absent.
    for name, attributes in (("openai", {"OpenAI": None}), ("litellm", {"completion": None}), ("dotenv", {"load_dotenv": lambda: None}),
                             ("requests", {}), ("tqdm", {"tqdm": None}), ("pydantic", {"BaseModel": Record})):
        try:
            __import__(name)
        except ImportError:
            sys.modules[name] = types.ModuleType(name)
            vars(sys.modules[name]).update(attributes)
    sys.path.insert(0, str(kernelbench / "src"))
    import torch
    from kernelbench import eval as official

    source = candidate.read_text()
    # What is before the first function compiles the kernels: without the device.
    exec(compile(source.split("\ndef hone_flatten", 1)[0], str(candidate), "exec"), {})
    load = official.load_original_model_and_inputs

    def on_device(text, context):
        model, init_inputs, inputs = load(text, context)

        def drawn():
            with torch.device("cuda"):
                return inputs()
        return model, init_inputs, drawn
    official.load_original_model_and_inputs = on_device
    with open(lock, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        result = official.eval_kernel_against_ref(
            reference.read_text(), source, num_correct_trials=TRIALS, num_perf_trials=RUNS, measure_performance=True,
            timing_method="cuda_event", backend="cuda", precision=torch.float32, device=torch.device("cuda:0"))
    row = {"compiled": result.compiled, "correct": result.metadata.get("correctness_trials", str(result.correctness))}
    if result.correctness:
        row.update(ours_ms=round(result.runtime, 4), eager_ms=round(result.ref_runtime, 4),
                   speedup=round(result.ref_runtime / result.runtime, 3))
    else:
        row["error"] = "; ".join("%s: %s" % (key, str(value)[-300:]) for key, value in result.metadata.items() if "error" in key or
                                 "issue" in key or "difference" in key)
    print(json.dumps(row))


def export(hone, store, run, folder, reference):
    """(row, model_new.py): what is exported."""
    out = folder / "export"
    shutil.rmtree(out, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([hone, "export", run, "--store", store, "--form", "kernelbench", "--model", str(reference), "-o", str(out)],
                          capture_output=True, text=True)
    if done.returncode:
        return {"error": "export: " + done.stderr.strip()[-300:]}, None
    text = (out / "model_new.py").read_text()
    return {"launches": text.count("  hone_host::Launch("), "libraries": "hone_library::" in text}, out / "model_new.py"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("kernelbench", type=pathlib.Path)
    options.add_argument("-o", "--output", required=True, type=pathlib.Path)
    options.add_argument("--suite", required=True, type=pathlib.Path)
    options.add_argument("--state", required=True, type=pathlib.Path)
    options.add_argument("--only", default="")
    options.add_argument("--jobs", type=int, default=4, help="compile and load so many at a time; one at a time has the device")
    options.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        return child(given.kernelbench, *map(pathlib.Path, given.child))

    suite = json.loads(given.suite.read_text())
    wanted = given.only.split(",") if given.only else [row["name"] for row in suite["rows"] if row["solved"]]
    rows = {row["name"]: row for row in suite["rows"]}
    given.state.mkdir(parents=True, exist_ok=True)

    def one(name):
        reference = given.kernelbench / "KernelBench" / (name + ".py")
        row, file = export(given.hone, suite["store"], rows[name]["run"], given.state / name.replace("/", "_"), reference)
        if file:
            environment = dict(os.environ, TORCH_EXTENSIONS_DIR=str(file.parent / "build"))
            try:
                done = subprocess.run([sys.executable, __file__, given.hone, str(given.kernelbench), "-o", "-",
                                       "--suite", str(given.suite), "--state", str(given.state),
                                       "--child", str(reference), str(file), str(given.state / "device.lock")],
                                      capture_output=True, text=True, env=environment, timeout=300)
                lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
                row.update(json.loads(lines[-1]) if lines else {"error": (done.stderr or done.stdout).strip()[-300:]})
            except subprocess.TimeoutExpired:
                row["error"] = "not done within 300 s"
        row = {"name": name, **row, "hone_speedup": rows[name]["speedups"].get("eager")}
        with open(given.output, "a") as out:
            out.write(json.dumps(row) + "\n")
        print(json.dumps(row), file=sys.stderr, flush=True)

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(one, wanted))


if __name__ == "__main__":
    main()
