// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "stages.h"

enum {
    NO_CAPS = 0x01010101,  // two micro-ops per cycle for each of B, M, V0, V1 (SOG 4.1): counted up from 1,
    CAP_BITS = 0x04040404, // the third sets one of these bits
    WINDOW_SHIFT = 5,      // instructions are predicted and fetched by 32 bytes (WikiChip)
    RUN_AHEAD = 8,         // windows that fetch may be ahead of dispatch: assumed
    REFILL = 12, // from a mispredicted branch's execution to dispatch on the right path. The documented
                 // minimum of 11 is the pipeline's; measured penalties are 15 to 18 in all (calibrated by the
                 // branch benchmark)
    RENEW_BITS = 24, // of rows: queues are renewed every 2^30 cycles
    LONGEST = 2048,  // cycles that one micro-op may be ahead of the next: beyond, the ring is made to follow
};

struct pipeline *pipeline_new(void) {
    struct pipeline *p = aligned_alloc(_Alignof(struct pipeline), sizeof *p);
    if (!p)
        abort();
    memset(p, 0, sizeof *p);
    p->limit = (RING_ROWS - LONGEST / 64) * 64;
    for (unsigned port = 0; port < PORTS; port++)
        p->queue[port].entries = port < PORT_L0 ? QUEUE : LOAD_QUEUE;
    return p;
}

/// The low 32 bits of a cycle tell past from future for half their range: what is older is made younger.
static void renew_queues(struct pipeline *p) {
    const uint32_t now = (uint32_t)dispatched(p);
    for (unsigned port = 0; port < PORTS; port++) {
        struct queue *queue = &p->queue[port];
        for (unsigned n = 0; n < QUEUE; n++)
            if (queue->starts[n] - now > RING_ROWS * 64)
                queue->starts[n] = now;
        queue->last = queue->full = now;
    }
}

/// Empties the rows that dispatch has passed.
static void pass_rows(struct pipeline *p) {
    const uint64_t row = p->slot >> 8;
    if ((row ^ p->row) >> RENEW_BITS)
        renew_queues(p);
    if (row - p->row >= RING_ROWS)
        memset(p->ring, 0, sizeof p->ring);
    else
        for (; p->row < row; p->row++)
            memset(&p->ring[p->row % RING_ROWS], 0, sizeof p->ring[0]);
    p->row = row;
    p->limit = (row + RING_ROWS - LONGEST / 64) * 64;
}

void stall_until(struct pipeline *p, uint64_t cycle, uint64_t *stalled) {
    const uint64_t now = p->slot >> 2;
    if (cycle <= now)
        return;
    *stalled += (cycle - now - (p->slot % 4 != 0)) * TICKS_PER_CYCLE;
    p->slot = cycle << 2;
    if (p->slot >> 8 != p->row)
        pass_rows(p);
}

/// At most two micro-ops for B, M, V0, V1 each in one dispatch cycle.
static void apply_caps(struct pipeline *p, const struct op *op) {
    const uint64_t now = dispatched(p);
    p->caps = (p->capped == now ? p->caps : NO_CAPS) + op->caps;
    p->capped = now;
    if (p->caps & CAP_BITS) {
        p->slot = (now + 1) << 2;
        p->caps = NO_CAPS + op->caps;
        p->capped = now + 1;
    }
}

/// What only some instructions wait for before they are dispatched.
static void wait_before(struct pipeline *p, const struct op *op, uint64_t *stalled) {
    if (op->wait != WAIT_NONE) {
        const uint64_t finished = (p->retired + 3) >> 2;
        stall_until(p, op->wait == WAIT_STORES ? latest(finished, p->stores_done) : finished, stalled);
    }
    stall_until(p, p->rob[(p->rob_next + op->mops - 1) % ROB], stalled);
    if (op->caps)
        apply_caps(p, op);
}

/// Instructions of registers only that are more than one micro-op, or branches.
static void follow_general(struct pipeline *p, const struct op *op, uint64_t ready, uint64_t *stalled) {
    ready = latest(with_accumulator(p, op, ready), data_ready(p, op));
    uint64_t at = start_all(p, op->unit, op->times, op->busy, ready, stalled);
    at = latest(at, start_all(p, op->second_unit, op->second_times, op->second_busy, ready, stalled));
    const uint64_t done = at + op->latency;
    write_all(p, op, done);
    if (op->forwarding)
        write_forwarding(p, op, done);
    if (op->kind == OP_BRANCH)
        p->resolved = done;
    retire(p, op, done);
}

static inline void follow(struct core *core, struct pipeline *p, const struct op *op,
                          const struct touch *touch) {
    uint64_t *const stalled = &core->counts.stall_ticks;
    const uint64_t room = p->rob[p->rob_next % ROB];
    if (__builtin_expect(room > dispatched(p), 0))
        stall_until(p, room, stalled);
    if (op->special)
        wait_before(p, op, stalled);
    uint64_t ready = operands_ready(p, op);
    if (__builtin_expect(ready >= p->limit, 0)) {
        stall_until(p, ready - LONGEST, stalled);
        ready = operands_ready(p, op);
    }
    uint64_t done = dispatched(p);
    switch (op->kind) {
    case OP_NONE:
        break;
    case OP_INTEGER:
        done = start_integer(p, with_accumulator(p, op, ready), stalled) + op->latency;
        write_forwarding(p, op, done);
        break;
    case OP_VECTOR:
        done = start_either(p, PORT_V0, with_accumulator(p, op, ready), stalled) + op->latency;
        write_forwarding(p, op, done);
        break;
    case OP_ONE:
        ready = with_accumulator(p, op, ready);
        done = start_at(p, port_of[op->unit], ready, op->busy, stalled) + op->latency;
        write_forwarding(p, op, done);
        break;
    case OP_BRANCH:
    case OP_GENERAL:
        follow_general(p, op, ready, stalled);
        return;
    default:
        follow_memory(core, p, op, &touch[op->access], ready);
        return;
    }
    retire(p, op, done);
}

/// The instructions from `begin` to `end` (addresses) come from fetch: a window a cycle.
static inline void fetch(struct core *core, struct pipeline *p, uint64_t begin, uint64_t end) {
    const uint64_t first = begin >> WINDOW_SHIFT, last = (end - 1) >> WINDOW_SHIFT;
    stall_until(p, p->fetched, &core->counts.fetch_ticks);
    const uint64_t now = p->slot >> 2;
    p->fetched = latest(p->fetched, now > RUN_AHEAD ? now - RUN_AHEAD : 0);
    p->fetched += last - first + (first != p->window);
    p->window = last;
}

void pipeline_run(struct core *core, const struct block *block, unsigned first, unsigned count) {
    struct pipeline *p = core->pipeline;
    const uint64_t clock = core->ticks / TICKS_PER_CYCLE;
    if (clock > p->retired >> 2) { // time has passed otherwise
        p->retired = latest(p->retired, clock << 2);
        p->slot = latest(p->slot, clock << 2);
    }
    if (p->slot >> 8 != p->row)
        pass_rows(p);
    fetch(core, p, block->vaddr + first * 4, block->vaddr + (first + count) * 4);
    const struct op *const end = block->op + first + count;
    for (const struct op *op = block->op + first; op < end; op++)
        follow(core, p, op, block->touch);
    if (end[-1].wait == WAIT_REFETCH) // which ends a block
        p->fetched = latest(p->fetched, (p->retired >> 2) + REFILL);
    core->ticks = (p->retired >> 2) * TICKS_PER_CYCLE;
}

void pipeline_branch(struct core *core, const struct block *block, uint64_t next) {
    struct pipeline *p = core->pipeline;
    const uint64_t after = block->vaddr + block->insns * 4, pc = after - 4;
    bool predicted = true;
    switch (block->branch) {
    case BRANCH_NONE:
        break;
    case BRANCH_CONDITIONAL:
        if (next == after || next == block->target)
            predicted = predict_direction(&p->predictor, pc, next != after);
        break;
    case BRANCH_CALL_INDIRECT:
        predicted = predict_target(&p->predictor, pc, next);
        // fall through
    case BRANCH_CALL:
        predict_call(&p->predictor, after);
        break;
    case BRANCH_RETURN:
        predicted = predict_return(&p->predictor, next);
        break;
    case BRANCH_INDIRECT:
        predicted = predict_target(&p->predictor, pc, next);
        break;
    case BRANCH_DIRECT:
        break;
    }
    core->counts.branches += block->branch != BRANCH_NONE;
    if (next != after)
        p->window = 0;
    if (predicted)
        return;
    core->counts.mispredicts++;
    p->fetched = latest(p->fetched, p->resolved + REFILL);
}
