"""What a gateway adds to a server behind it, all in one run: gateway.py

The server answers at once, so all of the time is the gateway's. Then the memory of ours after 2 GB of answers, and after a tenth of that.

    CYCOD=… DRIVER=…     a release build, and the directory with this package's programs
    MCP_PROXY=…          mcp-proxy, which is between HTTP and standard input: two of it make a gateway, and its figures are of both
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = Path(os.environ["DRIVER"])
SERVER = [str(PROGRAMS / "floor"), "1", "nothing"]
PROXY = os.environ["MCP_PROXY"]
PORT = 18787
GATEWAYS = {
    "none": (SERVER, "hello"),
    "cycod": ([os.environ["CYCOD"], "mcp", "serve"], "mcp_floor_hello"),
    "fastmcp": ([sys.executable, str(HERE / "fast_proxy.py"), *SERVER], "hello"),
    "mcp-proxy": ([PROXY, "--transport", "streamablehttp", f"http://127.0.0.1:{PORT}/mcp"], "hello"),
}
SLOW = {"fastmcp", "mcp-proxy"}


@contextlib.contextmanager
def proxy_before_server():
    """The half of mcp-proxy that offers the server over HTTP."""
    command = [PROXY, "--log-level", "ERROR", "--port", str(PORT), "--", *SERVER]
    proxy = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", PORT)):
                break
            if proxy.poll() is not None or time.monotonic() > deadline:
                sys.exit("mcp-proxy doesn't listen")
            time.sleep(0.1)
        yield
    finally:
        proxy.terminate()
        proxy.wait()


def measure(name, home, calls, size, **more):
    """What the driver says about calls of this size."""
    command, tool = GATEWAYS[name]
    done = subprocess.run(
        [str(PROGRAMS / "driver"), "legacy", "1", str(calls), *command],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "DRIVER_TOOL": tool, "DRIVER_BYTES": str(size), **more},
        cwd=home,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def main():
    with tempfile.TemporaryDirectory(prefix="gateway-") as place:
        home = Path(place)
        environment = {"PATH": os.environ["PATH"], "HOME": place}
        add = [os.environ["CYCOD"], "mcp", "add", "floor", "--user", "--yes", "--", *SERVER]
        subprocess.run(add, env=environment, cwd=home, check=True, stdout=subprocess.DEVNULL)
        entry = home / ".cycod" / "mcp.json"
        servers = json.loads(entry.read_text())
        servers["mcpServers"]["floor"]["levels"] = {"*": "read"}
        entry.write_text(json.dumps(servers))
        subprocess.run([os.environ["CYCOD"], "mcp", "test", "floor"], env=environment, cwd=home, check=True, stdout=subprocess.DEVNULL)
        with proxy_before_server():
            rows = {name: measure(name, home, 400 if name in SLOW else 4000, 1000) for name in GATEWAYS}
        alone = rows["none"]
        for name, figures in rows.items():
            added = figures["one"]["p50_ms"] - alone["one"]["p50_ms"]
            print(f"{name:9}  +{added:.2f} ms a call at p50, {figures['sixteen']['per_second']:.0f} calls/s of 1 KB with 16 in flight")
        little, much = (measure("cycod", home, calls, 1_000_000, DRIVER_ALONE="1")["memory_mb"] for calls in (40, 400))
        print(f"memory of cycod: {little} MB after 0.2 GB of answers, {much} MB after 2 GB")


main()
