// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "hot_spots.h"
#include "stages.h"

enum {
    NO_CAPS = 0x01010101,  // two micro-ops per cycle for each of B, M, V0, V1 (SOG 4.1): counted up from 1,
    CAP_BITS = 0x04040404, // the third sets one of these bits
    WINDOW_SHIFT = 5,      // instructions are predicted and fetched by 32 bytes (WikiChip)
    RUN_AHEAD = 8 * CYCLE, // windows, one a cycle, that fetch may be ahead of dispatch: assumed
    REFILL = 12 * CYCLE, // from a mispredicted branch's execution to dispatch on the right path. The documented
                 // minimum of 11 is the pipeline's; measured penalties are 15 to 18 in all (calibrated by the
                 // branch benchmark)
    LONGEST = 2048 * CYCLE, // that one micro-op may be ahead of the next: beyond, the calendar is made to follow
    ROW_WORDS = 8,          // of the calendar, which is emptied by rows
    ROW = ROW_WORDS * 64,
    ROWS = CALENDAR_WORDS / ROW_WORDS,
    SETTLE_SHIFT = 20, // idle pipes become alike every 1 << 20 rows
};

struct pipeline *pipeline_new(void) {
    struct pipeline *p = aligned_alloc(64, (sizeof *p + 63) & ~(size_t)63);
    if (!p)
        abort();
    memset(p, 0, sizeof *p);
    p->limit = ROWS * ROW - LONGEST;
    p->waiting = NONE_WAITING;
    return p;
}

/// Empties the rows of the calendar that dispatch has passed.
static void pass_rows(struct pipeline *p) {
    const uint64_t row = p->slot / ROW;
    const bool leap = row - p->row >= ROWS;
    leave_queues(p, cycle_of(p->slot));
    if (__builtin_expect(leap || (row ^ p->row) >> SETTLE_SHIFT, 0))
        for (unsigned port = 0; port < PORTS; port++)
            p->last[port] = latest(p->last[port], row * ROW);
    if (leap) {
        memset(p->busy, 0, sizeof p->busy);
        memset(p->held, 0, sizeof p->held);
        p->waiting = NONE_WAITING;
    } else {
        for (; p->row < row; p->row++) {
            memset(&p->busy[p->row % ROWS * ROW_WORDS], 0, ROW_WORDS * sizeof p->busy[0]);
            memset(&p->held[p->row % ROWS * ROW_WORDS], 0, ROW_WORDS * sizeof p->held[0]);
        }
    }
    p->row = row;
    p->limit = (row + ROWS) * ROW - LONGEST;
}

void stall(struct pipeline *p, uint64_t cycle, uint64_t *stalled) {
    *stalled += (cycle - cycle_from(p->slot)) * TICKS;
    p->slot = cycle;
    if (p->slot / ROW != p->row)
        pass_rows(p);
    else
        leave_queues(p, cycle);
}

/// At most two micro-ops for B, M, V0, V1 each in one dispatch cycle.
static void apply_caps(struct pipeline *p, const struct op *op) {
    const uint64_t now = cycle_of(p->slot);
    p->caps = (p->capped == now ? p->caps : NO_CAPS) + op->caps;
    p->capped = now;
    if (p->caps & CAP_BITS) {
        p->slot = p->capped = now + CYCLE;
        p->caps = NO_CAPS + op->caps;
    }
}

/// What only some instructions wait for before they are dispatched.
static void wait_before(struct pipeline *p, const struct op *op, uint64_t *stalled) {
    if (op->wait != WAIT_NONE) {
        const uint64_t finished = cycle_from(p->retired);
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

static inline __attribute__((always_inline)) void follow(struct core *core, struct pipeline *p,
                                                         const struct op *op, const struct touch *touch) {
    uint64_t *const stalled = &core->counts.stall_ticks;
    stall_until(p, p->rob[p->rob_next % ROB], stalled);
    if (op->special)
        wait_before(p, op, stalled);
    keep_count(p);
    uint64_t ready = operands_ready(p, op);
    if (__builtin_expect(ready >= p->limit, 0)) {
        stall_until(p, ready - LONGEST, stalled);
        ready = operands_ready(p, op);
    }
    uint64_t done = cycle_of(p->slot);
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
    const uint64_t now = cycle_of(p->slot);
    p->fetched = latest(p->fetched, now > RUN_AHEAD ? now - RUN_AHEAD : 0);
    p->fetched += (last - first + (first != p->window)) * CYCLE;
    p->window = last;
}

/// The same for some instructions of a block, each counted where block->spots says.
static __attribute__((noinline)) void follow_counted(struct core *core, struct pipeline *p,
                                                     const struct block *block, unsigned first,
                                                     unsigned count) {
    struct hot_spot *spot = hot_spots_of(core, block->spots);
    for (unsigned n = first; n < first + count; n++) {
        const struct hot_spot before = hot_spots_before(core);
        follow(core, p, &block->op[n], block->touch);
        hot_spots_add(&spot[n], core, &before);
    }
}

void pipeline_run(struct core *core, const struct block *block, unsigned first, unsigned count) {
    struct pipeline *p = core->pipeline;
    if (__builtin_expect(core->ticks != p->ticks, 0)) { // time has passed otherwise
        const uint64_t clock = cycle_of_ticks(core->ticks);
        if (clock > p->retired)
            p->slot = latest(p->slot, p->retired = clock);
    }
    if (p->slot / ROW != p->row)
        pass_rows(p);
    fetch(core, p, block->vaddr + first * 4, block->vaddr + (first + count) * 4);
    const struct op *const end = block->op + first + count;
    if (__builtin_expect(block->spots != NULL, 0))
        follow_counted(core, p, block, first, count);
    else
        for (const struct op *op = block->op + first; op < end; op++)
            follow(core, p, op, block->touch);
    if (end[-1].wait == WAIT_REFETCH) // which ends a block
        p->fetched = latest(p->fetched, cycle_of(p->retired) + REFILL);
    core->ticks = p->ticks = cycle_of(p->retired) * TICKS;
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
