"""The pages name what is there: files, commands and options of rem, targets of make, presets, identifiers of C++ and C, runs of figures. They
do not grow without limit.

A C or C++ block says what it is in a comment before it. programs_test.py compiles a program or a file; quotes_test.py finds what is quoted from a
file. Anything else is

    <!-- fragment: why it cannot be compiled here -->

and a page has few of them. Their identifiers are looked up like those in the text.

A figure of a run stands in a paragraph, list or table that links or names a file of bench/results, which says the commit. A time that is the
default of an option is none: CONFIGURED lists these with the header that sets them.
"""

import fnmatch
import functools
import itertools
import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import pages  # noqa: E402
import programs_test  # noqa: E402
import repeating  # noqa: E402

WORDS_MAX = 45_000
CELL_WORDS_MAX = 40
FRAGMENTS_MAX = 3

SOURCE = re.compile(r"\.(?:cpp|hpp|h|c|py|md|json|patch|txt)\Z")
FILES_OF_OTHERS = {"xxhash.h", "threads.h"}
FILES_OF_READERS = {"main.c", "notes.c", "program.py"}
FILES_MADE = {"remanence.cpp"}  # by make amalgamation

OPTIONS_OF_OTHERS = {"--prefix", "--gc-sections", "--wrap", "--help"}  # of CMake, the linker, benchmarks

CODE = ("include/", "src/", "bindings/")
OTHER_CODE = (".ci/", "bench/", "cmake/", "examples/", "scripts/", "testing/", "tests/", "tools/")
# Of the system, of other libraries, and of programs that a page speaks of.
NAMES_OF_OTHERS = set(
    "CMAKE_MAP_IMPORTED_CONFIG_DEBUG CMAKE_PREFIX_PATH PAGEMAP_SCAN PKG_CONFIG_PATH SIGEV_THREAD assoc_init clone epoll_wait index_insert insque offset_ptr "
    "open_memstream pause_threads persistent_ptr scanf splice_after tsearch xmalloc".split()
)
STANDARD = {"std", "list", "map", "vector"}
EXAMPLES_OF_NAMES = {"REM_MACRO", "k_constant", "snake_case", "torn_final_record_is_ignored_on_replay"}  # in what CONTRIBUTING.md says of style

FIGURE = re.compile(r"\b\d[\d.,]* ?(?:µs|ms|ns|s|MB/s|GB/s|%)(?![\w/])|\b[\d.,]+ times as (?:fast|long)\b|\b\d+ (?:times|×) faster\b")
RESULT = re.compile(r"bench/results/([\w.-]+\.(?:md|json))")
COMMIT = re.compile(r'[`"][0-9a-f]{7,40}[`"]')
CONFIGURED = {
    "200 ms": ("include/remanence/heap_options.hpp", "lazy_interval"),
    "10 s": ("include/remanence/heap_options.hpp", "open_timeout"),
}


def name_of(page):
    return str(page.relative_to(pages.ROOT))


@functools.cache
def files_and_folders():
    folders = {str(parent) for name in pages.files() for parent in pathlib.PurePath(name).parents}
    return frozenset(pages.files()) | folders


def is_there(name):
    """Whether the tree has it, or with <layer> or * or {crash,faults} in it, something like it."""
    parts = [re.sub(r"<\w+>", "*", part).split(",") for part in re.split(r"[{}]", name.rstrip("/"))]
    names = ["".join(choice) for choice in itertools.product(*parts)]
    return all(each in files_and_folders() or ("*" in each and fnmatch.filter(files_and_folders(), each)) for each in names)


def is_file_of_a_folder(name):
    """`txn/committer`, `containers/btree_map.hpp`: below src or include/remanence, perhaps without what it ends with."""
    return any(is_there(f"{root}/{name}") or is_there(f"{root}/{name}.*") for root in ("src", "include/remanence"))


def problem_of_path(word, own_files):
    """Why a word that looks like a file is none, or None."""
    word = word.strip("\"',;").partition("::")[0]
    if re.fullmatch(r"<[\w./]+>", word):  # as #include names it
        word = word.strip("<>")
    if not re.fullmatch(r"\w[\w.*{},<>/+-]*", word) or word in own_files | FILES_OF_OTHERS | FILES_OF_READERS | FILES_MADE:
        return None
    first, slash, _ = word.partition("/")
    if slash and first in pages.FOLDERS:
        found = is_there(word)
    elif slash and first == "remanence" and SOURCE.search(word):
        found = is_there("include/" + word)
    elif slash and (is_there(f"src/{first}") or is_there(f"include/remanence/{first}")):
        found = is_file_of_a_folder(word)
    elif not slash and SOURCE.search(word) and not word.startswith("."):
        found = any(name == word or name.endswith("/" + word) for name in pages.files())
    else:
        return None
    return None if found else f"no file {word}"


@functools.cache
def commands_of_rem():
    """Options by command, as the man page has them; those of rem itself are under an empty name."""
    manual = pages.text_of("tools/rem/rem.1").replace("\\-", "-")
    commands = {}
    for part in re.split(r"^\.S[HS] ", manual, flags=re.MULTILINE):
        heading = part.partition("\n")[0]
        if heading.startswith("rem ") or heading == "OPTIONS":
            name = heading.split()[1] if heading.startswith("rem ") else ""
            commands[name] = set(re.findall(r"^\.TP\n\.BR? .*?(--\w+)", part, re.MULTILINE))
    return commands


def problem_of_rem(line):
    """Why `rem …` is no command, or None."""
    words = re.findall(r"[^\s|\[\]]+", line)
    command = words[1] if len(words) > 1 and re.fullmatch("[a-z]+", words[1]) else ""
    if command not in commands_of_rem():
        return f"rem has no command {command}"
    options = {word.partition("=")[0] for word in words if re.fullmatch(r"--[a-z]\S*", word)}
    unknown = options - commands_of_rem()[command] - commands_of_rem()[""]
    return f"rem {command} has no {', '.join(sorted(unknown))}" if unknown else None


def lines_of_commands(text):
    """Of spans, and of blocks for a shell: what a pipe, ; and && part is apart."""
    blocks = [block for _, language, block in pages.fences(text) if language in ("sh", "console")]
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [part.strip() for line in pages.spans(text) + lines for part in re.split(r" [|] | && |; |  #", line)]


def without_comments(text):
    kept = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
    return kept.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)


@functools.cache
def words_of(file):
    text = pages.text_of(file)
    return frozenset(re.findall(r"\w+", without_comments(text) if SOURCE.search(file) else text))


@functools.cache
def words_of_code(folders):
    """Without those of pages and results, and of these tests; of CMake's options, too, unless it is about the library."""
    code = [name for name in pages.files() if name.startswith(folders) and "/docs/" not in name and not name.endswith((".md", ".json"))]
    return frozenset().union(*(words_of(name) for name in code + (["CMakeLists.txt"] if folders == OTHER_CODE else [])))


@functools.cache
def definitions():
    """Words of the files that define a class or namespace, and of headers that these include, by its name."""
    result = {}
    for file in (name for name in pages.files() if name.startswith(CODE) and SOURCE.search(name)):
        text = pages.text_of(file)
        owners = re.findall(r"\b(?:struct|class|namespace) (?:\w+::)*(\w+)(?: final)?(?: : [^;{]*)? ?\{", text)
        if owners:
            included = ["include/" + name for name in re.findall(r"#include <(remanence/[^>]+)>", text)]
            included += ["src/" + name for name in re.findall(r'#include "([^"]+)"', text)]
            words = words_of(file).union(*(words_of(name) for name in included if name in files_and_folders()))
            for owner in set(owners):
                result.setdefault(owner, []).append(words)
    return result


def problems_of_identifiers(code, own_words):
    """Identifiers of a span, or of a block that nobody compiles, that neither the tree nor the page has."""
    for found in re.finditer(r"(?:(\w+)(::|\.))?\b([A-Za-z_]\w+)\b(?=(\(|::|<)?)", code):
        owner, joint, word, after = found.groups()
        is_member = joint or code[:found.start()].endswith((".", "->"))
        if owner in STANDARD or word in NAMES_OF_OTHERS | EXAMPLES_OF_NAMES | own_words or word.endswith("_"):
            continue
        if re.match(r"rem_|REM_|k_", word) or owner == "errc":
            if word not in words_of_code(CODE):
                yield f"no {word} in {', '.join(CODE)}"
        elif joint == "::" and owner in definitions():
            if not any(word in words for words in definitions()[owner]):
                yield f"{owner} has no {word}"
        elif "_" in word or after or is_member:
            name = word.removeprefix("D")  # an option of CMake
            is_known = any(name in words_of_code(folders) for folders in (CODE, OTHER_CODE))
            is_ending = word.startswith("_") and any(name.endswith(word) for name in words_of_code(CODE))
            if not is_known and not is_ending:
                yield f"no {word} in the tree"


@functools.cache
def members_of_options():
    """By the struct, of those that a program sets when it opens or migrates."""
    found = {}
    for file in (name for name in pages.files() if name.startswith("include/remanence/") and name.endswith(".hpp")):
        for struct in re.finditer(r"^struct (\w+_options) \{\n(.*?)^\};", without_comments(pages.text_of(file)), re.MULTILINE | re.DOTALL):
            found[struct[1]] = set(re.findall(r"(\w+)(?: = [^;]*|\{[^;]*\})?;", struct[2]))
    return found


@functools.cache
def functions_of_heap():
    return set(re.findall(r"\b(\w+)\(", without_comments(pages.text_of("include/remanence/heap.hpp"))))


def problems_of_members(code):
    """Functions of a heap, and options in their groups, that there are not."""
    for name in re.findall(r"\bheap(?:\.|::)(\w+)\(", code):
        if name not in functions_of_heap():
            yield f"heap has no {name}()"
    for group, name in re.findall(r"\b(sharing|log|memory|checks)(?: = \{)?\.(\w+)", code):
        if name not in members_of_options()[group.removesuffix("s") + "_options"] and not SOURCE.search(f"{group}.{name}"):
            yield f"{group}_options has no {name}"
    for name in re.findall(r"\{\.(\w+) =", code):
        if not any(name in members for members in members_of_options().values()):
            yield f"no options have {name}"


class Names(unittest.TestCase):
    def check(self, problem_of, things_of):
        """problem_of(thing, page's text) for each thing of each page."""
        count = 0
        for page in pages.pages_for_readers():
            text = page.read_text()
            for thing in dict.fromkeys(things_of(text)):
                count += 1
                with self.subTest(page=name_of(page), name=thing):
                    self.assertFalse(problem_of(thing, text))
        self.assertGreater(count, 5)

    def test_of_files_are_in_the_tree(self):
        def own_files(text):
            return set(re.findall(r"^<!-- (?:program|file) (\S+) -->$", text, re.MULTILINE))

        self.check(lambda word, text: problem_of_path(word, own_files(text)), lambda text: [w for line in lines_of_commands(text) for w in line.split()])

    def test_of_commands_and_options_are_those_of_rem(self):
        def commands(text):
            return [line for line in lines_of_commands(text) if re.match(r"rem [a-z-]|rem$", line)]

        def without_rem(text):
            found = [line.partition(" ") for line in pages.spans(text)]
            return [" ".join(line) for line in found if line[0] in commands_of_rem() and line[0] and line[2].startswith("--")]

        self.assertGreater(len(commands_of_rem()), 15)
        self.check(lambda line, _: problem_of_rem(line), lambda text: commands(text) + ["rem " + line for line in without_rem(text)])

    def test_of_options_are_those_of_a_command(self):
        known = set().union(*commands_of_rem().values()) | OPTIONS_OF_OTHERS
        options = re.compile(r"--[a-z]\S*")
        self.check(
            lambda option, _: option.partition("=")[0] not in known and f"nothing has {option}",
            lambda text: [span.split()[0] for span in pages.spans(text) if options.match(span)],
        )

    def test_of_targets_are_those_of_make(self):
        found = re.compile(r"make [a-z]+(?: \[?[A-Z]+=\S+)*\Z")
        self.check(
            lambda line, _: pages.problem_of_make(line.removeprefix("make ")),
            lambda text: [line for line in lines_of_commands(text) if found.match(line)]
            + [f"make test {name}" for name in pages.spans(text) if re.fullmatch("NAME=[a-z]+", name)],
        )

    def test_of_presets_are_those_of_cmake(self):
        presets = {preset["name"] for preset in json.loads(pages.text_of("CMakePresets.json"))["configurePresets"]}
        found = [(page, name) for page in pages.pages_for_readers() for name in re.findall(r"--preset (\w[\w-]*)", page.read_text())]
        self.assertGreater(len(found), 3)
        for page, name in found:
            with self.subTest(page=name_of(page), preset=name):
                self.assertIn(name, presets)

    def test_of_members_are_those_of_their_class(self):
        self.assertGreater(len(functions_of_heap()), 60)
        self.assertGreaterEqual(len(members_of_options()["log_options"]), 4)
        self.check(lambda span, _: ", ".join(problems_of_members(span)), pages.spans)

    def test_of_identifiers_are_in_the_sources(self):
        def fragments(text):
            return [without_comments(block) for mark, _, block in pages.fences(text) if mark.startswith("fragment:")]

        def code(text):
            return [span for span in pages.spans(text) if "/" not in span and not SOURCE.search(span)] + fragments(text)

        def own_words(text):
            """What the page's programs, fragments and texts in quotes have names for."""
            others = [block for mark, _, block in pages.fences(text) if not mark.startswith("fragment:")]
            quoted = re.findall(r'"([^"\n]*)"', text)
            declared = re.findall(r"(?:\b(?:struct|class)|\bauto&?|[\w>*&]) [*&]?(\w+)(?=[ ;,({=])", "\n".join(fragments(text)))
            return set(re.findall(r"\w+", " ".join(others + quoted))).union(declared)

        def problems(span, text):
            return ", ".join(problems_of_identifiers(span, own_words(text)))

        self.check(problems, code)


class Blocks(unittest.TestCase):
    def test_of_code_are_compiled_or_quoted_or_say_why_not(self):
        for page in pages.pages_for_readers():
            fragments = 0
            for mark, language, block in pages.fences(page.read_text()):
                if language not in ("cpp", "c"):
                    continue
                kind, _, rest = mark.partition(" ")
                with self.subTest(page=name_of(page), block=block[:200]):
                    self.assertIn(kind, ("program", "file", "from", "fragment:"), "no mark before it")
                    self.assertTrue(rest.strip(), "a file, or the reason why it is a fragment")
                    if kind in ("program", "file"):
                        self.assertIn(page, programs_test.PAGES, "nobody compiles it")
                fragments += kind == "fragment:"
            with self.subTest(page=name_of(page)):
                self.assertLessEqual(fragments, FRAGMENTS_MAX, "fragments")


class Figures(unittest.TestCase):
    def parts_with_figures(self):
        """(page, paragraph or list or table, figure). What a block or a span shows is what a program printed, or code."""
        for page in pages.pages_for_readers():
            for part in re.split(r"\n\s*\n", pages.without_fences(page.read_text())):
                for figure in FIGURE.findall(pages.SPAN.sub(lambda span: span[0] if "/" in span[2] else "", part)):
                    yield page, part, figure

    def test_name_the_file_of_their_run(self):
        count = 0
        for page, part, figure in self.parts_with_figures():
            count += 1
            with self.subTest(page=name_of(page), figure=figure, part=part[:300]):
                self.assertTrue(figure in CONFIGURED or RESULT.search(part), "figure of a run without its file in bench/results")
        self.assertGreater(count, 10)

    def test_are_of_files_that_say_the_commit(self):
        named = {name for _, part, _ in self.parts_with_figures() for name in RESULT.findall(part)} - {"README.md"}
        self.assertGreater(len(named), 10)
        for name in sorted(named):
            with self.subTest(result=name):
                self.assertRegex(pages.text_of(f"bench/results/{name}"), COMMIT, "no commit")

    def test_that_are_defaults_are_those_of_the_code(self):
        for figure, (file, option) in CONFIGURED.items():
            with self.subTest(figure=figure):
                number, unit = figure.split()
                milliseconds = f"{int(number) * {'ms': 1, 's': 1000}[unit]:,}".replace(",", "'")
                self.assertIn(f"milliseconds {option}{{{milliseconds}}};", pages.text_of(file))


class Words(unittest.TestCase):
    def test_of_all_pages_are_few(self):
        count = sum(len(page.read_text().split()) for page in (pages.ROOT / "docs").rglob("*.md"))
        self.assertLessEqual(count, WORDS_MAX)

    def test_of_a_cell_are_few(self):
        for page in pages.pages_for_readers():
            for cell in (cell for table in pages.tables(page.read_text()) for row in table for cell in row):
                with self.subTest(page=name_of(page), cell=cell):
                    self.assertLessEqual(len(cell.split()), CELL_WORDS_MAX)


class Tables(unittest.TestCase):
    def test_are_shown_as_tables(self):
        for page in pages.pages_for_readers():
            for table in pages.tables(page.read_text()):
                with self.subTest(page=name_of(page), table=table[0]):
                    self.assertTrue(len(table) > 2 and all(re.fullmatch(":?-+:?", cell) for cell in table[1]), "no line below the heading")
                    self.assertEqual({len(row) for row in table}, {len(table[0])}, "cells in a row")


if __name__ == "__main__":
    repeating.main()
