#!/usr/bin/env python3
"""Writes the wheel that ./dev wheel builds: a zip with the package, the program and the libraries that not every Linux has.

wheel.py BUILD FOLDER    the wheel of that build into FOLDER; prints its path. Standard library, cmake, objdump and dpkg.

The tag says the oldest C library by whose symbols program and libraries were bound (PEP 600). The licence of everything that is
inside goes with it. The same build gives the same bytes.
"""
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
# What the program is made of beside the libraries that lie in the wheel.
COMPILED_IN = ("nlohmann-json3-dev", "libexpected-dev", "libdlpack-dev")
LICENSES = "Apache-2.0 AND MIT AND LGPL-2.1-only AND CC0-1.0 AND blessing"
COMMON = re.compile(rb"/usr/share/common-licenses/([\w.-]*\w)")
SUMMARY = "Makes GPU and CPU kernels faster, and proves it"


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def newest(symbols, library):
    """(2, 35) for GLIBC_2.35, the newest that is asked for."""
    return max(tuple(map(int, found.split("."))) for found in re.findall(r"\b%s_([\d.]+\d)" % library, symbols))


def owner(name):
    """The Debian package that a shared library is of."""
    return run("dpkg", "-S", "*/" + name).split(":")[0]


def licence(package):
    return (pathlib.Path("/usr/share/doc") / package / "copyright").read_bytes()


def contents(build):
    """{path in the wheel: (bytes, may be run)}, and the tag of the platform."""
    version = run(build / "hone", "--version").split()[1]
    info = "hone-%s.dist-info" % version
    files, symbols = {}, ""
    with tempfile.TemporaryDirectory(prefix="hone-wheel-") as name:
        folder = pathlib.Path(name).resolve()
        run("cmake", "--install", build, "--prefix", folder, "--strip")
        libraries = sorted((folder / "lib").iterdir())
        linked = {path.resolve() for path in libraries if path.is_symlink()}  # a wheel has no links: once, by the name that is asked for
        libraries = [path for path in libraries if path not in linked]
        for path in [folder / "bin" / "hone", *libraries]:
            files["hone/native/%s" % path.relative_to(folder)] = (path.read_bytes(), True)
            symbols += run("objdump", "-T", path)
        for path in sorted((folder / "share").rglob("*")):
            if path.is_file() and path.relative_to(folder / "share").parts[0] != "hone":  # its manual page, completions
                files["hone-%s.data/data/%s" % (version, path.relative_to(folder))] = (path.read_bytes(), False)
    for path in sorted((HERE / "hone").rglob("*.py")):
        files[path.relative_to(HERE).as_posix()] = (path.read_bytes(), False)
    tag = "py3-none-manylinux_%d_%d_x86_64" % newest(symbols, "GLIBC")
    packages = sorted({owner(path.name) for path in libraries} | set(COMPILED_IN))
    notes = {"LICENSE": (ROOT / "LICENSE").read_bytes(), **{package + ".txt": licence(package) for package in packages}}
    for named in sorted(set(COMMON.findall(b"\n".join(notes.values()))) - {b"Apache-2.0"}):  # whose text Debian keeps in one place; ours is Apache's
        notes[named.decode() + ".txt"] = (pathlib.Path("/usr/share/common-licenses") / named.decode()).read_bytes()
    for name, text in notes.items():
        files["%s/licenses/%s" % (info, name)] = (text, False)
    metadata = "\n".join(
        ["Metadata-Version: 2.4", "Name: hone", "Version: " + version, "Summary: " + SUMMARY, "License-Expression: " + LICENSES,
         *("License-File: " + name for name in notes), "Requires-Python: >=3.9", "Provides-Extra: torch",
         'Requires-Dist: torch>=2.4; extra == "torch"', 'Provides-Extra: pandas', 'Requires-Dist: pandas; extra == "pandas"',
         "Description-Content-Type: text/markdown", "", (ROOT / "docs" / "python.md").read_text()])
    files[info + "/METADATA"] = (metadata.encode(), False)
    files[info + "/WHEEL"] = (("Wheel-Version: 1.0\nGenerator: hone (%s)\nRoot-Is-Purelib: false\nTag: %s\n" % (version, tag)).encode(), False)
    files[info + "/entry_points.txt"] = (b"[console_scripts]\nhone = hone.process:main\n", False)
    record = info + "/RECORD"
    rows = ["%s,sha256=%s,%d" % (path, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data))
            for path, (data, _) in files.items()]
    files[record] = ("\n".join([*rows, record + ",,"]).encode() + b"\n", False)
    return files, "hone-%s-%s.whl" % (version, tag)


def main(build, folder):
    files, name = contents(pathlib.Path(build).resolve())
    path = pathlib.Path(folder) / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for inside, (data, runs) in files.items():
            entry = zipfile.ZipInfo(inside)  # of 1980: nothing of today
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            archive.writestr(entry, data)
    print(path)


main(*sys.argv[1:])
