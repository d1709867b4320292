"""Streams."""

from hookbus import Replace

from ._told import Topic

TOPIC = Topic("Streams", {})


def no_keys(agent): ...


@TOPIC.mistake("a guard on `post_tokens`, after the items were sent")
def a_guard_after_the_items(bus, Agent):
    bus.signal("post_tokens").connect(no_keys, sender=Agent, role="guard")


@TOPIC.mistake("`item_reply`, and `reply` is not a generator")
def items_of_no_stream(bus, Agent):
    bus.signal("item_reply").connect(no_keys, sender=Agent)


@TOPIC.mistake("a parameter `item` in a receiver of `post_tokens`")
def an_item_at_the_end(bus, Agent):
    def last(agent, item): ...

    bus.signal("post_tokens").connect(last, sender=Agent)


@TOPIC.mistake("`return Replace(3)` in `pre_tokens`: not an iterable")
def a_replacement_without_items(bus, Agent):
    def cached(agent):
        return Replace(3)

    bus.signal("pre_tokens").connect(cached, sender=Agent)
    return lambda: list(Agent().tokens(3))
