"""Bugs planted one at a time: the tests must catch every one.

    python -m tests.seeded_bugs              all of them
    python -m tests.seeded_bugs 3 17         these
    python -m tests.seeded_bugs compiled     those whose title has this word

Each is planted in a copy of the project; the tests it names are run there and must fail. A bug whose text is not found in
the source any more is an error too: mend the entry, do not drop it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Bug(NamedTuple):
    """A mistake, the file it is planted in, what it replaces by what, and the tests that must notice."""

    title: str
    file: str
    right: str
    wrong: str
    tests: str


BUGS = [
    Bug(
        'a failing guard lets the call go on', '_connections/options.py',
        '"guard": ("block",)',
        '"guard": ("isolate",)',
        'tests/test_events.py tests/test_call.py',
    ),
    Bug(
        'lower priority runs first', '_connections/order.py',
        '-pair[1].options.priority',
        'pair[1].options.priority',
        'tests/test_order.py',
    ),
    Bug(
        'farther scopes run first', '_connections/order.py',
        'pair[0], pair[1].sequence',
        '-pair[0], pair[1].sequence',
        'tests/test_signal.py',
    ),
    Bug(
        'the exception of a guard reaches the model', '_calls/failing.py',
        'Block(f"{receiver.role} failed: {type(error).__name__}")',
        'Block(f"{receiver.role} failed: {error!r}")',
        'tests/test_events.py',
    ),
    Bug(
        "a receiver's failure replaces the body's exception", '_calls/failing.py',
        'if seat.phase in ("error", "finally") or receiver.on_error == "isolate":',
        'if seat.phase == "error":\n            self.leave(error)\n        if seat.phase == "finally" or receiver.on_error == "isolate":',
        'tests/test_call.py',
    ),
    Bug(
        'once runs as often as calls overlap', '_connections/receiver.py',
        'is_first, self.is_spent = not self.is_spent, True',
        'is_first = True',
        'tests/test_signal.py',
    ),
    Bug(
        'half a plugin stays connected', 'plugins/_loading.py',
        '        for connection in reversed(loaded.connections):\n            connection.disconnect()\n        for connection in quiet',
        '        for connection in quiet',
        'tests/plugins/test_plugins_loading.py',
    ),
    Bug(
        'a lying manifest is believed', 'plugins/_loading.py',
        '        _check_honest(manifest, api)\n',
        '',
        'tests/plugins/test_plugins_loading.py',
    ),
    Bug(
        'what is connected at import stays', 'plugins/_loading.py',
        '            signal.drop(receiver)\n',
        '            pass\n',
        'tests/plugins/test_plugins_loading.py',
    ),
    Bug(
        "a plugin replaces the host's guard", 'plugins/_loading.py',
        '            and id(receiver) not in own\n',
        '            and False\n',
        'tests/plugins/test_plugins_loading.py',
    ),
    Bug(
        'a reload fires the old and the new', 'plugins/_loading.py',
        '            connection.disable()\n',
        '            pass\n',
        'tests/plugins/test_plugins_reload.py',
    ),
    Bug(
        'a refused reload leaves the old one silent', 'plugins/_loading.py',
        '            connection.enable()\n',
        '            pass\n',
        'tests/plugins/test_plugins_reload.py',
    ),
    Bug(
        'a reload leaves the old one connected', 'plugins/_roster.py',
        '*(old.leave() if old else ())',
        '',
        'tests/plugins/test_plugins_reload.py',
    ),
    Bug(
        'a refused reload takes the old modules along', 'plugins/_code.py',
        '        if self._replaced is not None:\n            self._replaced._step_back()\n',
        '',
        'tests/plugins/test_plugins_reload.py',
    ),
    Bug(
        'bytecode of the old code is run', 'plugins/_code.py',
        '        raise OSError(f"no bytecode is kept for {path}")\n',
        '        return super().path_stats(path)\n',
        'tests/plugins/test_plugins_loading.py',
    ),
    Bug(
        'modules stay after unload', 'plugins/_code.py',
        '            _forget(self._modules())\n            _take_out(finder)\n',
        '            _take_out(finder)\n',
        'tests/plugins/test_plugins_loading.py',
    ),
    Bug(
        'allow does not keep others out', 'plugins/_selection.py',
        'if self.allow is not None and not',
        'if self.allow and not',
        'tests/plugins/test_plugins_places.py',
    ),
    Bug(
        'enable lifts deny', 'plugins/_selection.py',
        'if is_named(candidate, self.deny, in_workspace=True):',
        'if is_named(candidate, self.deny, in_workspace=True) and not is_named(candidate, self.enable):',
        'tests/plugins/test_plugins_places.py',
    ),
    Bug(
        'a workspace plugin switches itself on', 'plugins/_selection.py',
        '        if candidate.place == "workspace":\n',
        '        if False:\n',
        'tests/plugins/test_plugins_places.py',
    ),
    Bug(
        'a bare id names a plugin of the workspace', 'plugins/_selection.py',
        'in_workspace or candidate.place != "workspace"',
        'True',
        'tests/plugins/test_plugins_places.py',
    ),
    Bug(
        'a second owner is let in', 'plugins/_roster.py',
        '        self._check_names_are_free(slot, manifest.provides)\n',
        '',
        'tests/plugins/test_plugins_loading.py',
    ),
    Bug(
        'a required plugin is taken out', 'plugins/_roster.py',
        '        if needed:\n',
        '        if False:\n',
        'tests/plugins/test_plugins_loading.py',
    ),
    Bug(
        'the operator weakens a guard', 'plugins/_operator.py',
        '            continue\n        options[name]',
        '            pass\n        options[name]',
        'tests/plugins/test_plugins_operator.py',
    ),
    Bug(
        'a link out of the folder is followed', 'plugins/_trust.py',
        '            if not _is_inside(os.path.realpath(path), real):',
        '            if False:',
        'tests/plugins/test_plugins_trust.py',
    ),
    Bug(
        'what anyone could change is trusted', 'plugins/_trust.py',
        'status.st_mode & stat.S_IWOTH',
        'False',
        'tests/plugins/test_plugins_trust.py',
    ),
    Bug(
        'a newer format is read all the same', 'plugins/_manifest.py',
        '    if number > FORMAT:\n',
        '    if False:\n',
        'tests/plugins/test_plugins_manifest.py',
    ),
    Bug(
        'a setting gets in unchecked', 'plugins/_settings.py',
        '        schema[name].check(value, "the operator\'s")\n',
        '',
        'tests/plugins/test_plugins_loading.py',
    ),
    Bug(
        'a failing answerer silences the others', '_connections/options.py',
        '"answer": ("isolate", "block", "raise")',
        '"answer": ("raise", "block", "isolate")',
        'tests/test_ask.py',
    ),
    Bug(
        'firstresult takes None for an answer', 'modes.py',
        '        if answer.value is not None:\n            return answer.value\n    return None',
        '        if answer.error is None:\n            return answer.value\n    return None',
        'tests/test_modes.py',
    ),
    Bug(
        'a malformed allow list widens', '_modes.py',
        'draft[key] if refused is None else []',
        'draft[key] if refused is None else merged.get(key)',
        'tests/test_modes.py',
    ),
    Bug(
        'a refused answer is merged half', '_modes.py',
        'return (draft, None) if reason is None else (narrowed, reason)',
        'return draft, reason',
        'tests/test_modes.py',
    ),
    Bug(
        'providers are closed in the order they were opened', '_questions/providers.py',
        'return self._managers[::-1]',
        'return self._managers',
        'tests/test_scope.py',
    ),
    Bug(
        'a provider is entered at each question', '_questions/providers.py',
        '            if not self.has(seat):\n                value = type(manager).__enter__',
        '            if True:\n                value = type(manager).__enter__',
        'tests/test_scope.py',
    ),
    Bug(
        'a picture lets in what strangers wrote', '_views/tables.py',
        'html.escape("\\n".join(map(printable, text.split("\\n"))))',
        '"\\n".join(map(printable, text.split("\\n")))',
        'tests/test_pictures.py',
    ),
    Bug(
        'a picture shows the text of an exception', '_views/waterfall.py',
        'error = type(event.exception).__name__',
        'error = repr(event.exception)',
        'tests/test_pictures.py',
    ),
    Bug(
        'a picture forgets in which call a call was made', '_views/waterfall.py',
        'inside[event.parent_id if event.parent_id in inside else None]',
        'inside[None]',
        'tests/test_pictures.py',
    ),
    Bug(
        'in a picture every call begins at once', '_views/waterfall.py',
        'first = 1 + 98 * min(line.start / length, 1.0)',
        'first = 1.0',
        'tests/test_pictures.py',
    ),
]

PATHS = "tests/properties/test_by_number.py -k paths"
HOT = "tests/guarantees/test_compiled_connections.py tests/guarantees/test_compiled_failures.py"

COMPILED = [
    Bug("compiled: guards are asked before modifiers", "_forms.py", "(phase.modify, phase.guard, beside)", "(phase.guard, phase.modify, beside)", PATHS),
    Bug("compiled: observers look before the guards", "_forms.py", "(phase.modify, phase.guard, beside)", "(phase.modify, beside, phase.guard)", PATHS),
    Bug("compiled: who is asked last is asked first", "_forms.py", "for seat in seats]\n            for form, same in groupby(zip(forms, seats, strict=True)", "for seat in seats][::-1]\n            for form, same in groupby(zip(forms, seats[::-1], strict=True)", PATHS),
    Bug("compiled: the answer of a guard is ignored", "_source.py", "_answer is not None:\\n    raise _Unusual\")\n\n    def _revise", "False:\\n    raise _Unusual\")\n\n    def _revise", PATHS),
    Bug("compiled: a patch of an unknown name is taken", "_source.py", "                    if _name not in _names:\n                        raise _Unusual\n", "                    pass\n", HOT),
    Bug("compiled: half a patch is kept", "_source.py", "        self.add(\"\"\"\n            if _answer is not None:\n                if _type(_answer) is not _dict:\n", "        for each in names:\n            self.add(f\"if _type(_answer) is _dict and {each!r} in _answer:\\n    {each} = _answer[{each!r}]\")\n        self.add(\"\"\"\n            if _answer is not None:\n                if _type(_answer) is not _dict:\n", HOT),
    Bug("compiled: a draft with another name in it is taken", "_source.py", "f\"_len(_view) != {len(known)}\"", "\"False\"", HOT),
    Bug("compiled: what is written to a draft is lost", "_source.py", "                self.add(f\"{name} = _view[{name!r}]\")", "                self.add(f\"{name} = {name}\")", PATHS),
    Bug("compiled: beside a draft a patch is lost", "_source.py", "\"_view = {**_view, **_answer}\"", "\"pass\"", HOT),
    Bug("compiled: a verdict of post is data", "_source.py", "                if _type(_answer) not in _plain and _is_special(_answer):\n                    raise _Unusual\n", "", PATHS),
    Bug("compiled: a verdict of an around is data", "_nesting.py", "_type(_answer) not in _plain and _is_special(_answer)\"", "False\"", PATHS),
    Bug("compiled: a write by who may only read is ignored", "_source.py", "(\"_view.tampered or \" if form.wants_ctx and form.step != \"pre\" else \"\")", "\"\"", PATHS),
    Bug("compiled: a write by an around is ignored", "_nesting.py", "f\"{view}.tampered or \" if form.wants_ctx else \"\"", "\"\"", HOT),
    Bug("compiled: a cancellation that a receiver swallows is ignored", "_source.py", "\"_cancelling() > _cancels or \" if form.is_async else \"\"", "\"\"", HOT),
    Bug("compiled: a cancellation that an around swallows is ignored", "_nesting.py", "swallowed = \"_cancelling() > _cancels or \" if form.is_async else \"\"", "swallowed = \"\"", HOT),
    Bug("compiled: a method may not swallow a cancellation", "_lines.py", "                if _cancelling() > _cancels and _is_running(_task):\n                    _task = ", "                if False:\n                    _task = ", HOT),
    Bug("what two methods swallowed in turn is counted twice", "_cancels.py", "            came = self.cancelling() - self._count\n", "            came = self._task.cancelling() - self._count\n", HOT),
    Bug("who swallows is watched where nobody else is awaited", "_call.py", "settles = self.plan.awaits", "settles = True", HOT),
    Bug("an attempt that is given up ends the call", "_asking.py", "    if answer.is_cancel and answer.error is not None and call.hook.is_async:\n        raise GivenUp(answer.error)\n", "", "tests/guarantees/test_cancellation_of_attempts.py"),
    Bug("what was uncancelled hides the next cancellation", "_cancels.py", "        if settled > requested:", "        if False:", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("an attempt goes on after its call", "_walk.py", "            call.has_left = True\n", "            pass\n", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("an attempt goes on after a block", "_around.py", "    if call.ending is not None:\n        raise Over\n    if call.late", "    if call.late", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("compiled: an inner around outlives the outer one", "_nesting.py", "f\" or _ran0 >= {ENDED}\")", "\"\")", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("compiled: an inner around fails in a call that has ended", "_nesting.py", "known = [f\"_ran0 >= {ENDED}\"", "known = [\"False\"", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("compiled: an attempt in a task of its own is taken for the call", "_nesting.py", "\" or _loop is not None and _task_of(_loop) is not _task\" if is_asked else \"\"", "\"\"", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("compiled: what an attempt gave that ends after another is forgotten", "_nesting.py", "            _detour.came_out({i}, _inner)\n", "            pass\n", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("compiled: what an attempt raised that ends after another is forgotten", "_detour.py", "            self._onions[depth - 1].last = reached\n", "            pass\n", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("an attempt counts before it is awaited", "_around.py", "onion.call_next_async if call.hook.colour == \"async\" else onion.call_next", "onion.call_next", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("compiled: who looks beside others may swallow a cancellation", "_turns.py", "    if is_cancelled_error(answer.error) or not Cancels.since(0, task).came():\n        return answer\n    return", "    return answer\n    return", "tests/guarantees/test_cancellation_and_waiting.py"),
    Bug("observers are cancelled in any order", "_tasks.py", "for task in tasks:\n                task.cancel()", "for task in {*tasks}:\n                task.cancel()", "tests/guarantees/test_cancellation_and_waiting.py"),
    Bug("compiled: a kept call_next is of use", "_source.py", "_detour = _detour or {new_detour(self)}".replace("{", "{").replace("}", "}"), "pass", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("compiled: another task's count is taken", "_lines.py", "                if _cancelling() > _cancels and _is_running(_task):\n", "                if _cancelling() > _cancels:\n", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("compiled: a method may not turn a cancellation into its own exception", "_lines.py", "and not _is_cancelled_error(_raised):", "and False:", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("a cancellation still to come is the method's own", "_turns.py", "    await asyncio.sleep(0)\n    cancels.settle()", "    cancels.settle()", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("compiled: a closed coroutine waits", "_resume.py", "        self.may_wait = not stop.is_closing\n", "", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("a block is lost where its attempt is given up", "_around.py", "is_passing = answer.is_cancel and call.hook.is_async and self.is_inner", "is_passing = False", "tests/guarantees/test_cancellation_of_attempts.py"),
    Bug("an around that is not asked counts as one further out", "_around.py", "return len(self.answered) > 1", "return self.depth > 0", "tests/guarantees/test_cancellation_and_waiting.py"),
    Bug("an around that an interrupt only passes has failed", "_around.py", "        if self.last is None or error is not self.last.error:\n", "        if True:\n", "tests/guarantees/test_final_blocks.py"),
    Bug("compiled: the sender is the tuple of all arguments", "_compile.py", " or not has_sender", "", HOT),
    Bug("compiled: after a cancellation there is another attempt", "_nesting.py", "cancelled = \" or _cancelling() > _cancels\" if text.counts else \"\"", "cancelled = \"\"", HOT),
    Bug("compiled: the walk asks the one before again", "_resume.py", "self._place(turn) < self._stop.place else", "self._place(turn) < self._stop.place - 1 else", PATHS),
    Bug("compiled: what others beside one that failed have answered is lost", "_resume.py", "                self._known = answers if isinstance(step, list) else []\n", "", PATHS),
    Bug("compiled: an around that is held weakly is called as if it were not", "_compile.py", 'part.form.step in ("around", "beside")', 'part.form.step == "beside"', "tests/guarantees/test_hot_as_cold.py"),
    Bug("compiled: who looks beside others and is held weakly is never asked", "_compile.py", 'part.form.step in ("around", "beside")', 'part.form.step == "around"', "tests/guarantees/test_hot_as_cold.py"),
    Bug("compiled: who is awaited beside others may answer anything", "_resume.py", "    return None if value is None else Answer(value)\n", "    return None\n", "tests/guarantees/test_hot_as_cold.py"),
    Bug("compiled: a cancellation from before the call ends it", "_source.py", 'cancels = ", _cancels" if self.counts else ""', 'cancels = ""', "tests/guarantees/test_hot_as_cold.py"),
    Bug("compiled: what the method gave is forgotten where the around wraps it", "_detour.py", '                onion.last = Reached(outcome="returned" if ran % ENDED == 2 else "replaced")\n', "                pass\n", "tests/guarantees/test_hot_as_cold.py"),
    Bug("compiled: the walk skips who failed", "_resume.py", "self._place(turn) < self._stop.place else", "self._place(turn) <= self._stop.place else", PATHS),
    Bug("compiled: the walk asks who failed again", "_resume.py", "if self._place(turn) == self._stop.place else turn", "if False else turn", PATHS),
    Bug("compiled: the walk runs the method again", "_resume.py", "            call.reached = Reached.of_body(Answer(error=stop.went.error))\n", "            pass\n", PATHS),
    Bug("compiled: a draft is shown to the walk as it was", "_resume.py", "            view.clear()\n            view.update(self.view)\n", "            pass\n", PATHS),
    Bug("compiled: the walk begins a state of its own", "_resume.py", "            call.call_id, call.state = call_id, state\n", "            pass\n", HOT),
    Bug("compiled: what the method raises concerns nobody", "_compile.py", "is_simple=not any(plan.error) and not any(plan.final)", "is_simple=True", PATHS),
    Bug("compiled: a frame outlives its call", "_lines.py", "                    _frame[0] = _frame[1] = None\n", "                    pass\n", HOT),
    Bug("compiled: a frame stays current", "_lines.py", "                        _CURRENT.reset(_token)\n", "                        pass\n", HOT),
    Bug("compiled: super() is always the bare method", "_passage.py", "if {frame}[0] is {sender} and {frame}[1] is {mark}:", "if True:", HOT),
    Bug("compiled: super() is never the bare method", "_passage.py", "if {frame}[0] is {sender} and {frame}[1] is {mark}:", "if False:", HOT),
    Bug("compiled: super() is told by the object alone", "_passage.py", "if {frame}[0] is {sender} and {frame}[1] is {mark}:", "if {frame}[0] is {sender}:", HOT),
    Bug("compiled: of many the last is left out", "_source.py", "tuple(enumerate(functions, part.place)))}:", "tuple(enumerate(functions, part.place))[:-1])}:", HOT),
    Bug("compiled: of many another one is named", "_source.py", "tuple(enumerate(functions, part.place)))}:", "tuple(enumerate(functions, part.place + 1)))}:", HOT),
    Bug("compiled: whoever fails after many is one of them", "_source.py", "            self.add(\"_at = None\")\n", "", HOT),
    Bug("compiled: a weak receiver is held strongly", "_forms.py", "\"own\" if is_own else \"weak\" if receiver.is_weak else \"strong\"", "\"own\" if is_own else \"strong\"", HOT),
    Bug("compiled: an agent is held by its own method", "_forms.py", "\"own\" if is_own else \"weak\" if receiver.is_weak else \"strong\"", "\"strong\" if is_own else \"weak\" if receiver.is_weak else \"strong\"", HOT),
    Bug("compiled: the plan of one agent is kept for its class", "_hook.py", "                elif not is_own:\n", "                else:\n", HOT),
    Bug("compiled: a plan with a receiver that is just coming is for the class", "_runner.py", " and (owner is sender or not plan.has_own(sender))", "", HOT),
    Bug("compiled: the plan of a class is hot for ever", "_hook.py", "        self.of_class.clear()\n", "", HOT),
    Bug("compiled: the plan of one agent is hot for ever", "_hook.py", "self.of_one.set_all(self.start)\n", "pass\n", HOT),
    Bug("compiled: the old plan of one agent is found again", "_hook.py", "            self.plans.pop(sender)\n", "", HOT),
    Bug("compiled: muting is ignored", "_runner.py", "runner.walking if _is_muted(hook) else runner.run", "runner.run", HOT),
    Bug("compiled: muting is ignored by the call that makes a plan hot", "_runner.py", " and not _is_muted(hook):", ":", HOT),
    Bug("compiled: a listener is told nothing of hot calls", "_runner.py", "        if not self.hook.bus.is_observed:\n", "        if True:\n", HOT + " --compiled tests/test_events.py"),
    Bug("compiled: a table of classes keeps them alive", "_identity.py", "            table.clear()\n", "            pass\n", HOT),
    Bug("compiled: call_next works when its around has ended", "_nesting.py", "        _ran0 += {ENDED}\n        _result", "        _result", HOT),
    Bug("compiled: call_next works when its inner around has ended", "_nesting.py", "        else:\n            _ran{i} += {ENDED}\n        _ran{i - 1}", "        _ran{i - 1}", "tests/guarantees/test_attempts_elsewhere.py"),
    Bug("compiled: guards are not asked again for a retry", "_nesting.py", "if _patch or _ran{i} or _detour", "if _patch or _detour", "--compiled tests/test_call.py"),
    Bug("compiled: the patch of an around is lost", "_nesting.py", "if _patch or _ran{i} or _detour", "if _ran{i} or _detour", PATHS),
    Bug("compiled: an inner around that fails is not counted", "_nesting.py", "            _inner, _failure = None, _caught\n", "            raise\n", HOT),
    Bug("compiled: whatever an around gives, the method returned", "_nesting.py", "_outcome = 'returned' if _ran0 == {ENDED + 2} else 'replaced'", "_outcome = 'returned'", HOT),
    Bug("compiled: an answer beside others is lost", "_resume.py", "not any(task.cancelled() or task.result() or task.cancelling() for task in tasks)", "True", HOT),
    Bug("compiled: who looks beside others is not told of a cancellation", "_tasks.py", "            for task in tasks:\n                task.cancel()\n            if cancel is not None:\n", "            if cancel is not None:\n", HOT),
    Bug("compiled: who looks beside others outlives a cancelled call", "_tasks.py", "            cancel = error\n        has_yielded", "            return error\n        has_yielded", "tests/guarantees/test_compiled_failures.py -k have_all_ended"),
    Bug("compiled: when= is ignored", "_forms.py", " or receiver.when or", " or", "--compiled tests/test_call.py"),
    Bug("compiled: once is ignored", "_forms.py", " or receiver.options.once:", ":", "--compiled tests/test_signal.py"),
    Bug("compiled: a deadline is ignored", "_forms.py", " or seat.timeout is not None or", " or", "--compiled tests/test_call.py tests/guarantees/test_deadlines.py"),
    Bug("compiled: a receiver in reserve is asked too", "_forms.py", " or seat.is_twin or", " or", HOT),
    Bug("compiled: a receiver that cannot serve is called", "_forms.py", "    if seat.problem or", "    if", "--compiled tests/test_misuse.py tests/test_signal.py"),
]  # fmt: skip


ALL = BUGS + COMPILED


def catch(bug: Bug) -> str | None:
    """Plant one bug and run its tests; return what went wrong with the exercise, or None if the bug was caught."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("hookbus", "tests"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("setup.cfg", "pyproject.toml"):
            shutil.copy(ROOT / name, copy / name)
        target = copy / "hookbus" / bug.file
        source = target.read_text()
        if source.count(bug.right) != 1:
            return f"its place was found {source.count(bug.right)} times in {bug.file}"
        target.write_text(source.replace(bug.right, bug.wrong))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *bug.tests.split()]
        environment = {key: value for key, value in os.environ.items() if key != "HOOKBUS_EXAMPLES"}
        try:
            ran = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=1200, env={**environment, "HOOKBUS_SHRINK": "no", "HOOKBUS_LONG": "1"})
        except subprocess.TimeoutExpired:
            return None  # a hang is a failure anyone notices
        if ran.returncode == 1:
            return None
        return "no test noticed" if ran.returncode == 0 else f"pytest ended with {ran.returncode}: {ran.stdout[-300:]}"


def main(chosen: list[str]) -> int:
    """Print a line for every bug; return how many got away."""
    numbers = [n for n, bug in enumerate(ALL) if not chosen or str(n + 1) in chosen or any(w in bug.title for w in chosen)]
    missed = 0
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for number, problem in zip(numbers, pool.map(lambda number: catch(ALL[number]), numbers), strict=True):
            missed += problem is not None
            said = "caught  " if problem is None else "MISSED  "
            print(f"{number + 1:3}  {said}  {ALL[number].title}{f': {problem}' if problem else ''}", flush=True)
    print(f"{len(numbers) - missed} of {len(numbers)} seeded bugs caught")
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
