#!/usr/bin/env python3
"""What ./dev pack packs runs where its libraries are not installed, in the sandbox, too.

pack.py BUILD   installs that build into a folder of its own and hides the system's copies of what was packed.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import tree

PROBLEM = {
    "hone_problem": 1,
    "name": "relu",
    "tensors": [
        {"name": "x", "shape": [64, 64], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": -1, "high": 1}},
        {"name": "y", "shape": [64, 64], "dtype": "f32", "role": "output"},
    ],
    "graph": [{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}],
}
PROGRAM = "program relu\ninput x: f32[64, 64]\noutput y: f32[64, 64]\ny = map(relu(x))\n"

if subprocess.run(["bwrap", "--dev-bind", "/", "/", "true"], capture_output=True).returncode != 0:
    tree.skip("bubblewrap may not make a sandbox here")
with tempfile.TemporaryDirectory(prefix="hone-pack-") as name:
    folder = pathlib.Path(name)
    subprocess.run(["cmake", "--install", sys.argv[1], "--prefix", folder / "hone"], check=True, stdout=subprocess.DEVNULL)
    packed = [file for file in (folder / "hone" / "lib").iterdir() if not file.is_symlink()]
    hidden = [path.resolve() for file in packed for root in ("/lib", "/usr/lib") for path in pathlib.Path(root).rglob(file.name)]
    if not packed or not hidden:
        sys.exit("nothing was packed that the system has: %s" % packed)
    share = folder / "hone" / "share"
    for written, word in (("man/man1/hone.1", ".TH HONE"), ("bash-completion/completions/hone", "complete "), ("zsh/site-functions/_hone", "#compdef hone"),
                          ("fish/vendor_completions.d/hone.fish", "complete -c hone")):
        if word not in (share / written).read_text():
            sys.exit("share/%s holds no %s" % (written, word))
    (folder / "p.json").write_text(json.dumps(PROBLEM))
    (folder / "p.hk").write_text(PROGRAM)
    command = ["bwrap", "--dev-bind", "/", "/"]
    for path in sorted(set(hidden)):
        command += ["--ro-bind", "/dev/null", str(path)]
    command += [folder / "hone" / "bin" / "hone", "evaluate", folder / "p.json", folder / "p.hk", "--no-torch", "--no-time", "--json"]
    environment = dict(os.environ, HONE_DATA=str(folder / "data"), HONE_CACHE=str(folder / "cache"))
    environment.pop("LD_LIBRARY_PATH", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    answer = json.loads(done.stdout) if done.stdout else {}
    if answer.get("outcome") != "accepted" or "bubblewrap" not in answer["sandbox"]:
        sys.exit("packed, it says: %s%s" % (done.stdout, done.stderr))
print("%d libraries hidden, %s" % (len(set(hidden)), answer["sandbox"]))
