#!/usr/bin/env python3
"""Counts single tests: every gtest test and every check, not test programs. Exit status 1 if one failed or none ran.

count.py FOLDER...   each holds ctest.xml (what ctest saw) and <program>.xml (what gtest saw), of one pass

A test counts once, however many passes ran it: failed if one failed it, passed if one passed it, else skipped.
"""
import pathlib
import sys
import xml.etree.ElementTree as ET

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
ORDER = (FAILED, PASSED, SKIPPED)  # of several outcomes the first counts


def gtest_results(path):
    """{test: outcome} of a gtest result file, or None if the program never came to write a whole one."""
    try:
        root = ET.parse(path).getroot()
    except (OSError, ET.ParseError):
        return None
    outcomes = {}
    for case in root.iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None:
            outcomes[name] = FAILED
        elif case.get("result") == "skipped" or case.find("skipped") is not None:
            outcomes[name] = SKIPPED
        elif case.get("status") == "run":
            outcomes[name] = PASSED
    return outcomes


def ctest_outcome(case):
    """What ctest could not start is "notrun", as what skips itself is; only that has a reason that begins so."""
    if case.get("status") == "run":
        return PASSED
    reason = case.find("skipped")
    skips_itself = reason is not None and reason.get("message", "").startswith("SKIP_")
    return SKIPPED if skips_itself or case.get("status") == "disabled" else FAILED


def results(folder):
    """{test: outcome} of one pass."""
    outcomes = {}
    for case in ET.parse(folder / "ctest.xml").getroot().iter("testcase"):
        name, outcome = case.get("name"), ctest_outcome(case)
        tests = gtest_results(folder / f"{name}.xml")
        if tests is None:  # a check, or a test program that died
            outcomes[name] = outcome
            if outcome == FAILED:
                print(f"FAILED {name}", file=sys.stderr)
            continue
        outcomes.update({f"{name}: {test}": one for test, one in tests.items()})
        if outcome == FAILED and FAILED not in tests.values():
            print(f"FAILED {name}: its tests passed, but the program ended badly", file=sys.stderr)
            outcomes[name] = FAILED
    return outcomes


def main(folders):
    total = {}
    for folder in map(pathlib.Path, folders):
        for name, outcome in results(folder).items():
            total[name] = min(outcome, total.get(name, outcome), key=ORDER.index)
    counts = {outcome: list(total.values()).count(outcome) for outcome in ORDER}
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts), flush=True)
    return 1 if counts[FAILED] or not counts[PASSED] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
