"""Holds requests that stand-ins have seen against the types that the services publish.

Each line of the file in argv[1] is a request: its path and its body. A field that no type knows, a field
that is missing, and a value of another type are errors. Then each kind of request is damaged on purpose,
and has to fail.
"""

import collections.abc
import copy
import inspect
import json
import sys
import typing

import pydantic
import typing_extensions
from anthropic.types import message_create_params
from google.genai import types as google
from openai.types import batch_create_params, embedding_create_params
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params

# What servers that think put into messages, and want back, beside what OpenAI has written down.
ACCENTS = {"reasoning_content", "reasoning", "reasoning_text", "reasoning_details"}


def is_typed_dict(kind):
    return typing_extensions.is_typeddict(kind) or typing.is_typeddict(kind)


def check(value, kind, path):
    """What is wrong with a value, as a list of sentences."""
    origin, arguments = typing_extensions.get_origin(kind), typing_extensions.get_args(kind)
    if isinstance(kind, typing_extensions.TypeAliasType):
        return check(value, kind.__value__, path)
    if origin in (typing_extensions.Annotated, typing_extensions.Required, typing_extensions.NotRequired):
        return check(value, arguments[0], path)
    if kind in (object, typing.Any):
        return []
    if kind is None or kind is type(None):
        return [] if value is None else [f"{path} is not null"]
    if origin is typing_extensions.Literal:
        return [] if value in arguments else [f"{path} is {value!r}, not one of {arguments}"]
    if origin is typing.Union or str(origin) == "<class 'types.UnionType'>":
        return check_any(value, arguments, path)
    if is_typed_dict(kind):
        return check_fields(value, kind, path)
    if inspect.isclass(origin) and issubclass(origin, collections.abc.Mapping):
        if not isinstance(value, dict):
            return [f"{path} is not an object"]
        return [e for key, item in value.items() for e in check(item, arguments[1], f"{path}.{key}")]
    if origin is not None and arguments:
        # Lists, iterables, and whatever else has items of one kind.
        if not isinstance(value, list):
            return [f"{path} is not a list"]
        return [e for at, item in enumerate(value) for e in check(item, arguments[0], f"{path}[{at}]")]
    if inspect.isclass(kind) and issubclass(kind, pydantic.BaseModel):
        # What a service answers with; it takes more than it should be asked with.
        return [f"{path} is not a parameter"]
    if kind is float:
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        return [] if good else [f"{path} is not a number"]
    if kind in (str, int, bool):
        good = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        return [] if good else [f"{path} is not of type {kind.__name__}"]
    # Files and paths, which cannot be in JSON.
    return [f"{path} cannot be {kind}"]


def check_any(value, kinds, path):
    """The complaints of the kind that fits best."""
    best = None
    for kind in kinds:
        errors = check(value, kind, path)
        if not errors:
            return []
        # A wrong `type` says that it is not what was meant.
        meant = not any(e.startswith((f"{path}.type is", f"{path}.role is")) for e in errors)
        rank = (not meant, not any(e.startswith(f"{path}.") or e.startswith(f"{path}[") for e in errors), len(errors))
        if best is None or rank < best[0]:
            best = (rank, errors)
    return best[1]


def check_fields(value, kind, path):
    if not isinstance(value, dict):
        return [f"{path} is not an object"]
    hints = typing_extensions.get_type_hints(kind, include_extras=True)
    errors = []
    for name in sorted(required(kind, hints) - value.keys()):
        errors.append(f"{path}.{name} is missing")
    for name, item in value.items():
        if name in hints:
            errors += check(item, hints[name], f"{path}.{name}")
        elif not (name in ACCENTS and value.get("role") == "assistant"):
            errors.append(f"{path}.{name} is not known")
    return errors


def required(kind, hints):
    """The fields that must be there. Annotations are texts until they are looked up, so the class knows
    only those that its being total makes required."""
    marked = {name: typing_extensions.get_origin(hint) for name, hint in hints.items()}
    names = {name for name, mark in marked.items() if mark is typing_extensions.Required}
    return names | {name for name in kind.__required_keys__ if marked[name] is not typing_extensions.NotRequired}


class Gemini(pydantic.BaseModel):
    """The body of `generateContent`: the SDK builds it from these."""

    model_config = pydantic.ConfigDict(extra="forbid")
    contents: list[google.Content]
    systemInstruction: google.Content | None = None
    tools: list[google.Tool] | None = None
    generationConfig: google.GenerationConfig | None = None


def check_gemini(body):
    try:
        Gemini.model_validate_json(json.dumps(body))
        return []
    except pydantic.ValidationError as error:
        return [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]


def judge(path, body):
    """The kind of a request, and what is wrong with it."""
    if path.endswith("/messages"):
        return "anthropic", check(body, message_create_params.MessageCreateParamsStreaming, "body")
    if path.endswith("/chat/completions"):
        return "chat", check(body, completion_create_params.CompletionCreateParamsStreaming, "body")
    if path.endswith("/responses"):
        return "responses", check(body, response_create_params.ResponseCreateParamsStreaming, "body")
    if ":streamGenerateContent" in path:
        return "gemini", check_gemini(body)
    if path.endswith("/embeddings"):
        return "embeddings", check(body, embedding_create_params.EmbeddingCreateParams, "body")
    if path.endswith("/batches"):
        return "batches", check(body, batch_create_params.BatchCreateParams, "body")
    return None, [f"{path} is no known method"]


def damaged(kind, body):
    """Copies of a body, each with one thing wrong."""
    turns = {"anthropic": "messages", "chat": "messages", "responses": "input", "gemini": "contents"}.get(kind)

    def damage(change):
        copied = copy.deepcopy(body)
        change(copied)
        return copied

    yield "an unknown field", damage(lambda b: b.update(unheard_of=1))
    if turns is None:
        for name in body:
            if name != "metadata":
                yield f"no {name}", damage(lambda b: b.pop(name))
                yield f"another {name}", damage(lambda b: b.update({name: {"a": 1}}))
        return
    if kind != "responses":
        yield "no turns", damage(lambda b: b.pop(turns))
    yield "turns that are no list", damage(lambda b: b.update({turns: {}}))
    yield "an unknown role", damage(lambda b: b[turns][0].update(role=7))
    yield "an unknown field in a turn", damage(lambda b: b[turns][0].update(unheard_of=1))
    if "tools" in body:
        yield "tools that are no list", damage(lambda b: b.update(tools="look"))
        yield "an unknown field in a tool", damage(lambda b: b["tools"][0].update(input_shema={}, paramters={}))
    if kind == "anthropic":
        yield "no limit", damage(lambda b: b.pop("max_tokens"))
    if kind in ("anthropic", "chat"):
        yield "no model", damage(lambda b: b.pop("model"))


def main():
    bad, counts, examples = 0, {}, {}
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            request = json.loads(line)
            path, body = request["path"].split("?")[0], request["body"]
            if path.startswith("/like/"):
                # Servers that are only like OpenAI have no types to be held against.
                continue
            kind, errors = judge(path, body)
            counts[kind] = counts.get(kind, 0) + 1
            richest = examples.get(kind, (0, None))
            examples[kind] = max(richest, (len(line), body), key=lambda example: example[0])
            if errors:
                bad += 1
                print(f"{path}: {'; '.join(errors[:5])}\n  {json.dumps(body)[:2000]}", file=sys.stderr)
    methods = {
        "anthropic": "/messages",
        "chat": "/chat/completions",
        "responses": "/responses",
        "gemini": ":streamGenerateContent",
        "embeddings": "/embeddings",
        "batches": "/batches",
    }
    for kind, path in methods.items():
        if kind not in counts:
            sys.exit(f"no request of kind {kind} was recorded")
        body = examples[kind][1]
        for what, copied in damaged(kind, body):
            if not judge(path, copied)[1]:
                bad += 1
                print(f"{kind}: {what} was not noticed", file=sys.stderr)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    sys.exit(1 if bad else 0)


main()
