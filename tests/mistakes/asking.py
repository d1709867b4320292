"""Parameters of a receiver."""

from typing import Literal

from hookbus import hookable

from ._told import Topic

TOPIC = Topic("Parameters of receivers", {})


def scrub(agent):
    return None


@TOPIC.mistake("`def scrub(msg)` on `pre_reply`: the first parameter is not the sender")
def the_sender_is_left_out(bus, Agent):
    def scrub(msg):
        return {"msg": msg.strip()}

    bus.signal("pre_reply").connect(scrub, sender=Agent)


@TOPIC.mistake("`def note(ctx)`: the first parameter is not the sender")
def the_sender_is_left_out_in_front_of_ctx(bus, Agent):
    def note(ctx): ...

    bus.signal("pre_reply").connect(note, sender=Agent)


@TOPIC.mistake("`def short(result)` on `post_reply`: the first parameter is not the sender")
def the_sender_is_left_out_in_front_of_the_result(bus, Agent):
    def short(result):
        return result[:10]

    bus.signal("post_reply").connect(short, sender=Agent)


@TOPIC.mistake("`def scrub(agent)`, and the hook has an argument `agent`")
def the_sender_is_called_like_an_argument(bus, Agent):
    @hookable("delegate", bus=bus)
    def delegate(agent, task): ...

    bus.signal("pre_delegate").connect(scrub)



@TOPIC.mistake("`def scrub()`: no parameter at all")
def nothing_takes_the_sender(bus, Agent):
    def scrub(): ...

    bus.signal("pre_reply").connect(scrub, sender=Agent)


@TOPIC.mistake("`def scrub(agent, mesg)`: a typo")
def a_typo_in_an_argument(bus, Agent):
    def scrub(agent, mesg): ...

    bus.signal("pre_reply").connect(scrub, sender=Agent)


@TOPIC.mistake("the same typo, connected before the hook is declared")
def a_typo_that_shows_at_the_first_call(bus, Agent):
    def scrub(agent, mesg): ...

    bus.signal("pre_summary").connect(scrub)

    @hookable("summary", bus=bus)
    def summary(msg):
        return msg

    return lambda: summary("hi")


@TOPIC.mistake('`def scrub(agent, mesg="")`: a typo with a default')
def a_typo_with_a_default(bus, Agent):
    def scrub(agent, mesg=""): ...

    bus.signal("pre_reply").connect(scrub, sender=Agent)
    return lambda: Agent().reply("hi")


@TOPIC.mistake("a parameter `result` in a receiver of `pre_reply`")
def the_result_before_there_is_one(bus, Agent):
    def short(agent, result): ...

    bus.signal("pre_reply").connect(short, sender=Agent)


@TOPIC.mistake('`return {"mesg": ...}`: a patch of an unknown argument')
def a_patch_with_a_typo(bus, Agent):
    def scrub(agent, msg):
        return {"mesg": msg.strip()}

    bus.signal("pre_reply").connect(scrub, sender=Agent)
    return lambda: Agent().reply("hi")


@TOPIC.mistake('`return {"options": {"to": ...}}`: the other keys are lost')
def a_patch_that_loses_keys(bus, Agent):
    @hookable("send", bus=bus)
    def send(options):
        return options

    def readdress(send, options):
        return {"options": {"to": "ada"}}

    bus.signal("pre_send").connect(readdress)
    return lambda: send({"to": "eve", "amount": 5})



@TOPIC.mistake("`return msg.strip()` in `pre`: the value, not a mapping")
def the_bare_value_instead_of_a_patch(bus, Agent):
    def scrub(agent, msg):
        return msg.strip()

    bus.signal("pre_reply").connect(scrub, sender=Agent)
    return lambda: Agent().reply("hi")


@TOPIC.mistake("a method with an argument called `result`")
def an_argument_with_a_name_of_a_phase(bus, Agent):
    class Judge:
        @hookable(bus=bus)
        def rate(self, result): ...

    return lambda: Judge().rate(3)


@TOPIC.mistake('`when={"mesg": "*KEY*"}`: a glob for an unknown argument')
def a_glob_for_a_missing_argument(bus, Agent):
    bus.signal("pre_reply").connect(scrub, sender=Agent, when={"mesg": "*key*"})


@TOPIC.mistake("`when=lambda mesg: ...`: the same typo")
def a_predicate_of_a_missing_argument(bus, Agent):
    bus.signal("pre_reply").connect(scrub, sender=Agent, when=lambda mesg: True)


@TOPIC.mistake('`when="bash*"`: a string')
def a_when_that_is_a_text(bus, Agent):
    bus.signal("pre_reply").connect(scrub, sender=Agent, when="bash*")


@TOPIC.mistake('`when={"temperature": ">1"}`: a comparison')
def a_glob_that_looks_like_a_comparison(bus, Agent):
    bus.signal("pre_reply").connect(scrub, sender=Agent, when={"temperature": ">1"})



@TOPIC.mistake('`when={"how": "fats"}` where `how: Literal["fast", "safe"]`')
def a_glob_that_never_matches(bus, Agent):
    class Runner:
        @hookable("start", bus=bus)
        def start(self, how: Literal["fast", "safe"]):
            return how

    bus.signal("pre_start").connect(scrub, sender=Runner, when={"how": "fats"})
    return lambda: Runner().start("fast")
