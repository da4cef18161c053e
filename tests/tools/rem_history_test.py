"""rem_history_test.py REM MAKE_HEAP SOURCE [unittest options]: log, diff, undo, restore, keep, drop, branch."""

import os
import subprocess

from rem_support import ERROR, HISTORY, MAKE_HEAP, USAGE, RemTest, main


class HistoryTest(RemTest):
    def setUp(self):
        super().setUp()
        subprocess.run([MAKE_HEAP, self.heap, "history"], check=True)

    def steps(self):
        return self.json("log", "--json", "book.rem")["steps"]

    def prices(self, heap="book.rem"):
        return self.json("get", heap, "prices")

    def present(self):
        return next(step["version"] for step in self.steps() if step["present"])


class history(HistoryTest):
    def test_log_tells_steps_and_versions_and_leaves_the_heap_alone(self):
        before = self.state()
        steps = self.steps()
        self.assertEqual(self.state(), before)
        self.assertEqual(len(steps), 4)
        self.assertEqual([step["kept"] for step in steps], ["before import", "", "", ""])
        self.assertEqual([step["name"] for step in steps[1:]], ["import", "import", "sell out"])
        self.assertEqual([step["parent"] for step in steps], [None] + [step["version"] for step in steps[:-1]])
        self.assertEqual([step["present"] for step in steps], [False, False, False, True])
        self.assertEqual([step["roots"] for step in steps[1:]], [["prices"]] * 3)
        text = self.text("log", "book.rem")[0].splitlines()
        self.assertEqual(len(text), 5)
        self.assertIn("[kept: before import]", text[1])
        self.assertTrue(text[4].startswith("* "))
        self.assertTrue(text[4].endswith("prices"))

    def test_history_belongs_to_the_heap(self):
        self.assertTrue(self.json("info", "--json", "book.rem")["history_kept_over_sessions"])
        recorded = self.json("history", "--json", "book.rem")
        self.assertTrue(recorded["kept_over_sessions"])
        out, err = self.text("history", "book.rem")
        self.assertIn("kept over sessions, up to ", out)
        self.assertEqual(err, "")
        before = self.present()
        dump = self.rem("dump", "book.rem", "prices").stdout
        self.rem("load", "book.rem", input=dump.replace(b'"prices"', b'"other prices"'))
        self.assertGreater(self.present(), before)
        self.assertEqual(self.steps()[-1]["parent"], before)
        self.assertEqual([step["kept"] for step in self.steps()][0], "before import")
        self.json("undo", "--json", "book.rem")
        self.assertEqual([root["name"] for root in self.json("ls", "--json", "book.rem")["roots"]], ["prices", "untouched"])
        changed = self.json("history", "--steps", "1", "--json", "book.rem")
        self.assertEqual(changed["steps_max"], 1)
        self.assertEqual(changed["bytes_max"], recorded["bytes_max"])
        self.rem("history", "--steps", "1", "--end", "book.rem", code=USAGE)
        self.assertFalse(self.json("history", "--end", "--json", "book.rem")["kept_over_sessions"])
        self.assertFalse(os.path.exists(self.heap + "-history"))
        self.assertEqual(self.text("history", "book.rem")[0], "none is kept over sessions\n")
        self.assertIn("has no history", self.text("history", "--end", "book.rem", code=ERROR)[1])

    def test_copy_takes_the_history_along_if_asked_to(self):
        steps = self.steps()
        self.assertIn("the history of book.rem was not copied", self.text("copy", "book.rem", "without.rem")[1])
        self.assertEqual(self.text("copy", "--history", "book.rem", "with.rem")[1], "")
        self.assertEqual(self.json("log", "--json", "with.rem")["steps"], steps)
        self.assertEqual(self.json("log", "--json", "without.rem")["steps"], [])
        self.rem("copy", "--history", "book.rem", "-", code=USAGE)

    def test_diff_tells_members_by_their_paths(self):
        before = self.state()
        newest = str(self.present())
        found = self.json("diff", "--json", "book.rem", "before import", newest)
        self.assertEqual(self.state(), before)
        self.assertEqual([root["name"] for root in found["roots"]], ["prices"])
        changed = {each["path"]: (each["how"], each["before"], each["after"]) for each in found["members"]}
        self.assertEqual(
            changed,
            {
                "prices[0]": ("changed", 100, 3),
                "prices[1]": ("changed", 101, 4),
                "prices[2]": ("changed", 102, 5),
                "prices[4]": ("removed", 104, None),
            },
        )
        self.assertTrue(found["ranges"])
        text = self.text("diff", "book.rem", "before import", newest)[0]
        self.assertIn("- prices[0]: 100\n+ prices[0]: 3\n", text)
        self.assertEqual(self.text("diff", "book.rem", newest, newest)[0], "nothing differs\n")

    def test_undo_and_restore_are_commits(self):
        newest = self.present()
        self.assertRegex(self.text("undo", "book.rem")[0], r"^undone by commit \d+\n$")
        self.assertEqual(dict(self.prices())[4], 104)
        self.assertNotEqual(self.present(), newest)
        self.rem("restore", "book.rem", "before import")
        self.assertEqual(self.prices(), [[i, 100 + i] for i in range(5)])
        version = self.json("restore", "--json", "book.rem", str(newest))["version"]
        self.assertEqual(self.json("info", "--json", "book.rem")["version"], version)
        self.assertEqual(dict(self.prices()), {0: 3, 1: 4, 2: 5, 3: 103})
        self.rem("undo", "book.rem", "2")
        self.assertEqual(dict(self.prices())[2], 2)
        self.assertEqual(len(self.steps()), 4)  # none went

    def test_versions_are_kept_and_dropped(self):
        newest = self.present()
        self.assertEqual(self.json("keep", "--json", "book.rem", "sold")["version"], newest)
        self.assertEqual([step["kept"] for step in self.steps() if step["kept"]], ["before import", "sold"])
        self.assertIn("already", self.text("keep", "book.rem", "sold", code=ERROR)[1])
        self.rem("drop", "book.rem", "sold")
        self.rem("drop", "book.rem", "before import")
        self.assertEqual([step["kept"] for step in self.steps() if step["kept"]], [])

    def test_branch_is_a_heap_of_its_own(self):
        before = self.state()
        self.rem("branch", "book.rem", "before import", "old.rem")
        self.assertEqual({name: self.state()[name] for name in before}, before)
        self.assertEqual(sorted(set(self.state()) - set(before)), ["old.rem"])
        self.assertEqual(self.prices("old.rem"), [[i, 100 + i] for i in range(5)])
        self.rem("verify", "old.rem")
        self.assertIn("exists", self.text("branch", "book.rem", "before import", "old.rem", code=ERROR)[1])

    def test_get_dump_and_schema_of_a_version(self):
        before = self.state()
        self.assertEqual(self.json("get", "book.rem", "--version", "before import", "prices[1]"), 101)
        steps = self.steps()
        self.assertEqual(self.json("get", "--version", str(steps[1]["version"]), "book.rem", "prices[2]"), 2)
        self.assertEqual(self.text("dump", "--version", str(self.present()), "book.rem"), self.text("dump", "book.rem"))
        self.assertNotEqual(
            self.text("dump", "--version", "before import", "book.rem"), self.text("dump", "book.rem")
        )
        self.assertEqual(
            self.text("schema", "--version", "before import", "book.rem")[0], self.text("schema", "book.rem")[0]
        )
        self.assertEqual(self.state(), before)
        for words in (["get", "book.rem", "prices"], ["dump", "book.rem"], ["schema", "book.rem"]):
            err = self.text(*words, "--version", "12345", code=ERROR)[1]
            self.assertIn("There are 4", err)
            self.assertIn('"before import"', err)

    def test_export_makes_a_file_that_load_takes(self):
        before = self.state()
        self.rem("export", "book.rem", "--version", "before import", "old.jsonl")
        self.assertEqual({name: self.state()[name] for name in before}, before)
        self.assertEqual(sorted(set(self.state()) - set(before)), ["old.jsonl"])
        with open(self.path("old.jsonl"), "rb") as file:
            written = file.read()
        self.assertEqual(
            written.decode(), self.text("dump", "book.rem", "--version", "before import")[0]
        )
        self.rem("load", "old.rem", input=written)
        self.assertEqual(self.prices("old.rem"), [[i, 100 + i] for i in range(5)])
        self.assertIn("exists", self.text("export", "book.rem", "--version", "before import", "old.jsonl", code=ERROR)[1])
        self.text("export", "book.rem", "--version", "12345", "none.jsonl", code=ERROR)
        self.text("export", "book.rem", "none.jsonl", code=USAGE)
        self.assertFalse(os.path.exists(self.path("none.jsonl")))
        self.assertFalse(os.path.exists(self.path("none.jsonl-unfinished")))
        got = self.json("export", "--json", "book.rem", "--version", str(self.present()), "new.jsonl")
        self.assertEqual(got["path"], "new.jsonl")

    def test_verify_tells_what_of_the_history_is_whole(self):
        self.assertTrue(self.json("verify", "--json", "book.rem")["history"]["history_whole"])  # of a killed program
        self.rem("keep", "book.rem", "sold")  # closes it, so that the file has everything
        found = self.json("verify", "--json", "book.rem")["history"]
        self.assertTrue(found["history_whole"])
        self.assertEqual((found["versions"], found["kept"]), (4, 2))
        self.assertEqual(found["through_version"], self.json("info", "--json", "book.rem")["version"])
        self.assertIn("4 versions, 2 kept", self.text("verify", "book.rem")[0])
        path = self.heap + "-history"
        with open(path, "rb") as file:
            whole = file.read()
        with open(path, "r+b") as file:
            file.seek(found["sound_bytes"] - 20)
            file.write(b"damage")
        damaged = self.json("verify", "--json", "book.rem", code=HISTORY)
        self.assertTrue(damaged["whole"])
        self.assertFalse(damaged["history"]["history_whole"])
        self.assertEqual(damaged["history"]["entries"], found["entries"] - 1)
        self.assertLess(damaged["history"]["sound_bytes"], found["sound_bytes"])
        self.assertIn("begins another one", self.text("verify", "book.rem", code=HISTORY)[0])
        with open(path, "wb") as file:
            file.write(b"somebody's" + whole[10:])
        self.assertEqual(self.json("verify", "--json", "book.rem", code=HISTORY)["history"]["entries"], 0)
        os.remove(path)
        self.assertIsNone(self.json("verify", "--json", "book.rem")["history"])

    def test_what_is_not_there_is_said(self):
        for words in (
            ["restore", "book.rem", "after import"],
            ["restore", "book.rem", "12345"],
            ["drop", "book.rem", "12345"],
            ["diff", "book.rem", "12345", "before import"],
            ["branch", "book.rem", "12345", "old.rem"],
        ):
            self.assertIn("rem log", self.text(*words, code=ERROR)[1], words)
        self.assertIn("leads back 3", self.text("undo", "book.rem", "99", code=ERROR)[1])
        for steps in ("0", "-1"):
            self.assertIn("1000000000000", self.text("undo", "book.rem", steps, code=USAGE)[1])
        self.assertIn("number", self.text("keep", "book.rem", "9", code=USAGE)[1])
        self.assertFalse(os.path.exists(self.path("old.rem")))

    def test_a_name_of_digits_is_not_taken_for_another_version(self):
        version = self.make("kept_by_a_number", "digits.rem")["version"]
        why = self.text("get", "digits.rem", "all", "--version", "3", code=ERROR)[1]
        self.assertIn(f"3 is a version of digits.rem, and the name by which version {version} is kept. Say {version}", why)
        before = self.read(self.path("digits.rem"))
        self.assertIn("and the name by which", self.text("restore", "digits.rem", "3", code=ERROR)[1])
        self.assertEqual(self.read(self.path("digits.rem")), before)
        self.assertEqual(self.json("get", "digits.rem", "all", "--version", str(version)), [0, 1, 2, 3, 4, 5])
        self.assertEqual(self.json("get", "digits.rem", "all", "--version", "2024"), [])
        self.rem("restore", "digits.rem", str(version))
        self.assertEqual(self.json("get", "digits.rem", "all"), [0, 1, 2, 3, 4, 5])

    def test_a_damaged_history_says_so_with_one_reason_and_exit_code_5(self):
        path = self.path("book.rem-history")
        with open(path, "r+b") as file:
            file.seek(700)
            byte = file.read(1)[0]
            file.seek(700)
            file.write(bytes([byte ^ 1]))
        shown = self.text("log", "book.rem", code=HISTORY)[0]
        reason = self.json("log", "--json", "book.rem", code=HISTORY)["why_none"].split("no history: ")[1]
        self.assertIn("book.rem-history has no entry that is whole, and does not lead to", reason)
        self.assertIn(reason, shown)
        self.assertEqual(self.json("verify", "--json", "book.rem", code=HISTORY)["history"]["problem"], reason)
        self.assertIn(reason, self.text("get", "book.rem", "prices", "--version", "1", code=ERROR)[1])
        os.remove(path)
        os.mkdir(path)
        self.assertIn("is not a regular file", self.text("log", "book.rem", code=HISTORY)[0])
        self.assertIn("is not a regular file", self.text("verify", "book.rem", code=HISTORY)[0])
        os.rmdir(path)
        self.assertIn("is not there", self.text("log", "book.rem")[0])

    def test_no_message_speaks_of_functions_of_cpp(self):
        self.text("keep", "book.rem", "now")
        for command in (["keep", "book.rem", "now"], ["keep", "book.rem", "again"], ["drop", "book.rem", "99"],
                        ["drop", "book.rem", "none"], ["restore", "book.rem", "99"], ["undo", "book.rem", "99"],
                        ["diff", "book.rem", "99", "1"], ["branch", "book.rem", "none", "to.rem"]):
            self.assertNotIn("heap::", self.text(*command, code=ERROR)[1], command)
        seen = self.text("log", "book.rem")[0].splitlines()
        step = next(line for line in seen[1:] if "kept" not in line).lstrip("* ").split()[0]
        self.assertNotIn("heap::", self.text("drop", "book.rem", step, code=ERROR)[1])

    def test_a_heap_without_a_history_says_so(self):
        self.make(name="plain.rem")
        got = self.json("log", "--json", "plain.rem")
        self.assertEqual(got["steps"], [])
        self.assertTrue(got["why_none"])
        self.assertIn("history", self.text("log", "plain.rem")[0])
        self.assertIn("history", self.text("undo", "plain.rem", code=ERROR)[1])
        self.assertIn("history", self.text("keep", "plain.rem", "x", code=ERROR)[1])


class history_of_an_open_heap(HistoryTest):
    """Another process commits to it 200 times a second, and checkpoints all the time."""

    def setUp(self):
        super().setUp()
        self.rem("keep", "book.rem", "sold")

    def wait_for_commit(self):
        before = self.json("info", "--json", "book.rem")["version"]
        while self.json("info", "--json", "book.rem")["version"] == before:
            pass

    def start_killed(self, what):
        """One that does not end by itself."""
        process = subprocess.Popen([MAKE_HEAP, self.heap, what], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"{}\n")

    def look_ten_times(self):
        for round in range(10):
            found = self.json("diff", "--json", "book.rem", "before import", "sold")
            changed = {each["path"]: (each["before"], each["after"]) for each in found["members"]}
            self.assertEqual(changed["prices[0]"], (100, 3))
            self.rem("branch", "book.rem", "before import", f"old{round}.rem")
            self.assertEqual(self.prices(f"old{round}.rem"), [[i, 100 + i] for i in range(5)])
        self.rem("verify", "old9.rem")

    def test_is_compared_and_branched_off_beside_an_exclusive_writer(self):
        self.start_killed("history_busy")
        self.look_ten_times()

    def test_is_compared_and_branched_off_beside_those_that_share_it(self):
        self.start_killed("history_shared_busy")
        self.look_ten_times()

    def test_is_changed_beside_those_that_share_it(self):
        idle = self.start("history_shared_idle")
        newest = self.present()
        self.assertRegex(self.text("undo", "book.rem")[0], r"^undone by commit \d+\n$")
        self.assertEqual(dict(self.prices())[4], 104)
        self.rem("restore", "book.rem", "before import")
        self.assertEqual(self.prices(), [[i, 100 + i] for i in range(5)])
        self.rem("keep", "book.rem", "first", code=ERROR)  # it has a name
        self.rem("restore", "book.rem", str(newest))
        self.rem("drop", "book.rem", "sold")
        self.assertEqual(self.json("keep", "--json", "book.rem", "sold out")["version"], newest)
        self.rem("drop", "book.rem", "before import")
        self.assertEqual([step["kept"] for step in self.steps() if step["kept"]], ["sold out"])
        self.make(name="other.rem")
        dump = self.rem("dump", "other.rem", "table").stdout
        self.rem("load", "book.rem", input=dump)
        self.assertEqual(self.json("get", "book.rem", "table[1999]"), 10)
        self.end(idle)
        self.rem("verify", "book.rem")
        self.assertEqual(self.json("get", "book.rem", "table[1999]"), 10)

    def test_is_changed_beside_one_that_writes_all_the_time(self):
        self.start_killed("history_shared_busy")
        for round in range(5):
            self.wait_for_commit()  # else the version that was restored may be the present one, which has a name
            self.rem("keep", "book.rem", f"v{round}")
            self.rem("undo", "book.rem")
            self.rem("restore", "book.rem", f"v{round}")
        self.assertEqual(
            [step["kept"] for step in self.steps() if step["kept"]],
            ["before import", "sold"] + [f"v{i}" for i in range(5)],
        )

    def test_is_not_changed_beside_one_that_has_it_alone(self):
        self.start_killed("history_busy")
        for words in (["undo", "book.rem"], ["keep", "book.rem", "x"], ["load", "book.rem"]):
            self.assertIn("open elsewhere", self.text(*words, code=ERROR)[1])


if __name__ == "__main__":
    main()
