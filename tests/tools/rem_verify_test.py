"""rem_verify_test.py REM MAKE_HEAP SOURCE [unittest options]: verify on whole and damaged heaps.

A run: of 101 pages that hold anything each was noticed, 80 of them at one of two known roots.
"""

import json
import os
import struct
import subprocess

from rem_support import DAMAGE, LEAKS, MAKE_HEAP, OK, POINTERS, RECORDS_BEGIN, REM, ROOTS, SUPERBLOCK_BYTES, RemTest, main, repeating


class verify(RemTest):
    def test_finds_nothing_wrong_with_a_whole_heap(self):
        for end in ("closed", "killed"):
            with self.subTest(end):
                self.make(end, end)
                got = self.json("verify", "--json", end)
                self.assertEqual(
                    list(got),
                    "path whole version pages_checked log_records_checked allocator_checked blocks_checked "
                    "torn_superblock all_checked problems roots history".split(),
                )
                self.assertIsNone(got["history"])
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

    def test_finds_no_pointer_that_leaves_a_heap_without_one(self):
        for end in ("closed", "killed"):
            with self.subTest(end):
                self.make(end, end)
                got = self.json("verify", "--pointers", "--json", end)
                self.assertEqual((got["pointers_found"], got["pointers"]), (0, []))
                self.assertIn("no word looks like a pointer", self.text("verify", "--pointers", end)[0])

    def test_finds_no_leak_where_roots_reach_all_blocks(self):
        for end in ("closed", "killed", "distances", "objects", "empty", "history"):
            with self.subTest(end):
                made = [MAKE_HEAP, self.path(end), end]
                subprocess.run(made, capture_output=True, check=True)
                self.assertEqual(self.json("verify", "--leaks", "--json", end)["leaks"], {"blocks": 0, "bytes": 0, "classes": []})
                self.assertIn("roots reach all blocks", self.text("verify", "--leaks", end)[0])

    def test_counts_the_blocks_that_no_root_reaches(self):
        self.make("stray")
        got = self.json("verify", "--leaks", "--json", "book.rem", code=LEAKS)
        self.assertEqual(got["leaks"], {"blocks": 1, "bytes": 8, "classes": [{"block_bytes": 8, "blocks": 1}]})
        self.assertIn("1 block of 8 bytes that no root reaches:\n", self.text("verify", "--leaks", "book.rem", code=LEAKS)[0])
        self.rem("verify", "--leaks", "--pointers", "book.rem", code=POINTERS)

    def test_finds_pointers_that_leave_the_heap_and_names_root_type_and_place(self):
        self.make("stray")
        self.assertTrue(self.json("verify", "--json", "book.rem")["whole"])  # nobody asked
        got = self.json("verify", "--pointers", "--json", "book.rem", code=POINTERS)
        self.assertTrue(got["whole"])
        self.assertEqual(got["pointers_found"], 3)
        below_root = [each for each in got["pointers"] if each["root"] == "stray"]
        self.assertEqual([each["root"] for each in got["pointers"] if each not in below_root], [None])
        self.assertEqual({each["type"] for each in below_root}, {"rem::vector<int const*>"})
        self.assertEqual([each["heap_offset"] for each in below_root], [self.places["word"], self.places["word"] + 8])
        self.assertIn("where other heaps lie", below_root[1]["what"])
        self.assertEqual([each["what"].split(": ")[0] for each in below_root], ["stray[1]", "stray[2]"])
        text = self.text("verify", "--pointers", "book.rem", code=POINTERS)[0]
        self.assertIn("3 words look like pointers that leave the heap", text)
        for each in got["pointers"]:
            self.assertIn(each["what"], text)
        self.assertRegex(text, r'byte 8 of the block of \d+ bytes at heap offset \d+, below the root "stray" of type')
        self.assertIn("which no root reaches", text)

    def test_looks_for_pointers_in_what_of_a_damaged_heap_can_be_read(self):
        self.make("stray")
        self.flip(self.place_in_file(self.places["word"]))
        got = self.json("verify", "--pointers", "--json", "book.rem", code=DAMAGE)
        self.assertFalse(got["whole"])
        self.assertNotIn(self.places["word"], [each["heap_offset"] for each in got.get("pointers", [])])



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

    def test_of_a_page_that_a_container_without_addresses_reaches_is_told_of_that_root(self):
        for name in ("hash", "tree", "packed", "beside"):
            with self.subTest(name):
                for old in os.listdir(self.directory):
                    os.remove(self.path(old))
                at = self.place_in_file(self.make("distances")[name])
                self.flip(at)
                states = self.states(self.check(at // 4096 * 4096))
                self.assertEqual(states[name], "reaches_damage")
                self.assertEqual(states["numbers" if name == "beside" else "beside"], "whole")

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
            said = self.json(name, "--json", "book.rem", code=DAMAGE)
            self.assertEqual(list(said), ["path", "error"])
            self.assertIn("superblock", said["error"])

    def test_of_superblocks_that_are_noise_is_told_by_what_is_left_of_the_heap(self):
        self.make()
        with open(self.heap, "r+b") as file:
            file.write(repeating.randoms(self).randbytes(2 * SUPERBLOCK_BYTES))
        got = self.check(0)
        self.assertIn("a heap's memory begins at byte", got["problems"][0]["what"])

    def test_by_a_cut_within_the_other_superblock_does_not_say_that_nothing_is_lost(self):
        self.make()
        for end in (5000, SUPERBLOCK_BYTES, 8191):
            os.truncate(self.heap, end)
            got = self.json("verify", "--json", "book.rem", code=DAMAGE)
            self.assertNotIn("nothing is lost", str(got["problems"]))

    def test_by_a_cut_to_nothing_beside_the_log_says_to_keep_the_log(self):
        self.make("killed")
        os.truncate(self.heap, 0)
        for words in (["info"], ["ls"], ["copy"]):
            err = self.text(*words, "book.rem", *(["copy.rem"] if words == ["copy"] else []), code=DAMAGE)[1]
            self.assertIn("Keep that log", err)
            self.assertNotIn("Remove it", err)
        self.assertIn("Keep that log", self.json("verify", "--json", "book.rem", code=DAMAGE)["problems"][0]["what"])

    def test_of_what_the_library_keeps_is_told_although_all_checksums_fit(self):
        for what in ("header", "roots", "allocator"):
            with self.subTest(what):
                self.make("forged_" + what)
                before = self.state()
                got = self.json("verify", "--json", "book.rem", code=DAMAGE)
                self.assertTrue(got["problems"])
                for to in ("copy.rem", "-"):  # all pages are as they were committed, and yet it would be no heap
                    self.assertEqual(self.rem("copy", "--force", "book.rem", to, code=DAMAGE).stdout, b"")
                self.assertEqual(self.state(), before)
                os.remove(self.heap)
                os.remove(self.log)

    def test_of_the_schema_is_told_although_all_checksums_fit_and_no_root_is_lost(self):
        for what in ("schema", "type_table"):
            with self.subTest(what):
                place = self.make("forged_" + what)["place"]
                before = self.state()
                got = self.json("verify", "--json", "book.rem", code=DAMAGE)
                self.assertFalse(got["whole"])
                self.assertEqual([each["offset"] for each in got["problems"]], [self.place_in_file(place)])
                said = f"is damaged at heap offset {place}"
                self.assertIn(said, got["problems"][0]["what"])
                self.assertEqual(self.states(got), {"place": "whole"})
                self.assertIn(": damaged\n", self.text("verify", "book.rem", code=DAMAGE)[0])
                for command in ("schema", "dump"):
                    self.assertIn(said, self.text(command, "book.rem", code=DAMAGE)[1])
                self.rem("ls", "book.rem")
                self.assertEqual(self.state(), before)
                self.rem("copy", "book.rem", "copy.rem")  # the roots are whole, and verify says the same of the copy
                self.assertFalse(self.json("verify", "--json", "copy.rem", code=DAMAGE)["whole"])
                for name in os.listdir(self.directory):
                    os.remove(self.path(name))

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
        self.assertLess(len(got["problems"]), 10)  # all pages that lie behind each other are one
        self.assertGreaterEqual(got["problems"][1]["bytes"], 40_000 * 8)
        self.assertIn("missing, since the file ends at byte", got["problems"][1]["what"])
        self.assertRegex(self.text("verify", "book.rem", code=DAMAGE)[0], rf"pages \d+ to \d+: missing, .* byte {end}\b")

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


if __name__ == "__main__":
    main()
