"""Tools made to be awkward: one that a client cannot read takes all the others away.

    awkward.py serve     offers the second half as a server of its own, which cycod adopts
"""

import json
import sys

DIALECTS = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-04/schema#",
]


def deep(levels):
    schema, value = {"type": "integer"}, 1
    for _ in range(levels):
        schema, value = {"type": "object", "properties": {"in": schema}}, {"in": value}
    return schema, value


def one(schema, value):
    """The same for one property, which the older clients read in another way than the root."""
    return {"type": "object", "properties": {"v": schema}, "required": ["v"]}, {"v": value}


# What a tool says that it returns, and what it returns.
ROOTS = [
    ({"type": "array", "items": {"type": "string"}}, ["a", "b"]),
    ({"type": "array"}, []),
    ({"type": "string"}, "x"),
    ({"type": "string"}, ""),
    ({"type": "integer"}, 0),
    ({"type": "number"}, 1.5),
    ({"type": "boolean"}, False),
    ({"type": "null"}, None),
    ({}, 7),
    ({}, {"a": 1}),
    ({"description": "Anything"}, None),
    ({"anyOf": [{"type": "object"}, {"type": "array"}]}, {"a": 1}),
    ({"anyOf": [{"type": "object"}, {"type": "array"}]}, [1]),
    ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, 5),
    ({"allOf": [{"type": "array"}, {"minItems": 1}]}, [1]),
    ({"type": ["object", "null"]}, None),
    ({"type": ["object", "null"]}, {}),
    ({"type": ["object"]}, {"a": 1}),
    ({"properties": {"a": {"type": "integer"}}}, {"a": 1}),
    ({"properties": {"a": {"type": "integer"}}}, [1]),
    ({"enum": [1, "a", None]}, None),
    ({"const": [1]}, [1]),
    ({"not": {"type": "object"}}, "text"),
    ({"$ref": "#/$defs/list", "$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/list"}}}}, [[], [[]]]),
    ({"type": "array", "items": {"$ref": "#"}}, [[[]]]),
    ({"type": "object", "properties": {"child": {"$ref": "#"}}}, {"child": {"child": {}}}),
    ({"type": "object", "properties": {"a": True, "b": False}}, {"a": 1}),
    ({"type": "object", "additionalProperties": False, "properties": {"a": {}}}, {"a": [1]}),
    ({"type": "object", "properties": {"constructor": {"type": "integer"}}, "required": ["constructor"]}, {"constructor": 1}),
    ({"type": "object", "properties": {"a/b~c": {}, "": {}, "ü ": {}}}, {"a/b~c": 1, "": 2, "ü ": 3}),
    ({"type": "object", "properties": {f"p{n}": {"type": "integer"} for n in range(800)}}, {"p1": 1}),
    ({"$id": "https://example.com/same", "type": "object", "properties": {"n": {"type": "integer"}}}, {"n": 1}),
    ({"$id": "https://example.com/same", "type": "object", "properties": {"n": {"type": "string"}}}, {"n": "x"}),
    ({"$anchor": "top", "type": "object", "properties": {"n": {"$ref": "#top"}}}, {"n": {}}),
    ({"type": "object", "properties": {"n": {"$ref": "#item"}}, "$defs": {"i": {"$anchor": "item", "type": "integer"}}}, {"n": 1}),
    ({"type": "object", "$defs": {"i": {"$id": "https://example.com/i", "type": "integer"}}, "properties": {"n": {"$ref": "https://example.com/i"}}}, {"n": 1}),
    ({"$dynamicAnchor": "node", "type": "object", "properties": {"n": {"$dynamicRef": "#node"}}}, {"n": {}}),
    ({"type": "object", "allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False}, {"a": 1}),
    ({"type": "object", "dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 2}),
    ({"type": "object", "patternProperties": {"(?i)^x": {"type": "integer"}}, "additionalProperties": False}, {"X1": 1}),
    ({"type": "object", "propertyNames": {"pattern": "^[\\w-]+$"}}, {"a-b": 1}),
    ({"type": "object", "nullable": True, "discriminator": {"propertyName": "a"}}, {"a": 1}),
    ({"type": "object", "id": "an-old-one", "$async": True}, {"a": 1}),
    ({"type": "object", "title": "T", "$comment": "c", "examples": [{}], "deprecated": True, "x-color": "red"}, {}),
    ({"type": "object", "default": {"big": 10**30, "huge": 1e300}}, {}),
    ({"type": "object", "properties": {"a": {"$ref": "#/x-parts/a"}}, "x-parts": {"a": {"type": "integer"}}}, {"a": 1}),
    deep(30),
    deep(58),
    *[({"$schema": dialect, "type": "object", "properties": {"n": {"type": "integer"}}}, {"n": 1}) for dialect in DIALECTS],
    *[({"$schema": dialect, "type": "array", "items": {"type": "integer"}}, [1]) for dialect in DIALECTS],
    ({"$schema": DIALECTS[1], "$recursiveAnchor": True, "type": "object", "properties": {"n": {"$recursiveRef": "#"}}}, {"n": {}}),
    ({"$schema": DIALECTS[2], "type": "object", "properties": {"p": {"type": "array", "items": [{"type": "integer"}], "additionalItems": False}}}, {"p": [1]}),
    ({"$schema": DIALECTS[2], "type": "object", "dependencies": {"a": ["b"]}}, {"a": 1, "b": 1}),
    ({"$schema": DIALECTS[2], "type": "object", "properties": {"n": {"$ref": "#/definitions/n", "minimum": 5}}, "definitions": {"n": {"type": "integer"}}}, {"n": 1}),
]  # fmt: skip

# The same for a property of an object.
PARTS = [
    ({"type": "string", "pattern": "^[a-z]+$"}, "abc"),
    ({"type": "string", "pattern": "(?i)^abc$"}, "ABC"),
    ({"type": "string", "pattern": "^[\\w.-]+$"}, "a-b.c"),
    ({"type": "string", "pattern": "\\-x"}, "-x"),
    ({"type": "string", "pattern": "^\\p{L}+$"}, "é"),
    ({"type": "string", "pattern": "^[[:alpha:]]+$"}, "a]]"),
    ({"type": "string", "pattern": "^a{,2}$"}, "a{,2}"),
    ({"type": "string", "pattern": "]"}, "]"),
    ({"type": "string", "format": "date-time"}, "yesterday"),
    ({"type": "string", "format": "email"}, "nobody"),
    ({"type": "string", "format": "uri"}, "not an address"),
    ({"type": "string", "format": "regex"}, "("),
    ({"type": "string", "format": "colour"}, "red"),
    ({"type": "number", "multipleOf": 0.1}, 0.3),
    ({"type": "number", "multipleOf": 0.01}, 19.99),
    ({"type": "integer", "multipleOf": 3}, 9),
    ({"type": "integer", "maximum": 9007199254740993}, 9007199254740992),
    ({"type": "integer"}, 1.0),
    ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False}, [1, "a"]),
    ({"type": "array", "prefixItems": [{"type": "integer"}]}, [1, "a"]),
    ({"type": "array", "contains": {"type": "string"}, "minContains": 0}, [1]),
    ({"type": "array", "contains": {"type": "string"}, "maxContains": 2}, ["a"]),
    ({"type": "array", "uniqueItems": True}, [{"a": 1}, {"a": 2}]),
    ({"type": "array", "items": True}, [1, None]),
    ({"type": "object", "properties": {"x": True, "y": False}}, {"x": []}),
    ({"type": "object", "additionalProperties": True}, {"x": 1}),
    ({"type": ["string", "null"]}, None),
    ({"nullable": True}, None),
    ({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": "integer"}}, 3),
    ({"not": {"dependentRequired": {"a": ["b"]}}}, {"a": 1}),
    ({"oneOf": [{"required": ["a"]}, {"dependentRequired": {"b": ["c"]}, "required": ["b"]}]}, {"a": 1, "b": 1}),
    ({"enum": [f"value {n}" for n in range(500)]}, "value 7"),
    ({"const": {"a": [None, True, 1.5]}}, {"a": [None, True, 1.5]}),
    ({"contentMediaType": "application/json", "contentEncoding": "base64", "contentSchema": {"type": "object"}}, "!"),
    ({"minProperties": 1, "maxProperties": 2}, {"a": 1}),
    ({"type": "string", "minLength": 1, "maxLength": 1}, "\N{PILE OF POO}"),
    ({"description": "Zeilen\nund \"Anführung\" \\ "}, 1),
]  # fmt: skip

# What a tool says that it takes, and what it is given.
INPUTS = [
    ({"type": "object"}, {}),
    ({"type": "object", "properties": {}}, {}),
    ({"type": "object", "properties": {"a": True}}, {"a": 1}),
    ({"type": "object", "properties": {"a": {"type": "integer"}, "b": False}}, {"a": 1}),
    ({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": True, "c": False}}}}, {"a": {"b": 1}}),
    ({"type": "object", "properties": {"a": {"type": "array", "items": True}}}, {"a": [1]}),
    ({"type": "object", "properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1}),
    ({"type": "object", "properties": {"a": {}}, "anyOf": [True]}, {"a": 1}),
    ({"type": "object", "properties": {"a": {}}, "not": {"required": ["b"]}}, {"a": 1}),
    ({"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}, {"a": 1}),
    ({"type": "object", "properties": {"a": {"type": "string", "pattern": "(?i)^x$"}}}, {"a": "X"}),
    ({"type": "object", "properties": {"a": {"type": ["string", "null"], "default": None}}}, {}),
    ({"type": "object", "properties": {"a": {"type": "integer", "default": 10**20}}}, {}),
    ({"type": "object", "properties": {"a": {"enum": [1, "a", None, 2.5]}}}, {"a": 2.5}),
    ({"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}, {"a": 1}),
    ({"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "Region"}}}, {"a": "x"}),
    ({"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "two words"}}}, {"a": "x"}),
    ({"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": ""}}}, {"a": "x"}),
    ({"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": 7}}}, {"a": "x"}),
    ({"type": "object", "properties": {"a": {"type": "array", "x-mcp-header": "List"}}}, {"a": []}),
    ({"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "Same"}, "b": {"type": "string", "x-mcp-header": "same"}}}, {"a": "x"}),
    ({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "Item"}}}}, {"a": ["x"]}),
    ({"type": "object", "properties": {"a": {"type": "string", "format": "unheard-of"}}}, {"a": "x"}),
    ({"type": "object", "properties": {"a": {"type": "integer"}}, "propertyNames": {"maxLength": 3}}, {"a": 1}),
    ({"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(100)}}, {"p3": "x"}),
    *[({"$schema": dialect, "type": "object", "properties": {"a": {"type": "integer"}}}, {"a": 1}) for dialect in DIALECTS],
    ({"type": "object", "properties": {"a": deep(40)[0]}}, {"a": deep(40)[1]}),
]  # fmt: skip

OUTPUTS = [*ROOTS, *(one(*part) for part in PARTS)]

# What a server may say beside that, and cycod's own tools cannot.
FOREIGN = [
    {"inputSchema": {}},
    {"inputSchema": {"properties": {"a": True}}},
    {"inputSchema": {"type": "object", "properties": {"a": True}, "required": []}},
    {"outputSchema": True},
    {"outputSchema": {"type": "nonsense"}},
    {"outputSchema": {"type": "object", "properties": {"a": {"$ref": "https://example.com/schema.json"}}}},
    {"outputSchema": {"$schema": "https://example.com/my-own-dialect", "type": "object"}},
    {"outputSchema": {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}},
    {"outputSchema": {"type": "object", "required": "a"}},
    {"title": "", "annotations": {"title": ""}},
    {"description": None},
    {"annotations": {"readOnlyHint": True, "somethingElse": 7}},
    {"_meta": {"anything": [1]}, "icons": []},
]


def own():
    """The files of tools, by name, each with its arguments and what it returns."""
    tools = {}

    def add(name, value, arguments, **keys):
        run = f"cat answers/{name}.json"
        file = {"name": name, "description": f"Awkward {name}", "tags": ["read"], "run": run, **keys}
        tools[name] = {"file": file, "value": value, "arguments": arguments}

    for at, (schema, value) in enumerate(OUTPUTS):
        add(f"out_{at}", value, {}, returns=schema)
    for at, (_, value) in enumerate(ROOTS):
        add(f"plain_{at}", value, {}, produces="application/json")
    for at, (schema, arguments) in enumerate(INPUTS):
        add(f"in_{at}", {"ok": True}, arguments, **{"input-schema": schema}, produces="application/json")
    return tools


def foreign():
    """The tools of the other server: as it lists them, with arguments and value."""
    tools = []
    for at, (schema, value) in enumerate(OUTPUTS):
        tools.append(({"name": f"out_{at}", "inputSchema": {"type": "object"}, "outputSchema": schema}, {}, value))
    for at, (schema, arguments) in enumerate(INPUTS):
        tools.append(({"name": f"in_{at}", "inputSchema": schema}, arguments, [at]))
    for at, keys in enumerate(FOREIGN):
        tools.append(({"name": f"odd_{at}", "inputSchema": {"type": "object"}, **keys}, {}, {"a": "x"}))
    return tools


def place(home):
    """Puts all of them into a home, and returns for each name the arguments and the value; and the names left out.

    What cycod itself refuses with its reason is none of a client's business.
    """
    expected = {}
    (home.path / "answers").mkdir()
    for name, tool in own().items():
        home.tool(name, json.dumps(tool["file"]))
        (home.path / "answers" / f"{name}.json").write_text(json.dumps(tool["value"]))
        expected[name] = (tool["arguments"], tool["value"])
    server = {"command": sys.executable, "args": [__file__, "serve"]}
    (home.path / ".cycod" / "mcp.json").write_text(json.dumps({"mcpServers": {"odd": server}}))
    home.run("mcp", "test", "odd")
    for tool, arguments, value in foreign():
        expected[f"mcp_odd_{tool['name']}"] = (arguments, value)
    known = {tool["name"] for tool in json.loads(home.run("list", "--format", "json")) if tool.get("available")}
    return {name: expected[name] for name in expected if name in known}, sorted(expected.keys() - known)


def serve():
    """A server that says what it likes, in the era with handshakes."""
    tools = foreign()
    values = {tool["name"]: value for tool, _, value in tools}
    for line in sys.stdin:
        request = json.loads(line)
        method, answer = request.get("method"), None
        if method == "initialize":
            version = request["params"]["protocolVersion"]
            answer = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}}
        elif method == "tools/list":
            answer = {"tools": [tool for tool, *_ in tools]}
        elif method == "tools/call":
            value = values[request["params"]["name"]]
            answer = {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}
        if "id" in request:
            reply = {"result": answer} if answer else {"error": {"code": -32601, "message": "no such method"}}
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)


if __name__ == "__main__" and sys.argv[1:] == ["serve"]:
    serve()
