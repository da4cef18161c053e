"""Programs in C whose memory is kept: softpm_test.py REMCC REM SOURCES FOLDER [unittest options].

Takes minutes, since it compiles SQLite; `make test NAME=softpm` installs what it needs. SOURCES has the sources of sqlite3 and memcached
(scripts/get_sources), FOLDER keeps what is compiled of them.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
DEMO = HERE.parents[1] / "examples/sqlite"
sys.path[:0] = [str(DEMO), str(HERE.parent / "support")]
import demo  # noqa: E402
import generate  # noqa: E402
import lines  # noqa: E402
import repeating  # noqa: E402
from limits import SECONDS_MAX  # noqa: E402

REMCC = REM = SOURCES = FOLDER = ""
SEED = repeating.SEED % 1_000_000
os.environ["REMANENCE_SEED"] = str(SEED)  # for the programs


def run(*command, **options):
    return subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=SECONDS_MAX, **options)


def compiled(into, *arguments):
    result = run(REMCC, *arguments, "-o", into)
    assert result.returncode == 0, result.stderr
    return into


class Programs(unittest.TestCase):
    """Of a folder of their own, in which their containers lie, too."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.files = self.folder / "files"
        self.files.mkdir()

    def succeeds(self, *command, **options):
        result = run(*command, **options)
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}{result.stderr}")
        return result.stdout

    def fails(self, sentence, *command, **options):
        result = run(*command, **options)
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertIn(sentence, result.stdout + result.stderr)

    def occupying(self, address):
        """An environment in which the addresses at a place are taken before the program starts."""
        library = self.folder / "occupy.so"
        if not library.exists():
            self.succeeds("clang-19", "-shared", "-fPIC", "-O1", HERE / "occupy.c", "-o", library)
        return {**os.environ, "OCCUPY": address, "LD_PRELOAD": str(library)}

    def is_whole(self):
        for file in self.files.glob("*.rem"):
            self.succeeds(REM, "verify", file)

    def killed(self, kills, *command):
        """Starts the program again and again, kills it at any moment, and checks that nothing acknowledged is lost."""
        choose = repeating.randoms(self)
        acknowledged = 0
        for kill in range(kills):
            with subprocess.Popen([str(each) for each in command], stdout=subprocess.PIPE, text=True) as program:
                first = program.stdout.readline()
                found = re.search(r", (\d+) (points|transfers)", first)
                self.assertTrue(found, first + program.stdout.read(1000))
                self.assertGreaterEqual(int(found[1]), acknowledged, f"seed {SEED}")
                told = program.stdout.readline() if kill % 2 else ""  # that it has begun, else at any moment
                time.sleep(choose.uniform(0, 0.4))
                program.send_signal(signal.SIGKILL)
                numbers = [line for line in (told + program.stdout.read()).split("\n")[:-1] if line]
            for line in numbers:
                self.assertRegex(line, r"^\d+$")
            acknowledged = max([acknowledged, *map(int, numbers)])
        return acknowledged


def vectors():
    """The widest vectors that the processor has."""
    if "avx512vl" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        return "-O3 -mavx512f -mavx512vl -mprefer-vector-width=512"
    return "-O3 -march=native"


class Marks(Programs):
    def test_wide_code_and_code_of_two_files_marks_its_words(self):
        chosen = ("-O0", "-O1", "-O2", "-Oz", "-O3 -mavx2 -mcx16", vectors(), "-O3 -flto -mavx2", "-O2 -flto=thin", "-O3 -mllvm -force-vector-width=8")
        for options in chosen:
            with self.subTest(options):
                other = self.folder / "other.o"
                compiled(other, "-w", *options.split(), "-c", "-DOTHER_FILE", HERE / "wide.c")
                program = compiled(self.folder / "wide", "-w", *options.split(), HERE / "wide.c", other, "-latomic")
                self.succeeds(program)

    def test_each_way_to_store_a_pointer_marks_its_word(self):
        for options in ("-O0", "-O1", "-O2", "-O3", "-Os", "-O3 -mavx2", vectors(), "-O2 -flto", "-O3 -flto -mavx2", "-O2 -D_FORTIFY_SOURCE=2", "-O2 -fPIE -pie"):
            with self.subTest(options):
                program = compiled(self.folder / "marks", *options.split(), "-D__unused=", HERE / "marks.c")
                self.succeeds(program)

    def test_the_plain_compiler_has_no_marks_to_show(self):
        # What marks.c looks at is there only with the pass.
        self.succeeds("clang-19", "-w", "-D__unused=", HERE / "marks.c", "-o", self.folder / "plain")
        self.assertEqual(run(self.folder / "plain").returncode, -signal.SIGSEGV)


class Restarts(Programs):
    def program(self, *options):
        return compiled(self.folder / "restart", *(options or ("-O2",)), HERE / "restart.c")

    def test_all_that_is_reached_is_there_in_the_next_process(self):
        for options in ("-O0", "-O2", "-O3 -flto"):
            with self.subTest(options):
                program = self.program(*options.split())
                for count in (0, 5, 8):
                    self.assertIn(f" {count} points", self.succeeds(program, self.files, "rounds", 5 if count == 0 else 3))
                self.succeeds(program, self.files, "check")
                self.is_whole()
                for file in self.files.iterdir():
                    file.unlink()

    def test_it_moves_where_its_addresses_are_taken_and_back(self):
        program = self.program()
        self.succeeds(program, self.files, "rounds", 5)
        place = re.search(r"root (0x\w+)", self.succeeds(program, self.files, "check"))[1]
        moved = self.succeeds(program, self.files, "taken", place, 4)
        self.assertNotIn(place, moved)
        again = self.succeeds(program, self.files, "rounds", 2)
        self.assertIn(place, again)
        self.assertIn(" 9 points", again)
        self.succeeds(program, self.files, "check")
        self.is_whole()

    def test_kills_at_any_moment_lose_no_point(self):
        program = self.program()
        self.assertGreater(self.killed(20, program, self.files, "rounds", 1_000_000), 0)
        self.succeeds(program, self.files, "check")
        self.is_whole()

    def test_misuse_is_an_error_with_a_sentence(self):
        program = self.program()
        self.succeeds(program, self.files, "misuse")
        self.succeeds(program, self.files, "rounds", 3)
        self.succeeds(program, self.files, "misuse")

    def test_a_program_that_was_built_anew_is_refused(self):
        self.succeeds(self.program("-O2"), self.files, "rounds", 3)
        self.fails("was built anew since", self.program("-O1"), self.files, "check")

    def test_a_program_that_was_built_anew_finds_code_and_constants_by_name_when_asked(self):
        names = {**os.environ, "SYMBOL_NAMES": "1"}
        self.succeeds(self.program("-O2"), self.files, "rounds", 3, env=names)
        self.fails("It has their names", self.program("-O1"), self.files, "check")
        for number, options in enumerate((["-O1"], ["-O0", "-fPIE", "-pie"], ["-O3", "-flto", "-DUNUSED_BY_ANYBODY"], ["-O2"])):
            with self.subTest(options):
                self.assertIn(f" {3 + 2 * number} points", self.succeeds(self.program(*options), self.files, "rounds", 2, env=names))
        os.rename(self.program("-O0"), self.folder / "another name")
        self.assertIn(" 11 points", self.succeeds(self.folder / "another name", self.files, "check", env=names))
        self.is_whole()

    def test_a_name_that_is_gone_or_there_twice_is_an_error_that_names_it(self):
        names = {**os.environ, "SYMBOL_NAMES": "1"}
        self.succeeds(self.program("-O2"), self.files, "rounds", 3, env=names)
        self.fails("(heavy, which is not there now)", self.program("-O2", "-Dheavy=ponderous"), self.files, "check", env=names)
        twice = self.folder / "twice.c"
        twice.write_text("__attribute__((used, retain)) static long light(long of) { return of; }", encoding="utf-8")
        self.fails("(light, of which there are several)", self.program("-O2", twice), self.files, "check", env=names)
        self.succeeds(self.program("-O2"), self.files, "check")
        self.is_whole()

    def test_names_are_stored_only_when_asked(self):
        self.succeeds(self.program("-O2"), self.files, "rounds", 3)
        self.fails("(it stored none)", self.program("-O1"), self.files, "check", env={**os.environ, "SYMBOL_NAMES": "1"})

    def test_a_second_program_is_refused_while_the_first_runs(self):
        program = self.program()
        with subprocess.Popen([program, self.files, "rounds", "1000000"], stdout=subprocess.PIPE, text=True) as first:
            for _ in range(3):
                first.stdout.readline()
            self.fails("is open elsewhere", program, self.files, "check")
            first.kill()

    def test_too_few_addresses_end_the_program_with_a_sentence(self):
        program = self.program()
        self.fails("ulimit -v", "/bin/sh", "-c", f"ulimit -v 4000000 && exec {program} {self.files} check")


class Large(Programs):
    """large.c: what lies where it lay is not looked at as a whole."""

    def setUp(self):
        super().setUp()
        self.program = compiled(self.folder / "large", "-O2", HERE / "large.c")

    def grows(self, nodes, env=None):
        result = run(self.program, self.files, "grow", nodes, env=env)
        self.assertEqual(result.returncode, -signal.SIGKILL, result.stdout + result.stderr)
        return re.search(r"leaked (0x\w+)", result.stdout)[1], re.search(r"root (0x\w+)", result.stdout)[1]

    def finds(self, block, nodes):
        return self.succeeds(self.program, self.files, "find", nodes, block).endswith("\nfound\n")

    def test_restores_at_their_own_addresses_are_right_and_look_at_all_after_growth(self):
        block, place = self.grows(100_000)
        self.assertTrue(self.finds(block, 2_000), "the first restore has to find out what is reachable")
        block, again = self.grows(2_000)
        self.assertEqual(again, place)
        # That restore has looked. Now the memory has hardly grown: blocks that nothing reaches are not looked for.
        block, again = self.grows(2_000)
        self.assertFalse(self.finds(block, 30_000))
        for _ in range(4):
            block, again = self.grows(2_000)
        self.assertEqual(again, place)
        self.assertFalse(self.finds(block, 30_000))
        block, _ = self.grows(50_000)
        self.assertTrue(self.finds(block, 100_000))
        self.is_whole()

    def test_what_came_and_went_between_two_points_is_not_logged(self):
        self.assertEqual(run(self.program, self.files, "churn", 50).returncode, -signal.SIGKILL)
        logged = re.search(r"per commit +([0-9.]+) bytes of records", self.succeeds(REM, "stat", self.files / "softpm-1.rem"))
        self.assertLess(float(logged[1]), 5_000)  # of 50,000
        self.succeeds(self.program, self.files, "find", 0, 0)

    def test_they_are_right_at_other_addresses_in_between(self):
        _, place = self.grows(100_000)
        for _ in range(3):
            self.grows(2_000)
        _, moved = self.grows(2_000, self.occupying(place))
        self.assertNotEqual(moved, place)
        for _ in range(3):
            self.grows(3_000)
        self.is_whole()


class Sites(Programs):
    def test_a_place_whose_blocks_became_guests_allocates_in_their_container(self):
        for options in ("-O0", "-O2"):
            program = compiled(self.folder / "sites", options, HERE / "sites.c")
            self.assertIn("0 and 0 nodes\nnew\n", self.succeeds(program, self.files, cwd=self.folder))
            self.assertIn("1100 and 1100 nodes\nagain\n", self.succeeds(program, self.files, cwd=self.folder))
            report = (self.folder / "report").read_text(encoding="utf-8")
            guests = sum(int(line.split()[0]) for line in report.splitlines() if "of other memory" in line)
            self.assertEqual(guests, 200, report)  # a hundred nodes with their texts, of this process before its first point
            self.is_whole()
            for file in self.files.iterdir():
                file.unlink()


class Hostile(Programs):
    """What programs do to themselves. Whatever a point says to it, the one before it is whole (hostile.c)."""

    def program(self, *options):
        return compiled(self.folder / "hostile", "-O2", *options, HERE / "hostile.c")

    def nodes(self, program):
        return int(self.succeeds(program, self.files, "fill", 0).split()[0])

    def test_a_struct_of_another_size_is_refused(self):
        self.succeeds(self.program(), self.files, "fill", 10)
        self.fails(" bytes, the program's has ", self.program("-DLARGER"), self.files, "fill", 0)
        self.assertEqual(self.nodes(self.program()), 10)

    def test_a_thread_that_cannot_be_stopped_is_named_and_goes_on(self):
        program = self.program()
        self.succeeds(program, self.files, "deaf")
        self.assertEqual(self.nodes(program), 1)

    def test_a_point_sees_that_marks_were_written_over(self):
        program = self.program()
        self.succeeds(program, self.files, "fill", 10)
        result = run(program, self.files, "scribble")
        self.assertEqual(result.returncode, -signal.SIGKILL, result.stdout)
        self.assertEqual(self.nodes(program), 11)

    def test_points_that_lack_memory_are_errors_and_a_later_one_succeeds(self):
        program = self.program()
        self.succeeds(program, self.files, "fill", 10)
        self.assertIn(" points failed", self.succeeds(program, self.files, "starve"))
        self.assertEqual(self.nodes(program), 300_010)
        self.is_whole()

    def test_longjmp_out_of_a_callback_leaves_points_whole(self):
        for options in ("-O0", "-O2"):
            program = self.program(options)
            before = self.nodes(program)
            self.succeeds(program, self.files, "jump")
            self.assertEqual(self.nodes(program), before + 200)
            self.is_whole()
            for file in self.files.iterdir():
                file.unlink()

    def test_signal_handlers_may_allocate_between_the_calls_of_the_program(self):
        program = self.program()
        self.assertIn(" signals", self.succeeds(program, self.files, "handler"))
        self.assertGreaterEqual(self.nodes(program), 2000)
        self.is_whole()

    def test_a_handler_that_interrupts_malloc_ends_the_program_with_a_sentence(self):
        program = self.program()
        for _ in range(3):
            result = run(program, self.files, "inside")
            if result.returncode != 0:
                self.assertEqual(result.returncode, -signal.SIGABRT, result.stdout + result.stderr)
                self.assertIn("a signal handler allocates or frees memory", result.stderr)
            self.nodes(program)
        self.is_whole()


class Standard(Programs):
    """What the standard has for threads, locks, signals and wide texts (standard.c)."""

    def setUp(self):
        super().setUp()
        self.program = compiled(self.folder / "standard", "-O2", HERE / "standard.c", "-pthread")

    def killed_itself(self, command, **options):
        result = run(self.program, self.files, command, **options)
        self.assertEqual(result.returncode, -signal.SIGKILL, result.stdout + result.stderr)
        return result.stdout.split()[1].rstrip(",")

    def test_points_stop_threads_of_thrd_create(self):
        for _ in range(3):
            self.killed_itself("threads")
            self.is_whole()

    def test_points_stop_threads_that_wait_for_all_signals(self):
        self.succeeds(self.program, self.files, "wait")

    def test_points_stop_threads_of_a_child(self):
        self.succeeds(self.program, self.files, "child")
        self.is_whole()

    def test_points_do_not_wait_for_a_main_thread_that_has_ended(self):
        self.assertIn("taken", self.succeeds(self.program, self.files, "leave"))

    def test_locks_are_open_again_whatever_call_closed_them(self):
        for _ in range(2):
            self.killed_itself("locks")

    def test_wide_texts_are_found_at_another_place(self):
        place = self.killed_itself("wide")
        self.assertNotEqual(self.killed_itself("wide", env=self.occupying(place)), place)
        self.killed_itself("wide")


class Calls(Programs):
    def test_calls_that_are_errors_and_those_in_odd_places(self):
        program = compiled(self.folder / "calls", "-O2", HERE / "calls.c")
        other = self.folder / "other"
        other.mkdir()
        result = run(program, self.files, other)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertEqual([*self.files.iterdir(), *other.iterdir()], [])

    def test_a_container_of_another_version_is_refused(self):
        foreign = self.folder / "foreign"
        self.succeeds(REMCC.replace("remcc", "remc++"), "-std=c++20", "-I", HERE.parents[1] / "include", HERE / "foreign.cpp", "-o", foreign)
        self.succeeds(foreign, self.files / "softpm-1.rem")
        self.fails("was made by another version of softpm", compiled(self.folder / "standard", HERE / "standard.c"), self.files, "wide")
        self.is_whole()


class CommandLine(Programs):
    def test_a_program_comes_from_standard_input(self):
        source = '#include <softpm.h>\nint main(void) { return pPoint(7) == -1 ? 0 : 1; }\n'
        self.succeeds(REMCC, "-x", "c", "-", cwd=self.folder, input=source)
        self.succeeds(self.folder / "a.out")

    def test_what_cannot_be_linked_is_refused_and_can_be_compiled(self):
        for option in ("-static", "-static-pie", "-fsanitize=address", "-fsanitize=undefined,thread"):
            with self.subTest(option):
                self.fails(f"cannot be linked with {option}", REMCC, option, HERE / "stranger.c", "-o", self.folder / "program")
        compiled(self.folder / "stranger.o", "-static", "-c", HERE / "stranger.c")


class Classes(Programs):
    def test_classes_and_containers_of_cxx_are_kept(self):
        for options in ("-O0", "-O2"):
            with self.subTest(options):
                program = self.folder / "classes"
                compiler = REMCC.replace("remcc", "remc++")
                self.succeeds(compiler, "-std=c++20", options, HERE / "classes.cpp", "-o", program)
                for count in (0, 100, 200):
                    self.assertEqual(self.succeeds(program, self.files), f"{count} shapes\n")
                environment = {**os.environ, "SOFTPM_AUDIT": "1"}
                self.assertIn("and no other is", run(program, self.files, env=environment).stderr)
                self.is_whole()
                for file in self.files.iterdir():
                    file.unlink()


class Moved(Programs):
    """Programs that are killed and go on at other addresses, and must print what they print when they are compiled plainly."""

    def base(self):
        (file,) = self.files.glob("*.rem")
        return re.search(r"base address +(0x\w+)", self.succeeds(REM, "info", file))[1]

    def test_containers_of_cxx_print_the_same_at_another_place(self):
        for options in ("-O0", "-O2", "-O3 -flto -mavx2"):
            with self.subTest(options):
                command = ["-std=c++20", *options.split(), HERE / "containers.cpp", "-o"]
                self.succeeds("clang++-19", *command, self.folder / "plain")
                self.succeeds(REMCC.replace("remcc", "remc++"), "-DKEPT", *command, self.folder / "kept")
                wanted = self.succeeds(self.folder / "plain")
                self.assertEqual(run(self.folder / "kept", cwd=self.files).returncode, -signal.SIGKILL)
                self.assertEqual(self.succeeds(self.folder / "kept", cwd=self.files, env=self.occupying(self.base())), wanted)
                self.assertEqual(self.succeeds(self.folder / "kept", cwd=self.files), wanted)
                self.is_whole()
                for file in self.files.iterdir():
                    file.unlink()

    def test_structures_of_bsd_go_on_after_kills_and_moves(self):
        choose = repeating.randoms(self)
        for source in sorted((HERE / "structures").glob("*.c")):
            with self.subTest(source.stem):
                steps = 400_000
                command = ["-w", "-O2", "-D__unused=", source, "-o"]
                self.succeeds("clang-19", *command, self.folder / "plain")
                self.succeeds(REMCC, "-DKEPT", *command, self.folder / "kept")
                kills = 0
                while True:
                    environment = self.occupying(self.base()) if kills % 2 and list(self.files.glob("*.rem")) else os.environ
                    with subprocess.Popen([self.folder / "kept", str(steps)], cwd=self.files, env=environment, stdout=subprocess.PIPE, text=True) as program:
                        time.sleep(choose.uniform(0.05, 0.3))
                        if program.poll() is not None or kills == 12:
                            printed = program.stdout.read()
                            break
                        program.kill()
                        kills += 1
                self.assertEqual(printed, self.succeeds(self.folder / "plain", steps), f"seed {SEED}, {kills} kills")
                self.assertGreater(kills, 0)
                self.is_whole()
                for file in self.files.iterdir():
                    file.unlink()

    def test_structures_need_few_lines(self):
        counts = lines.structures()
        self.assertEqual(sorted(counts), ["array", "hash", "list", "tree"])
        for name, (plain, added) in counts.items():
            self.assertLessEqual(added, 4, name)
            self.assertGreater(plain, 50, name)


class Generated(Programs):
    """Programs by chance (generate.py), as they print plainly, and when they were killed and found their memory at another place."""

    COUNT = int(os.environ.get("SOFTPM_PROGRAMS", 24))
    AT_ONCE = 2
    OPTIONS = ("-O0", "-O1", "-O2", "-O3 -mavx2", "-Os", "-O2 -flto")

    def prints_the_same(self, seed, options):
        """In a folder of its own, and in a thread."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = pathlib.Path(name)
            files = folder / "files"
            files.mkdir()
            source = folder / "program.c"
            source.write_text(generate.program(seed), encoding="utf-8")
            self.succeeds("clang-19", "-w", *options, source, "-o", folder / "plain")
            kept = compiled(folder / "kept", "-w", *options, "-DKEPT", source)
            wanted = self.succeeds(folder / "plain", cwd=files)

            first = run(kept, cwd=files)
            self.assertEqual(first.returncode, -signal.SIGKILL, first.stdout + first.stderr)
            moved = run(kept, cwd=files, env={**os.environ, "SOFTPM_AUDIT": "1"} | self.occupying(first.stdout.strip()))
            self.assertEqual(moved.returncode, 0, moved.stdout + moved.stderr)
            self.assertEqual(moved.stdout, wanted)
            # And where it was, since nothing was kept of what the second process changed.
            self.assertEqual(self.succeeds(kept, cwd=files), wanted)
            for file in files.glob("*.rem"):
                self.succeeds(REM, "verify", file)

    def test_programs_by_chance_go_on_at_another_place(self):
        self.occupying("0")  # compiled before there are threads
        with concurrent.futures.ThreadPoolExecutor(self.AT_ONCE) as pool:
            chosen = [(SEED + number, self.OPTIONS[number % len(self.OPTIONS)].split()) for number in range(self.COUNT)]
            results = [(seed, options, pool.submit(self.prints_the_same, seed, options)) for seed, options in chosen]
            for seed, options, result in results:
                with self.subTest(seed=seed, options=options):
                    result.result()

    def test_without_marks_they_do_not(self):
        # The control: the same program and runtime, compiled without the pass, must not pass.
        source, object_file = self.folder / "program.c", self.folder / "program.o"
        source.write_text(generate.program(SEED), encoding="utf-8")
        self.succeeds("clang-19", "-w", "-O1", source, "-o", self.folder / "plain")
        include = HERE.parents[1] / "bindings/softpm/include"
        self.succeeds("clang-19", "-w", "-O1", "-DKEPT", f"-I{include}", "-c", source, "-o", object_file)
        kept = compiled(self.folder / "kept", object_file)
        first = run(kept, cwd=self.files)
        self.assertEqual(first.returncode, -signal.SIGKILL, first.stdout + first.stderr)
        moved = run(kept, cwd=self.files, env=self.occupying(first.stdout.strip()))
        self.assertNotEqual(moved.stdout, self.succeeds(self.folder / "plain"))


class Installed(Programs):
    """What `cmake --install` makes of the build folder that remcc lies in; the program is the guide's."""

    def test_the_installed_compilers_need_nothing_of_the_build_folder(self):
        build = pathlib.Path(REMCC).resolve().parents[1]
        self.succeeds("cmake", "--install", build, "--prefix", self.folder / "made here")
        prefix = (self.folder / "made here").rename(self.folder / "moved there")
        for name in ("remcc", "remc++", "remaudit"):
            self.assertNotIn(str(build), (prefix / "bin" / name).read_text(encoding="utf-8"))
            self.assertTrue((prefix / f"share/man/man1/{name}.1").exists())
        link = self.folder / "remcc"
        link.symlink_to(prefix / "bin/remcc")

        guide = (HERE.parents[1] / "docs/guide/unmodified-c.md").read_text(encoding="utf-8")
        source = self.folder / "notes.c"
        source.write_text(re.search(r"```c\n(.*?)```", guide, re.DOTALL)[1], encoding="utf-8")
        for compiler in (link, prefix / "bin/remcc"):
            self.succeeds(compiler, "-O2", "-Wall", "-Werror", "-o", self.folder / "notes", source)
            self.assertEqual(self.succeeds(self.folder / "notes", "buy milk", cwd=self.files), "buy milk\n")
            self.assertEqual(self.succeeds(self.folder / "notes", "call Ada", cwd=self.files), "call Ada\nbuy milk\n")
            self.is_whole()
            for file in self.files.iterdir():
                file.unlink()

        self.succeeds(prefix / "bin/remc++", "-std=c++20", "-O1", "-o", self.folder / "classes", HERE / "classes.cpp")
        for count in (0, 100):
            self.assertEqual(self.succeeds(self.folder / "classes", self.files), f"{count} shapes\n")


class Guests(Programs):
    """The table of blocks from outside of the container, and their copies, at each moment at which a process can be killed."""

    @unittest.skipUnless(shutil.which("strace"), "strace, which kills at a chosen system call, is not installed")
    def test_a_kill_at_each_system_call_leaves_the_last_point_with_its_guests(self):
        program = compiled(self.folder / "guests", "-O2", HERE / "guests.c")
        acknowledged, kills = 0, 0
        for call in ("pwrite64", "fdatasync", "fallocate", "ftruncate", "write"):
            for number in range(1, 1000):
                inject = ["-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={number}"]
                result = run("strace", "-f", "-qq", "-o", "/dev/null", *inject, program, self.files, 6)
                self.assertNotEqual(result.returncode, 1, f"{call} {number}: {result.stdout}{result.stderr}")
                numbers = [int(line.split()[0]) for line in result.stdout.split("\n")[:-1]]
                if numbers:
                    self.assertGreaterEqual(numbers[0], acknowledged, f"{call} {number}")
                    acknowledged = numbers[-1]
                if result.returncode == 0:
                    break
                kills += 1
        self.assertGreater(kills, 30)
        self.assertGreaterEqual(int(self.succeeds(program, self.files, 0).split()[0]), acknowledged)
        self.is_whole()


class Versions(Programs):
    """versions.c, whose list lies in an allocator of its own."""

    def setUp(self):
        super().setUp()
        self.program = compiled(self.folder / "versions", "-O2", HERE / "versions.c")

    def leaves(self, command="check", *arguments):
        return int(self.succeeds(self.program, self.files, command, *arguments).split()[0])

    def test_a_version_is_restored_whatever_came_after_it(self):
        self.leaves("grow", 1000)
        self.assertIn("version 1\n", self.succeeds(self.program, self.files, "keep"))
        self.assertEqual(self.leaves("grow", 300), 1000)
        self.assertIn("version 2\n", self.succeeds(self.program, self.files, "keep"))
        self.leaves("grow", 200)
        self.assertEqual(self.leaves("back", 1), 1000)
        self.assertEqual(self.leaves(), 1500, "a restored version without a point changed the container")
        self.assertEqual(self.leaves("settle", 2), 1300)
        self.assertEqual(self.leaves("grow", 10), 1300)
        self.assertEqual(self.leaves("back", 1), 1000)
        self.assertEqual(self.leaves("settle", 1), 1000)
        self.assertEqual(self.leaves("back", 2), 1300)
        self.assertEqual(self.leaves(), 1000)
        self.fails("there is no version 3", self.program, self.files, "back", 3)
        self.is_whole()

    def test_a_version_is_restored_where_its_addresses_are_taken(self):
        self.leaves("grow", 1000)
        self.succeeds(self.program, self.files, "keep")
        base = re.search(r"base address +(0x\w+)", self.succeeds(REM, "info", self.files / "softpm-1.rem"))[1]
        self.assertEqual(int(self.succeeds(self.program, self.files, "settle", 1, env=self.occupying(base)).split()[0]), 1000)
        self.assertEqual(self.leaves(), 1000)

    def test_old_versions_go_and_all_go_with_the_container(self):
        self.succeeds(self.program, self.files, "three")
        self.assertEqual(sorted(file.name for file in self.files.glob("*.version-*")), ["softpm-1.version-2.rem", "softpm-1.version-3.rem"])
        self.assertEqual(self.leaves("back", 2), 20)
        self.succeeds(self.program, self.files, "delete")
        self.assertEqual(list(self.files.iterdir()), [])

    def test_kills_while_versions_are_made_leave_the_container_and_whole_versions(self):
        choose = repeating.randoms(self)
        self.leaves("grow", 2000)
        for _ in range(15):
            with subprocess.Popen([self.program, self.files, "keep"], stdout=subprocess.DEVNULL) as running:
                time.sleep(choose.uniform(0, 0.25))
                running.kill()
        self.assertEqual(self.leaves(), 2000, f"seed {SEED}")
        unfinished = 0
        for file in self.files.glob("*.version-*.rem"):
            result = run(self.program, self.files, "back", file.name.split("-")[-1].split(".")[0])
            unfinished += "was never finished" in result.stdout
            self.assertTrue(result.stdout.startswith("2000 leaves") or "was never finished" in result.stdout, f"seed {SEED}: {result.stdout}")
        self.is_whole()

    def test_the_report_shows_what_is_kept_and_by_which_way(self):
        self.leaves("grow", 1000)
        report = self.folder / "report"
        self.succeeds(self.program, self.files, "report", report)
        text = report.read_text(encoding="utf-8")
        self.assertIn("1 blocks are excluded", text)
        self.assertRegex(text, r"\n +1 +48 +48  struct; 1 words in them are NULL after a restore\n")
        self.assertRegex(text, r"\n +50 +1200 +24  struct > \+8 \(on by \+0\); of other memory, copied by each point\n")
        self.assertRegex(text, r" 16  struct > \+0 \(on by \+\d \+\d\) > \+24\n")
        kept = int(re.search(r"report: (\d+) blocks", text)[1])
        self.assertEqual(kept, 1 + 3 * 1050)  # the struct; leaves, texts and cells


class Sanitized(Programs):
    """The runtime under AddressSanitizer and UndefinedBehaviorSanitizer, in programs that are compiled as always, with marks elsewhere; and its blocks under
    ThreadSanitizer, which has no room for marks anywhere."""

    WRAPPED = ("malloc", "calloc", "realloc", "reallocarray", "free", "memalign", "aligned_alloc", "posix_memalign", "valloc", "malloc_usable_size")

    def sanitized(self, source, *options):
        build = pathlib.Path(REMCC).resolve().parents[1]
        made = self.folder / source.stem
        self.succeeds("clang-19", *options, "-O1", "-g", f"-I{HERE.parents[1] / 'bindings/softpm/include'}", "-c", source, "-o", f"{made}.o")
        libraries = [build / "bindings/softpm/libremanence-softpm-sanitized.a", build / "libremanence.a"]
        wraps = [f"-Wl,--wrap={each}" for each in self.WRAPPED]
        self.succeeds("g++", "-fsanitize=address,undefined", f"{made}.o", *libraries, *wraps, "-pthread", "-Wl,--build-id", "-o", made)
        return made

    def marked(self, name):
        plugin = pathlib.Path(REMCC).resolve().parents[1] / "lib/remanence-softpm-pass-sanitized.so"
        return self.sanitized(HERE / f"{name}.c", f"-fpass-plugin={plugin}")

    def sound(self, *command, **options):
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "SYMBOL_NAMES": "1"}
        return self.succeeds(*command, env=environment, **options)

    def test_points_and_restores_are_sound_under_sanitizers(self):
        program = self.marked("restart")
        self.sound(program, self.files, "rounds", 5)
        place = re.search(r"root (0x\w+)", self.sound(program, self.files, "check"))[1]
        self.assertNotIn(place, self.sound(program, self.files, "taken", place, 4))
        self.sound(program, self.files, "misuse")
        self.assertIn(" 9 points", self.sound(program, self.files, "check"))

    def test_guests_versions_places_and_threads_are_sound_under_sanitizers(self):
        self.sound(self.marked("guests"), self.files, 6)
        for program, commands in (("versions", (["grow", 500], ["keep"], ["grow", 100], ["back", 1], ["report", self.folder / "report"])), ("sites", ([],)), ("threads", (["400"],))):
            files = self.folder / program
            made = self.marked(program).rename(self.folder / f"{program}.program")
            files.mkdir()
            for command in commands:
                with self.subTest(program, command=command):
                    self.sound(made, files, *command, cwd=self.folder)

    def test_a_fault_in_the_runtime_is_noticed(self):
        # The control: a call that gives the runtime less memory than it says.
        source = self.folder / "wrong.c"
        source.write_text("#include <softpm.h>\n#include <stdlib.h>\nint main(void) { struct cattr* how = calloc(1, 8); pCSetAttr(0, how); return 0; }", encoding="utf-8")
        self.fails("heap-buffer-overflow", self.sanitized(source))

    def test_blocks_and_places_that_allocate_are_sound_under_sanitizers(self):
        root = HERE.parents[1]
        sources = [HERE / "arena_test.cpp", *(root / "bindings/softpm/runtime" / f"{name}.cpp" for name in ("arena", "call_sites")), root / "src/os/quick_mutex.cpp"]
        for kind in ("thread", "address,undefined"):
            with self.subTest(kind):
                options = ["-std=c++20", "-O1", "-g", f"-fsanitize={kind}", "-fno-sanitize-recover=all", f"-I{root / 'src'}", f"-I{root / 'bindings/softpm'}"]
                self.succeeds("clang++-19", *options, *sources, "-o", self.folder / "arena_test")
                self.succeeds(self.folder / "arena_test", SEED)


class Threads(Programs):
    def test_threads_that_allocate_come_and_go_stand_for_points(self):
        program = compiled(self.folder / "threads", "-O2", HERE / "threads.c")
        choose = repeating.randoms(self)
        points = 0
        for _ in range(8):
            with subprocess.Popen([program, self.files, "1000000"], stdout=subprocess.PIPE, text=True) as running:
                line = running.stdout.readline()
                found = re.fullmatch(r"consistent after (\d+) points\n", line)
                self.assertTrue(found, f"seed {SEED}: {line}")
                self.assertGreaterEqual(int(found[1]), points)
                points = int(found[1])
                self.assertEqual(running.stdout.readline(), "eight points\n")
                time.sleep(choose.uniform(0, 0.5))
                running.kill()
        self.assertGreater(points, 0)
        self.succeeds(program, self.files, "100")
        self.is_whole()


class Audit(Programs):
    def table(self, program, *arguments, environment):
        result = run(program, self.files, *arguments, env={**os.environ, **environment})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stderr

    def test_it_names_what_a_library_stored_that_was_compiled_otherwise(self):
        stranger = self.folder / "stranger.o"
        self.succeeds("clang-19", "-O1", "-c", HERE / "stranger.c", "-o", stranger)
        program = compiled(self.folder / "audited", "-O2", HERE / "audited.c", stranger)
        table = self.table(program, environment={"SOFTPM_AUDIT": "1"})
        self.assertRegex(table, r"\n +1  lead to blocks and are not marked +16 +80  audited\+0x")
        self.assertRegex(table, r"\n +1  lead elsewhere and are not marked +24 +80  audited\+0x")  # a word that sscanf() stored
        self.assertEqual(table.count("not marked"), 2)

    def test_it_finds_nothing_where_all_is_compiled_with_remcc(self):
        program = compiled(self.folder / "restart", "--audit", "-O2", HERE / "restart.c")
        table = self.table(program, "rounds", "5", environment={})
        self.assertIn("Every word that leads to memory is marked, and no other is.", table)

    def test_remaudit_prints_lines_of_the_source(self):
        remaudit = REMCC.replace("remcc", "remaudit")
        stranger = self.folder / "stranger.o"
        self.succeeds("clang-19", "-O1", "-c", HERE / "stranger.c", "-o", stranger)
        program = compiled(self.folder / "audited", "-O2", "-g", HERE / "audited.c", stranger)
        result = run(remaudit, program, self.files)
        self.assertEqual(result.returncode, 3, result.stderr)
        line = next(i for i, text in enumerate((HERE / "audited.c").read_text(encoding="utf-8").splitlines(), 1) if "calloc(9" in text)
        self.assertRegex(result.stderr, rf"\n +1  lead to blocks and are not marked +16 +80  main at \S*/audited.c:{line}")
        clean = compiled(self.folder / "restart", "-O2", HERE / "restart.c")
        result = run(remaudit, clean, self.files, "rounds", 3)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Every word that leads to memory is marked, and no other is.", result.stderr)
        self.assertEqual(run(remaudit, "true").returncode, 1)

    def test_nobody_who_has_not_asked_gets_a_table(self):
        program = compiled(self.folder / "restart", "-O2", HERE / "restart.c")
        self.assertEqual(self.table(program, "rounds", "2", environment={}), "")


class Sqlite(Programs):
    ROWS = 20_000

    @classmethod
    def setUpClass(cls):
        cls.source, cls.object = demo.compiled_sqlite(REMCC, SOURCES, FOLDER)

    def setUp(self):
        super().setUp()
        self.bank = compiled(self.folder / "bank", "-O2", f"-I{self.source}", HERE / "bank.c", self.object, "-ldl")

    def test_a_bank_in_memory_survives_kills_with_its_prepared_statements(self):
        self.assertGreater(self.killed(20, self.bank, self.files, self.ROWS, "transfer"), 0)
        self.assertIn("consistent", self.succeeds(self.bank, self.files, self.ROWS, "check"))
        self.is_whole()

    def test_it_moves_where_its_addresses_are_taken(self):
        place = re.search(r"root (0x\w+)", self.succeeds(self.bank, self.files, self.ROWS, "transfer", 50))[1]
        moved = self.succeeds(self.bank, self.files, self.ROWS, "transfer", 50, env=self.occupying(place))
        self.assertNotIn(place, moved)
        self.assertIn("50 transfers: consistent", moved)
        self.assertIn("100 transfers: consistent", self.succeeds(self.bank, self.files, self.ROWS, "check"))
        self.is_whole()

    def test_points_that_nobody_waits_for_are_there_at_the_end(self):
        self.succeeds(self.bank, self.files, self.ROWS, "churn", 500)
        self.assertIn(" 500 transfers: consistent", self.succeeds(self.bank, self.files, self.ROWS, "check"))

    def demonstrated(self, *options):
        return run(sys.executable, "-B", DEMO / "demo.py", REMCC, REM, SOURCES, FOLDER, "--kills", 3, *options)

    def test_the_demo_succeeds(self):
        result = self.demonstrated("--seed", SEED)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("balances add up after each of 3 kills", result.stdout)

    def test_the_demo_fails_if_transfers_are_acknowledged_before_their_point(self):
        patch = self.folder / "keep.patch"
        kept = (DEMO / "keep.patch").read_text(encoding="utf-8")
        patch.write_text(kept.replace("if (pPoint(id) != 0", "if (bank.transfers == 1 && pPoint(id) != 0"), encoding="utf-8")
        result = self.demonstrated("--patch", patch)
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stderr, r"FAILED: .* were acknowledged")


class Memcached(Programs):
    def demonstrated(self, *options):
        return run(sys.executable, "-B", HERE.parents[1] / "examples/memcached/demo.py", REMCC, SOURCES, FOLDER, "--kills", 3, *options)

    def test_the_demo_succeeds(self):
        result = self.demonstrated("--seed", SEED, "--rem", REM)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"^(Compiling .*\n)?0 lines of memcached-[\d.]+ are changed")

    def test_the_demo_fails_if_there_are_no_points(self):
        result = self.demonstrated("--every", 1_000_000)
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stderr, r"FAILED: .*the hit rate is ")


if __name__ == "__main__":
    REMCC, REM, SOURCES, FOLDER = sys.argv[1:5]
    repeating.main(words=4)
