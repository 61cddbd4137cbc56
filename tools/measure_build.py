#!/usr/bin/env python3
"""What a build costs: processor seconds (user and system) of a target built from nothing, without ccache, and its slowest files.

    tools/measure_build.py [--preset release] [--top 10] [TARGET...]

Targets (default: hone, then all) are built one after the other in build/measure, so the second costs what the first left over.
Processor time says what the code costs whatever else the machine does; the seconds that pass mean something on an idle one only.
"""
import argparse
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "measure"
LOG = "HONE_MEASURE_LOG"


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


# As the compiler's launcher: runs it and notes what it took.
def compile_one(command):
    status = subprocess.run(command).returncode
    with open(os.environ[LOG], "a") as log:
        log.write(f"{processor_seconds():.2f}\t{command[command.index('-c') + 1]}\n")
    return status


# What a batch is made of says more than its number.
def name_of(source):
    if "/Unity/" not in source:
        return os.path.relpath(source, ROOT)
    files = [line.split('"')[1] for line in open(source) if line.startswith("#include")]
    return f"{len(files)} files, {os.path.relpath(files[0], ROOT)} to {pathlib.Path(files[-1]).name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="release")
    parser.add_argument("--top", type=int, default=10, help="how many of the slowest files are listed")
    parser.add_argument("targets", nargs="*", default=["hone", "all"])
    options = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    launcher = ";".join([sys.executable, os.path.abspath(__file__), "--compile"])
    subprocess.run(["cmake", "--preset", options.preset, "-B", FOLDER, f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    log = FOLDER / "processor_seconds.tsv"
    os.environ[LOG] = str(log)
    print("| target | processor seconds | seconds that passed | files compiled |\n|---|---|---|---|")
    compiled = 0
    for target in options.targets:
        used, began = processor_seconds(), time.monotonic()
        subprocess.run(["ninja", "-C", FOLDER, target], check=True, stdout=subprocess.DEVNULL)
        lines = log.read_text().splitlines()
        print(f"| {target} | {processor_seconds() - used:.0f} | {time.monotonic() - began:.0f} | {len(lines) - compiled} |", flush=True)
        compiled = len(lines)
    print("\n| slowest | processor seconds |\n|---|---|")
    for line in sorted(lines, key=lambda line: -float(line.split("\t")[0]))[:options.top]:
        seconds, source = line.split("\t")
        print(f"| {name_of(source)} | {seconds} |")


if sys.argv[1:2] == ["--compile"]:
    sys.exit(compile_one(sys.argv[2:]))
main()
