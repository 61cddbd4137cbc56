"""What the repository-wide checks share: the files that are ours, and how a check ends."""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = 77  # CMake's SKIP_RETURN_CODE for the checks


def files(*suffixes):
    """Our files with these suffixes (all if none are given), as paths relative to ROOT: what git would add or has."""
    try:
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True,
                                text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive
        listed = [os.path.relpath(os.path.join(folder, name), ROOT) for folder, _, names in os.walk(ROOT) for name in names]
        listed = [path for path in listed if not path.startswith(("build/", ".git/"))]
    return sorted(pathlib.Path(path) for path in set(listed)
                  if (not suffixes or path.endswith(suffixes)) and (ROOT / path).is_file())


def formatted():
    """The C++ that clang-format looks after: all of it but test data, some of which is wrong on purpose."""
    return [path for path in files(".h", ".cc") if path.parts[:2] != ("tests", "data")]


def lines(path):
    """(number, text) of each line."""
    return enumerate((ROOT / path).read_text(encoding="utf-8", errors="replace").splitlines(), 1)


def machines(hone):
    """HONE_DATA of what machine.py measured, beside the program."""
    return pathlib.Path(hone).resolve().parent / "test-machine"


def lend_machine(hone, data):
    """Puts the figures that machine.py measured, if it did, into this HONE_DATA, so that nobody measures them again."""
    if machines(hone).is_dir():
        shutil.copytree(machines(hone), data, dirs_exist_ok=True)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def finish(problems, what):
    """Ends the check: each problem is one line that starts with file:line."""
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems" if problems else f"{what}: all well")
    sys.exit(1 if problems else 0)
