"""A gateway with fastmcp before a server on standard input and output: fast_proxy.py COMMAND ARGUMENT…"""

import sys

from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

create_proxy(StdioTransport(command=sys.argv[1], args=sys.argv[2:])).run(show_banner=False)
