"""Who is let in: nobody without the token, no other name of this machine, no other page."""

import re
from importlib.resources import files

import pytest
from starlette.testclient import TestClient

from hookbus import HookError
from hookbus import page as pages

from .conftest import HERE, TOKEN, Browser

INSIDE = ("", "page.js", "page.css", "stream", "calls?before=9", "calls/run/1", "approvals/1")


def knock(app, address, **headers):
    return TestClient(app, base_url=HERE, follow_redirects=False).get(address, headers=headers)


def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address(agency):
    answer = knock(agency.app(), f"/?token={TOKEN}")
    assert answer.status_code == 303 and TOKEN not in answer.headers["location"]
    cookie = answer.headers["set-cookie"]
    assert TOKEN not in cookie
    assert {"HttpOnly", "SameSite=strict"} <= set(cookie.split("; "))
    assert f"Path={answer.headers['location'].rstrip('/')}" in cookie.split("; ")


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "а", "%ff"])
def test_a_wrong_token_gets_nothing(agency, token):
    answer = knock(agency.app(), f"/?token={token}")
    assert answer.status_code == 403 and "set-cookie" not in answer.headers


@pytest.mark.parametrize("cookie", [None, "hookbus=", "hookbus=x", f"hookbus={TOKEN}"])
@pytest.mark.parametrize("address", INSIDE)
def test_without_the_cookie_nothing_of_the_page_is_given(agency, address, cookie):
    browser = Browser(agency.app())
    browser.cookies.clear()
    answer = browser.get(browser.path + address, headers={"cookie": cookie} if cookie else {})
    assert answer.status_code == 403
    assert answer.text.startswith("hookbus: open the address")


@pytest.mark.parametrize(
    "host",
    ["evil.test", "evil.test:8000", "127.0.0.1", "127.0.0.1:9", "localhost:8000.evil.test",
     "0.0.0.0:8000", "[::1]:8000", "LOCALHOST:8000", ""],
)  # fmt: skip
def test_another_name_of_this_machine_is_not_answered(agency, browser, host):
    for address in (f"/?token={TOKEN}", browser.path, f"{browser.path}calls?before=9"):
        answer = browser.get(address, headers={"host": host})
        assert answer.status_code == 421 and "set-cookie" not in answer.headers


def test_both_names_of_this_machine_are(agency):
    for host in ("127.0.0.1:8000", "localhost:8000"):
        assert knock(agency.app(), f"/?token={TOKEN}", host=host).status_code == 303


@pytest.mark.parametrize(
    "origin",
    ["http://evil.test", "null", "https://127.0.0.1:8000", "http://127.0.0.1:9000",
     "http://127.0.0.1", "http://localhost:8000"],
)  # fmt: skip
def test_a_request_of_another_origin_gets_nothing(browser, origin):
    for address in ("", "stream", "calls?before=9"):
        answer = browser.get(browser.path + address, headers={"origin": origin})
        assert answer.status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("mode", ["cors", "no-cors"])
def test_what_another_page_loads_as_a_part_of_itself_is_refused(browser, site, mode):
    headers = {"sec-fetch-site": site, "sec-fetch-mode": mode}
    for address in ("page.js", "stream", "calls?before=9"):
        assert browser.get(browser.path + address, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [{"origin": "http://evil.test"}, {"origin": ""}, {"origin": "null"},
     {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
     {"sec-fetch-site": "none"}, {"x-hookbus": ""}],
)  # fmt: skip
def test_an_answer_that_another_page_sends_is_refused_and_changes_nothing(
    agency, browser, headers
):
    request = agency.asked(f"Ada {headers}")
    refused = browser.answers(request.id, headers, answer="approve")
    assert refused.status_code == 403
    assert agency.store.get(request.id).state == "pending"
    assert browser.answers(request.id, answer="approve").status_code == 200
    assert agency.store.get(request.id).state == "approved"


def test_every_answer_tells_the_browser_to_load_nothing_from_elsewhere_and_to_keep_nothing(browser):
    for address in ("/", "/nothing", browser.path, f"{browser.path}page.js", f"{browser.path}no"):
        headers = browser.get(address).headers
        policy = dict(each.split(" ", 1) for each in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["require-trusted-types-for"] == "'script'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


def test_the_files_of_the_page_name_no_other_place_and_make_no_html_of_text():
    parts = [*files("hookbus.page").joinpath("static").iterdir()]
    assert {part.name for part in parts} >= {"index.html", "page.js", "page.css"}
    for part in parts:
        text = part.read_text()
        assert not re.search(r"https?:|//[a-z]+\.[a-z]|innerHTML|outerHTML|\beval\b|srcdoc", text)
        assert not re.search(r"insertAdjacent|document\.write|new Function|@import|url\(", text)
        if part.name == "index.html":
            assert not re.search(r"<style|<script(?! type=\"module\" src=)|\son\w+=|\sstyle=", text)


@pytest.mark.parametrize("token", ["", "short", None, 5])
def test_a_token_that_could_be_guessed_is_refused(agency, token):
    with pytest.raises(HookError, match="at least 16 characters"):
        pages.app(agency.journal.path, token=token)


def test_a_journal_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(HookError, match="does not exist"):
        pages.app(tmp_path / "none.db", token=TOKEN)
