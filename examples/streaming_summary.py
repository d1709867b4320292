"""A streaming summary without private data, even if a number is split over two pieces.

    python examples/streaming_summary.py notes.txt

The summariser picks the sentences with the most frequent words, so it needs no model. Put your own
model into `Summariser.stream`. You do not need to change the receivers.
"""

import re
import sys
from collections import Counter
from pathlib import Path

from hookbus import hookable, signal
from hookbus.events import Mutated
from hookbus.testing import record

PRIVATE = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+|\+?\d[\d ()/-]{6,}\d")
LONGEST = 80  # characters held back, so that the redactor sees private data whole


class Summariser:
    @hookable("stream")
    def stream(self, text, sentences=2):
        """Yield the summary in pieces of a few characters, as a model does."""
        every = re.split(r"(?<=[.!?]) ", " ".join(text.split()))
        weight = Counter(re.findall(r"[a-z]{4,}", text.lower()))
        best = sorted(
            every,
            key=lambda each: -sum(weight[word] for word in re.findall(r"[a-z]{4,}", each.lower())),
        )
        summary = " ".join(each for each in every if each in best[:sentences])
        for place in range(0, len(summary), 7):
            yield summary[place : place + 7]


@signal("around_stream").connect_via(Summariser)
def whole_words(summariser, call_next):
    """Yield a piece only when no later character can belong to it."""
    buffer = ""
    for piece in call_next():
        buffer += piece
        end = buffer.rfind(" ", 0, len(buffer) - LONGEST)
        if end > 0 and not any(
            match.start() < end < match.end() for match in PRIVATE.finditer(buffer)
        ):
            yield buffer[: end + 1]
            buffer = buffer[end + 1 :]
    yield buffer


@signal("item_stream").connect_via(Summariser, on_error="block")
def redact(summariser, item):
    return PRIVATE.sub("[private]", item) if PRIVATE.search(item) else None


EXAMPLE = """
The printer beside the kitchen has broken again. The printer is broken because a paper clip fell
into the printer, says Ada (ada@example.org, phone 030 1234 5678). Lunch was late. Bob will order
a new printer, or mend the broken printer, and asks for a quote by mail to bob.b@example.org
before Friday.
"""

if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text() if len(sys.argv) > 1 else EXAMPLE
    with record() as recording:
        for piece in Summariser().stream(text):
            print(piece, end="", flush=True)
    print(f"\n{len(recording.of(Mutated))} pieces were redacted")
