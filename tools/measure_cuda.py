#!/usr/bin/env python3
"""Times the expert's first programs on a CUDA device, as they are and with other settings: the tables of docs/measured/cuda_*.md.

measure_cuda.py PAGE HONE PROBLEMS -o FILE.md [--only L1_1,L1_2]

PAGE is matmul, rows, depthwise or library. PROBLEMS is a folder of L1_5.json ... as `hone import` writes them; where the .py file that
one came from is still there, PyTorch is timed beside. A row that cannot be measured says why.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from measuring import against, ask, microseconds, speedup

# The problems of a page, and the settings that are tried on each beside the defaults.
PAGES = {
    "matmul": ([f"L1_{n}" for n in range(1, 19)],
               [{"precision": "f32x3"}, {"precision": "f32x3", "split": "1"}, {"precision": "simt"}, {"precision": "library"},
                {"precision": "library_tf32"}]),
    "rows": ([f"L1_{n}" for n in (23, 24, 33, 34, 36, 37, 38, 39, 40, *range(41, 47), 47, 48, 49, 51, 52, 53, *range(89, 94), 95, 97, 98)],
             [{"block": "128"}, {"block": "256"}, {"block": "512"}]),
    "depthwise": ([f"L1_{n}" for n in range(82, 87)],
                  [{"path": "own", "rows": rows, "block": block} for rows in ("2", "4", "8") for block in ("128", "256")]),
    "library": ([f"L1_{n}" for n in (50, 54, 57, 61, 80)] + ["L2_1"], []),
}


def with_settings(program, settings):
    """The program with these settings in every statement that has one of them, or None where none has."""
    def set_in(block):
        rows = dict(row.split(":", 1) for row in block[1].split(",") if ":" in row)
        rows = {name.strip(): value.strip() for name, value in rows.items()}
        if not set(settings) & set(rows):
            return block[0]
        return "with {%s}" % ", ".join(f"{name}: {value}" for name, value in (rows | settings).items())

    changed = re.sub(r"with \{([^}]*)\}", set_in, program)
    return changed if changed != program else None


def measure(hone, problem, program, folder):
    file = pathlib.Path(folder) / "program.hk"
    file.write_text(program)
    answer = ask([hone, "evaluate", str(problem), str(file), "--target", "cuda", "--json"])
    timing = answer.get("timing")
    if not timing:
        return "%s | | |" % (answer.get("error", {}).get("message") or f"{answer.get('outcome')}: {answer.get('reason')}")
    return "{} | {} | {} |".format(microseconds(timing["warm"]["median_us"]), speedup(against(answer, "eager")),
                                   speedup(against(answer, "compile")))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("page", choices=sorted(PAGES))
    options.add_argument("hone")
    options.add_argument("problems", type=pathlib.Path)
    options.add_argument("-o", "--output", required=True, type=pathlib.Path)
    options.add_argument("--only", default="")
    given = options.parse_args()

    names, variants = PAGES[given.page]
    rows = ["| problem | settings | ours, warm | over eager | over compile |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for name in names if not given.only else given.only.split(","):
            print(name, file=sys.stderr, flush=True)
            problem = given.problems / f"{name}.json"
            first = subprocess.run([given.hone, "propose", str(problem), "--target", "cuda"], capture_output=True, text=True)
            if first.returncode != 0:
                rows.append(f"| {name} | | {first.stderr.strip()} | | |")
                continue
            rows.append(f"| {name} | the expert's | " + measure(given.hone, problem, first.stdout, folder))
            for settings in variants:
                program = with_settings(first.stdout, settings)
                if program:
                    said = ", ".join(f"{setting}: {value}" for setting, value in settings.items())
                    rows.append(f"| {name} | {said} | " + measure(given.hone, problem, program, folder))
    given.output.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
