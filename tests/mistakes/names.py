"""Names of signals."""

from hookbus import Block

from ._told import Topic

TOPIC = Topic("Names of signals", {})


def no_keys(agent):
    return Block("no")


def guard(name):
    def make(bus, Agent):
        bus.signal(name).connect(no_keys, role="guard")
        return lambda: Agent().reply("hi")

    return make


def look(name):
    def make(bus, Agent):
        bus.signal(name).connect(lambda agent: None, role="observe", name="look")
        return lambda: Agent().reply("hi")

    return make


TOPIC.mistake("a guard on `pre_replay`: a typo")(guard("pre_replay"))
TOPIC.mistake("a guard on `before_reply`")(guard("before_reply"))
TOPIC.mistake("a guard on `reply_pre`: the phase last")(guard("reply_pre"))
TOPIC.mistake("a guard on `reply`: the name of the hook without a phase")(guard("reply"))
TOPIC.mistake("an observer on `after_reply`")(look("after_reply"))
TOPIC.mistake("an observer on `reply_done`")(look("reply_done"))
TOPIC.mistake("an observer on `prereply`")(look("prereply"))
TOPIC.mistake("an observer on `post_replay`")(look("post_replay"))


@TOPIC.mistake('`signal("pre-reply")`')
def a_name_with_a_dash(bus, Agent):
    bus.signal("pre-reply")


@TOPIC.mistake('`signal("finally_*")`: a pattern')
def a_pattern_as_a_name(bus, Agent):
    bus.signal("finally_*")


@TOPIC.mistake("`signal(Agent.reply)`: the method")
def a_method_as_a_name(bus, Agent):
    bus.signal(Agent.reply)
