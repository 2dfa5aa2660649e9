"""JSON Schema, as much of it as config/schema uses: a keyword outside that
is an error, so that no schema promises what nobody checks."""
import json
import os
import re

_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool,
          "null": type(None)}
_NOTES = {"$schema", "title", "description"}


def _is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, _TYPES[name])


def _members(value, schema, path):
    properties = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            yield f"{path}: '{name}' is missing"
    for name, member in value.items():
        if name in properties:
            yield from faults(member, properties[name], f"{path}.{name}")
        elif schema.get("additionalProperties", True) is False:
            yield f"{path}: '{name}' is not in the schema"


def faults(value, schema, path="$"):
    """Every fault of value, as sentences."""
    known = _NOTES | {"type", "properties", "required", "enum", "const",
                      "additionalProperties", "items", "minItems", "maxItems",
                      "minLength", "maxLength", "minimum", "maximum",
                      "pattern"}
    for keyword in set(schema) - known:
        yield f"{path}: the schema's '{keyword}' is not supported"
    if "type" in schema:
        types = schema["type"]
        types = types if isinstance(types, list) else [types]
        if not any(_is_type(value, name) for name in types):
            yield f"{path}: {value!r} is no {'/'.join(types)}"
            return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is not one of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{path}: {value!r} is not {schema['const']!r}"
    if isinstance(value, str) and "pattern" in schema:
        if not re.search(schema["pattern"], value):
            yield f"{path}: {value!r} does not match {schema['pattern']}"
    if isinstance(value, str) and not (
            schema.get("minLength", 0) <= len(value)
            <= schema.get("maxLength", len(value))):
        yield f"{path}: a text of {len(value)} is too short or too long"
    if _is_type(value, "number"):
        if value < schema.get("minimum", value):
            yield f"{path}: {value} is below {schema['minimum']}"
        if value > schema.get("maximum", value):
            yield f"{path}: {value} is above {schema['maximum']}"
    if isinstance(value, dict):
        yield from _members(value, schema, path)
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{path}: fewer than {schema['minItems']} items"
        if len(value) > schema.get("maxItems", len(value)):
            yield f"{path}: more than {schema['maxItems']} items"
        for index, item in enumerate(value):
            yield from faults(item, schema.get("items", {}),
                              f"{path}[{index}]")


def load(source, name):
    with open(os.path.join(source, "config", "schema", name + ".json"),
              encoding="utf-8") as file:
        return json.load(file)


def check_text(text, source, name):
    """Faults of a command's --json output, "" when it fits."""
    try:
        value = json.loads(text)
    except ValueError as error:
        return f"no JSON: {error}: {text[:200]}"
    return "; ".join(faults(value, load(source, name)))
