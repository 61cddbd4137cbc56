#!/usr/bin/env python3
"""Says whether two programs `hone` write the same kernels, byte for byte: for changes that must not change any.

same_bytes.py HONE [--before HONE] [--targets cpu,cuda] [--but-names] [FILE_OR_FOLDER ...]

Of every problem (default: examples/ and tests/data/; folders are searched for problem.json files and .py files) the expert's
proposals are written, all cuts of it, and each program is lowered: to C++ for the CPU, to a plan for CUDA. A line for each: a hash,
the problem, the target, the proposal, and what it is of. With --before: both do it, the lines that differ are printed with '<' for
the older one's and '>' for the newer one's, and the exit status is 1 if there are any. Both lower what the older one wrote, so that
programs may differ where what becomes of them does not. Times that are predicted do not count.
--but-names: a module, and what programs are lowered to, counts as the same where only names, their numbers and prefixes, differ, and which parts of
an expression have one.
.py problems are imported by HONE, with HONE_PYTHON, once for both. No device is needed; where one is, both use it.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def problems_in(path):
    if path.is_file():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.suffix in (".json", ".py"))
    return [file for file in files if file.suffix == ".py" or is_problem(file)]


def is_problem(file):
    try:
        document = json.loads(file.read_text())
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and "hone_problem" in document


def hone(program, *arguments):
    """Its document, or its error line."""
    done = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["no error message"])[-1]
    return json.loads(done.stdout), ""


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


NAME = re.compile(r"[A-Za-z_]\w*")
PART = re.compile(r'^"? *const \w+ ((?:t|v|value)(?:_\d+)?) = (.*);(?:",)?$')  # a line of C++, or of a plan's source


def bare(name):
    """A name without its prefix and its numbers."""
    return "_".join(word for word in name[0].split("_") if word and not word.isdigit() and word not in "tv") or "v"


def but_names(source):
    """What is left of a source without numbers and prefixes of names, the named parts of expressions put into their places."""
    lines, parts = [], {}
    for line in source.replace("\\n", "\n").split("\n"):
        line = re.sub(r'//[^\n"]*', "", line.strip())
        part = PART.match(line)
        whole = NAME.sub(lambda name: parts.get(name[0], name[0]), part[2] if part else line)
        if part:
            parts[part[1]] = "(%s)" % whole
        else:
            lines.append(re.sub(r"[()\s]", "", NAME.sub(bare, whole)))
    return "\n".join(filter(None, lines))


def proposals_of(program, problem, target):
    """The proposals, or the error line."""
    return hone(program, "propose", problem, "--all", "--target", target)


def lines(program, problem, name, target, scratch, mine, lowered_ones, plain):
    """The hash lines of one problem: of the program's own proposals, and of what it makes of some."""
    proposals, why = mine
    if proposals is None:
        return [f"{digest(why)} {name} {target} propose: {why}"]
    found = [f"{digest(proposal['text'] if proposal['kind'] == 'program' else plain(proposal['text']))} {name} {target} "
             f"{proposal['origin']}: {proposal['kind']}" for proposal in proposals]
    for proposal in lowered_ones or []:
        if proposal["kind"] != "program":
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".hk", dir=scratch) as file:
            file.write(proposal["text"])
            file.flush()
            plan = ["--plan"] if target == "cuda" else []
            lowered, why = hone(program, "lower", file.name, "--problem", problem, "--target", target, *plan)
        # An error names the file, which has another name each time.
        source = lowered["source"] if lowered else why.replace(file.name, "program")
        found.append(f"{digest(plain(source))} {name} {target} {proposal['origin']}: {'lowered' if lowered else source}")
    return found


def imported(program, file, scratch):
    """The problem.json of a file; None with the reason where it is no problem."""
    if file.suffix == ".json":
        return str(file), ""
    path = os.path.join(scratch, digest(str(file)) + ".json")
    done, why = hone(program, "import", str(file), "-o", path)
    return (path, "") if done is not None else (None, why)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone")
    parser.add_argument("--before", metavar="HONE")
    parser.add_argument("--targets", default="cpu,cuda")
    parser.add_argument("--but-names", action="store_true")
    parser.add_argument("paths", nargs="*", type=pathlib.Path, metavar="FILE_OR_FOLDER")
    given = parser.parse_intermixed_args()
    paths = given.paths or [ROOT / "examples", ROOT / "tests" / "data"]
    files = [file for path in paths for file in problems_in(path)]
    if not files:
        sys.exit("no problems there: name files or folders with problem.json or .py files")
    plain = but_names if given.but_names else str
    differ = count = skipped = 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        ready = list(pool.map(lambda file: imported(given.hone, file, scratch), files))
        for file, (problem, why) in zip(files, ready):
            if problem is None:
                skipped += 1
                print(f"# {file}: {why}", file=sys.stderr)
                continue
            for target in given.targets.split(","):
                programs = [given.before, given.hone] if given.before else [given.hone]
                written = list(pool.map(lambda one: proposals_of(one, problem, target), programs))
                of_each = list(pool.map(lambda one, mine: lines(one, problem, file.name, target, scratch, mine, written[0][0], plain),
                                        programs, written))
                count += len(of_each[-1])
                if not given.before:
                    print("\n".join(of_each[0]), flush=True)
                    continue
                old, new = of_each
                for mark, mine, other in (("<", old, set(new)), (">", new, set(old))):
                    for line in mine:
                        if line not in other:
                            print(mark, line, flush=True)
                            differ += 1
                if old != new and set(old) == set(new):
                    print(f"# {file.name} {target}: the proposals come in another order", flush=True)
                    differ += 1
    if given.before:
        print(f"{count} outputs of {len(files) - skipped} problems, {differ} lines differ, {skipped} files skipped")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
