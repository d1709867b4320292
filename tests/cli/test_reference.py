"""The page of the command line says what the commands say."""

from tests.cli.reference import PAGE, PLACE, reference, words_in


def test_the_page_says_what_help_says():
    held = PLACE.search(PAGE.read_text())
    assert words_in(held.group()) == words_in(reference()), "python -m tests.cli.reference --write"
