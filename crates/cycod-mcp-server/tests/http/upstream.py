"""An MCP server over HTTP that says who it thinks calls, and what gives tokens for it. Prints its port.

Who logs in is named by the parameter `user` that a test adds to the address of the login. Every user has a tool, a prompt and a
resource of their own in addition to those of all. What was sent in `Authorization` is at `/seen`, and a GET of `/touch?user=ann`
tells ann that her resource has changed. The first argument `open` lists its tools to everybody, and wants a login for calls.
Standard library only.
"""

import http.server
import json
import queue
import sys
import threading
import urllib.parse

is_open = "open" in sys.argv[1:]
users = {}
seen = []
streams = {}
lock = threading.Lock()


def listing(key, members):
    return {"resultType": "complete", key: members, "ttlMs": 0, "cacheScope": "private"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value=None, **headers):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        if value is not None:
            self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        base = f"http://127.0.0.1:{self.server.server_port}"
        url = urllib.parse.urlparse(self.path)
        asked = dict(urllib.parse.parse_qsl(url.query))
        if url.path.startswith("/.well-known/oauth-protected-resource"):
            return self.answer(200, {"resource": f"{base}/mcp", "authorization_servers": [base]})
        if url.path == "/.well-known/oauth-authorization-server":
            return self.answer(200, {
                "issuer": base, "authorization_endpoint": f"{base}/authorize", "token_endpoint": f"{base}/token",
                "registration_endpoint": f"{base}/register", "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"],
            })
        if url.path == "/authorize":
            back = urllib.parse.urlencode({"code": asked["user"], "state": asked["state"]})
            return self.answer(302, location=f"{asked['redirect_uri']}?{back}")
        if url.path == "/seen":
            return self.answer(200, seen)
        if url.path == "/touch":
            with lock:
                for stream in streams.get(asked["user"], []):
                    stream.put("note:mine")
            return self.answer(200, {})
        self.answer(405)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/register":
            return self.answer(201, {**json.loads(body), "client_id": "client-1"})
        if self.path == "/token":
            user = dict(urllib.parse.parse_qsl(body.decode()))["code"]
            token = f"sesame-{user}-{len(users)}"
            users[token] = user
            return self.answer(200, {"access_token": token, "token_type": "Bearer", "expires_in": 3600})
        authorization = self.headers.get("authorization", "")
        seen.append(authorization)
        user = users.get(authorization.removeprefix("Bearer "))
        request = json.loads(body)
        if user is None and not (is_open and request["method"] not in ("tools/call", "resources/read", "prompts/get")):
            base = f"http://127.0.0.1:{self.server.server_port}"
            return self.answer(401, {}, www_authenticate=f'Bearer resource_metadata="{base}/.well-known/oauth-protected-resource/mcp"')
        if "id" not in request:
            return self.answer(202)
        if request["method"] == "subscriptions/listen":
            return self.listen(request, user)
        self.answer(200, {"jsonrpc": "2.0", "id": request["id"], "result": self.result(request, user or "nobody")})

    def result(self, request, user):
        method, params = request["method"], request.get("params", {})
        if method == "server/discover":
            capabilities = {"tools": {}, "prompts": {}, "resources": {"subscribe": True}}
            return {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
                    "ttlMs": 0, "cacheScope": "private"}
        if method == "tools/list":
            return listing("tools", [{"name": name, "inputSchema": {"type": "object"}} for name in ("whoami", f"of_{user}")])
        if method == "prompts/list":
            return listing("prompts", [{"name": f"prompt_{user}"}])
        if method == "resources/list":
            return listing("resources", [{"uri": "note:mine", "name": "mine"}, {"uri": f"note:{user}", "name": user}])
        if method == "resources/templates/list":
            return listing("resourceTemplates", [])
        said = f"you are {user}"
        if method == "resources/read":
            return {**listing("contents", [{"uri": params["uri"], "text": said}])}
        if method == "prompts/get":
            return {"resultType": "complete", "messages": [{"role": "user", "content": {"type": "text", "text": said}}]}
        link = {"type": "resource_link", "uri": f"secret:{user}", "name": "secret"}
        return {"resultType": "complete", "content": [{"type": "text", "text": said}, link]}

    def listen(self, request, user):
        stream = queue.Queue()
        with lock:
            streams.setdefault(user, []).append(stream)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        meta = {"io.modelcontextprotocol/subscriptionId": request["id"]}

        def send(method, params):
            message = {"jsonrpc": "2.0", "method": method, "params": {**params, "_meta": meta}}
            self.wfile.write(f"data: {json.dumps(message)}\n\n".encode())
            self.wfile.flush()

        send("notifications/subscriptions/acknowledged", {"notifications": request["params"].get("notifications", {})})
        try:
            while True:
                send("notifications/resources/updated", {"uri": stream.get()})
        except OSError:
            pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
