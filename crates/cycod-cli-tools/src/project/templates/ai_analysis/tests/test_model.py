import http.server
import json
import threading
import unittest

from @@snake@@.model import Model, ModelError, interpret


class Server(http.server.BaseHTTPRequestHandler):
    """A model that repeats what it was asked."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != "Bearer key":
            self.send_error(401)
            return
        said = request["messages"][0]["content"]
        answer = {"choices": [{"message": {"content": f"{request['model']} heard {said}"}}]} if said else {}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *arguments):
        pass


class ModelTest(unittest.TestCase):
    def setUp(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"

    def test_asks(self):
        self.assertEqual(Model(self.url, "small", "key").ask("hello"), "small heard hello")

    def test_what_goes_wrong_is_told_without_the_key(self):
        with self.assertRaisesRegex(ModelError, "status 401") as caught:
            Model(self.url, "small", "another key").ask("hello")
        self.assertNotIn("another key", str(caught.exception))
        with self.assertRaisesRegex(ModelError, "something else"):
            Model(self.url, "small", "key").ask("")
        self.assertNotIn("secret", repr(Model(self.url, "small", "secret")))

    def test_the_environment_says_which(self):
        environment = {"MODEL_URL": "http://localhost/v1/", "MODEL_NAME": "small"}
        self.assertEqual(Model.from_environment(environment), Model("http://localhost/v1", "small"))
        with self.assertRaisesRegex(ModelError, "set MODEL_URL and MODEL_NAME"):
            Model.from_environment({})
        with self.assertRaisesRegex(ModelError, "not an address"):
            Model.from_environment({**environment, "MODEL_URL": "file:///etc/passwd"})

    def test_measures_are_told(self):
        heard = []
        interpret({"rows": 3}, "How many?", lambda prompt: heard.append(prompt) or "3")
        self.assertIn('"rows": 3', heard[0])
        self.assertIn("How many?", heard[0])


if __name__ == "__main__":
    unittest.main()
