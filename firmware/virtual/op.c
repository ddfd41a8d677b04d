// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "op.h"

#include <stdlib.h>
#include <string.h>

struct use {
    uint8_t unit, busy, times;
};

/// The micro-ops of `cost`, by unit. Store data need none of their own: whatever takes them (SOG 4.4) keeps
/// up with the load/store pipes.
static unsigned uses_of(const struct a64_cost *cost, uint8_t keeps, struct use *use) {
    const struct use all[] = {
        {UNIT_L, 1, (uint8_t)cost->l},
        {UNIT_B, keeps, (uint8_t)(cost->b / keeps)},
        {UNIT_M, keeps, (uint8_t)(cost->m / keeps)},
        {UNIT_V0, keeps, (uint8_t)(cost->v0 / keeps)},
        {UNIT_V1, keeps, (uint8_t)(cost->v1 / keeps)},
        {UNIT_V, 1, (uint8_t)cost->v},
        {UNIT_I, 1, (uint8_t)cost->i},
    };
    unsigned count = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].times)
            use[count++] = all[i];
    return count;
}

/// Cycles from the first to the last start of such micro-ops where nothing else is in their way.
static unsigned spread(const struct use *use) {
    static const uint8_t pipes[UNITS] = {
        [UNIT_B] = 1, [UNIT_I] = 3, [UNIT_M] = 1, [UNIT_V] = 2, [UNIT_V0] = 1, [UNIT_V1] = 1, [UNIT_L] = 2};
    return use->times ? (use->times - 1u) * use->busy / pipes[use->unit] : 0;
}

/// Cycles from the start of the last micro-op to the result.
static unsigned latency_of_last(unsigned latency, const struct use *use) {
    const unsigned later = spread(use);
    return latency > later ? latency - later : 0; // a store's micro-ops may take longer than its address does
}

static uint32_t caps_of(const struct use *use, unsigned count) {
    static const uint8_t byte[UNITS] = {[UNIT_B] = 1, [UNIT_M] = 2, [UNIT_V0] = 3, [UNIT_V1] = 4};
    uint32_t caps = 0;
    for (unsigned u = 0; u < count; u++)
        if (byte[use[u].unit])
            caps += (uint32_t)(use[u].times < 2 ? use[u].times : 2) << (byte[use[u].unit] - 1) * 8;
    return caps;
}

static enum op_kind kind_of(const struct a64_insn *insn, const struct use *use, unsigned uses) {
    switch (insn->access.kind) {
    case ACCESS_LOAD:
        return OP_LOAD;
    case ACCESS_STORE:
    case ACCESS_ZERO_LINE:
        return OP_STORE;
    case ACCESS_PREFETCH_L1:
    case ACCESS_PREFETCH_L2:
    case ACCESS_CLEAN:
    case ACCESS_INVALIDATE:
        return OP_PREFETCH;
    case ACCESS_ATOMIC:
        return OP_ATOMIC;
    }
    if (!uses)
        return OP_NONE;
    if (insn->branch != BRANCH_NONE)
        return OP_BRANCH;
    const struct a64_operands *operands = &insn->operands;
    const bool one =
        uses == 1 && operands->source[3] == A64_NO_REGISTER && operands->target[2] == A64_NO_REGISTER;
    if (!one || use->times > 1 || insn->cost.mops != 1)
        return OP_GENERAL;
    return use->unit == UNIT_I ? OP_INTEGER : use->unit == UNIT_V ? OP_VECTOR : OP_ONE;
}

struct op op_make(const struct a64_insn *insn) {
    const struct a64_operands *operands = &insn->operands;
    const struct a64_timing *timing = &a64_class_timing[insn->class];
    struct a64_cost cost = insn->cost;
    if (insn->access.writeback) // its integer micro-op is the pipeline's business: see `base`
        cost.i--;
    struct use use[UNITS] = {0};
    const unsigned uses = uses_of(&cost, timing->keeps, use);
    if (uses > 2)
        abort(); // a class of a64_classes.h with more kinds of micro-ops than struct op has room for
    struct op op = {
        .accumulator = operands->accumulator,
        .base = insn->access.writeback ? insn->access.base : OP_NO_REGISTER,
        .latency = (uint16_t)(latency_of_last(timing->latency, use) * CYCLE),
        .forwarding = timing->family
                          ? (uint16_t)(timing->family << 8 | (timing->latency - timing->forward) * CYCLE)
                          : 0,
        .mops = (uint8_t)cost.mops,
        .kind = (uint8_t)kind_of(insn, use, uses),
        .unit = use[0].unit,
        .busy = use[0].busy,
        .times = use[0].times,
        .second_unit = use[1].unit,
        .second_busy = use[1].busy,
        .second_times = use[1].times,
        .wait = (uint8_t)insn->wait,
        .caps = caps_of(use, uses),
    };
    memcpy(op.source, operands->source, sizeof op.source);
    for (size_t t = 0; t < sizeof op.target; t++)
        op.target[t] = operands->target[t] == A64_NO_REGISTER ? OP_NO_TARGET : operands->target[t];
    memcpy(op.data, operands->data, sizeof op.data);
    if (insn->access.kind == ACCESS_NONE) { // CSEL; TBL and TBX of several registers
        const bool free = op.accumulator == OP_NO_REGISTER;
        if (free)
            op.accumulator = operands->source[2];
        memcpy(op.data, operands->source + (free ? 3 : 2), free ? 3 : 4);
    }
    op.special = op.wait != WAIT_NONE || op.caps || op.mops != 1;
    return op;
}
