"""Programs as they are, with libremanence-malloc.so and without: programs_test.py LIBRARY SOURCE COMPILER [unittest options].

Takes minutes; `make test NAME=malloc` installs what it needs. Says how long each took, in seconds of the processor, children included.
"""

import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402
from limits import SECONDS_MAX  # noqa: E402

LIBRARY = SOURCE = COMPILER = ""
ROUNDS = 3

PYTHON_MODULES = "test_dict test_list test_set test_json test_re test_pickle test_bytes test_memoryview test_threading test_ast".split()

SCRIPT = """
pragma journal_mode = off;
create table items(number integer primary key, name text, weight real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000)
    insert into items select i, hex(randomblob(4 + i % 40)), i * 0.5 from n;
create index by_name on items(name);
update items set name = name || '-' || number where number % 3 = 0;
delete from items where number % 5 = 0;
create table pairs as select a.number as first, b.number as second from items a join items b on b.number = a.number + 1;
select count(*), sum(number) from items;
select count(*) from pairs;
pragma integrity_check;
"""
ANSWER = "off\n800000|400000000000\n600000\nok\n"


def environment(is_ours):
    found = {**os.environ, "PYTHONMALLOC": "malloc", "LC_ALL": "C"}
    if is_ours:
        found["LD_PRELOAD"] = LIBRARY
    return found


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Programs(unittest.TestCase):
    def compare(self, name, run):
        """Calls run(environment) in turns; it checks what the program did."""
        took = {False: [], True: []}
        for _ in range(ROUNDS):
            for is_ours in (False, True):
                before = processor_seconds()
                run(environment(is_ours))
                took[is_ours].append(processor_seconds() - before)
        usual, ours = (sorted(took[is_ours])[ROUNDS // 2] for is_ours in (False, True))
        print(f"{name}: {usual:.2f} s with the malloc that it usually has, {ours:.2f} s with ours", flush=True)

    def check(self, command, env, **options):
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=SECONDS_MAX, **options)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])
        return done.stdout

    def test_sqlite3_runs_a_large_script(self):
        def run(env):
            self.assertEqual(self.check(["/usr/bin/sqlite3", ":memory:"], env, input=SCRIPT), ANSWER)

        self.compare("sqlite3", run)

    def test_python_passes_tests_of_its_own(self):
        def run(env):
            with tempfile.TemporaryDirectory() as directory:
                out = self.check(["/usr/bin/python3", "-m", "test", *PYTHON_MODULES], env, cwd=directory)
            self.assertIn(f"All {len(PYTHON_MODULES)} tests OK", out)

        self.compare("python3 -m test", run)

    def test_the_compiler_compiles_a_file_of_this_library(self):
        source = pathlib.Path(SOURCE)
        flags = ["-std=c++20", "-O2", "-I", source / "src", "-I", source / "include"]

        def run(env):
            with tempfile.TemporaryDirectory() as directory:
                self.check([COMPILER, *flags, "-c", source / "src/api/heap.cpp", "-o", f"{directory}/heap.o"], env)

        self.compare("g++ -O2 heap.cpp", run)

    def test_a_java_virtual_machine_starts_and_works(self):
        program = """
            import java.util.*;
            class Work {
                public static void main(String[] names) throws Exception {
                    Map<Integer, String> all = new TreeMap<>();
                    List<Thread> threads = new ArrayList<>();
                    for (int t = 0; t < 8; ++t) {
                        final int own = t;
                        threads.add(new Thread(() -> {
                            for (int i = own; i < 200000; i += 8)
                                synchronized (all) { all.put(i, "x".repeat(i % 50)); }
                        }));
                    }
                    for (Thread each : threads) each.start();
                    for (Thread each : threads) each.join();
                    java.nio.ByteBuffer outside = java.nio.ByteBuffer.allocateDirect(1 << 24);
                    System.out.println(all.size() + " " + outside.capacity());
                }
            }
        """
        with tempfile.TemporaryDirectory() as directory:
            source = pathlib.Path(directory, "Work.java")
            source.write_text(program)

            def run(env):
                self.assertEqual(self.check(["java", "-Xmx512m", source], env), "200000 16777216\n")

            self.compare("java", run)

    def test_redis_serves_its_benchmark(self):
        def run(env):
            with tempfile.TemporaryDirectory() as directory:
                socket = f"{directory}/socket"
                options = ["--port", "0", "--unixsocket", socket, "--dir", directory, "--save", "", "--appendonly", "no"]
                server = subprocess.Popen(["/usr/bin/redis-server", *options], env=env, stdout=subprocess.DEVNULL)
                try:
                    while server.poll() is None and not os.path.exists(socket):
                        time.sleep(0.01)
                    load = ["redis-benchmark", "-s", socket, "-q", "-n", "200000", "-r", "100000", "-P", "16"]
                    names = "set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset"
                    out = self.check([*load, "-t", names, "-d", "100"], os.environ)
                    self.assertGreaterEqual(len(re.findall("requests per second", out)), 10)
                    memory = self.check(["redis-cli", "-s", socket, "info", "memory"], os.environ)
                    self.assertIn("mem_allocator:", memory)
                finally:
                    server.terminate()
                    self.assertEqual(server.wait(timeout=SECONDS_MAX), 0)

        self.compare("redis-server and redis-benchmark", run)


if __name__ == "__main__":
    LIBRARY, SOURCE, COMPILER = sys.argv[1:4]
    repeating.main(words=3)
