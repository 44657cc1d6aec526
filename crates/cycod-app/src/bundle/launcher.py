"""Starts cycod with the tools next to this file. `cycod mcp bundle` wrote it."""

import os
import shutil
import subprocess
import sys


def main():
    project = os.path.join(os.path.dirname(os.path.abspath(__file__)), "project")
    words = sys.argv[1:]
    is_trust = words[:1] == ["trust"]
    arguments = ["trust", "--all", *words[1:]] if is_trust else ["mcp", "serve", "--directory", project, *words]
    # Desktop programs often start servers with a shorter PATH than a terminal has.
    home = os.path.expanduser("~")
    usual = [os.path.join(home, ".local", "bin"), os.path.join(home, ".cargo", "bin"), "/opt/homebrew/bin", "/usr/local/bin"]
    program = shutil.which("cycod", path=os.pathsep.join([os.environ.get("PATH", ""), *usual]))
    if program is None:
        sys.exit("error: cycod is not installed; these tools run with it")
    if is_trust:
        os.chdir(project)
    if os.name == "posix":
        os.execv(program, [program, *arguments])
    sys.exit(subprocess.run([program, *arguments]).returncode)
