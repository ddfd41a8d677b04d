# SPDX-License-Identifier: Apache-2.0
"""`maxconsole model`: what is in a model file, its packed image, and the demo model."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from maxconsole import paths
from maxconsole.cli import options, style
from maxconsole.cli.progress import reporter
from maxconsole.cli.shell import print_json, print_lines, say
from maxconsole.link.text import printable
from maxconsole.models import demo
from maxconsole.models.model import Model
from maxconsole.models.reader import open_gguf
from maxconsole.schema.image import TensorFormat
from maxconsole.session.model import open_model

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Look into model files, pack them, fetch the demo.")


@app.command(epilog="Examples: maxconsole model info qwen2-0_5b.gguf; maxconsole model info --json")
def info(model: options.ModelFile = None, as_json: options.Json = False) -> None:
    """Say what a model file holds, and how it will lie in the board's memory."""
    opened = open_model(model)
    document = _document(opened)
    print_json(document) if as_json else print_lines(_description(opened, document))


@app.command(epilog="Example: maxconsole model pack smollm2-135m.gguf")
def pack(model: options.ModelFile = None, as_json: options.Json = False) -> None:
    """Pack a model's weights for the board and keep the image in the cache; other verbs do this by themselves."""
    opened = open_model(model)
    with reporter(silent=as_json) as progress:
        image = opened.image(lambda done, total: progress("pack", done, total))
    document = {"model": opened.name, "image": str(image.path), "bytes": image.header.total_bytes}
    print_json(document) if as_json else print(image.path)


@app.command("fetch-demo", epilog="Example: maxconsole model fetch-demo")
def fetch_demo(as_json: options.Json = False) -> None:
    """Download the demo model, SmolLM2-135M-Instruct (98 MB, Apache-2.0), into the cache."""
    path = demo.fetch_demo(say)
    print_json({"path": str(path), "bytes": path.stat().st_size}) if as_json else print(path)


@app.command("list", epilog="Example: maxconsole model list")
def list_models(as_json: options.Json = False) -> None:
    """List the model files and packed images in the cache."""
    listed = [_entry(kind, path) for kind in ("models", "images") for path in sorted(paths.cache_dir(kind).iterdir())]
    found = [entry for entry in listed if entry is not None]
    if as_json:
        print_json(found)
    elif found:
        rows = [(one["kind"], style.size(one["bytes"]), one["name"], one["path"]) for one in found]
        print_lines(style.table(("", "size", "model", "file"), rows, text=(0, 2, 3)))
    else:
        say("the cache holds no models: `maxconsole model fetch-demo` gets one")


def _entry(kind: str, path: Path) -> dict[str, Any] | None:
    """A file of the cache; what others have left there is passed over."""
    if kind == "models" and path.suffix == ".gguf":
        name = open_gguf(path).metadata.text("general.name", default=path.stem)
        return {"kind": "model", "name": printable(name), "path": str(path), "bytes": path.stat().st_size}
    if kind == "images" and path.suffix == ".weights":
        return {"kind": "image", "name": path.name.partition("-v")[0], "path": str(path), "bytes": path.stat().st_size}
    return None


def _document(model: Model) -> dict[str, Any]:
    shapes = model.layout.shapes
    types = Counter(tensor.info.type.name for tensor in model.layout.tensors)
    packed: Counter[str] = Counter()
    for entry in model.layout.entries:
        packed[TensorFormat(entry.format).name.lower()] += entry.bytes
    return {
        "path": str(model.file.path),
        "bytes": model.file.size,
        "name": printable(model.name),
        **{key: value for key, value in asdict(model.facts).items() if key != "image_bytes"},
        "rope_theta": shapes.rope_theta,
        "rms_epsilon": shapes.rms_epsilon,
        "tied_head": model.layout.tied_head,
        "tensor_types": dict(types),
        "image": {"bytes": model.layout.total_bytes, "bytes_by_format": dict(packed)},
        "tokenizer": {
            "model": printable(model.file.metadata.text("tokenizer.ggml.model")),
            "stop_tokens": list(model.tokenizer.vocabulary.special.stop),
            "chat_template": "tokenizer.chat_template" in model.file.metadata,
        },
    }


def _description(model: Model, document: dict[str, Any]) -> list[str]:
    facts, tokenizer = model.facts, document["tokenizer"]
    types = ", ".join(f"{count} {name}" for name, count in document["tensor_types"].items())
    formats = ", ".join(f"{name} {style.size(size)}" for name, size in document["image"]["bytes_by_format"].items())
    return style.pairs(
        [
            ("model", f"{document['name']} ({facts.family})"),
            ("file", f"{document['path']}, {style.size(document['bytes'])}"),
            ("layers", f"{facts.layers} of hidden {facts.hidden}, ffn {facts.ffn}"),
            ("attention", f"{facts.heads} heads, {facts.kv_heads} KV heads, head {facts.head_dim}"),
            ("vocabulary", f"{facts.vocabulary}, {'tied' if document['tied_head'] else 'separate'} head"),
            ("trained context", str(facts.context_train)),
            ("tensors", types),
            ("weight image", f"{style.size(facts.image_bytes)}: {formats}"),
            ("tokenizer", tokenizer["model"] + (", chat template" if tokenizer["chat_template"] else ", base model")),
        ]
    )
