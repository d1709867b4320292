"""Where plugins are found, which of them are on, and which stands in front of which."""

import pytest

from hookbus import HookError, load_plugins

from .conftest import said_of, statuses


def test_folders_are_discovered_in_all_three_places(load, agent, workspace, user, bundled):
    workspace.put("a"), user.put("b"), bundled.put("c")
    plugins = load(workspace=workspace, user=user, bundled=bundled, enable=["workspace:a"])
    assert statuses(plugins) == {"workspace:a": "loaded", "user:b": "loaded", "bundled:c": "loaded"}
    assert agent.reply("m") == "m+a+b+c"


def test_a_place_that_is_not_there_holds_nothing(load, tmp_path):
    assert load(user=tmp_path / "nowhere").rows() == ()


def test_a_place_that_is_a_file_is_said(load, tmp_path):
    (tmp_path / "file").write_text("")
    assert "is not a folder" in said_of("user", load(user=tmp_path / "file"))


def test_hidden_folders_and_plain_files_are_passed_over(load, user):
    user.put("a", folder=".git"), user.put("a", folder="__pycache__")
    (user.root / "notes.txt").write_text("")
    assert load(user=user).rows() == ()


def test_the_earlier_place_shadows_the_later_one_and_it_is_said(
    load, agent, workspace, user, bundled
):
    workspace.put("a", mark="W"), user.put("a", mark="U"), bundled.put("a", mark="B")
    plugins = load(workspace=workspace, user=user, bundled=bundled, enable=["workspace:a"])
    assert statuses(plugins) == {
        "workspace:a": "loaded", "user:a": "refused", "bundled:a": "refused",
    }  # fmt: skip
    assert agent.reply("m") == "mW"
    shadowed = [str(said) for said in plugins.diagnostics]
    assert len(shadowed) == 2
    for said in shadowed:
        assert (
            f"the plugin of workspace ({workspace.root / 'a' / 'hookbus-plugin.toml'}) has the id "
            "'a'"
            in said
        )
        assert "deny=['workspace:a']" in said


def test_the_one_in_front_comes_back_after_it_was_unloaded(load, agent, workspace, user):
    workspace.put("a", mark="W"), user.put("a", mark="U")
    plugins = load(workspace=workspace, user=user, enable=["workspace:a"])
    for name in ("a", "workspace:a"):
        plugins.unload("a"), plugins.load(name)
        assert (
            statuses(plugins) == {"workspace:a": "loaded", "user:a": "refused"}
            and agent.reply("m") == "mW"
        )
    plugins.disable("a"), plugins.load()
    assert (
        statuses(plugins) == {"workspace:a": "disabled", "user:a": "loaded"}
        and agent.reply("m") == "mU"
    )
    plugins.enable("workspace:a")
    assert "the plugin of user" in said_of("a", plugins) and agent.reply("m") == "mU"


def test_the_remedy_that_the_diagnostic_names_works(load, agent, user, bundled):
    user.put("a", mark="U"), bundled.put("a", mark="B")
    plugins = load(user=user, bundled=bundled, deny=["user:a"])
    assert (
        statuses(plugins) == {"user:a": "disabled", "bundled:a": "loaded"}
        and agent.reply("m") == "mB"
    )


def test_two_of_one_id_in_one_place_go_by_the_name_of_their_folder(load, agent, user):
    user.put("a", mark="1", folder="first"), user.put("a", mark="2", folder="second")
    plugins = load(user=user)
    assert agent.reply("m") == "m1"
    assert f"({user.root / 'first' / 'hookbus-plugin.toml'})" in said_of("a", plugins)


def test_a_plugin_of_the_workspace_is_off_until_it_is_named_with_its_place(
    load, agent, workspace, bundled
):
    workspace.put("guard", mark="evil", more="enabled = true")
    bundled.put("guard", mark="good")
    for enable in ([], ["guard"], ["*"], ["bundled:*"]):
        with load(workspace=workspace, bundled=bundled, enable=enable) as plugins:
            assert statuses(plugins) == {"workspace:guard": "disabled", "bundled:guard": "loaded"}
            assert agent.reply("m") == "mgood"
            assert "enable=['workspace:guard']" in plugins.rows()[0].why
    assert load(workspace=workspace, enable=["workspace:*"]).loaded == ("guard",)


def test_deny_wins_and_allow_is_exclusive(load, user):
    for plugin in "abcd":
        user.put(plugin)
    plugins = load(user=user, allow=["a", "b", "user:c"], deny=["b"], enable=["b", "d"])
    assert {row.plugin: (row.status, row.why) for row in plugins.rows()} == {
        "a": ("loaded", None), "b": ("disabled", "deny= names it"), "c": ("loaded", None),
        "d": ("disabled", "allow= does not name it"),
    }  # fmt: skip


def test_an_empty_allow_list_allows_nothing(load, user):
    user.put("a")
    assert load(user=user, allow=[]).loaded == ()


def test_deny_of_a_bare_id_reaches_the_workspace_too(load, workspace):
    workspace.put("a")
    assert load(workspace=workspace, enable=["workspace:a"], deny=["a"]).loaded == ()


def test_enable_switches_on_what_is_off_by_default(load, user):
    user.put("a", more="enabled = false"), user.put("b", more="enabled = false")
    plugins = load(user=user, enable=["a"])
    assert statuses(plugins) == {"user:a": "loaded", "user:b": "disabled"}


def test_the_environment_names_exactly_what_a_worker_loads(load, user, bundled, monkeypatch):
    user.put("a"), user.put("b", more="enabled = false"), bundled.put("c"), bundled.put("d")
    for said, loaded in {
        "a, b": ("a", "b"), "user:b,bundled:c": ("b", "c"), "": (), " , ": (), "bundled:*": ("c",),
        "a,d": ("a",),
    }.items():  # fmt: skip
        monkeypatch.setenv("HOOKBUS_PLUGINS", said)
        with load(user=user, bundled=bundled, deny=["d"]) as plugins:
            assert plugins.loaded == loaded


def test_what_is_loaded_can_be_handed_to_a_worker(load, bus, workspace, user, monkeypatch):
    workspace.put("w"), user.put("a"), user.put("b", more="enabled = false"), user.put("z")
    with load(workspace=workspace, user=user, enable=["workspace:w", "b"], deny=["z"]) as plugins:
        [(name, said)] = plugins.environment().items()
        before = plugins.loaded
    assert (name, said) == ("HOOKBUS_PLUGINS", "workspace:w,user:a,user:b")
    monkeypatch.setenv(name, said)
    assert load(workspace=workspace, user=user).loaded == before


@pytest.mark.parametrize(
    "arguments",
    [
        {"allow": "a"}, {"deny": [""]}, {"deny": [3]}, {"enable": ["nowhere:a"]},
        {"enable": ["user:"]}, {"settings": ["a"]},
        {"settings": {"a": 1}}, {"overrides": {"a": {"timeout": -1}}},
        {"overrides": {"a": {"role": "observe"}}},
        {"overrides": {"a": {"receivers": {"x": {"priority": "high"}}}}},
        {"overrides": {"a": {"receivers": 3}}},
    ],
    ids=str,
)  # fmt: skip
def test_an_argument_that_makes_no_sense_raises_before_anything_is_loaded(
    load, bus, user, arguments
):
    user.put("a")
    with pytest.raises(HookError):
        load(user=user, **arguments)
    assert bus.plugins is None and not bus.signal("pre_reply").receivers


def test_a_malformed_variable_raises_and_says_the_syntax(load, user, monkeypatch):
    monkeypatch.setenv("HOOKBUS_PLUGINS", "a,there:b")
    with pytest.raises(
        HookError, match="HOOKBUS_PLUGINS contains 'there:b'; write 'id', 'place:id' or 'place:\\*'"
    ):
        load(user=user)


def test_names_that_are_nowhere_are_said(load, user, monkeypatch):
    user.put("guard")
    monkeypatch.setenv("HOOKBUS_PLUGINS", "guard,gard")
    plugins = load(
        user=user, allow=["guard", "user:*", "gurd"], deny=["guardd"], enable=["bundled:guard"],
        settings={"guad": {}}, overrides={"uard": {}},
    )  # fmt: skip
    said = [str(said) for said in plugins.diagnostics]
    assert len(said) == 6 and all("no plugin has that id; did you mean" in each for each in said)
    assert plugins.loaded == ("guard",)


def test_a_bus_has_one_set_of_plugins_at_a_time(load, bus, user):
    user.put("a")
    plugins = load(user=user)
    assert bus.plugins is plugins
    with pytest.raises(HookError, match="already has plugins"):
        load(user=user)
    assert plugins.loaded == ("a",)
    plugins.close(), plugins.close()
    assert bus.plugins is None
    with pytest.raises(HookError, match="are closed"):
        plugins.load()
    assert load(user=user).loaded == ("a",)


def test_default_bus_is_the_bus_where_none_is_named():
    from hookbus import default_bus

    with load_plugins(installed=False) as plugins:
        assert default_bus.plugins is plugins
    assert default_bus.plugins is None


def test_a_start_up_check_names_what_is_not_loaded_and_why(load, user):
    user.put("a"), user.put("b", "raise ValueError")
    plugins = load(user=user, deny=["c"])
    plugins.require("a")
    with pytest.raises(HookError, match="the plugin 'b' is refused: its import raised ValueError"):
        plugins.require("a", "b")
    with pytest.raises(HookError, match="there is no plugin 'bb'; did you mean 'b'"):
        plugins.require("bb")
