"""Providers that others wrote for their own tests: what cycod sends is what they read, and what they stream is what it reads."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from outside import CYCOD, NODE, Home, Table, eventually, expect  # noqa: E402
from recorder import Recorder  # noqa: E402

FIXTURES = Path(__file__).resolve().parent / "fixtures"
PROVIDERS = Path(os.environ["PROVIDERS"])
AIMOCK = PROVIDERS / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
STUBLLM = PROVIDERS / "python" / "bin" / "stubllm"

OFFICIAL = Path(__file__).resolve().parent / "official.py"

# What each provider wants back: thoughts, signatures, names.
KEPT = {
    "anthropic": ["c2ln", "c2VhbGVk", "toolu_1", "caller"],
    "openai": ["call_1"],
    "openai-responses": ["rs_1", "c2VhbGVk", "msg_1", "commentary", "fc_1"],
    "gemini": ["c2ln", "Y2FsbA==", "fc_1"],
}

EVERY = ["openai/gpt-4o", "openai-responses/gpt-4o", "anthropic/claude-sonnet-5-5", "gemini/gemini-3.8-flash", "ollama/llama3"]


def environment(home, port):
    """Where the providers are, for the program."""
    base = f"http://127.0.0.1:{port}"
    keys = {name: "sk-not-a-key" for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")}
    addresses = {"OPENAI_BASE_URL": f"{base}/v1", "ANTHROPIC_BASE_URL": base, "GEMINI_BASE_URL": base, "OLLAMA_HOST": base}
    return {**home.environment, **keys, **addresses}


class Provider:
    """A provider on a port that was free."""

    def __init__(self, home, command):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = home.path / f"provider-{self.port}.log"
        with open(self.log, "wb") as log:
            command = [str(word).replace("PORT", str(self.port)) for word in command]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def __enter__(self):
        if not eventually(self.answers, 60):
            self.__exit__()
            raise RuntimeError(f"the provider does not answer:\n{self.log.read_text()}")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def cycod(home, provider, *arguments):
    """What the program says, with its exit code; nobody waits for longer than a minute."""
    return subprocess.run(
        [CYCOD, *arguments],
        cwd=home.path,
        env=environment(home, provider.port),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def text(home, provider, model):
    """A text comes whole."""
    ran = cycod(home, provider, "models", "test", model, "--format", "json")
    expect(ran.returncode == 0, ran.stdout + ran.stderr)
    expect(json.loads(ran.stdout)["text"] == "ready", ran.stdout)


def calls(home, provider, model):
    """Two calls at once are carried out, and their results are understood."""
    ran = cycod(home, provider, "agent", "look around", "--model", model, "--tools", "get_context,list_files", "--format", "json")
    expect(ran.returncode == 0, ran.stdout + ran.stderr)
    expect("I have looked around." in ran.stdout, ran.stdout)


def faithful(home, recorder, model):
    """What is sent in a conversation with thoughts, signatures and names is what the official SDK would send."""
    ran = cycod(home, recorder, "agent", "look around", "--model", model, "--tools", "get_context", "--format", "json")
    expect(ran.returncode == 0 and "Looked." in ran.stdout, ran.stdout + ran.stderr)
    form = model.split("/")[0]
    bodies = recorder.bodies.get(form, [])
    expect(len(bodies) == 2, f"{len(bodies)} requests")
    for kept in KEPT[form]:
        expect(kept in json.dumps(bodies[1]), f"{kept} did not go back")
    recorded = home.path / f"{form}.json"
    recorded.write_text(json.dumps({form: bodies}))
    read = subprocess.run(
        [PROVIDERS / "python" / "bin" / "python", OFFICIAL, recorded], capture_output=True, text=True, timeout=120
    )
    expect(read.returncode == 0, read.stdout + read.stderr)


def main():
    table = Table("aimock", "stubllm", "SDK")
    serve = [STUBLLM, "serve", "--port", "PORT", "--fixture-file", FIXTURES / "stubllm.yaml", "--log-level", "error"]
    with Home() as home:
        with Provider(home, [NODE, AIMOCK, "-p", "PORT", "-f", FIXTURES / "aimock.json"]) as aimock:
            for model in EVERY:
                table.check(f"{model}: a text", "aimock", lambda: text(home, aimock, model))
                table.check(f"{model}: calls", "aimock", lambda: calls(home, aimock, model))
        with Provider(home, serve) as stubllm:
            # What it streams in the other formats it has lacks its last piece, or is not there at all.
            for model in (EVERY[0], EVERY[3]):
                table.check(f"{model}: a text", "stubllm", lambda: text(home, stubllm, model))
        with Recorder() as recorder:
            for model in EVERY[:4]:
                table.check(f"{model}: types", "SDK", lambda: faithful(home, recorder, model))
    return table.show("providers")


sys.exit(main())
