"""An MCP server over HTTP for tests, and what gives tokens for it. Prints its port.

The first argument says how it behaves: `plain`, `redirect`, `big`, `mute`, `broken`, `login`, which wants a token, or
`step-up`, which wants one with the scope `files:write` for the tool `write`.
Standard library only.
"""

import http.server
import json
import sys
import time
import urllib.parse

mode = sys.argv[1]
tokens = {"good": 0}
valid = set()
requests = []
asked_scopes = [""]
scopes = {}


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
        if mode not in ("login", "step-up"):
            return self.answer(405)
        if url.path.startswith("/.well-known/oauth-protected-resource"):
            more = {"scopes_supported": ["files:read"]} if mode == "step-up" else {}
            return self.answer(200, {"resource": f"{base}/mcp", "authorization_servers": [base], **more})
        if url.path == "/.well-known/oauth-authorization-server":
            return self.answer(200, {
                "issuer": base, "authorization_endpoint": f"{base}/authorize", "token_endpoint": f"{base}/token",
                "registration_endpoint": f"{base}/register", "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"],
            })
        if url.path == "/revoke":
            valid.clear()
            return self.answer(200, {})
        if url.path == "/authorize":
            asked = dict(urllib.parse.parse_qsl(url.query))
            assert asked["code_challenge_method"] == "S256", asked
            asked_scopes[0] = asked.get("scope", "")
            back = asked["redirect_uri"] + "?" + urllib.parse.urlencode({"code": "c0de", "state": asked["state"]})
            return self.answer(302, location=back)
        self.answer(404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/register":
            asked = json.loads(body)
            return self.answer(201, {**asked, "client_id": "client-1"})
        if self.path == "/token":
            tokens["good"] += 1
            token = f"sesame-{tokens['good']}"
            valid.clear()
            valid.add(token)
            scopes[token] = asked_scopes[0]
            granted = {"scope": scopes[token]} if mode == "step-up" else {}
            return self.answer(200, {"access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "again", **granted})
        if self.path == "/revoke":
            valid.clear()
            return self.answer(200, {})
        if mode == "redirect":
            return self.answer(307, location=f"http://127.0.0.1:{self.server.server_port}/elsewhere")
        if mode == "mute":
            return time.sleep(60)
        if mode == "broken":
            return self.answer(500, {"oops": True})
        if mode in ("login", "step-up") and self.headers.get("authorization", "").removeprefix("Bearer ") not in valid:
            base = f"http://127.0.0.1:{self.server.server_port}"
            return self.answer(401, {}, www_authenticate=f'Bearer resource_metadata="{base}/.well-known/oauth-protected-resource/mcp"')
        request = json.loads(body)
        if "id" not in request:
            return self.answer(202)
        token = self.headers.get("authorization", "").removeprefix("Bearer ")
        if mode == "step-up" and request.get("params", {}).get("name") == "write" and "files:write" not in scopes[token].split():
            return self.answer(403, {}, www_authenticate='Bearer error="insufficient_scope", scope="files:write"')
        self.answer(200, {"jsonrpc": "2.0", "id": request["id"], "result": self.result(request)})

    def result(self, request):
        if request["method"] == "server/discover":
            return {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                    "ttlMs": 0, "cacheScope": "private"}
        if request["method"] == "tools/list":
            names = ["headers", "write"] if mode == "step-up" else ["headers"]
            listed = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
            return {"resultType": "complete", "tools": listed, "ttlMs": 0, "cacheScope": "private"}
        if request["params"].get("name") == "write":
            return {"resultType": "complete", "content": [{"type": "text", "text": asked_scopes[0]}]}
        text = "x" * 50_000_000 if mode == "big" else json.dumps(dict(self.headers))
        return {"resultType": "complete", "content": [{"type": "text", "text": text}]}


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
