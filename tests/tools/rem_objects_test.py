"""rem_objects_test.py REM MAKE_HEAP SOURCE [unittest options]: objects of heaps, printed without the program that wrote them."""

import gzip
import json
import os
import shutil
import struct
import subprocess
import sys

from rem_support import DAMAGE, ERROR, USAGE, RemTest, main

INCLUDE = os.path.join(os.path.abspath(sys.argv[3]), "..", "..", "include")


class Dump:
    """A reader of the portable form, after docs/reference/dump.md. It needs nothing of Remanence."""

    def __init__(self, text):
        lines = [json.loads(line) for line in text.decode().splitlines()]
        head, *body, end = lines
        if head.get("remanence_dump") != 1:
            raise ValueError("no dump of a form that is known")
        if not end.get("end") or end["lines"] != len(lines) - 1:
            raise ValueError("the dump is not whole")
        self.schemas, self.roots, self.objects, self.types = {}, {}, {}, {}
        elements = None
        for line in body:
            if "types" in line:
                self.schemas[line["schema"]] = line["types"]
            elif "root" in line or "object" in line:
                name = line.get("root", line.get("object"))
                elements = [] if "elements" in line else None
                value = elements if "elements" in line else line.get("value")
                (self.roots if "root" in line else self.objects)[name] = value
                if "type" in line:
                    self.types[name] = self.schemas[line["schema"]][line["type"]]
            elif "k" in line:
                elements.append([line["k"], line["v"]])
            else:
                elements.append(line["v"])

    def follow(self, reference):
        owner, *steps = reference["$ref"]
        value = (self.roots if isinstance(owner, str) else self.objects)[owner]
        for step in steps:
            value = value[step]
        return value


def lines_of_cbor(data):
    """The binary form as lines of the portable one; RFC 8949."""
    at = 0

    def item():
        nonlocal at
        kind, info = data[at] >> 5, data[at] & 31
        at += 1
        value = info
        if info >= 24:
            size = 1 << (info - 24)
            raw = data[at : at + size]
            value = int.from_bytes(raw, "big")
            at += size
        if kind in (2, 3):
            at += value
            text = data[at - value : at]
            return {"$bytes": text.hex()} if kind == 2 else text.decode()
        if kind == 4:
            return [item() for _ in range(value)]
        if kind == 5:
            return {item(): item() for _ in range(value)}
        if kind == 6:
            inner = item()
            return inner if value == 55799 else json.loads(bytes.fromhex(inner["$bytes"]))
        if kind == 7:
            return {20: False, 21: True, 22: None}[info] if info < 24 else struct.unpack(">f" if info == 26 else ">d", raw)[0]
        return value if kind == 0 else -1 - value

    while at != len(data):
        yield item()


def compile_header(test, text):
    compiler = shutil.which("g++-12") or shutil.which("g++")
    if compiler is None:
        test.skipTest("no compiler")
    header = test.path("types.cpp")
    with open(header, "w") as file:
        file.write(text.replace("#pragma once", ""))
    done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-I", INCLUDE, header], capture_output=True)
    test.assertEqual(done.returncode, 0, text + done.stderr.decode())


class objects(RemTest):
    def setUp(self):
        super().setUp()
        self.make("objects")

    def get(self, path):
        return self.json("get", "book.rem", path)

    def dump(self, *root):
        return Dump(self.rem("dump", "book.rem", *root).stdout)

    def test_get_finds_members_elements_and_keys(self):
        self.assertEqual(self.get('people["KNUTH"][0].city'), "Stanford")
        self.assertEqual(self.get('people["KNUTH"][1].city'), "M\u00fcnchen")
        self.assertEqual(self.get('people["ADA"]'), [{"street": "St James's Square 12", "city": "London", "zip": 0}])
        self.assertEqual(self.get('people["ADA"][0].city'), "London")
        self.assertEqual([each["zip"] for each in self.get('people["KNUTH"]')], [94305, 80331])
        self.assertEqual(self.get("shapes.hash_map[42]"), "42")
        self.assertEqual(self.get('shapes.btree_map["key 7"][1]'), 8)
        self.assertEqual(self.get("shapes.deque[3]"), 303)
        self.assertEqual(self.get("numbers.grid[1][2]"), 6)
        self.assertEqual(self.get("account.number_"), 8)
        self.assertEqual(self.get("account.app::base.of_base"), 11)
        self.assertEqual(self.get("account"), {"app::base": {"of_base": 11}, "number_": 8, "balance_": 2.5, "at_": []})
        self.assertEqual(self.get('odd "name".[1]'), 3)

    def test_get_follows_pointers_optionals_and_variants(self):
        self.assertEqual(self.get("ring.next.next.value"), 3)
        self.assertEqual(self.get("ring.next.next.next.value"), 1)
        self.assertEqual(self.get("ring.next.home"), {"street": "alone", "city": "Bonn", "zip": 53111})
        self.assertIsNone(self.get("ring.home"))
        self.assertEqual(self.get("shapes.some"), [5])
        self.assertIsNone(self.get("shapes.none"))

    def test_get_says_what_there_is_instead(self):
        def error_of(path):
            return self.text("get", "book.rem", path, code=ERROR)[1]

        self.assertIn("It has: account, empty, numbers", error_of("nobody"))
        self.assertIn("there is no numbers.weight: the members of app::numbers are yes, letter,", error_of("numbers.weight"))
        self.assertIn('there is no people["BABBAGE"].', error_of('people["BABBAGE"]'))
        self.assertIn('there is no people["ADA"].city: a key may have several elements here, and has 1. [0] is the first', error_of('people["ADA"].city'))
        self.assertIn('there is no people["ADA"][1].', error_of('people["ADA"][1]'))
        self.assertIn("there is no shapes.vector[3].", error_of("shapes.vector[3]"))
        self.assertIn('"people[" is no path', error_of("people["))
        self.assertIn("is no path: at its character 8", error_of("people.."))
        self.assertIn("there is no ring.home.city: the pointer ring.home is null", error_of("ring.home.city"))
        self.assertIn("there is no shapes.none.x: shapes.none is empty", error_of("shapes.none.x"))
        self.assertIn("has no elements that are known", error_of("numbers[0]"))
        self.rem("get", "book.rem", code=USAGE)

    def test_dump_has_every_object_as_the_program_wrote_it(self):
        dump = self.dump()
        self.assertEqual(
            dump.roots["numbers"],
            {
                "yes": True, "letter": "x", "small": -5, "byte": 200, "medium": -30000, "large": 2**64 - 1, "negative": -(2**63),
                "third": 0.33333334, "tenth": 0.1, "infinite": "inf", "known": "blue", "unknown": 77, "name": "ann",
                "grid": [[1, 2, 3], [4, 5, 6]],
            },
        )
        self.assertEqual([key for key, _ in dump.roots["people"]], ["ADA", "KNUTH", "KNUTH"])
        self.assertEqual(dump.roots["people"][2][1]["street"], '"Quoted" \\ street\n')
        self.assertEqual(dump.roots["empty"], [])
        shapes = dump.roots["shapes"]
        self.assertEqual(shapes.pop("deque"), list(range(300, 1000)))
        self.assertEqual(shapes.pop("btree_set"), list(range(1000)))
        self.assertEqual(sorted(shapes.pop("hash_map")), [[i, str(i)] for i in range(100)])
        keys = sorted(f"key {i}" for i in range(100))
        self.assertEqual(shapes.pop("btree_map"), [[key, [int(key[4:]), int(key[4:]) + 1]] for key in keys])
        self.assertEqual(
            shapes,
            {
                "vector": [1, 2, 3], "list": ["first", "a text that is too long for the object itself"], "forward_list": [7, 8],
                "map": [[1, "one"], [2, "two"]], "multimap": [["k", 1], ["k", 2]], "set": [1, 2, 3], "unordered_map": [["x", 10]],
                "unordered_set": [4], "hash_set": ["member"], "vector_pi": [0.5, 1.5], "short_text": "short",
                "long_text": "a text that is too long for the object itself", "bytes": {"$bytes": "ff01"}, "some": [5], "none": None,
                "variant": {"$holds": "rem::string", "value": "text"}, "pair": {"first": 1, "second": "one"},
                "tuple": {"0": "t", "1": 2.5, "2": 3}, "array": [7, 8, 9], "atomic": 42, "seconds": 90,
            },
        )

    def test_dump_tells_pointers_by_the_way_to_what_they_point_at(self):
        dump = self.dump()
        second = dump.follow(dump.roots["ring"]["next"])
        third = dump.follow(second["next"])
        self.assertEqual((second["value"], third["value"]), (2, 3))
        self.assertIs(dump.follow(third["next"]), dump.roots["ring"])
        self.assertIs(dump.follow(second["home"]), dump.follow(third["home"]))
        self.assertEqual(dump.follow(third["home"])["city"], "Bonn")
        self.assertEqual(len(dump.objects), 3)

    def test_dump_says_what_types_consist_of(self):
        dump = self.dump()
        people = dump.types["people"]
        self.assertEqual((people["name"], people["shape"]), ("rem::btree_multimap<rem::string, app::address>", "keyed"))
        numbers = {member["name"]: member for member in dump.types["numbers"]["members"]}
        self.assertEqual(numbers["grid"]["offset"], 60)
        for types in dump.schemas.values():
            for each in types:
                if each["name"] == "app::colour":
                    self.assertEqual(each["enumerators"], {"red": 0, "green": 5, "blue": 6})

    def test_the_binary_form_is_the_same_in_fewer_bytes_and_is_loaded(self):
        text = self.rem("dump", "book.rem").stdout
        data = self.rem("dump", "--cbor", "book.rem").stdout
        self.assertTrue(data.startswith(b"\xd9\xd9\xf7"))
        self.assertEqual(list(lines_of_cbor(data)), [json.loads(line) for line in text.decode().splitlines()])
        self.assertLess(len(data), len(text))
        self.load(data)
        now = Dump(self.rem("dump", "new.rem").stdout)
        now.roots["shapes"]["hash_map"].sort()
        was = Dump(text)
        was.roots["shapes"]["hash_map"].sort()
        self.assertEqual(was.roots, now.roots)
        self.assertIn("an item does not end", self.load(data[:-3], "other.rem", ERROR))

    def test_bit_fields_are_told_by_the_bytes_that_are_no_members(self):
        self.make("bit_fields")
        dump = self.dump("flags")
        rest = dump.roots["flags"].pop("$rest")
        self.assertEqual(dump.roots["flags"], {"after": 7})
        self.assertEqual(len(rest), 8)
        self.assertEqual(int(rest[:2], 16) & 7, 6)
        self.assertEqual([member.get("offset") for member in dump.types["flags"]["members"]], [None, 4])
        text = self.rem("dump", "book.rem", "flags").stdout
        self.assertIn('lacks its bytes, "$rest"', self.load(text.replace(b'"$rest"', b'"$best"').replace(b',"$best":"' + rest.encode() + b'"', b""), code=ERROR))
        self.assertFalse(os.path.exists(self.path("new.rem")))
        self.load(text)
        self.assertEqual(self.rem("get", "new.rem", "flags").stdout, self.rem("get", "book.rem", "flags").stdout)

    def test_a_pointer_to_several_objects_is_refused_by_its_way(self):
        self.make("pointer_to_several")
        for arguments in ([], ["scores"], ["--cbor"]):
            out, why = self.text("dump", "book.rem", *arguments, code=ERROR)
            self.assertEqual(out, "")
            self.assertIn('scores["KNUTH"] leads to a int that is not known as one object', why)
        self.assertEqual(list(self.dump("people").roots), ["people"])

    def test_dump_of_one_root_has_no_other(self):
        self.assertEqual(list(self.dump("people").roots), ["people"])
        self.assertIn('has no root "nobody"', self.text("dump", "book.rem", "nobody", code=ERROR)[1])

    def load(self, text, heap="new.rem", code=0):
        done = subprocess.run([os.path.abspath(sys.argv[1]), "load", heap], input=text, capture_output=True, cwd=self.directory)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stderr.decode()

    def test_what_is_dumped_and_loaded_gives_the_same_dump(self):
        first = self.rem("dump", "book.rem").stdout
        self.load(first)
        second = self.rem("dump", "new.rem").stdout
        was, now = Dump(first), Dump(second)
        for dump in (was, now):
            dump.roots["shapes"]["hash_map"].sort()  # its order is that of a random number
        self.assertEqual(was.roots, now.roots)
        self.assertEqual(was.objects, now.objects)
        self.assertEqual(was.schemas, now.schemas)
        self.rem("verify", "new.rem")

    def test_a_dump_that_is_wrong_leaves_no_heap_and_changes_none(self):
        text = self.rem("dump", "book.rem", "people").stdout
        self.assertRegex(
            self.load(text.replace(b"94305", b"94305000000"), code=ERROR),
            r"line 5: 94305000000 is out of the range of int, in people\[1\]\.zip",
        )
        self.assertFalse(os.path.exists(self.path("new.rem")))
        self.assertIn("it is not whole", self.load(text[: text.rindex(b"\n", 0, -1) + 1], code=ERROR))
        self.assertIn("is not UTF-8", self.load(text.replace(b"Stanford", b"Stan\xff"), code=ERROR))
        self.assertIn('has a root "people" already', self.load(text, "book.rem", ERROR))
        self.load(text)
        self.load(self.rem("dump", "book.rem", "ring").stdout, "new.rem")
        self.assertEqual(self.rem("dump", "new.rem", "ring").stdout.count(b"object"), self.rem("dump", "book.rem", "ring").stdout.count(b"object"))

    def test_a_dump_that_was_cut_short_is_noticed(self):
        whole = self.rem("dump", "book.rem").stdout
        with self.assertRaises(ValueError):
            Dump(whole[: whole.rindex(b"\n", 0, -1) + 1])

    def test_the_printed_header_compiles_and_has_the_sizes_of_the_heap(self):
        text = self.text("schema", "--cpp", "book.rem")[0]
        self.assertIn("namespace app {\nstruct address {\n    rem::string street;\n    rem::string city;\n    int zip;\n};", text)
        self.assertIn("enum class colour : unsigned char { red = 0, green = 5, blue = 6 };", text)
        self.compile(text)

    def compile(self, text):
        compile_header(self, text)

    def test_the_printed_header_compiles_with_classes_that_do_not_say_their_members(self):
        self.make("hidden", "hidden.rem")
        text = self.text("schema", "--cpp", "hidden.rem")[0]
        self.assertIn("struct secret {\n    alignas(4) unsigned char hidden[8];\n};\nstatic_assert(sizeof(secret) == 8);", text)
        self.assertIn("    app::secret first;\n    app::wide_secret wide;\n    rem::vector<app::secret> several;\n", text)
        self.assertIn("unsigned char small[4]; // app::box<int>\n    app::secret* alone;\n", text)
        self.compile(
            text
            + """
            static_assert(sizeof(app::with_secrets::boxes) == sizeof(rem::map<int, int>));
            static_assert(sizeof(app::wide_secret) == 32 && alignof(app::wide_secret) == 32 && alignof(app::secret) == 4);
            static_assert(offsetof(app::with_secrets, wide) == 32 && offsetof(app::with_secrets, several) == 64);
            """
        )

    def test_schema_shows_types_members_and_enumerators(self):
        text = self.text("schema", "book.rem")[0]
        self.assertIn("people: rem::btree_multimap<rem::string, app::address>\n", text)
        self.assertIn("app::address 88/8 {0 rem::string street, 40 rem::string city, 80 int zip}\n", text)
        self.assertIn("app::account 48/8 {0 app::base, 4 int number_, 8 double balance_,", text)
        self.assertIn("app::colour = red 0, green 5, blue 6\n", text)

    def test_looking_changes_nothing(self):
        before = self.state()
        self.rem("schema", "book.rem")
        self.rem("get", "book.rem", "people")
        self.rem("dump", "book.rem")
        self.assertEqual(self.state(), before)


class odd(RemTest):
    def setUp(self):
        super().setUp()
        self.make("odd")

    def get(self, path):
        return self.json("get", "book.rem", path)

    def test_get_takes_every_key_as_a_dump_has_it(self):
        out = self.rem("dump", "book.rem").stdout
        dump = Dump(out)
        asked = 0
        for root in ("by_pair", "by_list", "by_text"):
            for key, value in dump.roots[root]:
                for spelled in (json.dumps(key), json.dumps(key, ensure_ascii=False), json.dumps(key, separators=(",", ":"))):
                    asked += 1
                    self.assertEqual(self.get(f"{root}[{spelled}]"), value)
        self.assertEqual(asked, 21)
        self.assertIn("there is no by_list", self.text("get", "book.rem", 'by_list[["a"]]', code=ERROR)[1])
        self.assertIn("is no path: at its character 17", self.text("get", "book.rem", 'by_list[["a","b"', code=ERROR)[1])

    def test_a_key_of_a_multimap_has_a_list_however_many_there_are(self):
        self.assertEqual(self.get("by_real[0.5]"), [[7, 8]])
        self.assertEqual(self.get("by_real[0.5][0]"), [7, 8])
        self.assertEqual(self.get("by_real[0.5][0][1]"), 8)
        self.assertEqual(self.get("by_real[1.5]"), [[9], [10]])

    def test_names_with_line_breaks_stay_on_their_line(self):
        text = self.text("schema", "book.rem")[0]
        self.assertIn("people\\nstruct broken {: rem::vector<person>\n", text)
        self.assertIn('// root "people\\nstruct broken {": rem::vector<person>\n', self.text("schema", "--cpp", "book.rem")[0])
        for line in self.text("ls", "book.rem")[0].splitlines():
            self.assertFalse(line.startswith("struct"))

    def test_the_printed_header_has_classes_of_no_namespace_with_pointers_and_arrays(self):
        text = self.text("schema", "--cpp", "book.rem")[0]
        self.assertIn("struct city {\n    rem::string name;\n    int grid[2][3];\n};", text)
        self.assertIn("struct person {\n    rem::string name;\n    city* home;\n    city* others[2];\n};", text)
        compile_header(self, text)


class salvage(RemTest):
    def test_one_damaged_page_is_refused_before_the_first_byte_and_left_out_by_salvage(self):
        self.make()
        self.flip(self.place_in_file(self.places["table"] + 8000))
        out, why = self.text("dump", "book.rem", code=DAMAGE)
        self.assertEqual(out, "")
        out, why = self.text("dump", "--salvage", "book.rem", code=DAMAGE)
        self.assertIn("table is left out: ", why)
        dump = Dump(out.encode())
        self.assertEqual(dump.roots["numbers"], list(range(1, 40001)))
        self.assertEqual(dump.roots["late"], 0)
        self.assertEqual(len(dump.roots["names"]), 100)
        self.assertNotIn("table", dump.roots)
        self.rem("load", "new.rem", input=out.encode())
        self.assertEqual(self.json("get", "new.rem", "numbers[39999]"), 40000)
        self.rem("dump", "--salvage", "--version", "1", "book.rem", code=USAGE)

    def test_a_heap_of_which_not_even_the_roots_can_be_read_is_refused(self):
        self.make()
        self.flip(self.place_in_file(self.places["names"]))  # on the page of the root directory
        self.assertEqual(self.text("dump", "--salvage", "book.rem", code=DAMAGE)[0], "")

    def test_elements_that_can_be_read_are_kept_and_others_are_named(self):
        self.make()
        self.flip(self.place_in_file(self.places["elements"] + 8 * 20000))
        self.assertEqual(self.text("dump", "book.rem", "numbers", code=DAMAGE)[0], "")
        out, why = self.text("dump", "--salvage", "book.rem", "numbers", code=DAMAGE)
        numbers = Dump(out.encode()).roots["numbers"]
        self.assertEqual(numbers, sorted(numbers))
        self.assertEqual(len(numbers), 40000 - 512)
        self.assertRegex(why, r"numbers\[\d+\] is left out: .*damaged")
        self.assertIn("and 492 more", why)

    def test_a_whole_heap_loses_nothing(self):
        self.make("objects")
        self.assertEqual(self.rem("dump", "--salvage", "book.rem").stdout, self.rem("dump", "book.rem").stdout)
        self.make("pointer_to_several")
        out, why = self.text("dump", "--salvage", "book.rem", code=ERROR)
        self.assertIn('scores["KNUTH"] leads to a int that is not known as one object', why)
        self.assertEqual(Dump(out.encode()).roots["scores"], [["KNUTH", None]])


class others(RemTest):
    def test_heaps_of_older_releases_say_that_they_have_no_schema(self):
        golden = os.path.join(INCLUDE, "..", "tests", "compat", "golden", "format-3")
        looked_at = 0
        for name in sorted(os.listdir(golden)):
            if not name.endswith(".rem.gz"):
                continue
            for part in (name, name.replace(".rem.gz", ".rem-log.gz")):
                if os.path.exists(os.path.join(golden, part)):
                    with gzip.open(os.path.join(golden, part)) as packed, open(self.path(part[:-3]), "wb") as file:
                        file.write(packed.read())
            heap = name[:-3]
            text = self.text("schema", heap)[0]
            if not text:
                continue
            looked_at += 1
            self.assertEqual(text.count("not stored: "), len(self.json("ls", "--json", heap)["roots"]))
            out, why = self.text("dump", heap, code=ERROR)
            self.assertEqual(out, "")
            root = self.json("ls", "--json", heap)["roots"][0]["name"]
            self.assertIn(f'the root "{root}" is a ', why)
            self.assertIn("of which the heap does not say what it consists of", why)
            out, why = self.text("dump", "--salvage", heap, code=ERROR)
            self.assertEqual(len(out.splitlines()), 2)
            self.assertIn(f'the root "{root}" is a ', why)
            self.assertIn("does not say what the root", self.text("get", heap, root, code=ERROR)[1])
        self.assertGreater(looked_at, 0)

    def test_an_object_that_leads_out_of_the_heap_is_told_with_its_place(self):
        self.make("forged_object", "forged.rem")
        said = self.text("get", "forged.rem", "text", code=DAMAGE)[1]
        self.assertRegex(said, r"at heap offset \d+ a rem::string with an address that does not lie in the heap")
        self.assertRegex(self.text("dump", "forged.rem", code=DAMAGE)[1], "with an address that does not lie in the heap")

    def test_reads_a_heap_that_a_program_changes_all_the_time(self):
        self.make("objects")
        process = subprocess.Popen([os.path.abspath(sys.argv[2]), self.heap, "change_objects"], stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"{}\n")
        commits = set()
        for _ in range(10):
            done = self.rem("dump", "book.rem").stdout
            dump = Dump(done)
            commits.add(json.loads(done.splitlines()[0])["commit"])
            self.assertEqual(len(dump.roots["changing"]), dump.roots["count"])
            for number, text in dump.roots["changing"]:
                self.assertEqual(text, "c" * (number % 100))
            self.assertEqual(self.json("get", "book.rem", 'people["ADA"][0].city'), "London")
        self.assertGreater(len(commits), 1)


if __name__ == "__main__":
    main()
