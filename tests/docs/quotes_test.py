"""Each C or C++ block in docs/ that names its source, by `<!-- from PATH -->` before it, is found there, indentation aside."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUOTE = re.compile(r"^<!-- from (\S+) -->\n```(?:cpp|c)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def plain(text):
    """Without indentation, on which quotes and sources differ."""
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


class Quotes(unittest.TestCase):
    def test_are_in_their_sources(self):
        found = 0
        for page in sorted((ROOT / "docs").rglob("*.md")):
            text = page.read_text()
            quotes = QUOTE.findall(text)
            self.assertEqual(len(quotes), text.count("<!-- from "), f"{page.name}: a mark without a block behind it")
            for source, quote in quotes:
                found += 1
                with self.subTest(page=page.name, source=source, quote=quote):
                    self.assertIn(plain(quote) + "\n", plain((ROOT / source).read_text()) + "\n")
        self.assertGreater(found, 0)


if __name__ == "__main__":
    repeating.main()
