# SPDX-License-Identifier: Apache-2.0
"""A model file with some of its layers, so that a run takes minutes, and what the whole file's run follows from.

Layers differ in the formats of their matrices: llama.cpp's Q4_K_M gives more bits to some. Layers with the same formats
and shapes are of one kind and take the same time.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from gguf import GGUFReader, GGUFValueType, GGUFWriter

from maxconsole import paths
from maxconsole.validation.check import Bench
from maxconsole.validation.llama_runs import Job, measure
from maxconsole.validation.store import Figures


@dataclass(frozen=True, slots=True)
class SomeLayers:
    """`path` with these layers only, in this order."""

    path: Path
    kept: tuple[int, ...]

    @property
    def label(self) -> str:
        """For file names and progress."""
        return f"{self.path.stem}-layers-{'+'.join(map(str, self.kept))}"

    @property
    def inputs(self) -> tuple[str | Path, ...]:
        """What decides the file."""
        return (self.path, repr(self.kept))

    def file(self) -> Path:
        """The file, from the cache where it was made before."""
        facts = (self.path.name, str(self.path.stat().st_mtime_ns), Path(__file__).read_text("utf-8"))
        digest = hashlib.sha256("\0".join(facts).encode()).hexdigest()[:12]
        target = paths.cache_dir("validation") / "models" / digest / f"{self.label}.gguf"
        if not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
                unfinished = Path(scratch) / target.name
                _write(self.path, self.kept, unfinished)
                unfinished.replace(target)
        return target


def layer_kinds(path: Path) -> tuple[tuple[int, ...], ...]:
    """The layers of each kind, the kinds in the order of their first layer."""
    layers: dict[int, list[str]] = {}
    for tensor in _read(path).tensors:
        if (place := _place(tensor.name)) is not None:
            layer, name = place
            layers.setdefault(layer, []).append(f"{name} {tensor.tensor_type.name} {tensor.shape.tolist()}")
    kinds: dict[tuple[str, ...], list[int]] = {}
    for layer in sorted(layers):
        kinds.setdefault(tuple(sorted(layers[layer])), []).append(layer)
    return tuple(map(tuple, kinds.values()))


def whole_file(bench: Bench, job: Job[SomeLayers]) -> Figures:
    """Figures of `job` with all layers of its file: what is outside of them, plus each kind as often as it is there.

    From one run with a layer of every kind, and one for each kind with a further layer of it.
    """
    kinds = layer_kinds(job.model.path)
    few = [layers[0] for layers in kinds]
    base = measure(bench, _with(job, few))
    total = dict(base)
    for layers in kinds:
        if len(layers) > 1:
            more = measure(bench, _with(job, [*few, layers[1]]))
            for name in total:
                total[name] += (len(layers) - 1) * (more[name] - base[name])
    return total


def _with(job: Job[SomeLayers], layers: Sequence[int]) -> Job[SomeLayers]:
    return replace(job, model=SomeLayers(job.model.path, tuple(sorted(layers))))


@cache
def _read(path: Path) -> GGUFReader:
    return GGUFReader(path)


def _place(tensor: str) -> tuple[int, str] | None:
    """Layer and name within it: "blk.7.attn_q.weight"."""
    first, _, rest = tensor.partition(".")
    layer, _, name = rest.partition(".")
    return (int(layer), name) if first == "blk" and layer.isdigit() else None


def _write(path: Path, kept: Sequence[int], target: Path) -> None:
    reader = _read(path)
    architecture = str(reader.fields["general.architecture"].contents())
    writer = GGUFWriter(target, architecture)
    count = f"{architecture}.block_count"
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", count):
            continue
        inner = field.types[-1] if field.types[0] is GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), field.types[0], inner)
    writer.add_uint32(count, len(kept))
    tensors = []
    for tensor in reader.tensors:
        place = _place(tensor.name)
        if place is None:
            tensors.append((tensor.name, tensor))
        elif place[0] in kept:
            tensors.append((f"blk.{kept.index(place[0])}.{place[1]}", tensor))
    for name, tensor in tensors:
        writer.add_tensor_info(name, tensor.data.shape, tensor.data.dtype, tensor.data.nbytes, tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for _, tensor in tensors:
        writer.write_tensor_data(tensor.data)
    writer.close()
