"""A manifest is read and checked before any code of its plugin runs.

What is wrong is said with the file and the remedy.
"""

import pytest

from .conftest import MANIFEST, assert_no_trace, said_of, statuses

BOOM = "raise RuntimeError('the code of this plugin must not be imported')"
GOOD = MANIFEST.format(id="odd", version="1.0", hooks=["pre_reply"])

WRONG = {
    "is not valid TOML": ("format = ", "fix it"),
    "is not valid TOML (UnicodeDecodeError": (b"\xff\xfe", "fix it"),
    "has no format key": ('id = "odd"', "write format = 1"),
    "has format = '1'": ('format = "1"', "write format = 1"),
    "has format = True": ("format = true", "write format = 1"),
    "has format 2": ('format = 2\nnew_key = "x"', "upgrade hookbus"),
    "id is missing": ('format = 1\nversion = "1"', "write id ="),
    "version is missing": ('format = 1\nid = "odd"', "write version ="),
    "which is not a plugin id": ('format = 1\nid = "../odd"\nversion = "1"', "lower-case words"),
    "has an unknown key 'hoks'; did you mean 'hooks'": (
        GOOD + "hoks = []",
        "correct or remove it",
    ),
    "hooks = 'pre_reply' is not a list of strings": (
        GOOD.replace("['pre_reply']", "'pre_reply'"),
        "write hooks =",
    ),
    "contains 'pre-reply', which is not an identifier": (
        GOOD.replace("pre_reply", "pre-reply"),
        "such as pre_reply",
    ),
    "enabled = 'yes' is neither true nor false": (GOOD + "enabled = 'yes'", "write enabled = true"),
    "entry = '../evil:register'": (GOOD + "entry = '../evil:register'", "write entry ="),
    "entry = '/etc/evil.py'": (GOOD + "entry = '/etc/evil.py'", "write entry ="),
    "has an unknown key 'pakages'": (GOOD + "[requires]\npakages = []", "correct or remove it"),
    "provides.tool = 'search' is not a list": (
        GOOD + "[provides]\ntool = 'search'",
        "write provides.tool =",
    ),
    "requires = 3 is not a table": (GOOD + "requires = 3", "write [requires]"),
    "[settings.limit] has type = 'int'; did you mean 'integer'": (
        GOOD + "[settings.limit]\ntype = 'int'",
        "one of these types",
    ),
    "is a bool, but must be of type integer": (
        GOOD + "[settings.limit]\ntype = 'integer'\ndefault = true",
        "of type integer",
    ),
    "is above the maximum": (
        GOOD + "[settings.limit]\ntype = 'integer'\nmaximum = 3\ndefault = 4",
        "set 3 or less",
    ),
    "has minimum = 1": (
        GOOD + "[settings.limit]\ntype = 'string'\nminimum = 1",
        "types integer and number",
    ),
    "has choices = ['a', 1]": (
        GOOD + "[settings.limit]\ntype = 'string'\nchoices = ['a', 1]",
        "values of type string",
    ),
    "is required but has a default": (
        GOOD + "[settings.a]\ntype = 'string'\nrequired = true\ndefault = ''",
        "remove one",
    ),
}


@pytest.mark.parametrize("problem", WRONG)
def test_a_wrong_manifest_is_refused_and_the_others_load(load, bus, agent, user, problem):
    source, advice = WRONG[problem]
    home = user.put("odd", BOOM)
    (home / "hookbus-plugin.toml").write_bytes(
        source if isinstance(source, bytes) else source.encode()
    )
    user.put("good")
    plugins = load(user=user)
    assert statuses(plugins) == {"user:good": "loaded", "user:odd": "refused"}
    said = said_of("odd", plugins)
    assert problem in said and advice in said and str(home / "hookbus-plugin.toml") in said
    assert agent.reply("a") == "a+good"
    plugins.close()
    assert_no_trace(bus)


def test_a_folder_without_a_manifest_is_refused_with_its_name(load, user):
    (user.root / "odd").mkdir()
    plugins = load(user=user)
    assert "it has no hookbus-plugin.toml" in said_of("odd", plugins)


def test_a_deeply_nested_manifest_is_a_diagnostic_and_not_a_crash(load, user):
    user.put("odd", manifest="a = " + "[" * 50_000)
    assert "is not valid TOML" in said_of("odd", load(user=user))


LARGE = {
    "is not valid TOML (ValueError": "limit = " + "9" * 5_000,
    "contains an integer of more than 64 bits": "format = 0x" + "f" * 5_000,
    "cannot be read": GOOD + f"[requires]\npackages = ['attrs>={'9' * 5_000}']",
    "has a key with more than 50 parts": "a" + ".a" * 20_000 + " = 1",
    "has a key with more than 50 parts: in quotes": "'a'" + ' . "a.b"' * 60 + " = 1",
    "has a key with more than 50 parts: a table": "[" + "a." * 20_000 + "a]",
    "has 100,002 characters": "#" * 100_002,
    "is nested more than 50 levels deep": GOOD + "x = " + "[" * 60 + "]" * 60,
}


@pytest.mark.parametrize("problem", LARGE)
def test_what_is_too_large_is_a_diagnostic_of_that_plugin_only(load, user, problem):
    user.put("odd", BOOM, manifest=LARGE[problem])
    user.put("good")
    plugins = load(user=user)
    assert statuses(plugins) == {"user:good": "loaded", "user:odd": "refused"}
    assert problem.partition(": ")[0] in said_of("odd", plugins)


def test_what_is_long_and_not_too_large_is_read(load, user):
    user.put("odd", more=f"description = '{'a.b.c ' * 5_000}'")
    assert load(user=user).loaded == ("odd",)


def test_a_plugin_that_is_off_is_never_imported(load, user):
    user.put("off", BOOM, more="enabled = false")
    user.put("denied", BOOM)
    user.put("needy", BOOM, more="[requires]\nprograms = ['no-such-program-here']")
    assert statuses(load(user=user, deny=["denied"])) == {
        "user:denied": "disabled", "user:needy": "refused", "user:off": "disabled",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("requires", "problem"),
    [
        (
            "packages = ['no-such-distribution']",
            "needs the package 'no-such-distribution', which is not installed",
        ),
        ("packages = ['blinker>=99']", "needs 'blinker>=99', but blinker"),
        ("packages = ['blinker>=1.9,<1.9']", "needs 'blinker>=1.9,<1.9'"),
        ("packages = ['blinker ~= 1.9']", "cannot be read"),
        ("packages = ['blinker>=1.9rc1']", "cannot be read"),
        ("programs = ['no-such-program-here']", "needs the program 'no-such-program-here'"),
        ("environment = ['HOOKBUS_TEST_KEY']", "needs the environment variable HOOKBUS_TEST_KEY"),
        ("plugins = ['absent']", "requires the plugin 'absent', which does not exist"),
        (
            "plugins = ['off']",
            "requires the plugin 'off', which is disabled (its manifest has enabled = false",
        ),
        (
            "plugins = ['broken']",
            "requires the plugin 'broken', which is refused (its import raised RuntimeError",
        ),
    ],
)
def test_what_a_plugin_requires_is_checked_before_its_code_is_imported(
    load, user, requires, problem
):
    user.put("needy", BOOM, more=f"[requires]\n{requires}")
    user.put("off", more="enabled = false")
    user.put("broken", BOOM)
    assert problem in said_of("needy", load(user=user))


def test_what_is_there_satisfies(load, user, monkeypatch):
    monkeypatch.setenv("HOOKBUS_TEST_KEY", "x")
    user.put("needy", more="""
        [requires]
        packages = ["blinker>=1.9", "attrs>=23.2,!=0.1", "pytest > 1, < 10000", "hypothesis"]
        programs = ["sh"]
        environment = ["HOOKBUS_TEST_KEY"]
        plugins = ["other"]
    """)  # fmt: skip
    user.put("other")
    assert load(user=user).loaded == ("other", "needy")


@pytest.mark.parametrize(
    ("have", "clause", "holds"),
    [
        ("1.0", "==1", True), ("1.0.0", ">=1", True), ("1.10", ">1.9", True),
        ("1.0rc1", ">=1.0", False),
        ("1.0.dev3", "<1", True), ("1.0.post1", ">=1.0", True), ("1.0+local", "==1.0", True),
        ("2!1.0", ">=1", True),
        ("0.9a1", "!=0.9", True),
        ("nonsense", ">=0", False),
    ],
)  # fmt: skip
def test_versions_compare_by_their_numbers(load, user, monkeypatch, have, clause, holds):
    monkeypatch.setattr("importlib.metadata.version", lambda name: have)
    user.put("needy", more=f"[requires]\npackages = ['thing{clause}']")
    assert (load(user=user).loaded == ("needy",)) is holds


def test_plugins_that_require_each_other_are_refused_with_the_way_round(load, bus, user):
    user.put("a", BOOM, more="[requires]\nplugins = ['b']")
    user.put("b", BOOM, more="[requires]\nplugins = ['c']")
    user.put("c", BOOM, more="[requires]\nplugins = ['a']")
    user.put("d", BOOM, more="[requires]\nplugins = ['d']")
    user.put("e", BOOM, more="[requires]\nplugins = ['a']")
    user.put("free")
    plugins = load(user=user)
    assert plugins.loaded == ("free",)
    assert "requires itself: a -> b -> c -> a" in said_of("a", plugins)
    assert "requires itself: c -> a -> b -> c" in said_of("c", plugins)
    assert "requires itself: d -> d" in said_of("d", plugins)
    assert "requires the plugin 'a', which is refused" in said_of("e", plugins)
