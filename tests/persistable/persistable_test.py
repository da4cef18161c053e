"""What must not be stored does not compile, and the compiler says why in a sentence of ours.

usage: persistable_test.py LEAST SOURCE COMMAND...   (the compiler and its options; SOURCE has LEAST lines to be refused)

Nothing that SOURCE says itself may fail, such as its assertions about what may be stored, and without the lines to be
refused it compiles.
"""

import re
import subprocess
import sys

MARK = re.compile(r"^.*;\s*// (?P<part>[^|]+)\|(?P<sentence>.+)$")
OTHER_LINES = r"(?:(?!.*error:).*\n)*?"


def is_said(source, number, part, sentence, said):
    """Whether one error of the compiler has the line that asked for it, the part to blame, and the sentence."""
    place = f".*{re.escape(source)}:{number}:.*\n"
    error = f".*error: .*Remanence cannot (?:store )?{re.escape(sentence)}.*\n"
    part = re.escape(part)
    by_gcc = f".*; Part = .*{part}.*\n{OTHER_LINES}{place}{OTHER_LINES}{error}"
    by_clang = f"{error}{OTHER_LINES}.*require_persistable<.*{part}.*\n{OTHER_LINES}{place}"
    return re.search(by_gcc, said) or re.search(by_clang, said)


def compile_text(command, text):
    """Whether a compiler takes it, and what it says."""
    done = subprocess.run([*command, "-x", "c++", "-"], input=text, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def main():
    least, source, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    with open(source, encoding="utf-8") as file:
        lines = file.read().splitlines()
    expected = {i: found for i, line in enumerate(lines, 1) if (found := MARK.match(line))}
    said = subprocess.run([*command, source], capture_output=True, text=True, check=False).stderr
    compiles, said_of_rest = compile_text(command, "\n".join("" if MARK.match(line) else line for line in lines) + "\n")
    missing = [
        f'{source}:{number}: no error says "{wanted["sentence"]}" of {wanted["part"]}'
        for number, wanted in expected.items()
        if not is_said(source, number, wanted["part"], wanted["sentence"], said)
    ]
    missing += [line for line in said.splitlines() if line.startswith(f"{source}:") and " error: " in line]
    if not compiles:
        missing.append(f"{source} does not compile without the lines to be refused:\n{said_of_rest}")
    if len(expected) < least:
        missing.append(f"{source} has only {len(expected)} lines to be refused")
    if missing:
        print(said[-6000:], *missing, sep="\n")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
