"""Functions whose packages uv installs, with the real one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from outside import CYCOD, Home, Table, expect  # noqa: E402

UV = Path(os.environ["UV"])
CODE = '''
    # /// script
    # requires-python = ">=3.8"
    # dependencies = ["tomli==2.2.1"]
    # ///
    import os, sys, tomli
    def handler(path):
        return {**tomli.loads("a = 1"), "prefix": sys.prefix, "sees": os.path.exists(path)}
'''
TOOL = "description: Reads TOML\ntags: [read]\nparameters: {path: {description: P, required: true}}\n"
HANDLER = "handler:\n  language: python\n  code: |"
CONFINED = 'security: {required-permissions: ["filesystem:read:/usr"]}\n'


class Place(Home):
    def __init__(self, with_uv=True):
        super().__init__()
        # The certificates that this machine trusts, where that is said.
        kept = ("SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "NO_PROXY")
        self.environment.update({name: os.environ[name] for name in kept if name in os.environ})
        # Without that, those of the system: uv has a list of its own, which lacks that of a proxy.
        self.environment["UV_SYSTEM_CERTS"] = "1"
        if with_uv:
            self.environment["PATH"] = f"{UV.parent}:{self.environment['PATH']}"
        self.tool("open", TOOL + HANDLER + CODE)
        self.tool("confined", TOOL + CONFINED + HANDLER + CODE)
        self.tool("broken", TOOL + HANDLER + CODE.replace("2.2.1", "0.0.77"))
        self.tool("empty", TOOL + HANDLER.replace("code", "runtime: {python: uv}\n  code")
                  + "\n    import os, sys\n    def handler(path):\n        return {'a': 1, 'prefix': sys.prefix}\n")
        (self.path / "secret").write_text("secret")

    def call(self, name):
        command = [CYCOD, "run", name, f"path={self.path / 'secret'}"]
        return subprocess.run(command, cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True)


def installs():
    with Place() as place:
        for name in ("open", "confined", "empty"):
            ran = place.call(name)
            expect(ran.returncode == 0, ran)
            expect(b'"a": 1' in ran.stdout and str(place.path / ".cache/uv").encode() in ran.stdout, ran)
            expect(name == "empty" or (b'"sees": true' in ran.stdout) == (name == "open"), ran)


def shows():
    with Place() as place:
        shown = subprocess.run([CYCOD, "info", "open"], cwd=place.path, env=place.environment, capture_output=True).stdout
        expect(b"Python by `uv`" in shown, shown)
        expect(not (place.path / ".cache/uv").exists(), "info installs something")


def fails():
    with Place() as place:
        ran = place.call("broken")
        expect(ran.returncode == 126 and b"uv cannot install the packages that the code declares" in ran.stderr, ran)
    with Place(with_uv=False) as place:
        if shutil.which("uv", path=place.environment["PATH"]):
            return "uv is here"
        ran = place.call("open")
        expect(b"`uv`, which installs them, is not installed" in ran.stderr, ran)


def main():
    table = Table()
    for test in (installs, shows, fails):
        table.check(test.__name__, "uv", test)
    return table.show("interpreters")


if __name__ == "__main__":
    sys.exit(main())
