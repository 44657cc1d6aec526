"""The examples in `deploy`: each file is what its program takes, and each command in them is one of ours.

HUB names the program cycod-hub, RESTATE the program restate-server, DCLINT the checker of compose files, and
KUBERNETES_VALIDATE that of Kubernetes. Each check sees a file that is wrong, too, and must refuse that.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from outside import HERE, Table, expect  # noqa: E402

DEPLOY = HERE.parent / "deploy"
HUB, RESTATE = os.environ["HUB"], os.environ["RESTATE"]
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
# How far a unit may be from fully confined, of 100; a worker confines what it runs itself.
EXPOSURE = {"cycod-worker@.service": 55}

table = Table("checked")
scratch = Path(tempfile.mkdtemp(prefix="cycod-deploy-"))


def ran(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def copied(name, text):
    path = scratch / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def refuses(check, name, text, change):
    """A check that accepts everything would be none."""
    (before, after) = change
    expect(before in text, f"{before} in {name}")
    code, said = check(copied(f"wrong/{name}", text.replace(before, after, 1)))
    expect(code != 0, f"{name} with `{after}` must be refused: {said}")


def unit(path):
    code, said = ran("systemd-analyze", "verify", "--man=no", str(path))
    return (1, said) if said.strip() else (code, said)


def units():
    if not shutil.which("systemd-analyze"):
        return "no systemd-analyze"
    for path in UNITS:
        # The programs are not installed here; what starts in their place exists.
        text = re.sub(r"/usr/local/bin/\S+", "/bin/true", path.read_text())
        code, said = unit(copied(f"units/{path.name}", text))
        expect(code == 0, f"{path.name}: {said}")
        most = EXPOSURE.get(path.name, 20)
        code, said = ran("systemd-analyze", "security", "--offline=true", f"--threshold={most}", str(path))
        expect(code == 0, f"{path.name}: {said[-200:]}")
        refuses(unit, path.name, text, ("NoNewPrivileges=yes", "NoNewPrivilege=yes"))


def compose(path):
    return ran(*os.environ["DCLINT"].split(), "--quiet", str(path))


def composed():
    path = DEPLOY / "compose" / "compose.yaml"
    code, said = compose(path)
    expect(code == 0, said)
    refuses(compose, "compose.yaml", path.read_text(), ("read_only:", "readonly:"))


def kubernetes(path):
    return ran(os.environ["KUBERNETES_VALIDATE"], "--strict", "--quiet", str(path))


def manifests():
    path = DEPLOY / "kubernetes" / "hub.yaml"
    code, said = kubernetes(path)
    expect(code == 0, said)
    refuses(kubernetes, "hub.yaml", path.read_text(), ("runAsNonRoot", "runAsNotRoot"))


def documents():
    return list(yaml.safe_load_all((DEPLOY / "kubernetes" / "hub.yaml").read_text()))


def commands():
    """The command lines of all examples, as lists of words."""
    for path in UNITS:
        for line in path.read_text().splitlines():
            if line.startswith("ExecStart="):
                yield line.removeprefix("ExecStart=/usr/local/bin/").split()
    for service in yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())["services"].values():
        yield service["command"]
    [pod] = [one["spec"]["template"]["spec"] for one in documents() if one["kind"] == "StatefulSet"]
    for container in pod["containers"]:
        yield container.get("command") or container["args"]


def ours():
    count = 0
    for words in commands():
        if words[0] != "cycod-hub":
            continue
        count += 1
        data = words[words.index("--data") + 1]
        # It understands its options, and then misses the hub.
        _, said = ran(HUB, *[str(scratch / "none") if word == data else word for word in words[1:]])
        expect("there is no hub in" in said, f"{words}: {said}")
        code, said = ran(HUB, *words[1:], "--wrong")
        expect(code == 2, f"{words}: {said}")
    expect(count == 6, f"{count} commands of cycod-hub")


def engine():
    [config] = [one["data"]["restate.toml"] for one in documents() if one["kind"] == "ConfigMap"]
    files = [DEPLOY / "restate.toml", DEPLOY / "compose" / "restate.toml", copied("restate.toml", config)]
    for path in files:
        code, said = ran(RESTATE, "--config-file", str(path), "--dump-config")
        expect(code == 0, said)
        for line in ("disable-telemetry = true", 'bind-address = "127.0.0.1:9070"', 'bind-address = "127.0.0.1:8080"'):
            expect(line in said, f"{path}: {line}")
        expect(re.search(r'request-identity-private-key-pem-file = "/\S+/restate.pem"', said), path)
        _, said = ran(HUB, "doctor", "--config", str(path))
        expect("ok       telemetry: off" in said and "ok       restate.toml:" in said, said)
    for words in commands():
        if "--base-dir" in words:
            options = [word for word in words if word.startswith("--")]
            _, known = ran(RESTATE, "--help")
            expect(all(option in known for option in options), words)


table.check("systemd units", "checked", units)
table.check("compose file", "checked", composed)
table.check("Kubernetes manifests", "checked", manifests)
table.check("commands of cycod-hub", "checked", ours)
table.check("configurations of Restate", "checked", engine)
shutil.rmtree(scratch)
sys.exit(table.show("deploy"))
