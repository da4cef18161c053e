"""glibc's tests of malloc, and those of fork, threads and functions that allocate. They are compiled as they are, with glibc's own support library."""

import re
import subprocess

import tools

# Headers of glibc's that are not installed, but say the same outside of it.
HEADERS = (
    "include/array_length.h", "include/intprops.h", "include/libc-diag.h",
    "sysdeps/generic/malloc-alignment.h", "sysdeps/generic/malloc-size.h", "malloc", "support",
)  # fmt: skip
# The driver's limits are for what hangs.
FLAGS = "-std=gnu11 -O1 -fno-builtin -w -D_GNU_SOURCE -DTIMEOUTFACTOR=100".split()
# Paths of glibc's build, which none of these tests uses, but their driver names.
PATHS = "".join(
    f'const char support_{name}[] = "/nonexistent";\n'
    for name in "srcdir_root objdir_root objdir_elf_ldso install_prefix libdir_prefix bindir_prefix sbindir_prefix".split()
)


class Suite:
    long_tests = ("malloc/tst-mallocfork2",)

    def __init__(self, sources, folder, cc, _cxx):
        self.glibc = tools.fetch(sources, "glibc")
        self.folder = folder
        self.flags = [cc, *FLAGS, "-I", folder / "include", "-idirafter", self.glibc / "support"]

    def known(self, listed):
        """All tests of malloc are to be judged; of other folders, those that the list names."""
        tests = [*self.glibc.glob("malloc/tst-*.c"), *self.glibc.glob("malloc/mallocbug.c"), *(self.glibc / f"{name}.c" for name in listed)]
        return sorted({str(test.relative_to(self.glibc).with_suffix("")) for test in tests if test.is_file()})

    def prepare(self, wanted):
        for name in ("include", "support", "bin"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for header in map(self.glibc.joinpath, HEADERS):
            link = self.folder / "include" / header.name
            link.unlink(missing_ok=True)
            link.symlink_to(header)
        (self.folder / "include/config.h").touch()  # that of gnulib, which has nothing to say here
        self.make_support_library()
        errors = {}
        for name in wanted:
            source = self.glibc / f"{name}.c"
            error = tools.compile_error([*self.flags, source, "-o", self.program(name), self.folder / "libsupport.a", "-lm"])
            if error:
                errors[name] = error
                self.program(name).unlink(missing_ok=True)
        return errors

    def make_support_library(self):
        """What needs glibc's insides does not compile and is left out; a test that calls it does not link."""
        makefile = (self.glibc / "support/Makefile").read_text()
        names = re.search(r"^libsupport-routines = ((?:.*\\\n)*.*)", makefile, re.MULTILINE)[1].replace("\\", "").split()
        paths = self.folder / "support/support_paths.c"
        paths.write_text(PATHS)
        files = [self.glibc / f"support/{name}.c" for name in names if name != "support_paths"]
        for old in self.folder.glob("support/*.o"):
            old.unlink()
        command = [*self.flags, "-include", "limits.h", "-D_FILE_OFFSET_BITS=64", "-c", paths, *files]
        subprocess.run(command, cwd=self.folder / "support", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        library = self.folder / "libsupport.a"
        library.unlink(missing_ok=True)
        tools.build(["ar", "rcs", library, *self.folder.glob("support/*.o")], None, "ar")

    def program(self, name):
        return self.folder / "bin" / name.replace("/", "_")

    def run(self, names, environment):
        return {name: tools.run([self.program(name)], environment) for name in names if self.program(name).exists()}
