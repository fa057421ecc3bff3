"""The two halves of .ci/readme: takes the blocks out of the pages, and compares transcripts with what was printed.

    readme-blocks.py split --port PORT DIRECTORY PAGE...   writes DIRECTORY/001.sh and, where a ```text block follows
                                                           before the next ```sh block, DIRECTORY/001.stated
    readme-blocks.py compare DIRECTORY                     each .stated with its .printed
"""

import argparse
import difflib
import pathlib
import re
import sys

ID = r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
TIME = r"\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z"
STRIPE_ID = r"\b(?:pi|re|evt|ch|dp|po)_[A-Za-z0-9]+(?:_secret_[A-Za-z0-9]+)?\b"
DAY = r"\b\d{4}-\d{2}-\d{2}\b"
VARYING = re.compile(f"{ID}|{TIME}|{STRIPE_ID}|{DAY}")
HTTP_DATE = re.compile(r"^(date: ).*", re.MULTILINE)
REQUEST_ID = re.compile(r"^(request-id: ).*", re.MULTILINE)
# A transfer is in a file within seconds between the cut and the bank's cut-off of a day, and at no other time.
FILE = re.compile(r'"bank_file_id":"[^"]*",')
FENCE = re.compile(r"^```(\w*)$")


def blocks(page):
    """Yields (language, text) of each fenced block of a page."""
    language, lines = None, []
    for line in page.read_text(encoding="utf-8").splitlines():
        fence = FENCE.match(line)
        if language is None and fence:
            language, lines = fence.group(1), []
        elif language is not None and line == "```":
            yield language, "\n".join(lines) + "\n"
            language = None
        elif language is not None:
            lines.append(line)
    if language is not None:
        sys.exit(f"readme: {page} ends within a block")


def split(port, directory, pages):
    count = 0
    for page in pages:
        follows_command = False
        for language, text in blocks(pathlib.Path(page)):
            if language == "sh":
                count += 1
                text = text.replace("127.0.0.1:3000", f"127.0.0.1:{port}")
                (directory / f"{count:03}.sh").write_text(text, encoding="utf-8")
                follows_command = True
            elif language == "text" and follows_command:
                (directory / f"{count:03}.stated").write_text(text, encoding="utf-8")
                follows_command = False


class Numbered:
    """Replaces ids and times by their number, in the order of their first appearance."""

    def __init__(self):
        self.seen = {}

    def text(self, text):
        number = lambda match: f"<{self.seen.setdefault(match.group(), len(self.seen) + 1)}>"
        text = HTTP_DATE.sub(r"\1<date>", text.replace("\r", "")).strip() + "\n"
        text = FILE.sub("", REQUEST_ID.sub(r"\1<request>", text))
        return VARYING.sub(number, text)


def compare(directory):
    stated_all, printed_all = Numbered(), Numbered()
    transcripts, different = sorted(directory.glob("*.stated")), 0
    for path in transcripts:
        stated = stated_all.text(path.read_text(encoding="utf-8"))
        printed = printed_all.text(path.with_suffix(".printed").read_text(encoding="utf-8"))
        if stated != printed:
            different += 1
            command = path.with_suffix(".sh").read_text(encoding="utf-8")
            print(f"readme: this prints something else than the page states:\n{command}")
            names = {"fromfile": "stated", "tofile": "printed", "lineterm": ""}
            print("\n".join(difflib.unified_diff(stated.splitlines(), printed.splitlines(), **names)))
    if different or not transcripts:
        sys.exit(f"readme: {different} of {len(transcripts)} transcripts differ")
    print(f"readme: {len(list(directory.glob('*.sh')))} blocks ran, {len(transcripts)} transcripts are as stated")


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    splitting = commands.add_parser("split")
    splitting.add_argument("--port", required=True)
    splitting.add_argument("directory", type=pathlib.Path)
    splitting.add_argument("pages", nargs="+")
    comparing = commands.add_parser("compare")
    comparing.add_argument("directory", type=pathlib.Path)
    given = parser.parse_args()
    if given.command == "split":
        split(given.port, given.directory, given.pages)
    else:
        compare(given.directory)


main()
