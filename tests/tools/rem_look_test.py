"""rem_look_test.py REM MAKE_HEAP SOURCE [unittest options]: what info and ls say of whole heaps, and that whoever looks changes nothing."""

import os
import struct
import subprocess

from rem_support import ERROR, MAKE_HEAP, OK, REM, ROOTS, RemTest, main


class info(RemTest):
    def test_says_what_superblock_and_header_say(self):
        self.make()
        got = self.json("info", "--json", "book.rem")
        self.assertEqual(
            list(got),
            "path heap_id format_version application history_kept_over_sessions abi base chunk_bytes clean sequence epoch version checkpoint_version log "
            "file_bytes heap_bytes region_bytes allocated_bytes free_bytes root_count problems".split(),
        )
        self.assertEqual(got["path"], self.heap)
        self.assertEqual(got["chunk_bytes"], 65536)
        self.assertEqual((got["version"], got["checkpoint_version"], got["clean"]), (10, 10, True))
        self.assertEqual(got["log"], {"present": False, "file_bytes": 0, "commits": 0, "record_bytes": 0})
        self.assertEqual(got["file_bytes"], os.path.getsize(self.heap))
        self.assertEqual(got["root_count"], len(ROOTS))
        self.assertGreater(got["allocated_bytes"], 200_000 * 8 + 40_000 * 8)
        self.assertLess(got["free_bytes"], got["heap_bytes"])
        self.assertEqual(got["problems"], [])
        data = self.read()
        at = self.superblock()["place"]
        self.assertEqual(got["heap_id"].replace("-", ""), data[at + 16 : at + 32].hex())
        self.assertEqual(int(got["base"], 16), struct.unpack_from("<Q", data, at + 80)[0])
        out, err = self.text("info", "book.rem")
        for part in (got["heap_id"], got["base"], got["abi"], "closed         cleanly", "redo log       none"):
            self.assertIn(part, out)
        self.assertEqual(err, "")

    def test_counts_what_the_log_of_a_killed_program_holds(self):
        self.make("killed")
        got = self.json("info", "--json", "book.rem")
        self.assertEqual((got["version"], got["checkpoint_version"], got["clean"]), (10, 0, False))
        self.assertTrue(got["log"]["present"])
        self.assertEqual(got["log"]["commits"], 10)
        self.assertEqual(got["log"]["file_bytes"], os.path.getsize(self.log))
        self.assertEqual(got["root_count"], len(ROOTS))
        self.assertIn("not cleanly", self.text("info", "book.rem")[0])

    def test_says_the_same_of_memory_before_and_after_recovery(self):
        self.make("killed")
        before = self.json("info", "--json", "book.rem")
        self.rem("copy", "book.rem", "copy.rem")
        after = self.json("info", "--json", "copy.rem")
        for key in ("version", "heap_bytes", "allocated_bytes", "free_bytes", "heap_id"):
            self.assertEqual(before[key], after[key], key)



class ls(RemTest):
    def test_lists_roots_by_name_with_type_and_size(self):
        places = self.make()
        got = self.json("ls", "--json", "book.rem")
        self.assertEqual(list(got), ["path", "version", "roots", "problems"])
        self.assertEqual([root["name"] for root in got["roots"]], ROOTS)
        by_name = {root["name"]: root for root in got["roots"]}
        self.assertEqual(by_name["late"]["bytes"], 8)
        self.assertEqual(by_name["numbers"]["heap_offset"], places["numbers"])
        self.assertEqual(by_name["numbers"]["type"], "rem::vector<unsigned long>")
        self.assertNotEqual(by_name["late"]["fingerprint"], by_name["numbers"]["fingerprint"])
        self.assertEqual(by_name["numbers"]["structure"].splitlines(),
                         ["rem::vector<unsigned long> 32/8 <unsigned long>", "unsigned long 8/8"])

    def test_shows_names_without_disturbing_the_terminal(self):
        self.make()
        out, _ = self.text("ls", "book.rem")
        self.assertNotIn("\x1b", out)
        self.assertIn('counter "\\x1b[31m"', out)
        self.make_named()
        self.assertIn("late \\xc2\\x9b31m \u00e4 \\x9b ", self.text("ls", "names.rem")[0])
        self.assertRegex(out, r"(?m)^names +56  rem::map<rem::string, rem::string>$")

    def make_named(self):
        subprocess.run([MAKE_HEAP, self.path("names.rem"), "names"], check=True)

    def test_lists_what_a_killed_program_committed(self):
        self.make("killed")
        self.assertEqual([root["name"] for root in self.json("ls", "--json", "book.rem")["roots"]], ROOTS)



class without_standard_descriptors(RemTest):
    def rem_without(self, closed, *words, code=OK):
        def close():
            for number in closed:
                os.close(number)

        kept = {number: None if number in closed else subprocess.PIPE for number in (1, 2)}
        done = subprocess.run(
            [REM, *words], stdout=kept[1], stderr=kept[2], cwd=self.directory, preexec_fn=close
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_says_and_copies_the_same(self):
        self.make()
        before = self.state()
        whole = self.rem("info", "book.rem").stdout
        for closed in ((0,), (2,), (0, 2)):
            self.assertEqual(self.rem_without(closed, "info", "book.rem").stdout, whole)
        for closed in ((1,), (0, 1, 2)):
            self.rem_without(closed, "info", "book.rem", code=ERROR)  # nobody heard of it
            self.rem_without(closed, "copy", "book.rem", f"copy{len(closed)}.rem")
            self.rem("verify", f"copy{len(closed)}.rem")
            os.remove(self.path(f"copy{len(closed)}.rem"))
        self.assertEqual(self.state(), before)


class readers(RemTest):
    def test_change_nothing(self):
        for end in ("closed", "killed"):
            self.make(end, end)
            before = self.state()
            for words in (["info"], ["ls"], ["verify"], ["info", "--json"], ["ls", "--json"], ["verify", "--json"]):
                self.rem(*words, end)
            self.assertEqual(self.state(), before)

    def test_need_no_right_to_write(self):
        self.make("killed")
        os.chmod(self.heap, 0o444)
        os.chmod(self.log, 0o444)
        os.chmod(self.directory, 0o555)
        self.addCleanup(os.chmod, self.directory, 0o755)

        def become_nobody():
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)

        try:
            done = subprocess.run([REM, "verify", self.heap], capture_output=True, preexec_fn=become_nobody)
        except PermissionError:
            self.skipTest("the tool lies where another user cannot run it")
        self.assertEqual(done.returncode, OK, done.stderr)


if __name__ == "__main__":
    main()
