"""The example of an airline's customer service, as OpenAI Agents publishes it."""

from .unmodified import check, play, source


def test_a_seat_is_changed_after_a_yes_on_the_page_and_the_faq_is_closed(tmp_path):
    seat = {"confirmation_number": "LL0EZ6", "new_seat": "4A"}
    told = play(
        source(tmp_path), ["-m", "examples.customer_service.main"],
        [
            [("transfer_to_faq_agent", {})],
            [("faq_lookup_tool", {"question": "may I take a bag?"})],
            [("transfer_to_triage_agent", {})],
            [("transfer_to_seat_booking_agent", {})],
            [("update_seat", seat)],
            "You sit in 4A.",
        ],
        options=["--adapters", "openai_agents"],
        rules="allow=['transfer_*'], deny=['faq_*'], ask=['update_seat']",
    )  # fmt: skip
    check(told, blocked="faq_lookup_tool", approved="update_seat")
    assert "Updated seat to 4A for confirmation number LL0EZ6" in told.out
    assert "one bag" not in told.out and told.out.endswith("You sit in 4A.\n")
