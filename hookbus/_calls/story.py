"""The story of a call, as the function one would have written by hand: the texts that every call runs by.

`writer` makes one function of them for each plan. How to read a text:

- a line with `#? word` is there only where that holds, with everything below it; `!word` where it does not;
- `<name>` alone on a line is another text; `{name}` in a line is a piece of code;
- `{w}` is `await ` in a coroutine and nothing in a plain function, `{d}` is `async ` likewise.

What is usual stands in line. What is rare is a call of a helper of `meaning`, which says what it means for every colour.
"""

from __future__ import annotations

from typing import Final

FUNCTION: Final = """
{d}def {name}({parameters}):
    <begin>
    try:  #? observed
        try:
            <whole>
        finally: finished(call, outcome, leaving, result)
    finally:  #? observed
        if call.began: finished(call, outcome, leaving, result)
        leaving = None
    <whole>  #? !observed
"""

CALL: Final = """
try:
    begun(call, {values})  #? observed
    <pre>
    if not replaced:  #? replaceable
        <run>
    <run>  #? !replaceable
    <post>
    if fresh: fired()
    outcome = 'replaced' if replaced else 'returned'  #? ended flagged
    return result
except HookBlocked as blocked:  #? !ended
    if not parted(call, blocked): raise
    return call.parting
except BaseException as left:  #? ended
    outcome, leaving = over(call, left)
    result = None
    if leaving is not None: raise
    return call.parting
<end>
"""

STREAM: Final = """
try:
    try:
        begun(call, {values})  #? observed
        <pre>
        def arounds({params}):  #? around
            {marks} = 0
            <arounds>
            def mark(): return mark_0
            return outermost, mark
        outermost, mark = arounds({arguments})  #? around
        index = -1  #? told
        if replaced: source = as_items(result)  #? replaceable
        else: source = {source}  #? replaceable
        source = {source}  #? !replaceable
        <pump>
        replaced = replaced or mark() != {returned_ended}  #? around
        <post>
        if fresh: fired()
        outcome = 'replaced' if replaced else 'returned'
    except BaseException as left:
        outcome, leaving = over(call, left)
        result = None
        if leaving is not None: raise
    if outcome == 'blocked':
        <leave>
        yield call.parting
    else:  #? !async
        return result
<end>
"""

BEGIN: Final = """
call = None  #? !eager
call = Call(plan, {sender})  #? eager
replaced = False  #? flagged
outcome, leaving = 'returned', None  #? ended
result = None  #? ended
"""

END: Final = """
finally:  #? ended
    try:
        <final>
    except BaseException as left:
        outcome, leaving = over(call, left)
        result = None
        raise
    finally:  #? !observed
        leaving = None
"""

# -- the method, and who may rescue the call ---------------------------------------------------------------------------

RUN: Final = """
try:  #? rescue
    <inside>
except Exception as raised:  #? rescue
    <error>
    if rescue is None: raise
    result = rescue.result
    replaced = True
<inside>  #? !rescue
"""

ERROR: Final = """
if is_own_block(call, raised): raise  #? around
rescue = None
<turns>
"""

BODY: Final = """
result = {w}{body}
"""

# -- arounds: functions inside each other, the method innermost --------------------------------------------------------

AROUND: Final = """
{marks} = 0
<arounds>
try:
    <level>
finally:
    call.is_over, call.inner = True, None
    if call.arguments is not None: {rebound}call.arguments
result = answer
replaced = mark_0 != {returned_ended}
"""

NEST: Final = """
def nest({owner}{arguments}call, late):
    {marks} = 0
    <arounds>
    def marks(): return {tuple}
    return {nexts}, marks
"""

NEXT: Final = """
{d}def next_{i}(**patch):
    nonlocal {changed}
    if patch or mark_{i}{shut}:
        <again>
    mark_{i} = {begun}
    began_{i} = clock()  #? attempted
    try:  #? attempted
        <deeper>
    finally:  #? attempted
        tried(call, {i}, mark_{i}, began_{i})
    <deeper>  #? !attempted
    return {result}  #? !stream
    return {result}  #? stream !async
"""

AGAIN: Final = """
values = again(call, {seat}, {late}, patch, ({arguments}))
mark_{i} = {begun}
inside, marks = nest({owner}*values, call, lambda: {late})
try:
    return {w}inside[{i}]()  #? !stream
    source = inside[{i}]()  #? stream
    <pump>  #? stream
    return result  #? stream !async
    return  #? stream async
finally:
    if mark_{i} < {ended}: mark_{i} = marks()[{i}]
"""

INNERMOST: Final = """
try:
    <guards>  #? nested
    check_open(call, {late})  #? nested
    call.arguments = ({arguments})  #? nested
    <inside>  #? !stream
    source = {body}  #? stream
    <pump>  #? stream
except BaseException as raised:
    call.inner = raised
    raise
mark_{i} = {returned}
call.results[{i}] = result  #? told
"""

DEEPER: Final = """
<level>
mark_{i} = {returned} if mark_{j} == {returned_ended} else {instead}
call.results[{i}] = answer  #? told
"""

LEVEL: Final = """
opened_{i} = []  #? stream
turn_{i} = clock()  #? asked
try:
    if {condition}:  #? conditional
        {seat}.receiver.has_fired = True
        <turn>
    else:  #? conditional
        answer = {w}next_{i}()  #? !stream
        source = next_{i}()  #? stream
        <pump>  #? stream
        answer = result  #? stream
    <turn>  #? !conditional
except BaseException as error:
    mark_{i} += {ended}
    {w}{closed}(call, opened_{i})  #? stream
    escaped(call, {seat}, error)
    raise
finally:  #? noted
    attempted(call, {seat}, {i})  #? attempted
    asked(call, {seat}, turn_{i})  #? asked
mark_{i} += {ended}
{w}{closed}(call, opened_{i})  #? stream
if call.blocked is not None: stand(call)
"""

OUTERMOST: Final = """
{d}def outermost():
    nonlocal mark_0
    if False: yield
    <level>
    return answer  #? !async
"""

AROUND_TURN: Final = """
<view>
answer = {asked}
<settle>
check_untampered({seat}, view, answer)  #? view
answer = judged_around(call, {seat}, answer, mark_{i}, call.results.get({i}))  #? told
if type(answer) not in PLAIN: answer = meant(call, {seat}, answer)  #? !told
"""

AROUND_STREAM_TURN: Final = """
<view>
source = {asked}
<settle>
source = opened(call, {seat}, source)
<pump>
check_untampered({seat}, view)  #? view
answer = judged_around(call, {seat}, result, mark_{i}, call.results.get({i}))  #? told
if type(result) not in PLAIN: result = meant(call, {seat}, result)  #? !told
answer = result  #? !told
"""

# -- streams -----------------------------------------------------------------------------------------------------------

PUMP: Final = """
advance, value, result = source.{send}, None, None
try:
    while True:
        try:
            item = {w}advance(value)
        except {stop} as end:
            result = end.value  #? !async
            break
        except Exception as raised:  #? rescue
            if replaced: raise
            if call.arguments is not None: {rebound}call.arguments  #? around
            <error>
            if rescue is None: raise
            {w}source.{close}()
            source = as_items(rescue.result)
            advance, value, replaced = source.{send}, None, True
            continue
        if call.blocked is not None: stand(call)  #? around
        check_untampered({seat}, view)  #? view
        <items>
        <leave>
        try:
            value = yield item
            advance = source.{send}
        except GeneratorExit:
            raise
        except BaseException as thrown:
            advance, value = source.{throw}, thrown
            call.inner = thrown  #? main around
        finally:  #? observed main
            call.outer = ENCLOSING.get()
            ENCLOSING.set(call.inside)
        if call.is_over or call.blocked is not None: break  #? inner
finally:
    call.is_over, call.inner = True, None  #? main around
    if call.arguments is not None: {rebound}call.arguments  #? main around
    try:
        {w}source.{close}()
    except Exception:
        if call.blocked is None: raise
"""

LEAVE: Final = """
ENCLOSING.set(call.outer)  #? observed
"""

# -- one turn ----------------------------------------------------------------------------------------------------------

TURN: Final = """
began = clock()  #? asked
try:
    if {condition}:  #? conditional
        {seat}.receiver.has_fired = True
        <read>
    else:  #? conditional asked
        call.said = 'not asked'
    {seat}.receiver.has_fired = True  #? !conditional rare
    <read>  #? !conditional
except BaseException as error:
    failed({call}, {seat}, error, {noted})  #? !several
    out = deferred({call}, {seat}, error, {noted}, out)  #? several
finally:  #? asked
    asked(call, {seat}, began)
"""

GUARD: Final = """
try:
    answer = None  #? conditional
    if {condition}:  #? conditional
        {seat}.receiver.has_fired = True
        <ask>
    <ask>  #? !conditional
except BaseException as error:
    failed({call}, {seat}, error)
if answer is not None: refused({call}, {seat}, answer)
"""

ASK: Final = """
<view>
answer = {asked}
<settle>
check_untampered({seat}, view, answer)  #? view
"""

READ: Final = """
<view>
answer = {asked}  #? long
<settle>  #? long
check_untampered({seat}, view, answer)  #? view
if answer is not None:  #? long
    <take>
if {heard}:  #? !long
    <take>
"""

PATCH: Final = """
if type(answer) is dict and names.issuperset(answer):  #? !told
    <rebind>
else:  #? !told
    {rebound}revised({call}, {seat}, answer, ({arguments}))
    if issubclass(type(answer), Replace):
        result, replaced = answer.result, True
        break
{rebound}revised({call}, {seat}, answer, ({arguments}))  #? told
if issubclass(type(answer), Replace):  #? told
    result, replaced = answer.result, True
    break
"""

DRAFT: Final = """
draft = {shown}
answer = {asked}
<settle>
if answer is not None or {is_odd}:
    {rebound}revised({call}, {seat}, answer, ({arguments}), draft)
    if issubclass(type(answer), Replace):
        result, replaced = answer.result, True
        break
else:
    <redraft>
"""

REVISE: Final = """
result = answer if type(answer) in PLAIN else judged({call}, {seat}, answer, result)  #? !told
result = judged(call, {seat}, answer, result)  #? told
"""

REVISE_ITEM: Final = """
item = answer if type(answer) in PLAIN else judged({call}, {seat}, answer, item)  #? !told
item = judged(call, {seat}, answer, item, index)  #? told
if item is DROPPED:
    dropped = True
    break
"""

WAIT: Final = """
<view>
waiting.append(({seat}, {asked}, {looked}))
"""

MAYBE_WAIT: Final = """
<view>
answer = {asked}
if type(answer) not in PLAIN and is_awaitable(answer):
    waiting.append(({seat}, answer, {looked}))
else:
    check_untampered({seat}, view, answer)  #? view
    decided({call}, {seat}, answer)
"""

OBSERVERS: Final = """
out = None
waiting = []  #? beside
<turns>
if waiting: out = await beside({call}, waiting, decided, {noted}, out)  #? beside
if out is not None:
    try: raise out
    finally: out = None
"""
