"""The servers of others, as their users start them: each with a tool that needs neither a network nor an account, or with the error
of one that does.

`SERVERS` is the directory with the packages of `package-lock.json`, `requirements.txt` (the second generation of the Python SDK) and
`requirements1.txt` (the first).
"""

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from outside import NODE  # noqa: E402

SERVERS = Path(os.environ["SERVERS"])
KUBECONFIG = """apiVersion: v1
kind: Config
current-context: here
clusters: [{name: here, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: ada, user: {token: none}}]
contexts: [{name: here, context: {cluster: here, user: ada}}]
"""


@dataclass
class Server:
    command: list
    # How many tools it has at least.
    tools: int
    tool: str
    arguments: dict
    # What its answer holds, as a pattern: of a result, or of the error that names what is missing.
    says: str
    variables: dict = field(default_factory=dict)
    # Whether it answers with an error, because it needs an account or a service.
    fails: bool = False


def npm(package, *arguments, program=None):
    """The program of a package of npm."""
    home = SERVERS / "node_modules" / package
    programs = json.loads((home / "package.json").read_text())["bin"]
    path = programs if isinstance(programs, str) else programs[program or next(iter(programs))]
    return [NODE, str(home / path), *arguments]


def official(name, *arguments):
    return npm(f"@modelcontextprotocol/server-{name}", *arguments)


def pypi(program, *arguments):
    """A program of a package of PyPI that uses the second generation of the SDK."""
    return [str(SERVERS / "python" / "bin" / program), *arguments]


def pypi1(program, *arguments):
    """The same, with the first generation."""
    return [str(SERVERS / "python1" / "bin" / program), *arguments]


def kubernetes(*arguments):
    package = "kubernetes-mcp-server-linux-amd64"
    return [str(SERVERS / "node_modules" / package / "bin" / package), *arguments]


def servers(place):
    """Each server by a short name; `place` is a directory with a repository and a kubeconfig that it may write to."""
    thought = {"thought": "x", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    memory = {"MEMORY_FILE_PATH": str(place / "memory.json")}
    return {
        "everything": Server(official("everything"), 8, "echo", {"message": "hi"}, "Echo: hi"),
        "filesystem": Server(official("filesystem", str(place)), 10, "list_directory", {"path": str(place)}, "repository"),
        "memory": Server(official("memory"), 9, "read_graph", {}, "entities", memory),
        "thinking": Server(official("sequential-thinking"), 1, "sequentialthinking", thought, "thoughtHistoryLength"),
        "heatmap": Server(official("cohort-heatmap", "--stdio"), 1, "get-cohort-data", {}, "cohorts"),
        "github": Server(official("github"), 20, "search_repositories", {"query": "x"}, "fetch failed|Unauthorized", fails=True),
        "postgres": Server(
            official("postgres", "postgresql://127.0.0.1:1/none"), 1, "query", {"sql": "select 1"}, "EACCES|ECONNREFUSED", fails=True
        ),
        "playwright": Server(npm("@playwright/mcp"), 20, "browser_tabs", {"action": "list"}, "browser|chrom", fails=True),
        "devtools": Server(
            npm("chrome-devtools-mcp", program="chrome-devtools-mcp"), 20, "list_pages", {}, "(?i)chrome", fails=True
        ),
        "context7": Server(
            npm("@upstash/context7-mcp"), 2, "resolve-library-id", {"query": "x", "libraryName": "x"}, "fetch failed|Error"
        ),
        "commander": Server(
            npm("@wonderwhy-er/desktop-commander", program="desktop-commander"), 20, "list_sessions", {}, "No active sessions"
        ),
        "firecrawl": Server(npm("firecrawl-mcp"), 20, "firecrawl_scrape", {"url": "https://example.com"}, "fetch failed|(?i:api.?key)", fails=True),
        "notion": Server(npm("@notionhq/notion-mcp-server"), 20, "API-get-self", {}, "ENOTFOUND|EAI_AGAIN", fails=True),
        "tavily": Server(npm("tavily-mcp"), 4, "tavily_search", {"query": "x"}, "(?i)api.?key|ENOTFOUND|EAI_AGAIN", fails=True),
        "kubernetes": Server(
            kubernetes("--kubeconfig", str(place / "kubeconfig")), 8, "configuration_view", {}, "127.0.0.1:1"
        ),
        "time": Server(pypi("mcp-server-time"), 2, "get_current_time", {"timezone": "UTC"}, "datetime"),
        "git": Server(pypi("mcp-server-git"), 10, "git_status", {"repo_path": str(place / "repository")}, "(?i)branch|commits"),
        "fetch": Server(pypi("mcp-server-fetch"), 1, "fetch", {"url": "http://127.0.0.1:1/"}, "not a public address", fails=True),
        "motherduck": Server(
            pypi("mcp-server-motherduck", "--db-path", ":memory:", "--read-write"), 2, "execute_query", {"sql": "select 6 * 7"}, "42"
        ),
        "excel": Server(pypi("excel-mcp-server", "stdio"), 20, "list_workbooks", {}, "workbooks"),
        "sqlite": Server(pypi1("mcp-server-sqlite", "--db-path", str(place / "data.db")), 5, "list_tables", {}, r"\[\]"),
        "arxiv": Server(pypi1("arxiv-mcp-server", "--storage-path", str(place)), 3, "list_papers", {}, "papers"),
        "calculator": Server(pypi1("mcp-server-calculator"), 1, "calculate", {"expression": "6 * 7"}, "42"),
    }  # fmt: skip


def unready():
    """Servers that end at once, because what they need is missing, with what a person has to read of it."""
    return {
        "kubernetes": (kubernetes(), "no current-context is set"),
        "motherduck": (pypi("mcp-server-motherduck", "--db-path", ":memory:"), "--read-write"),
        "postgres": (official("postgres"), "(?i)database url"),
    }
