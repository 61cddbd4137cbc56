#!/usr/bin/env python3
"""The folders of src/ see only what they may: arrows go one way, and each folder's CMakeLists.txt says which (SEES)."""
import re

import tree

# Each folder may see those before it. The loop goes in this order too.
ORDER = ["base", "model", "problem", "expr", "graph", "analysis", "candidate", "target", "dsl", "profile", "verdict", "protocol", "oracle", "worker", "judge",
         "evaluate", "diagnose", "propose", "search", "mcp", "serve", "command", "cli"]
# The wall of trust: who runs candidates knows nothing of what is expected of them, and who judges them cannot run one. Not
# even by way of a third folder.
WALLS = {"worker": {"oracle", "verdict", "judge"}, "oracle": {"protocol", "worker"}, "judge": {"worker"}, "evaluate": {"worker"}}
# Beside the line: they keep or show records, and see only base and the folders whose structs those are.
RECORDS = {"store": {"base", "problem", "candidate", "verdict"}, "index": {"base", "store"},
           "report": {"base", "problem", "candidate", "verdict", "store"}}
SEES_RECORDS = {"propose", "search", "command", "cli"}  # who may see store, index and report

INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
DECLARATION = re.compile(r"hone_folder\(\s*(\w+)([^)]*)\)", re.S)


def allowed(folder):
    if folder in RECORDS:
        return RECORDS[folder]
    before = set(ORDER[:ORDER.index(folder)])
    return before | set(RECORDS) if folder in SEES_RECORDS else before


def reached(folder, folders):
    """What it sees, and what those see."""
    found, left = set(), [folder]
    while left:
        for seen in folders.get(left.pop(), ("", set()))[1] - found:
            found.add(seen)
            left.append(seen)
    return found


def declarations():
    """folder -> (file:line of its hone_folder, what it sees, what its tests see beside that)."""
    found = {}
    for path in tree.files("CMakeLists.txt"):
        text = (tree.ROOT / path).read_text()
        for match in DECLARATION.finditer(text):
            keys = {"SEES": [], "LINK": [], "TEST_LINK": [], "TEST_COST": [], "TEST_SHARDS": []}
            words, key = match[2].split(), None
            for word in words:
                if word in keys:
                    key = word
                elif key:
                    keys[key].append(word)
            tests = {word.removeprefix("hone_") for word in keys["TEST_LINK"]}
            found[match[1]] = (f"{path}:{text.count(chr(10), 0, match.start()) + 1}", set(keys["SEES"]), tests)
    return found


def main():
    problems = []
    folders = declarations()
    for folder, (where, sees, _) in folders.items():
        if folder not in ORDER and folder not in RECORDS:
            problems.append(f"{where}: folder '{folder}' has no place in the order of tests/layers.py")
            continue
        for seen in sorted(sees - allowed(folder)):
            problems.append(f"{where}: {folder} may not see {seen}: the arrow would go the wrong way")
        for seen in sorted(reached(folder, folders) & WALLS.get(folder, set())):
            problems.append(f"{where}: {folder} may not see {seen}: a wall of trust is between them")

    for path in tree.files(".h", ".cc"):
        if path.parts[0] != "src" or len(path.parts) < 3:
            continue
        folder = path.parts[1]
        if folder not in folders:
            problems.append(f"{path}:1: src/{folder} has no hone_folder in a CMakeLists.txt")
            continue
        may = {folder} | folders[folder][1]
        if path.name.endswith("_test.cc") or "testing" in path.parts:
            may |= folders[folder][2]
        for number, line in tree.lines(path):
            match = INCLUDE.match(line)
            if not match:
                continue
            seen = match[1].split("/")[0]
            if (tree.ROOT / "include" / match[1]).is_file():
                continue
            if not (tree.ROOT / "src" / match[1]).is_file():
                problems.append(f'{path}:{number}: "{match[1]}" is not a path below src/')
            elif seen not in may:
                problems.append(f"{path}:{number}: {folder} includes {match[1]} but does not list {seen} in SEES")
    tree.finish(problems, "layers")


main()
