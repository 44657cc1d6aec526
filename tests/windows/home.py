"""Where the user of Wine's Windows lives."""

import subprocess
from pathlib import Path


def user_directory():
    said = subprocess.run(["wine", "cmd", "/c", "echo %USERPROFILE%"], capture_output=True, check=True).stdout
    said = subprocess.run(["wine", "winepath", "-u", said.decode().strip()], capture_output=True, check=True).stdout
    return Path(said.decode().strip())
