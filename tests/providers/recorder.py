"""A provider that thinks, signs and names what it says, and records what it is asked."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOL = "get_context"


def anthropic():
    def block(at, block, *deltas):
        yield {"type": "content_block_start", "index": at, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}

    yield {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 9, "output_tokens": 1}}}
    thought = {"type": "thinking_delta", "thinking": "I think."}
    yield from block(0, {"type": "thinking", "thinking": "", "signature": ""}, thought, {"type": "signature_delta", "signature": "c2ln"})
    yield from block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I look."})
    yield from block(2, {"type": "redacted_thinking", "data": "c2VhbGVk"})
    call = {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": {}, "caller": {"type": "direct"}}
    yield from block(3, call, {"type": "input_json_delta", "partial_json": "{}"})
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}
    yield {"type": "message_stop"}


def anthropic_end():
    yield {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 9, "output_tokens": 1}}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Looked."}}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
    yield {"type": "message_stop"}


def openai():
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": TOOL, "arguments": "{}"}}
    yield {"choices": [{"index": 0, "delta": {"content": "I look.", "tool_calls": [call]}}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


def openai_end():
    yield {"choices": [{"index": 0, "delta": {"content": "Looked."}, "finish_reason": "stop"}]}


def responses():
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "c2VhbGVk"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": TOOL, "arguments": "{}", "status": "completed"},
    ]
    for at, item in enumerate(items):
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    yield {"type": "response.completed", "response": {"model": "m", "output": items}}


def responses_end():
    content = [{"type": "output_text", "text": "Looked.", "annotations": []}]
    item = {"type": "message", "id": "msg_2", "role": "assistant", "status": "completed", "content": content}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {"model": "m", "output": [item]}}


def gemini():
    def candidate(*parts, **more):
        return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **more}]}

    yield candidate({"text": "I look."})
    yield candidate({"text": "", "thoughtSignature": "c2ln"})
    yield candidate({"functionCall": {"id": "fc_1", "name": TOOL, "args": {}}, "thoughtSignature": "Y2FsbA=="})
    yield candidate({"text": ""}, finishReason="STOP")


def gemini_end():
    yield {"candidates": [{"content": {"role": "model", "parts": [{"text": "Looked."}]}, "finishReason": "STOP"}]}


FORMS = {
    "/v1/messages": ("anthropic", anthropic, anthropic_end),
    "/v1/chat/completions": ("openai", openai, openai_end),
    "/v1/responses": ("openai-responses", responses, responses_end),
}


class Recorder:
    """Answers until it is left; `bodies` has what was asked, by format."""

    def __init__(self):
        self.bodies = {}
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                form, turn, end = FORMS.get(self.path.split("?")[0], ("gemini", gemini, gemini_end))
                bodies = recorder.bodies.setdefault(form, [])
                said = turn if not bodies else end
                bodies.append(body)
                text = "".join(f"data: {json.dumps(event)}\n\n" for event in said())
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                self.wfile.write(text.encode())

            def do_GET(self):
                self.send_error(404)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
