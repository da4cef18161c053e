"""rem_texts_test.py REM MAKE_HEAP SOURCE [unittest options]: help, man page, completion, colours, usage."""

import os
import pty
import re
import subprocess
import unittest

from rem_support import DAMAGE, OK, REM, SOURCE, USAGE, RemTest, main

COMMANDS = ["info", "ls", "stat", "readers", "verify", "copy", "schema", "get", "dump", "load", "log", "history", "diff", "undo", "restore", "keep", "drop", "branch", "export", "gc", "shrink", "relocate", "upgrade"]


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z-]+", text))


class texts(RemTest):
    def help_of(self, *command):
        return self.text(*command, "--help")[0]

    def man_page(self):
        with open(os.path.join(SOURCE, "rem.1")) as file:
            return file.read().replace("\\-", "-")

    def test_help_has_examples_and_exit_codes(self):
        for command in COMMANDS:
            text = self.help_of(command)
            self.assertIn(f"Examples:\n  rem {command} ", text)
            for code in ("0 all is well", "1 error", "2 wrong usage", "3 whole, but", "4 the heap is damaged"):
                self.assertIn(code, text)
            self.assertRegex(self.help_of(), rf"(?m)^  {command} ")

    def test_man_page_lists_the_options_of_the_help(self):
        sections = re.split(r"(?m)^\.S[HS] ", self.man_page())
        by_title = {section.split("\n", 1)[0]: section for section in sections}
        commands = {title.split()[1]: text for title, text in by_title.items() if title.startswith("rem ")}
        self.assertEqual(sorted(commands), sorted(COMMANDS))
        self.assertEqual(options_in(by_title["OPTIONS"]), options_in(self.help_of()))
        for command in COMMANDS:
            listed = set(re.findall(r"(?m)^\.TP\n\.BR? (--[a-z-]+)", commands[command]))
            self.assertEqual(listed, options_in(self.help_of(command).split("Examples:")[0]) - {"--help"}, command)
            self.assertIn(f".SS rem {command} {' '.join(re.findall('[A-Z]+', self.usage(command)))}\n", self.man_page())

    def usage(self, command):
        return re.search(r"Usage: rem \w+ \[OPTIONS\] (.*)", self.help_of(command)).group(1)

    def test_man_page_lists_the_exit_codes(self):
        exits = self.man_page().split(".SH EXIT STATUS")[1].split(".SH")[0]
        self.assertEqual(re.findall(r"\.B (\d)", exits), re.findall(r"\b(\d) [a-z]", self.help_of().split("Exit codes:")[1]))

    def test_man_page_lists_the_keys_of_the_json(self):
        self.make()
        self.flip(self.place_in_file(self.places["counter"]))
        for command in ("info", "ls", "stat", "verify"):
            section = self.man_page().split(f".SS rem {command} ")[1].split(".S")[0]
            # What it does not read is no damage to stat.
            got = self.json(command, "--json", "book.rem", code=OK if command == "stat" else DAMAGE)
            keys = set(got)
            for value in got.values():
                for inner in value if isinstance(value, list) else [value]:
                    keys |= set(inner) if isinstance(inner, dict) else set()
            if command != "verify":
                keys -= {"what", "file", "offset", "bytes"}  # of problems, explained there
            for key in keys:
                self.assertRegex(section, rf"[ \"]{key}\b", f"{command}: {key}")

    def test_man_page_is_well_formed(self):
        if subprocess.run(["sh", "-c", "command -v groff"], capture_output=True).returncode:
            self.skipTest("groff is not installed")
        done = subprocess.run(
            ["groff", "-man", "-Tascii", "-ww", "-z", os.path.join(SOURCE, "rem.1")], capture_output=True, text=True
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def complete(self, *words):
        script = f'. "{SOURCE}/rem.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rem; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(
            ["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True, cwd=self.directory
        )
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_completion_offers_the_options_of_the_help(self):
        self.assertEqual(self.complete("rem", "") - options_in(self.help_of()), set(COMMANDS))
        self.assertEqual(self.complete("rem", "--"), options_in(self.help_of()))
        for command in COMMANDS:
            self.assertEqual(
                self.complete("rem", command, "--"), options_in(self.help_of(command).split("Examples:")[0]), command
            )

    def test_completion_offers_files(self):
        self.make()
        self.assertEqual(self.complete("rem", "verify", "bo"), {"book.rem"})

    def test_wrong_usage_says_so(self):
        self.make()
        for words in (
            [],
            ["unknown"],
            ["info"],
            ["copy", "book.rem"],
            ["copy", "--json", "book.rem", "copy.rem"],
            ["ls", "--force", "book.rem"],
            ["verify", "book.rem", "more"],
        ):
            out, err = self.text(*words, code=USAGE)
            self.assertEqual(out, "", words)
            self.assertTrue(err, words)

    def test_wrong_usage_is_said_without_disturbing_the_terminal(self):
        odd = "\x1b[31m\x07\u009b"
        for words in ([odd], ["info", "a", odd], ["info", "--" + odd], ["copy", "a", "b", odd], ["verify", "--json=" + odd, "a"]):
            err = self.text(*words, code=USAGE)[1]
            for raw in "\x1b\x07\u009b":
                self.assertNotIn(raw, err)
            self.assertTrue(err.endswith("\n"), err)
        self.assertIn("\\x1b[31m", self.text("info", "book.rem", odd, code=USAGE)[1])

    def test_version_is_that_of_the_project(self):
        with open(os.path.join(SOURCE, "..", "..", "CMakeLists.txt")) as file:
            version = re.search(r"VERSION (\d+\.\d+\.\d+)", file.read()).group(1)
        self.assertEqual(self.text("--version")[0], f"rem {version}\n")


class terminal(RemTest):
    def on_terminal(self, *words, code=OK, **environment):
        """What a run prints whose standard output and error are a terminal."""
        inherited = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        controller, terminal = pty.openpty()
        process = subprocess.Popen(
            [REM, *words], stdout=terminal, stderr=terminal, cwd=self.directory, env={**inherited, **environment}
        )
        os.close(terminal)
        text = b""
        while True:
            try:
                part = os.read(controller, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            text += part
        os.close(controller)
        self.assertEqual(process.wait(), code, text)
        return text.decode()

    def test_gets_colours_unless_no_color_is_set(self):
        self.make()
        self.assertIn("\x1b[32mwhole\x1b[0m", self.on_terminal("verify", "book.rem"))
        self.assertNotIn("\x1b", self.on_terminal("verify", "book.rem", NO_COLOR="1"))
        self.assertNotIn("\x1b", self.text("verify", "book.rem")[0])

    def test_gets_no_copy(self):
        self.make()
        self.assertIn("is a terminal", self.on_terminal("copy", "book.rem", "-", code=USAGE))


if __name__ == "__main__":
    main()
