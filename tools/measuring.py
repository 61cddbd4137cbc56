"""What the scripts of this folder share that ask hone and write tables."""
import json
import math
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def ask(command):
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": {"message": (done.stderr or done.stdout).strip()[-300:]}}


def microseconds(us):
    return "-" if not us else f"{us / 1e3:.3g} ms" if us >= 1e3 else f"{us:.3g} us"


def geomean(values):
    values = [v for v in values if v and v > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def against(best, baseline):
    for comparison in (best.get("timing") or {}).get("against", []):
        if comparison["baseline"] == baseline:
            return comparison
    return None


def speedup(comparison):
    if not comparison or comparison["speedup"] is None:
        return "disturbed" if comparison else "-"
    interval = "" if comparison["speedup_low"] is None else f" ({comparison['speedup_low']:.2f}-{comparison['speedup_high']:.2f})"
    return f"{comparison['speedup']:.2f}{interval}"
