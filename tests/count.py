#!/usr/bin/env python3
"""Counts single tests: every gtest test and every check, not test programs. Exit status 1 if one failed or none ran.

count.py FOLDER...   each holds ctest.xml (what ctest saw) and <program>.xml (what gtest saw); sums over the folders.
"""
import pathlib
import sys
import xml.etree.ElementTree as ET


def gtest_results(path):
    """(passed, failed, skipped) of a gtest result file, or None if the program never came to write a whole one."""
    try:
        root = ET.parse(path).getroot()
    except (OSError, ET.ParseError):
        return None
    passed = failed = skipped = 0
    for case in root.iter("testcase"):
        if case.find("failure") is not None:
            failed += 1
        elif case.get("result") == "skipped" or case.find("skipped") is not None:
            skipped += 1
        elif case.get("status") == "run":
            passed += 1
    return passed, failed, skipped


def main(folders):
    total = [0, 0, 0]
    for folder in map(pathlib.Path, folders):
        for case in ET.parse(folder / "ctest.xml").getroot().iter("testcase"):
            name, status = case.get("name"), case.get("status")
            counts = gtest_results(folder / f"{name}.xml")
            if counts is None:  # a check, or a test program that died
                counts = (status == "run", status == "fail", status not in ("run", "fail"))
                if status == "fail":
                    print(f"FAILED {name}", file=sys.stderr)
            elif status == "fail" and counts[1] == 0:
                print(f"FAILED {name}: its tests passed, but the program ended badly", file=sys.stderr)
                counts = (counts[0], 1, counts[2])
            total = [t + c for t, c in zip(total, counts)]
    print("{} passed, {} failed, {} skipped".format(*total))
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
