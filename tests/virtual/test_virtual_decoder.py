# SPDX-License-Identifier: Apache-2.0
"""The plug-in's A64 decoder against an independent one: binutils' disassembler, on random encodings."""

from __future__ import annotations

import random
import re
import struct
import subprocess
from dataclasses import dataclass

import pytest
from decoder_program import build_decoder

WORDS = 24_000
NONE, LOAD, STORE, PREFETCH_L1, PREFETCH_L2, ZERO_LINE, ATOMIC = range(7)
SP = 31

#: By mnemonic: classes that are right for it. Mnemonics that share a row of the table are tried through one of them.
CLASSES = {
    "add": {"INT", "INT_M", "V"}, "adds": {"INT", "INT_M"}, "and": {"INT", "V"}, "movk": {"INT"}, "adrp": {"INT"},
    "ubfx": {"INT"}, "bfi": {"INT_M"}, "bfxil": {"INT_M"}, "extr": {"EXTRACT"}, "ror": {"INT"}, "csel": {"INT"},
    "ccmp": {"INT"}, "lsr": {"INT"}, "clz": {"INT", "V"},
    "madd": {"MUL_W", "MUL_X"}, "smaddl": {"MUL_W"}, "umulh": {"MUL_HIGH"}, "udiv": {"DIVIDE_W", "DIVIDE_X"},
    "crc32w": {"MUL_W"}, "b": {"BRANCH"}, "bl": {"BRANCH_LINK"}, "cbz": {"BRANCH"}, "tbnz": {"BRANCH"},
    "br": {"BRANCH"}, "ret": {"BRANCH"}, "mrs": {"SYSTEM"}, "svc": {"SYSTEM"}, "hlt": {"SYSTEM"},
    "sdot": {"V_DOT"}, "udot": {"V_DOT"}, "zip1": {"V"}, "uzp2": {"V"}, "trn1": {"V"}, "ext": {"V"}, "movi": {"V"},
    "tbl": {"V", "V_TBL_LONG"}, "tbx": {"V", "V_TBX_LONG"}, "umin": {"V"}, "sabd": {"V"}, "uabdl": {"V"},
    "cmtst": {"V"}, "bsl": {"V"}, "orr": {"INT", "V"}, "addp": {"V"}, "saba": {"V_SHIFT_ADD"},
    "uabal": {"V_SHIFT_ADD"}, "sshl": {"V_SHIFT"}, "sqshl": {"V_SHIFT_ROUND"}, "srshr": {"V_SHIFT_ROUND"},
    "sqrshl": {"V_SHIFT_ROUND"}, "ushr": {"V_SHIFT"}, "usra": {"V_SHIFT_ADD"}, "srsra": {"V_SHIFT_ADD"},
    "sshll": {"V_SHIFT"}, "shrn": {"V_SHIFT"}, "rshrn": {"V_SHIFT_ROUND"}, "sqshrn": {"V_SHIFT_ROUND"},
    "sqxtn": {"V_SHIFT_ROUND"}, "sri": {"V_SHIFT"}, "sli": {"V_SHIFT"}, "shl": {"V_SHIFT"},
    "mul": {"MUL_W", "MUL_X", "V_MUL_D", "V_MUL_Q"}, "mla": {"V_MLA_D", "V_MLA_Q"},
    "sqdmulh": {"V_MUL_D", "V_MUL_Q", "V_MUL_LONG"}, "sqrdmlah": {"V_MLA_D", "V_MLA_Q", "V_MLA_LONG"},
    "smlal": {"V_MLA_LONG"}, "umlsl2": {"V_MLA_LONG"}, "smull": {"V_MUL_LONG"}, "umull2": {"V_MUL_LONG"},
    "sqdmlal": {"V_MLA_LONG"}, "sqdmull": {"V_MUL_LONG"}, "pmull": {"V_MUL_POLY"}, "sadalp": {"V_SHIFT_ADD"},
    "fmla": {"V_FMLA"}, "fmul": {"V_FMUL"}, "fnmul": {"V_FMUL"}, "fadd": {"V"}, "fmadd": {"V_FMLA"}, "fmaxnm": {"V"},
    "faddp": {"V"}, "fmaxv": {"V_REDUCE_FP", "V_REDUCE_FP_H"}, "uaddlv": {"V_REDUCE", "V_REDUCE_H", "V_REDUCE_B"},
    "fdiv": {"V_DIVIDE", "V_DIVIDE_Q", "V_DIVIDE_DOUBLE"}, "fsqrt": {"V_DIVIDE", "V_DIVIDE_Q", "V_DIVIDE_DOUBLE"},
    "fcmp": {"V_COMPARE_FLAGS"}, "fccmp": {"V_COMPARE_FLAGS"}, "fcsel": {"V"},
    "fcvtzs": {"FP_TO_GPR", "V_CONVERT_D", "V_CONVERT_Q", "V_CONVERT_H"},
    "scvtf": {"FP_FROM_GPR", "V_CONVERT_D", "V_CONVERT_Q", "V_CONVERT_H"},
    "fcvtl": {"V_CONVERT_D", "V_CONVERT_Q"}, "fcvtn": {"V_CONVERT_Q"},
    "frintn": {"V_CONVERT_D", "V_CONVERT_Q", "V_CONVERT_H"},
    "aese": {"V_AES"}, "sha1c": {"V_SHA"}, "umov": {"V_TO_GPR"}, "ins": {"V", "V_INSERT_GPR"},
    "ldr": {"LOAD", "LOAD_V", "LOAD_V_INDEXED"}, "ldrsw": {"LOAD"}, "ldur": {"LOAD", "LOAD_V"}, "ldar": {"LOAD"},
    "ldp": {"LOAD", "LOAD_PAIR", "LOAD_PAIR_V", "LOAD_PAIR_Q"}, "ldpsw": {"LOAD_PAIR_SIGNED"},
    "str": {"STORE", "STORE_V", "STORE_Q"}, "stp": {"STORE", "STORE_PAIR", "STORE_V", "STORE_PAIR_Q"},
    "stlr": {"STORE"}, "prfm": {"PREFETCH"},
    "ld1": {"LOAD_VECTORS", "LOAD_VECTORS_LONG", "LOAD_LANE"}, "ld1r": {"LOAD_LANE"}, "ld2": {"LOAD_LANE"},
    "ld3": {"LOAD_LANE_LONG"}, "ld4": {"LOAD_LD4", "LOAD_LANE_LONG"},
    "st1": {"STORE_V", "STORE_Q", "STORE_LANE"}, "st2": {"STORE_LANE"}, "st4": {"STORE_LANE"},
    "ldxr": {"LOAD"}, "stlxr": {"ATOMIC"}, "cas": {"ATOMIC"}, "ldadd": {"ATOMIC"}, "swpal": {"ATOMIC"},
}  # fmt: skip

#: Extensions beyond Armv8.2-A, which a Cortex-A76 does not have.
LATER = re.compile(
    r"(bc\.|bf|cpy|set[pmeg]|ldapur|stlur|ldg|stg|st2g|stzg|stz2g|irg|gmi|addg|subg|ldra|rmif|setf|fcmla|fcadd|fjcvt|"
    r"eor3|bcax|rax1|xar|sha512|sm3|sm4|usdot|sudot|[su]mmla|usmmla|[su](max|min)\tw|[su](max|min)\tx|pac|aut|udf|"
    r"ld64b|st64b|fmlal|fmlsl|frint(32|64)|cfinv|axflag|xaflag|ctz|cnt\t[wx]|abs\t[wx]|wfet|wfit|tcommit|msr\ts0_|"
    r"m?(add|sub)pt|fdot|fcvtn\tv\d+\.(8|16)b|luti|mrrs|msrr|rcw|(ldclr|ldset|swp)p|ldiapp|stilp)"
)
MEMORY = re.compile(r"(ld|st|prfu?m|cas|swp)")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A line of decode_dump."""

    kind: str
    access: int
    base: int
    literal: bool
    indexed: bool
    bytes: int
    offset: int
    writeback: bool
    moved_known: bool
    moved: int
    writes: int
    read: frozenset[int]  # 0 to 30: X, 31: SP, 32 to 63: V, 64: flags
    written: frozenset[int]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, str, Decoded]]:
    """Random words with what binutils and the plug-in say of each."""
    chance = random.Random(76)
    words = [_random_word(chance) for _ in range(WORDS)]
    folder = tmp_path_factory.mktemp("decoder")
    code = folder / "words.bin"
    code.write_bytes(struct.pack(f"<{WORDS}I", *words))
    listing = subprocess.run(
        ["aarch64-linux-gnu-objdump", "-D", "-b", "binary", "-m", "aarch64", code],
        capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    texts = [
        found[1].split("//")[0].strip() for found in re.finditer(r"^ *[0-9a-f]+:\t[0-9a-f]{8} \t(.*)$", listing, re.M)
    ]
    program = build_decoder(folder)
    dump = subprocess.run([program], stdin=code.open("rb"), capture_output=True, text=True, check=True, timeout=60)
    decoded = [_parse(line) for line in dump.stdout.splitlines()]
    assert len(texts) == len(decoded) == WORDS
    return [item for item in zip(words, texts, decoded, strict=True) if not _not_for_us(item[1])]


def _random_word(chance: random.Random) -> int:
    word = chance.getrandbits(32)
    group = chance.random()
    if group < 0.45:  # vector and floating point
        return word | 0b0111 << 25
    if group < 0.85:  # loads and stores
        return word & ~(1 << 25) | 1 << 27
    main = chance.choice([0b1000, 0b1001, 0b1010, 0b1011, 0b0101, 0b1101])  # immediate, branch and system, register
    return word & ~(0b1111 << 25) | main << 25


def _not_for_us(text: str) -> bool:
    return text.startswith(".inst") or "undefined" in text or LATER.match(text) is not None


def _parse(line: str) -> Decoded:
    kind, *rest = line.split()
    access, base, literal, indexed, size, offset, writeback, known, moved = map(int, rest[:9])
    return Decoded(
        kind, access, base, bool(literal), bool(indexed), size, offset, bool(writeback), bool(known), moved,
        int(rest[9], 16), *_registers(rest),
    )  # fmt: skip


def _registers(rest: list[str]) -> tuple[frozenset[int], frozenset[int]]:
    read, written = rest.index("read"), rest.index("written")
    return frozenset(map(int, rest[read + 1 : written])), frozenset(map(int, rest[written + 1 :]))


def test_everything_that_the_core_has_is_decoded(sample: list[tuple[int, str, Decoded]]) -> None:
    missing = {text for _, text, decoded in sample if decoded.kind == "UNDECODED"}
    assert not missing


def test_classes_agree_with_the_mnemonic(sample: list[tuple[int, str, Decoded]]) -> None:
    seen = set()
    for word, text, decoded in sample:
        mnemonic = text.split()[0]
        if mnemonic in CLASSES and decoded.kind != "UNDECODED":
            seen.add(mnemonic)
            assert decoded.kind in CLASSES[mnemonic], (hex(word), text)
    assert len(seen) > 0.75 * len(CLASSES)  # the others have few encodings


def test_memory_operands_agree(sample: list[tuple[int, str, Decoded]]) -> None:
    checked = 0
    for word, text, decoded in sample:
        if not MEMORY.match(text) or decoded.kind == "UNDECODED":
            continue
        where = (hex(word), text, decoded)
        match = re.search(r"\[(x\d+|sp)(?:, (?:#(-?\d+)|([xw]\w+).*?))?\](!)?(?:, (?:#(-?\d+)|(x\d+)))?$", text)
        if match is None:
            assert decoded.literal, where
            continue
        base, offset, index, before, after, after_register = match.groups()
        register = SP if base == "sp" else int(base[1:])
        assert decoded.base == register, where
        assert decoded.indexed == (index is not None), where
        if decoded.access != ATOMIC:
            assert decoded.offset == int(offset or 0), where
        assert decoded.writeback == bool(before or after or after_register), where
        if decoded.writeback:
            assert decoded.moved_known == (after_register is None), where
            if decoded.moved_known:
                assert decoded.moved == int(after or offset or 0), where
            assert decoded.writes >> register & 1, where
        size = _size(text)
        if size is not None:
            assert decoded.bytes == size, where
            checked += 1
    assert checked > 2000


#: The first operand is not written, but read: stores, comparisons, branches, MSR, SYS.
READS_FIRST = re.compile(
    r"(st(?!l?xr|l?xp)|cmp|cmn|tst|fcmp|fccmp|ccm|cb|tb|br|ret|blr|prfm|msr|sys|dc|ic|at|tlbi|b\b|swp|cas|ld(add|clr|eor|set|[su]m)|dr)"
)
#: The first operand is also read.
MERGES = re.compile(
    r"(movk|bfi|bfxil|bfc|[us]dot|[su]?ml[as]|[su]ml[as]l|sqdml|sqrdml|fml[as]|[su]r?sra|s[rl]i\b|[su]adalp|[us]aba|bsl|bi[tf]\b|"
    r"tbx|aes[ed]|sha(1|256)|suqadd|usqadd|(xtn|sqxtn|uqxtn|sqxtun|fcvtn|fcvtxn|r?addhn|r?subhn|u?q?s?q?r?shru?n)2)"
)


def test_registers_agree(sample: list[tuple[int, str, Decoded]]) -> None:
    checked = 0
    for word, text, decoded in sample:
        mnemonic, _, operands = text.partition("\t")
        if decoded.kind in ("UNDECODED", "SYSTEM", "HINT", "ATOMIC") or mnemonic in ("bl", "ldxp", "ldaxp"):
            continue
        where = (hex(word), text, decoded)
        named = _named(operands)
        used = {register for register in decoded.read | decoded.written if register != 64}
        assert used == named, where
        first = _named(operands.split(",")[0] if "{" not in operands else operands.split("}")[0])
        if not READS_FIRST.match(mnemonic):
            assert first <= decoded.written, where
            if MERGES.match(mnemonic):
                assert first <= decoded.read, where
        elif mnemonic.startswith("st"):
            assert not decoded.written - {64}, where
        checked += 1
    assert checked > 0.8 * len(sample)


def _named(operands: str) -> set[int]:
    """Registers in disassembled operands, without the zero register. A list "v1.4s-v3.4s" names all of it."""
    found = {31} if re.search(r"\bw?sp\b", operands) else set()
    for first, last in re.findall(r"v(\d+)\.\w+-v(\d+)\.", operands):
        found |= {32 + (int(first) + n) % 32 for n in range((int(last) - int(first)) % 32 + 1)}
    for kind, number in re.findall(r"\b([xwvbhsdq])(\d+)\b", operands):
        found.add(int(number) + (0 if kind in "xw" else 32))
    return found


def test_flags_are_written_and_read_where_the_mnemonic_says(sample: list[tuple[int, str, Decoded]]) -> None:
    sets = re.compile(r"(adds|subs|ands|bics|adcs|sbcs|ngcs|negs|cmp|cmn|tst|ccmp|ccmn|fcmpe?|fccmpe?)$")
    needs = re.compile(
        r"(b\.|csel|cset|csetm|csinc|cinc|csinv|cinv|csneg|cneg|adcs?|sbcs?|ngcs?|ccmp|ccmn|fccmpe?|fcsel)"
    )
    for word, text, decoded in sample:
        mnemonic = text.split()[0]
        if decoded.kind not in ("UNDECODED", "SYSTEM"):
            assert (64 in decoded.written) == bool(sets.match(mnemonic)), (hex(word), text)
            assert (64 in decoded.read) == bool(needs.match(mnemonic)), (hex(word), text)


def _size(text: str) -> int | None:
    """Bytes that an instruction accesses, by its operands; None where this simple reading does not tell."""
    mnemonic, operands = text.split("\t", 1)
    structure = re.match(r"\{v\d+\.(\d*)([bhsd])(?:-v\d+\.\w+|(?:, v\d+\.\w+)*)\}(\[\d+\])?", operands)
    if structure is not None:
        names = re.findall(r"v(\d+)\.", operands.split("}")[0])
        count = (int(names[1]) - int(names[0])) % 32 + 1 if "-" in operands.split("}")[0] else len(names)
        element = {"b": 1, "h": 2, "s": 4, "d": 8}[structure[2]]
        lanes = 1 if structure[3] or mnemonic.endswith("r") else int(structure[1])
        return count * element * lanes
    if re.match(r"(ldr|str|ldur|stur|ldtr|sttr)(s?[bhw])?$", mnemonic):
        suffix = re.sub(r"^(ldur|stur|ldtr|sttr|ldr|str)s?", "", mnemonic)
        if suffix:
            return {"b": 1, "h": 2, "w": 4}[suffix]
        return {"w": 4, "x": 8, "b": 1, "h": 2, "s": 4, "d": 8, "q": 16}[operands[0]]
    if re.match(r"(ldp|stp|ldnp|stnp|ldpsw)$", mnemonic):
        if mnemonic == "ldpsw":
            return 8
        return 2 * {"w": 4, "x": 8, "s": 4, "d": 8, "q": 16}[operands[0]]
    return None
