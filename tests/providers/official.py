"""What cycod sends is what the official SDKs of Anthropic, OpenAI and Google would send: their types read it and lose nothing.

Started as `official.py FILE`, where FILE holds the recorded bodies by format; without one, it is only imported.
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any, Mapping

from anthropic.types.message_create_params import MessageCreateParamsStreaming as AnthropicMessage
from google.genai import types as google
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming as OpenaiChat
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming as OpenaiResponses
from pydantic import TypeAdapter


def plain(value):
    """A value without the iterators that stand for lists: each is read to its end, and with that checked."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        return value
    return [plain(item) for item in value]


def typed(kind, body):
    """A body as the types of an SDK read it; what they do not know is lost."""
    adapter = TypeAdapter(kind)  # What is read lazily needs it to the end.
    return plain(adapter.validate_python(body))


def gemini(body):
    """A body of Gemini, part by part: its SDK has models that refuse what they do not know."""
    read = dict(body)
    read["contents"] = [
        google.Content.model_validate(content).model_dump(mode="json", by_alias=True, exclude_none=True)
        for content in body["contents"]
    ]
    if "systemInstruction" in body:
        google.Content.model_validate(body["systemInstruction"])
    for tool in body.get("tools", []):
        google.Tool.model_validate(tool)
    return read


def read(form, body):
    body = json.loads(json.dumps(body))
    if form == "gemini":
        return gemini(body)
    kinds: dict[str, Any] = {"anthropic": AnthropicMessage, "openai": OpenaiChat, "openai-responses": OpenaiResponses}
    return typed(kinds[form], body)


def same(one, other):
    """Whether two values are equal; texts of bytes may be written in either alphabet of Base64."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, str) and isinstance(other, str) and one != other:
        try:
            return base64.urlsafe_b64decode(one + "==") == base64.urlsafe_b64decode(other + "==")
        except ValueError:
            return False
    return one == other


def difference(one, other, path=""):
    """Where two values differ first."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *other]:
            if key not in one or key not in other:
                return f"{path}/{key}"
            found = difference(one[key], other[key], f"{path}/{key}")
            if found:
                return found
        return None
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return next(filter(None, (difference(a, b, f"{path}/{at}") for at, (a, b) in enumerate(zip(one, other)))), None)
    return None if same(one, other) else path or "/"


def main():
    recorded = json.loads(Path(sys.argv[1]).read_text())
    failed = False
    for form, bodies in recorded.items():
        for at, body in enumerate(bodies):
            try:
                lost = difference(body, read(form, body))
            except Exception as error:
                lost = str(error)[:2000]
            if lost:
                failed = True
                print(f"{form}, request {at + 1}: {lost}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
