"""Runs programs with libremanence-malloc.so: malloc_test.py LIBRARY PROGRAM NEW_IN_PROGRAM COMPILER [unittest options].

Programs of the system that are not installed are skipped.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402
from limits import SECONDS_MAX  # noqa: E402

LIBRARY = PROGRAM = NEW_IN_PROGRAM = COMPILER = ""


def run(*command, **options):
    environment = {**os.environ, "LD_PRELOAD": LIBRARY, "PYTHONMALLOC": "malloc", "LC_ALL": "C"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX, **options)


def installed(name):
    found = shutil.which(name, path="/usr/bin:/bin:/usr/local/bin")
    return unittest.skipUnless(found, f"{name} is not installed")


class Family(unittest.TestCase):
    def test_all_functions_do_what_they_should(self):
        self.assertEqual(run(PROGRAM, "family").returncode, 0)

    def test_threads_by_the_thousand(self):
        self.assertEqual(run(PROGRAM, "threads").returncode, 0)

    def test_children_forked_while_others_allocate(self):
        self.assertEqual(run(PROGRAM, "forks").returncode, 0)

    def test_few_addresses_are_enough(self):
        for kilobytes in (2000000, 500000, 100000, 30000):
            result = run("/bin/sh", "-c", f"ulimit -v {kilobytes} && exec /bin/ls -d /")
            self.assertEqual(result.stdout, "/\n", result.stderr)

    def test_memory_can_be_locked_up_to_a_limit(self):
        self.assertEqual(run(PROGRAM, "locked").returncode, 0)

    def test_alignments_that_are_none_are_as_in_glibc(self):
        self.assertEqual(run(PROGRAM, "odd-alignments").returncode, 0)

    def test_numbers_are_told(self):
        result = run(PROGRAM, "numbers")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"^remanence: blocks \d+ bytes")

    def test_what_the_last_destructors_allocate_is_not_lost(self):
        self.assertEqual(run(PROGRAM, "last-destructors").returncode, 0)

    def test_forks_beside_threads_that_read_and_flush_streams(self):
        self.assertEqual(run(PROGRAM, "streams").returncode, 0)

    def test_a_handler_that_forks_in_the_midst_of_a_fork(self):
        self.assertEqual(run(PROGRAM, "forking-handler").returncode, 0)

    def test_wrong_frees_end_the_process_with_the_address(self):
        for part, message in (
            ("twice-small", "of a block that was freed already"),
            ("twice-large", "at which no block begins: freed already, or never allocated here"),
            ("inside", "at which no block begins"),
            ("foreign", "never allocated here"),
        ):
            with self.subTest(part):
                result = run(PROGRAM, part)
                self.assertEqual(result.returncode, -signal.SIGABRT)
                self.assertRegex(result.stderr, rf"^remanence: 0x[0-9a-f]+: free\(\) or realloc\(\) .*{message}")


class NewInHeaps(unittest.TestCase):
    def test_each_part(self):
        for part in ("keeps", "exceptions", "refused", "nested", "libraries", "new", "full", "undo", "earlier", "child", "c", "read-only"):
            with self.subTest(part):
                result = run(NEW_IN_PROGRAM, part)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_block_of_a_heap_that_is_freed_twice(self):
        result = run(NEW_IN_PROGRAM, "twice")
        self.assertEqual(result.returncode, -signal.SIGABRT)
        self.assertRegex(result.stderr, r"remanence: 0x[0-9a-f]+: free\(\) or realloc\(\) of an address in a heap")

    def test_it_is_refused_without_the_library(self):
        result = subprocess.run([NEW_IN_PROGRAM, "without"], capture_output=True, text=True, timeout=SECONDS_MAX)
        self.assertEqual(result.returncode, 0, result.stderr)


class Programs(unittest.TestCase):
    @installed("sqlite3")
    def test_sqlite(self):
        script = """
            create table t(a integer primary key, b text);
            with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
                insert into t select i, hex(randomblob(i % 50)) from n;
            create index by_b on t(b);
            update t set b = b || 'x' where a % 3 = 0;
            delete from t where a % 5 = 0;
            select count(*), sum(a) from t;
            pragma integrity_check;
        """
        self.assertEqual(run("/usr/bin/sqlite3", ":memory:", input=script).stdout, "80000|4000000000\nok\n")

    @installed("python3")
    def test_python(self):
        program = """
import json, threading
made = {str(i): [i, {"x": "y" * (i % 90)}] for i in range(100000)}
again = json.loads(json.dumps(made))
threads = [threading.Thread(target=lambda: [bytes(i) for i in range(3000)]) for _ in range(50)]
[t.start() for t in threads]
[t.join() for t in threads]
print(again == made)
"""
        self.assertEqual(run("/usr/bin/python3", "-c", program).stdout, "True\n")

    def test_the_compiler(self):
        source = pathlib.Path(__file__).parent / "program.cpp"
        with tempfile.TemporaryDirectory() as directory:
            result = run(COMPILER, "-std=c++20", "-O1", "-c", str(source), "-o", f"{directory}/program.o")
            self.assertEqual(result.returncode, 0, result.stderr)

    @installed("redis-server")
    def test_redis(self):
        with tempfile.TemporaryDirectory() as directory:
            socket = f"{directory}/socket"
            environment = {**os.environ, "LD_PRELOAD": LIBRARY}
            server = subprocess.Popen(
                ["/usr/bin/redis-server", "--port", "0", "--unixsocket", socket, "--dir", directory, "--save", ""],
                env=environment,
                stdout=subprocess.DEVNULL,
            )
            try:
                while server.poll() is None and not os.path.exists(socket):
                    pass
                load = ["redis-benchmark", "-s", socket, "-q", "-n", "20000", "-P", "16", "-t", "set,get,lpush,hset"]
                subprocess.run(load, check=True, stdout=subprocess.DEVNULL, timeout=SECONDS_MAX)
                size = subprocess.run(["redis-cli", "-s", socket, "dbsize"], capture_output=True, text=True, timeout=SECONDS_MAX)
                self.assertGreater(int(size.stdout), 0)
            finally:
                server.terminate()
                self.assertEqual(server.wait(timeout=SECONDS_MAX), 0)


if __name__ == "__main__":
    LIBRARY, PROGRAM, NEW_IN_PROGRAM, COMPILER = sys.argv[1:5]
    repeating.main(words=4)
