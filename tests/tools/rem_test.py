"""rem_test.py REM MAKE_HEAP SOURCE [unittest options]: every subcommand on whole, damaged and missing heaps."""

import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import threading
import time

from rem_support import DAMAGE, ERROR, MAKE_HEAP, OK, RECORDS_BEGIN, REM, SUPERBLOCK_BYTES, USAGE, RemTest, main

ROOTS = ['counter "\x1b[31m"', "late", "names", "numbers", "table", "zeros"]


class info(RemTest):
    def test_says_what_superblock_and_header_say(self):
        self.make()
        got = self.json("info", "--json", "book.rem")
        self.assertEqual(
            list(got),
            "path heap_id format_version abi base chunk_bytes clean sequence epoch version checkpoint_version log "
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


class verify(RemTest):
    def test_finds_nothing_wrong_with_a_whole_heap(self):
        for end in ("closed", "killed"):
            with self.subTest(end):
                self.make(end, end)
                got = self.json("verify", "--json", end)
                self.assertEqual(
                    list(got),
                    "path whole version pages_checked log_records_checked allocator_checked blocks_checked "
                    "torn_superblock problems roots".split(),
                )
                self.assertTrue(got["whole"])
                self.assertEqual(got["log_records_checked"], 10 if end == "killed" else 0)
                self.assertGreater(got["pages_checked"], 40_000 * 8 / 4096)
                self.assertGreater(got["blocks_checked"], 200)
                self.assertTrue(got["allocator_checked"])
                self.assertFalse(got["torn_superblock"])
                self.assertEqual([(root["name"], root["state"]) for root in got["roots"]], [(n, "whole") for n in ROOTS])
                self.assertIn(": whole\n", self.text("verify", end)[0])

    def test_says_the_same_of_a_killed_heap_and_of_its_copy(self):
        self.make("killed")
        self.rem("copy", "book.rem", "copy.rem")
        before, after = (self.json("verify", "--json", name) for name in ("book.rem", "copy.rem"))
        for key in ("whole", "version", "pages_checked", "blocks_checked", "roots"):
            self.assertEqual(before[key], after[key], key)


class damage(RemTest):
    def check(self, *offsets, file=None):
        """Verifies the damaged heap: what it says. Nothing changes, and the text agrees with the JSON."""
        before = self.state()
        got = self.json("verify", "--json", "book.rem", code=DAMAGE)
        self.assertFalse(got["whole"])
        self.assertEqual([problem["offset"] for problem in got["problems"]][: len(offsets)], list(offsets), got)
        for problem in got["problems"][: len(offsets)]:
            self.assertEqual(problem["file"], file or self.heap)
        out, _ = self.text("verify", "book.rem", code=DAMAGE)
        self.assertIn(": damaged\n", out)
        for problem in got["problems"]:
            self.assertIn(problem["what"], out)
        for root in got["roots"]:
            if root["state"] == "whole":
                self.assertRegex(out, rf"(?m)^  {root['name']} +whole$".replace("\x1b", r"\\x1b").replace("[", r"\["))
        self.rem("copy", "book.rem", "copy.rem", code=DAMAGE)  # no copy makes damage look whole
        self.assertEqual(self.state(), before)
        return got

    def states(self, got):
        return {root["name"]: root["state"] for root in got["roots"]}

    def test_of_a_page_that_a_root_reaches_leaves_the_others_whole(self):
        for end in ("closed", "killed"):
            with self.subTest(end):
                for name in os.listdir(self.directory):
                    os.remove(self.path(name))
                places = self.make(end)
                at = self.place_in_file(places["elements"] + 100_000)
                self.flip(at)
                got = self.check(at // 4096 * 4096)
                states = self.states(got)
                self.assertEqual(states.pop("numbers"), "reaches_damage")
                self.assertEqual(set(states.values()), {"whole"})
                self.assertEqual(len(got["problems"]), 1)

    def test_of_a_root_object_damages_that_root(self):
        places = self.make()
        at = self.place_in_file(places["table"] + 1999 * 8)  # the one that is not zero, in a build that zeroes what is freed
        self.flip(at)
        got = self.check(at // 4096 * 4096)
        states = self.states(got)
        self.assertEqual(states.pop("table"), "damaged")
        self.assertEqual(set(states.values()), {"whole"})
        self.assertEqual(len(states), len(ROOTS) - 1)

    def test_of_the_root_directory_is_told_by_all_commands(self):
        places = self.make()
        at = self.place_in_file(places["counter"])  # a small object, on the page of the directory's entries
        self.flip(at)
        got = self.check(at // 4096 * 4096)
        self.assertIn("root", got["problems"][1]["what"])
        self.assertNotIn("whole", [root["state"] for root in got["roots"]])
        for name in ("info", "ls"):
            self.assertIn("rem verify", self.text(name, "book.rem", code=DAMAGE)[1])

    def test_of_the_superblock_that_does_not_rule_is_told_and_harmless(self):
        self.make()
        other = SUPERBLOCK_BYTES - self.superblock()["place"]
        self.flip(other + 100)
        got = self.check(other)
        self.assertEqual(set(self.states(got).values()), {"whole"})
        self.assertEqual(got["version"], 10)

    def test_of_that_superblock_beside_a_log_is_what_a_power_loss_does(self):
        self.make("killed")
        other = SUPERBLOCK_BYTES - self.superblock()["place"]
        self.flip(other + 100)
        got = self.json("verify", "--json", "book.rem")
        self.assertEqual((got["whole"], got["torn_superblock"], got["version"]), (True, True, 10))
        self.assertIn(f"byte {other} is torn", self.text("verify", "book.rem")[0])
        self.rem("copy", "book.rem", "copy.rem")
        self.assertFalse(self.json("verify", "--json", "copy.rem")["torn_superblock"])

    def test_of_the_superblock_that_rules_a_closed_heap_is_told_by_the_missing_log(self):
        self.make()
        place = self.superblock()["place"]
        self.flip(place + 100)
        self.check(place)

    def test_of_both_superblocks_leaves_nothing_to_be_said(self):
        self.make()
        self.flip(100)
        self.flip(SUPERBLOCK_BYTES + 100)
        got = self.check(0)
        self.assertEqual(got["roots"], [])
        for name in ("info", "ls"):
            self.assertIn("superblock", self.text(name, "book.rem", code=DAMAGE)[1])

    def test_of_superblocks_that_are_zeros_or_do_not_agree_is_told(self):
        self.make()
        whole = self.read()
        zeros = bytes(SUPERBLOCK_BYTES)
        foreign = bytearray(whole[:SUPERBLOCK_BYTES])
        foreign[8:12] = struct.pack("<I", 99)
        damaged = bytearray(whole[SUPERBLOCK_BYTES : 2 * SUPERBLOCK_BYTES])
        damaged[100] ^= 1
        for first, second in ((zeros, zeros), (foreign, damaged), (foreign, zeros), (damaged, foreign)):
            with open(self.heap, "wb") as file:
                file.write(bytes(first) + bytes(second) + whole[2 * SUPERBLOCK_BYTES :])
            self.assertEqual(self.json("verify", "--json", "book.rem", code=DAMAGE)["problems"][0]["offset"], 0)

    def test_is_an_exit_code_even_if_it_cannot_be_told(self):
        places = self.make()
        self.flip(self.place_in_file(places["elements"]))
        for words in (["verify"], ["verify", "--json"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([REM, *words, self.heap], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, DAMAGE)
            self.assertIn(b"standard output", done.stderr)

    def test_of_the_checksum_table_is_told_where_it_is(self):
        self.make()
        slots = [self.superblock()["table"], self.superblock()["table"] + 4096]
        for slot in slots:
            self.flip(slot + 40)
        got = self.json("verify", "--json", "book.rem", code=DAMAGE)
        self.assertIn("checksum table", got["problems"][0]["what"])
        self.assertIn(got["problems"][0]["offset"], slots)
        self.assertFalse(got["allocator_checked"])
        self.rem("copy", "book.rem", "copy.rem", code=DAMAGE)

    def test_of_the_chunk_map_is_told_and_hides_no_root(self):
        self.make()
        where = self.superblock()
        self.assertGreater(where["map_count"], 0)
        self.flip(where["map"])
        got = self.check(where["map"])
        self.assertEqual(set(self.states(got).values()), {"whole"})

    def records(self):
        """Where records begin in the log."""
        data = self.read(self.log)
        at, found = RECORDS_BEGIN, []
        while data[at : at + 8] == b"RMRECORD":
            found.append(at)
            payload = struct.unpack_from("<Q", data, at + 56)[0]
            at += (96 + payload + 511) // 512 * 512
        return found

    def test_within_the_log_keeps_the_commits_before_it(self):
        self.make("killed")
        records = self.records()
        self.assertEqual(len(records), 10)
        self.flip(records[5] + 20, self.log)
        got = self.check(records[5], file=self.log)
        self.assertEqual((got["version"], got["log_records_checked"]), (5, 5))
        self.assertEqual([name for name in self.states(got)], [name for name in ROOTS if name not in ("late", "table")])
        self.assertEqual(set(self.states(got).values()), {"whole"})
        info = self.json("info", "--json", "book.rem", code=DAMAGE)
        self.assertEqual((info["version"], info["log"]["commits"]), (5, 5))

    def test_of_the_last_record_is_a_torn_tail_and_no_damage(self):
        self.make("killed")
        self.flip(self.records()[9] + 20, self.log)
        got = self.json("verify", "--json", "book.rem")
        self.assertEqual((got["whole"], got["version"]), (True, 9))

    def test_of_the_log_header_is_told(self):
        self.make("killed")
        self.flip(20, self.log)
        self.check(0, file=self.log)

    def test_by_a_missing_log_is_told(self):
        self.make("killed")
        os.remove(self.log)
        got = self.json("verify", "--json", "book.rem", code=DAMAGE)
        self.assertIn("is not there", got["problems"][0]["what"])
        self.assertEqual((got["version"], got["roots"]), (0, []))

    def test_by_another_heaps_log_is_told(self):
        self.make("killed", "other.rem")
        self.make("killed")
        os.replace(self.path("other.rem-log"), self.log)
        got = self.json("verify", "--json", "book.rem", code=DAMAGE)
        self.assertIn("belongs to another heap", got["problems"][0]["what"])

    def test_by_truncation_is_told_and_leaves_roots_before_the_end_whole(self):
        places = self.make()
        end = self.place_in_file(places["elements"]) // 4096 * 4096
        os.truncate(self.heap, end)
        got = self.check(end)
        states = self.states(got)
        self.assertFalse(got["allocator_checked"])  # its structures for the zeros, which lie further back, are cut off
        self.assertEqual(states["numbers"], "object_whole")
        self.assertNotIn("whole", states.values())
        self.assertGreater(len(got["problems"]), 40_000 * 8 // 4096)

    def test_by_truncation_of_a_heap_that_needs_its_log_is_told(self):
        places = self.make("killed")
        whole = self.read()
        self.assertEqual(self.json("info", "--json", "book.rem")["checkpoint_version"], 0)  # all of it is in the log
        for end in (self.place_in_file(places["elements"]) // 4096 * 4096, len(whole) - 4096):
            os.truncate(self.heap, end)
            got = self.check(end)
            self.assertIn("ends at byte", got["problems"][0]["what"])
            self.assertEqual(got["version"], 10)
            self.rem("copy", "book.rem", "-", code=DAMAGE)
            with open(self.heap, "wb") as file:
                file.write(whole)

    def test_by_truncation_within_the_superblocks_is_told(self):
        self.make()
        os.truncate(self.heap, 100)
        got = self.json("verify", "--json", "book.rem", code=DAMAGE)
        self.assertIn("ends at byte 100", got["problems"][0]["what"])

    def test_of_any_page_is_told_and_no_root_is_called_whole_that_lost_a_page(self):
        """One flipped bit in each page that holds anything: verify tells, or the page belongs to nothing."""
        places = self.make("killed")
        self.rem("copy", "book.rem", "copy.rem")
        whole = self.read(self.path("copy.rem"))
        home = self.superblock()["home"]
        parts = {"numbers": (places["elements"], 40_000 * 8), "table": (places["table"], 2000 * 8)}
        tried, found, lost = 0, 0, 0
        for page in range(0, len(whole), 4096):
            if not any(whole[page : page + 4096]):
                continue
            with open(self.path("bad.rem"), "wb") as file:
                file.write(whole)
            self.flip(page + next(i for i in range(4096) if whole[page + i]), self.path("bad.rem"))
            tried += 1
            done = subprocess.run([REM, "verify", "--json", self.path("bad.rem")], capture_output=True)
            self.assertIn(done.returncode, (OK, DAMAGE))
            found += done.returncode == DAMAGE
            if page < 2 * SUPERBLOCK_BYTES or page >= home:
                self.assertEqual(done.returncode, DAMAGE, f"page at {page}")
            states = {root["name"]: root["state"] for root in json.loads(done.stdout)["roots"]}
            for root, (begin, size) in parts.items():
                if begin - 4096 < page - home < begin + size:
                    self.assertNotEqual(states[root], "whole", f"page at {page}")
                    self.assertEqual(states["zeros"], "whole")
                    lost += 1
        print(f"{found} of {tried} pages with a flipped bit were told to be damaged, {lost} times with the root that lost it")
        self.assertGreaterEqual(lost, 40_000 * 8 // 4096)


class no_heap(RemTest):
    def each(self, path, part):
        for words in (["info"], ["ls"], ["verify"], ["copy"]):
            with self.subTest(words[0]):
                to = ["copy.rem"] if words == ["copy"] else []
                out, err = self.text(*words, path, *to, code=ERROR)
                self.assertEqual(out, "")
                self.assertIn(part, err)
                self.assertTrue(err.startswith("rem: "))
        self.assertFalse(os.path.exists(self.path("copy.rem")) or os.path.exists(self.path("copy.rem-new")))

    def test_missing(self):
        self.each("nothing", "No such file")

    def test_something_else(self):
        with open(self.path("notes"), "w") as file:
            file.write("not a heap " * 1000)
        self.each("notes", "is not a heap")

    def test_without_a_name(self):
        for words in (["info"], ["ls"], ["verify"]):
            self.assertIn("the name is empty", self.text(*words, "", code=USAGE)[1])

    def test_too_long_a_name_and_links_in_a_circle(self):
        self.each("x" * 300, "shorter name")
        os.symlink("b", self.path("a"))
        os.symlink("a", self.path("b"))
        self.each("a", "symbolic link")

    def test_empty(self):
        open(self.path("empty"), "w").close()
        self.each("empty", "is empty")

    def test_directory(self):
        self.each(".", "not a regular file")

    def test_pipe_is_not_waited_for(self):
        os.mkfifo(self.path("pipe"))
        self.each("pipe", "not a regular file")

    def test_newer_format(self):
        self.make()
        for place in (0, SUPERBLOCK_BYTES):
            with open(self.heap, "r+b") as file:
                file.seek(place + 8)
                file.write(struct.pack("<I", 99))
        self.each("book.rem", "has format 99")


class live_heap(RemTest):
    def test_is_told_of_as_of_its_last_commit(self):
        self.hold()
        got = self.json("info", "--json", "book.rem")
        self.assertEqual((got["version"], got["checkpoint_version"], got["clean"]), (10, 0, False))
        self.assertIn("another program has it open", self.text("info", "book.rem")[0])
        self.assertEqual([root["name"] for root in self.json("ls", "--json", "book.rem")["roots"]], ROOTS)
        self.assertTrue(self.json("verify", "--json", "book.rem")["whole"])

    def test_is_copied_and_left_alone(self):
        self.hold()
        before = self.state()
        self.rem("copy", "book.rem", "copy.rem")
        self.assertEqual(self.rem("copy", "book.rem", "-").stdout, self.read(self.path("copy.rem")))
        after = self.state()
        self.assertTrue(after.pop("copy.rem"))
        self.assertEqual(after, before)
        got = self.json("verify", "--json", "copy.rem")
        self.assertEqual((got["whole"], got["version"], got["log_records_checked"]), (True, 10, 0))

    def test_that_is_damaged_is_told_to_be_and_not_copied(self):
        self.hold()
        places = self.places
        at = self.place_in_file(places["elements"] + 100_000)
        self.flip(at)
        before = self.state()
        got = self.json("verify", "--json", "book.rem", code=DAMAGE)
        self.assertEqual([problem["offset"] for problem in got["problems"]], [at // 4096 * 4096])
        self.assertEqual({root["name"] for root in got["roots"] if root["state"] != "whole"}, {"numbers"})
        self.rem("copy", "book.rem", "copy.rem", code=DAMAGE)
        self.rem("copy", "book.rem", "-", code=DAMAGE)
        self.assertEqual(self.state(), before)

    def test_that_is_written_to_as_fast_as_possible_is_copied_whole(self):
        """Each copy holds exactly one commit, none older than the last one acknowledged before the copy began."""
        process = subprocess.Popen([MAKE_HEAP, self.heap, "busy"], stdout=subprocess.PIPE, text=True)
        acknowledged = [0]

        def listen():
            for line in process.stdout:
                acknowledged[0] = int(line)

        listener = threading.Thread(target=listen)
        listener.start()

        def end():
            process.kill()
            process.wait()
            listener.join()
            process.stdout.close()

        self.addCleanup(end)
        while acknowledged[0] < 5:
            time.sleep(0.01)
        copied, given_up, later, looked_at = 0, 0, 0, 0
        for _ in range(60):
            before = acknowledged[0]
            done = subprocess.run(
                [REM, "copy", "--force", self.heap, self.path("copy.rem")], capture_output=True, text=True
            )
            if done.returncode == ERROR:
                self.assertIn("faster than it can be read", done.stderr)
                given_up += 1
                continue
            self.assertEqual((done.returncode, done.stderr), (OK, ""))
            self.rem("verify", "copy.rem")
            number = int(subprocess.run([MAKE_HEAP, self.path("copy.rem"), "same"], capture_output=True, check=True).stdout)
            self.assertGreaterEqual(number, before)
            copied += 1
            later += number > before
            seen = subprocess.run([REM, "verify", self.heap], capture_output=True, text=True)
            self.assertIn(seen.returncode, (OK, ERROR), seen.stdout + seen.stderr)
            looked_at += seen.returncode == OK
        self.assertIsNone(process.poll(), "the writer noticed")
        print(
            f"{copied} copies of {acknowledged[0]} commits, {later} of one made meanwhile; {given_up} given up; "
            f"{looked_at} verified while live"
        )
        self.assertGreater(copied, 30)


class copy(RemTest):
    def test_of_a_closed_heap_is_equal_to_it(self):
        self.make()
        self.assertEqual(self.text("copy", "book.rem", "copy.rem"), ("", ""))
        self.assertEqual(self.read(self.path("copy.rem")), self.read())
        self.assertEqual(sorted(os.listdir(self.directory)), ["book.rem", "copy.rem"])

    def test_of_a_heap_without_a_commit_is_equal_to_it(self):
        subprocess.run([MAKE_HEAP, self.path("empty.rem"), "empty"], check=True)
        self.rem("copy", "empty.rem", "copy.rem")
        self.assertEqual(self.read(self.path("copy.rem")), self.read(self.path("empty.rem")))
        self.assertEqual(self.json("verify", "--json", "copy.rem")["roots"], [])

    def test_of_a_killed_programs_heap_holds_its_last_commit_and_leaves_it_alone(self):
        self.make("killed")
        before = self.state()
        self.rem("copy", "book.rem", "copy.rem")
        after = self.state()
        self.assertTrue(after.pop("copy.rem"))
        self.assertEqual(after, before)
        got = self.json("info", "--json", "copy.rem")
        self.assertEqual((got["version"], got["clean"], got["log"]["present"]), (10, True, False))

    def test_is_what_a_recovery_of_the_heap_itself_makes(self):
        self.make("killed")
        self.rem("copy", "book.rem", "copy.rem")
        subprocess.run([MAKE_HEAP, self.heap, "reopen"], check=True)
        self.assertFalse(os.path.exists(self.log))
        self.assertEqual(self.read(self.path("copy.rem")), self.read())

    def test_keeps_holes_and_permissions(self):
        self.make()
        os.chmod(self.heap, 0o640)
        self.rem("copy", "book.rem", "copy.rem")
        status = os.stat(self.path("copy.rem"))
        self.assertEqual(status.st_mode & 0o777, 0o640)
        self.assertLess(status.st_blocks * 512, status.st_size - 1_000_000)

    def test_goes_through_a_pipe(self):
        self.make("killed")
        self.rem("copy", "book.rem", "copy.rem")
        self.assertEqual(self.rem("copy", "book.rem", "-").stdout, self.read(self.path("copy.rem")))

    def test_to_a_pipe_whose_reader_goes_away_is_an_error(self):
        self.make()
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([REM, "copy", self.heap, "-"], stdout=write, stderr=subprocess.PIPE)
        os.close(write)
        self.assertEqual(done.returncode, ERROR)
        self.assertIn(b"Broken pipe", done.stderr)

    def test_to_a_full_output_is_an_error(self):
        self.make()
        with open("/dev/full", "wb") as full:
            for words in (["copy", "book.rem", "-"], ["info", "book.rem"], ["ls", "book.rem"], ["verify", "book.rem"]):
                done = subprocess.run([REM, *words], stdout=full, stderr=subprocess.PIPE, cwd=self.directory)
                self.assertEqual(done.returncode, ERROR, words)
                self.assertIn(b"standard output", done.stderr)

    def test_of_the_help_to_a_full_output_is_an_error(self):
        for words in (["--help"], ["--version"], ["copy", "--help"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([REM, *words], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, ERROR, words)
            self.assertIn(b"standard output", done.stderr)

    def test_that_somebody_makes_already_is_said_to_be_under_way(self):
        subprocess.run([MAKE_HEAP, self.heap, "large"], check=True)
        for _ in range(20):  # until the second comes in time
            first = subprocess.Popen([REM, "copy", self.heap, "copy.rem"], cwd=self.directory)
            while first.poll() is None and not self.size_of("copy.rem-new"):
                time.sleep(0.0005)
            first.send_signal(signal.SIGSTOP)
            second = subprocess.run([REM, "copy", self.heap, "copy.rem"], cwd=self.directory, capture_output=True)
            first.send_signal(signal.SIGCONT)
            self.assertEqual(first.wait(), OK)
            if b"just being created" in second.stderr:
                break
            os.remove(self.path("copy.rem"))
        else:
            self.fail("20 copies were done before another could meet them")
        self.assertEqual(second.returncode, ERROR)
        self.assertEqual(sorted(os.listdir(self.directory)), ["book.rem", "copy.rem"])

    def test_to_no_name_or_to_a_directory_is_refused(self):
        self.make()
        self.assertIn("the name is empty", self.text("copy", "book.rem", "", code=USAGE)[1])
        self.assertIn("names a directory", self.text("copy", "book.rem", "missing/", code=ERROR)[1])
        self.assertEqual(os.listdir(self.directory), ["book.rem"])

    def test_does_not_overwrite_unless_forced(self):
        self.make()
        with open(self.path("copy.rem"), "w") as file:
            file.write("precious")
        _, err = self.text("copy", "book.rem", "copy.rem", code=ERROR)
        self.assertIn("--force", err)
        self.assertEqual(self.read(self.path("copy.rem")), b"precious")
        self.rem("copy", "--force", "book.rem", "copy.rem")
        self.assertEqual(self.read(self.path("copy.rem")), self.read())
        self.assertEqual(sorted(os.listdir(self.directory)), ["book.rem", "copy.rem"])

    def test_onto_itself_is_refused(self):
        self.make()
        os.link(self.heap, self.path("link.rem"))
        before = self.read()
        for to in ("book.rem", "./book.rem", "link.rem"):
            self.assertIn("same file", self.text("copy", "--force", "book.rem", to, code=ERROR)[1])
        self.assertEqual(self.read(), before)

    def test_onto_a_heap_in_use_is_refused(self):
        self.hold()
        self.make(name="other.rem")
        before = self.read()
        self.assertIn("is open", self.text("copy", "--force", "other.rem", "book.rem", code=ERROR)[1])
        self.assertEqual(self.read(), before)

    def test_beside_a_log_is_refused(self):
        self.make("killed")
        self.make(name="other.rem")
        os.remove(self.heap)
        self.assertIn("in the way", self.text("copy", "--force", "other.rem", "book.rem", code=ERROR)[1])
        self.assertFalse(os.path.exists(self.heap))

    def test_where_nothing_can_be_written_is_an_error(self):
        self.make()
        for to in ("/sys/copy.rem", "no/such/directory/copy.rem", "."):
            _, err = self.text("copy", "book.rem", to, code=ERROR)
            self.assertTrue(err.startswith("rem: "), err)
        self.assertEqual(os.listdir(self.directory), ["book.rem"])

    def test_that_outgrows_its_limit_leaves_what_was_there(self):
        self.make()
        with open(self.path("copy.rem"), "w") as file:
            file.write("precious")
        done = self.rem(
            "copy",
            "--force",
            "book.rem",
            "copy.rem",
            code=ERROR,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
        )
        self.assertIn(b"File too large", done.stderr)
        self.assertEqual(self.read(self.path("copy.rem")), b"precious")
        self.assertEqual(sorted(os.listdir(self.directory)), ["book.rem", "copy.rem"])

    def test_to_where_the_heaps_own_log_belongs_is_refused(self):
        self.make()
        before = self.read(self.path("book.rem"))
        for force in [[], ["--force"]]:
            done = self.rem("copy", *force, "book.rem", "book.rem-log", code=ERROR)
            self.assertIn(b"redo log", done.stderr)
        self.assertEqual(sorted(os.listdir(self.directory)), ["book.rem"])
        self.assertEqual(self.read(self.path("book.rem")), before)

    def test_to_a_full_disk_leaves_nothing_behind(self):
        self.make()
        disk = self.path("disk")
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True).returncode:
            self.skipTest("this machine or container does not let us mount a file system")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        _, err = self.text("copy", "book.rem", "disk/copy.rem", code=ERROR)
        self.assertIn("No space left", err)
        self.assertEqual(os.listdir(disk), [])

    def size_of(self, name):
        try:
            return os.path.getsize(self.path(name))
        except FileNotFoundError:
            return 0

    def test_that_is_interrupted_leaves_nothing_behind(self):
        subprocess.run([MAKE_HEAP, self.heap, "large"], check=True)
        for _ in range(20):  # until a signal comes in time
            process = subprocess.Popen([REM, "copy", self.heap, "copy.rem"], cwd=self.directory)
            while process.poll() is None and not self.size_of("copy.rem-new"):
                time.sleep(0.0005)
            process.terminate()
            if process.wait() == -signal.SIGTERM:
                break
            os.remove(self.path("copy.rem"))
        else:
            self.fail("20 copies were done before a signal could reach them")
        self.assertEqual(os.listdir(self.directory), ["book.rem"])

    def test_goes_over_what_an_interrupted_one_left(self):
        self.make()
        with open(self.path("copy.rem-new"), "wb") as file:
            file.write(b"\x89REMC\r\n\x1a" + b"\0" * 8184 + b"x" * 5_000_000)
        self.rem("copy", "book.rem", "copy.rem")
        self.assertEqual(self.read(self.path("copy.rem")), self.read())

    def test_goes_over_no_heap_and_no_file_of_somebody_else(self):
        self.make()
        self.make(name="other.rem")
        for name in ("other.rem", os.path.basename(__file__)):
            shutil.copy(self.path(name) if name == "other.rem" else __file__, self.path("copy.rem-new"))
            before = self.read(self.path("copy.rem-new"))
            self.assertIn("is in the way", self.text("copy", "book.rem", "copy.rem", code=ERROR)[1])
            self.assertEqual(self.read(self.path("copy.rem-new")), before)

    def test_to_where_another_heaps_log_belongs_is_refused(self):
        self.make()
        self.make(name="other.rem")
        before = self.state()
        self.assertIn("redo log", self.text("copy", "--force", "book.rem", "other.rem-log", code=ERROR)[1])
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
