#!/usr/bin/env python3
"""count.py on results that are written here."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

import count


class Count(unittest.TestCase):
    def counted(self, *passes):
        """(exit status, last line) of passes, each {file name: what is in it}."""
        with tempfile.TemporaryDirectory() as top:
            folders = []
            for i, files in enumerate(passes):
                folder = pathlib.Path(top, str(i))
                folder.mkdir()
                for name, text in files.items():
                    (folder / name).write_text(f"<testsuite>{text}</testsuite>")
                folders.append(folder)
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
                status = count.main(folders)
            return status, said.getvalue().splitlines()[-1]

    PROGRAM = '<testcase name="graph" status="run"/>'
    TESTS = '<testcase classname="A" name="One" status="run" result="completed"/><testcase classname="A" name="Two" status="run" result="skipped"/>'

    def test_single_tests_and_checks_count(self):
        check = '<testcase name="check-words" status="run"/>'
        self.assertEqual(self.counted({"ctest.xml": self.PROGRAM + check, "graph.xml": self.TESTS}), (0, "2 passed, 0 failed, 1 skipped"))

    def test_a_test_of_two_passes_counts_once_and_a_skip_gives_way(self):
        both = self.TESTS.replace("skipped", "completed")
        self.assertEqual(self.counted({"ctest.xml": self.PROGRAM, "graph.xml": self.TESTS}, {"ctest.xml": self.PROGRAM, "graph.xml": both}),
                         (0, "2 passed, 0 failed, 0 skipped"))

    def test_a_failure_in_one_pass_is_one(self):
        bad = '<testcase classname="A" name="One" status="run" result="completed"><failure/></testcase>'
        failed = self.PROGRAM.replace('"run"', '"fail"')
        self.assertEqual(self.counted({"ctest.xml": self.PROGRAM, "graph.xml": self.TESTS}, {"ctest.xml": failed, "graph.xml": bad}),
                         (1, "0 passed, 1 failed, 1 skipped"))

    def test_what_skips_itself_is_skipped_and_what_cannot_start_has_failed(self):
        row = '<testcase name="check-{}" status="notrun"><skipped message="{}"/></testcase>'
        rows = self.PROGRAM + row.format("pack", "SKIP_RETURN_CODE=77") + row.format("loop", "Unable to find executable")
        self.assertEqual(self.counted({"ctest.xml": rows, "graph.xml": self.TESTS}), (1, "1 passed, 1 failed, 2 skipped"))

    def test_a_program_that_died_has_failed(self):
        self.assertEqual(self.counted({"ctest.xml": self.PROGRAM.replace('"run"', '"fail"')}), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.counted({"ctest.xml": self.PROGRAM.replace('"run"', '"fail"'), "graph.xml": self.TESTS}),
                         (1, "1 passed, 1 failed, 1 skipped"))

    def test_nothing_run_is_a_failure(self):
        self.assertEqual(self.counted({"ctest.xml": ""}), (1, "0 passed, 0 failed, 0 skipped"))


if __name__ == "__main__":
    unittest.main()
