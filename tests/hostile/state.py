"""Approvals that were not given: states that are tampered with, replayed, moved, or made up.

A server keeps nothing between the rounds of a call, so everything that an approval is bound to travels through the
client, which may be anybody.
"""

import sys
from pathlib import Path

from outside import Home, Server, expect

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
from form import filled  # noqa: E402

from raw import Http, Stdio  # noqa: E402

CAPABLE = {"elicitation": {"form": {}}}
NOTE = "name: {}\ndescription: {}\ntags: [write]\nparameters:\n  text: {{description: The note, required: true}}\n"
NOTE += "bash: |\n  printf '%s\\n' \"{{text}}\" >> \"$HOME/notes\"\n"


class Case:
    """One home with a server, and a client that approves whatever it is asked."""

    def __init__(self, home, client):
        self.home, self.client = home, client

    def call(self, text="approved", tool="note", client=None, **more):
        answer = (client or self.client).ask("tools/call", {"name": tool, "arguments": {"text": text}, **more})
        return answer.get("result", answer)

    def asked(self, text="approved", tool="note", client=None):
        """The first round: what is needed for the second."""
        result = self.call(text, tool, client)
        expect(result.get("resultType") == "input_required", f"not asked: {result}")
        replies = {
            key: {"action": "accept", "content": filled(request["params"]["requestedSchema"])}
            for key, request in result["inputRequests"].items()
        }
        return {"inputResponses": replies, "requestState": result["requestState"]}

    def refuses(self, result, word=None):
        """Whatever was answered, the tool did not run for `word`, or not at all."""
        ran = self.home.notes().splitlines()
        expect((word not in ran) if word else not ran, f"ran: {ran}, answered {result}")
        succeeded = result.get("resultType") == "complete" and not result.get("isError")
        expect(not succeeded, f"claims to have run: {result}")


def approved(case):
    """The counterpart of everything below: the same client, behaving well, gets its note."""
    case.call(**case.asked())
    expect(case.home.notes() == "approved\n", f"wrote {case.home.notes()!r}")


def other_arguments(case):
    case.refuses(case.call("other", **case.asked()))


def twice(case):
    given = case.asked()
    case.call(**given)
    case.call(**given)
    expect(case.home.notes() == "approved\n", f"one approval wrote {case.home.notes()!r}")


def twice_at_once(case):
    """The same approval from two connections in the same moment."""
    given = case.asked()
    params = {"name": "note", "arguments": {"text": "approved"}, **given}
    started = [case.client.start("tools/call", params) for _ in range(16)]
    for one in started:
        one.getresponse().read() if hasattr(one, "getresponse") else case.client.answer(one)
    expect(case.home.notes() == "approved\n", f"one approval wrote {case.home.notes()!r}")


def every_byte_changed(case):
    given = case.asked()
    state = given["requestState"]
    positions = range(0, len(state), max(1, len(state) // 60))
    forged = [state[:n] + ("A" if state[n] != "A" else "B") + state[n + 1 :] for n in positions]
    forged += [state[:-1], state + "A", state + "=", state[::-1], state * 2, "", "A", "null", "x" * 1_000_000, state.upper()]
    for other in forged:
        case.refuses(case.call(**{**given, "requestState": other}))


def other_tool(case):
    case.home.tool("other-note", NOTE.format("other-note", "Another"))
    given = case.asked()
    case.refuses(case.call(tool="other-note", **given))


def definition_changed(case):
    given = case.asked()
    text = (case.home.path / ".cycod" / "tools" / "note.yaml").read_text()
    case.home.tool("note", text.replace("echo noted", "echo noted; echo more >> \"$HOME/notes\""))
    case.refuses(case.call(**given))


def answers_without_a_state(case):
    given = case.asked()
    case.refuses(case.call("self", inputResponses=given["inputResponses"]))
    for key in ("approval", "approve", "confirm", "permission", *given["inputResponses"]):
        for content in ({"approve": True}, {"approved": True}, {}, {"decision": "approve"}):
            case.refuses(case.call("self", inputResponses={key: {"action": "accept", "content": content}}))


def a_state_without_answers(case):
    given = case.asked()
    for replies in (None, {}, [], "yes", {"nobody": {"action": "accept"}}, {key: None for key in given["inputResponses"]}):
        case.refuses(case.call(inputResponses=replies, requestState=given["requestState"]))


def answers_that_are_no_yes(case):
    given = case.asked()
    (key,) = given["inputResponses"]
    content = given["inputResponses"][key]["content"]
    said_no = {name: False for name in content} or {"approve": False}
    for reply in (
        {"action": "decline"}, {"action": "cancel"}, {"action": "decline", "content": content}, {"action": "ACCEPT", "content": content},
        {"action": None, "content": content}, {"content": content}, {"action": ["accept"], "content": content}, True, "accept", [],
        {"action": "accept", "content": said_no},
    ):  # fmt: skip
        again = case.asked()
        case.refuses(case.call(inputResponses={key: reply}, requestState=again["requestState"]))


CHECKS = [
    approved, other_arguments, twice, twice_at_once, every_byte_changed, other_tool, definition_changed, answers_without_a_state,
    a_state_without_answers, answers_that_are_no_yes,
]  # fmt: skip


def without_the_capability(home, connect):
    """A client that cannot ask a person is refused, whatever answers it makes up."""
    answers = Case(home, connect(CAPABLE)).asked()["inputResponses"]
    silent = Case(home, connect({}))
    silent.refuses(silent.call())
    silent.refuses(silent.call(inputResponses=answers))


def checks(table):
    for check in CHECKS:
        row = check.__name__.replace("_", " ")

        def on_stdio():
            with Home() as home, Stdio(home, "modern", CAPABLE) as client:
                check(Case(home, client))

        def on_http():
            with Home() as home, Server(home) as server:
                check(Case(home, Http(server, "modern", CAPABLE)))

        table.check(row, "stdio", on_stdio)
        table.check(row, "http", on_http)

    def without_on_http():
        with Home() as home, Server(home) as server:
            without_the_capability(home, lambda capabilities: Http(server, "modern", capabilities))

    def without_on_stdio():
        with Home() as home, Stdio(home, "modern", CAPABLE) as client:

            def connect(capabilities):
                client.capabilities = capabilities
                return client

            without_the_capability(home, connect)

    def other_server():
        """What one process asked is not answered to another."""
        with Home() as home, Stdio(home, "modern", CAPABLE) as first, Stdio(home, "modern", CAPABLE) as second:
            case = Case(home, second)
            case.refuses(case.call(**case.asked(client=first)))

    def other_principal():
        """What was asked of one holder of a token is not answered by another."""
        with Home() as home, Server(home, home.path / "a") as first, Server(home, home.path / "b") as second:

            def client(server, name):
                token = (home.path / name).read_text().strip()
                return Http(server, "modern", CAPABLE, {"Authorization": f"Bearer {token}"})

            case = Case(home, client(second, "b"))
            case.refuses(case.call(**case.asked(client=client(first, "a"))))

    table.check("without the capability", "stdio", without_on_stdio)
    table.check("without the capability", "http", without_on_http)
    table.check("another server", "stdio", other_server)
    table.check("another principal", "http", other_principal)
