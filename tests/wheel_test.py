#!/usr/bin/env python3
"""The wheel of ./dev wheel, installed by pip into a fresh environment: the program runs, the package imports. wheel_test.py BUILD"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import venv
import zipfile

import answers
import tree

OF_EVERY_LINUX = ("libc", "libm", "libstdc++", "libgcc_s", "libz")
FOUND = """import json, hone
print(json.dumps({"program": hone.program(), "outcome": hone.call("evaluate", "p.json", "p.hk", "--no-torch", "--no-time")["outcome"]}))
try:
    hone.call("evaluate", "nothing.json", "p.hk")
except hone.Failure as failure:
    print(failure.status, failure)
"""


def main(build):
    try:
        import ensurepip  # noqa: F401: Debian has it in a package of its own
    except ImportError:
        tree.skip("this Python has no ensurepip (Debian: python3-venv)")
    problems = []

    def expect(good, what):
        if not good:
            problems.append("tests/wheel_test.py:1: " + str(what))

    with tempfile.TemporaryDirectory(prefix="hone-wheel-test-") as name:
        folder = pathlib.Path(name)

        def run(*command, **more):
            return subprocess.run([str(word) for word in command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, **more)

        environment = {key: value for key, value in os.environ.items() if key not in ("HONE_PROGRAM", "HONE_STORE", "LD_LIBRARY_PATH", "PYTHONPATH")}
        environment.update(HONE_DATA=str(folder / "data"), HONE_CACHE=str(folder / "cache"), PIP_DISABLE_PIP_VERSION_CHECK="1")
        made = run(sys.executable, tree.ROOT / "python/wheel.py", pathlib.Path(build).resolve(), folder)
        wheel = pathlib.Path(made.stdout.strip())
        if not wheel.is_file():
            sys.exit("no wheel: " + made.stderr)
        first = wheel.read_bytes()
        run(sys.executable, tree.ROOT / "python/wheel.py", pathlib.Path(build).resolve(), folder)
        expect(wheel.read_bytes() == first, "a second wheel of the same build has other bytes")
        with zipfile.ZipFile(wheel) as archive:
            inside = archive.namelist()
            metadata = archive.read(next(path for path in inside if path.endswith("/METADATA"))).decode()
        for file in [line.split(": ")[1] for line in metadata.split("\n\n")[0].splitlines() if line.startswith("License-File")]:
            expect(any(path.endswith("/licenses/" + file) for path in inside), f"{file} is named as a licence and not there")

        venv.create(folder / "venv", with_pip=True)
        python, bin_folder = folder / "venv/bin/python", folder / "venv/bin"
        done = run(python, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet", wheel)
        expect(done.returncode == 0, done.stderr)
        version = subprocess.run([str(pathlib.Path(build) / "hone"), "--version"], capture_output=True, text=True).stdout
        expect(run(bin_folder / "hone", "--version").stdout == version, "hone --version of the environment says something else")
        expect(run(python, "-m", "hone", "--version").stdout == version, "python -m hone says something else")
        expect(run(bin_folder / "hone", "no-such-verb").returncode == 2, "the exit status is not the program's")
        listed = run("ldd", *folder.glob("venv/lib/python*/site-packages/hone/native/bin/hone")).stdout
        found = dict(re.findall(r"(\S+)\.so\S* => (\S+)", listed))
        expect("libfmt" in found, f"ldd says {listed}")
        for library, path in found.items():
            expect(library in OF_EVERY_LINUX or path.startswith(str(folder)), f"{library} is taken from {path}")
        for shared in ("man/man1/hone.1", "bash-completion/completions/hone", "zsh/site-functions/_hone", "fish/vendor_completions.d/hone.fish"):
            expect((folder / "venv/share" / shared).is_file(), f"share/{shared} is not there")
        (folder / "p.json").write_text(json.dumps(answers.PROBLEM))
        (folder / "p.hk").write_text(answers.PROGRAM.format(settings=""))
        done = run(python, "-c", FOUND)
        answer, _, failed = done.stdout.partition("\n")
        expect(done.returncode == 0 and json.loads(answer)["outcome"] == "accepted" and json.loads(answer)["program"].startswith(str(folder)), done)
        expect(failed.startswith("2 ") and failed.count("\n") == 1 and "nothing.json" in failed, f"a failure is: {failed}")
    tree.finish(problems, f"{wheel.name}, {len(first) >> 20} MiB, {len(inside)} files")


if __name__ == "__main__":
    main(sys.argv[1])
