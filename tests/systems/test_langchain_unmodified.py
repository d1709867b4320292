"""The example of tools that destroy, as LangChain publishes it: it has an approval of its own."""

from .unmodified import check, play, source


def test_a_file_is_deleted_after_a_yes_on_the_page_too_and_the_list_of_files_is_closed(tmp_path):
    told = play(
        source(tmp_path), ["examples/mcp/destructive_interrupt.py"],
        [
            [("list_files", {})],
            [("delete_file", {"path": "report.md"})],
            "It is gone.",
        ],
        options=["--adapters", "langchain"],
        rules="deny=['list_*'], ask=['delete_*']",
    )  # fmt: skip
    check(told, blocked="list_files", approved="delete_file")
    assert "paused for approval: Approve destructive call delete_file(" in told.out
    assert "notes.txt" not in told.read and "Deleted report.md." in told.read
    assert told.out.endswith("agent: It is gone.\n")
