// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// One instruction, packed for the pipeline model: all that it asks of the core.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "a64_decode.h"

/// Pipes; each starts one micro-op per cycle (SOG 2.1).
enum port { PORT_B, PORT_S0, PORT_S1, PORT_M, PORT_V0, PORT_V1, PORT_L0, PORT_L1, PORTS };

/// Where a micro-op may go.
enum unit { UNIT_B, UNIT_I, UNIT_M, UNIT_V, UNIT_V0, UNIT_V1, UNIT_L, UNITS };

enum op_kind {
    OP_NONE,    // no micro-op: NOP
    OP_ONE,     // one micro-op for one certain pipe; at most two targets, two sources and an accumulator
    OP_INTEGER, // the same for S0, S1 or M
    OP_VECTOR,  // the same for V0 or V1
    OP_GENERAL, // registers only
    OP_BRANCH,
    OP_LOAD,
    OP_STORE,
    OP_PREFETCH, // into a cache; no target
    OP_ATOMIC,   // a load, and a store of the same
};

/// Times in the pipeline are eighths of a cycle.
enum { CYCLE = 8 };

struct op {
    uint8_t source[2]; // needed to issue; of loads and stores those of the address
    uint8_t data[4];   // stored, merged with; further sources where four do not suffice
    uint8_t target[4];
    uint8_t accumulator; // needed late, where its maker is of the same family; or a third source
    uint8_t base;        // written back a cycle after issue
    uint16_t latency;    // from the start of the last micro-op
    uint16_t forwarding; // enum a64_family << 8 | how much earlier an accumulator of the same family has the
                         // result
    uint8_t mops;
    uint8_t kind;        // enum op_kind
    uint8_t unit;        // of the first micro-op, with `times` of the same
    uint8_t busy, times; // cycles that each keeps its pipe
    uint8_t second_unit, second_busy, second_times;
    uint8_t wait;    // enum a64_wait
    bool special;    // waits, is capped, or is more than one macro-operation
    uint16_t access; // of loads and stores: index into the block's accesses
    uint32_t caps;   // by byte: micro-ops for B, M, V0, V1 alone, whose number per cycle is limited
};

/// Stand-ins, so that no place has to be tested: no source, which is always ready, and no target.
enum { OP_NO_REGISTER = A64_NO_REGISTER, OP_NO_TARGET = A64_REGISTERS, OP_REGISTERS };

struct op op_make(const struct a64_insn *insn);
