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
    REFILL = 12 * CYCLE,   // from a mispredicted branch's execution to dispatch on the right path. The
                         // documented minimum of 11 is the pipeline's; measured penalties are 15 to 18 in all
                         // (calibrated by the branch benchmark)
};

struct pipeline *pipeline_new(void) {
    struct pipeline *p = aligned_alloc(64, (sizeof *p + 63) & ~(size_t)63);
    if (!p)
        abort();
    memset(p, 0, sizeof *p);
    p->automaton = replay_new();
    p->limit = ROWS * ROW - LONGEST;
    p->front.waiting = NONE_WAITING;
    for (unsigned pipes = 0; pipes < 256; pipes++)
        for (unsigned port = 0; port < PORTS; port++)
            one_each[pipes] |= (uint64_t)(pipes >> port & 1) << port * 8;
    return p;
}

/// Dispatch goes on at `cycle`: micro-ops that start up to then leave their queues.
static void go_to(struct pipeline *p, uint64_t cycle) {
    struct front *front = &p->front;
    uint64_t time = issue_cycle(front);
    front->slot = cycle;
    while (time <= cycle && front->waiting != NONE_WAITING) {
        const uint64_t starts = starts_from(p, time);
        front->waiting -= one_each[starts & 255];
        time = starts ? time + CYCLE : (time | 63) + 1;
    }
}

/// Empties the rows of the calendar that dispatch has passed.
static void pass_rows(struct pipeline *p) {
    const uint64_t row = p->front.slot / ROW;
    const bool leap = row - p->row >= ROWS;
    if (__builtin_expect(leap || (row ^ p->row) >> SETTLE_SHIFT, 0)) {
        p->irregular = true;
        for (unsigned port = 0; port < PORTS; port++)
            p->last[port] = latest(p->last[port], row * ROW);
    }
    if (leap)
        p->row = row - ROWS;
    for (; p->row < row; p->row++)
        clear_row(p, p->row);
    p->limit = (row + ROWS) * ROW - LONGEST;
}

void stall(struct pipeline *p, uint64_t cycle, uint64_t *stalled) {
    *stalled += (cycle - cycle_from(p->front.slot)) * TICKS;
    go_to(p, cycle);
    if (p->front.slot / ROW != p->row)
        pass_rows(p);
}

/// At most two micro-ops for B, M, V0, V1 each in one dispatch cycle.
static void apply_caps(struct pipeline *p, struct front *front, const struct op *op) {
    const uint64_t now = cycle_of(front->slot);
    p->caps = (p->capped == now ? p->caps : NO_CAPS) + op->caps;
    p->capped = now;
    if (p->caps & CAP_BITS) {
        front->slot = p->capped = now + CYCLE;
        next_cycle(p, front);
        p->caps = NO_CAPS + op->caps;
    }
}

/// What only some instructions wait for before they are dispatched.
static inline void wait_before(struct pipeline *p, struct front *front, const struct op *op) {
    if (op->wait != WAIT_NONE) {
        const uint64_t finished = cycle_from(front->retired);
        stall_until(p, front, op->wait == WAIT_STORES ? latest(finished, p->stores_done) : finished);
    }
    if (op->mops > 1)
        stall_until(p, front, rob_room(p, front, op->mops));
    if (op->caps)
        apply_caps(p, front, op);
}

/// Instructions of registers only that are more than one micro-op, or branches. Returns when `op` is done.
static inline uint64_t follow_general(struct pipeline *p, struct front *front, const struct op *op,
                                      uint64_t ready) {
    ready = latest(with_accumulator(p, op, ready), data_ready(p, op));
    uint64_t at = start_all(p, front, op->unit, op->times, op->busy, ready);
    at = latest(at, start_all(p, front, op->second_unit, op->second_times, op->second_busy, ready));
    const uint64_t done = at + op->latency;
    write_all(p, op, done);
    if (op->forwarding)
        write_forwarding(p, op, done);
    if (op->kind == OP_BRANCH)
        p->resolved = done;
    return done;
}

/// `crowded`: the reorder buffer may have no room.
static inline __attribute__((always_inline)) void follow(struct core *core, struct pipeline *p,
                                                         struct front *front, const struct op *op,
                                                         const struct touch *touch, bool crowded) {
    if (__builtin_expect(crowded, 0))
        stall_until(p, front, rob_room(p, front, 1));
    if (op->special)
        wait_before(p, front, op);
    uint64_t ready = operands_ready(p, front, op);
    if (__builtin_expect(ready >= p->limit, 0)) {
        p->irregular = true;
        stall_until(p, front, ready - LONGEST);
        ready = operands_ready(p, front, op);
    }
    uint64_t done = cycle_of(front->slot);
    switch (op->kind) {
    case OP_NONE:
        retire(p, front, op, done);
        return;
    case OP_INTEGER:
        done = start_integer(p, front, with_accumulator(p, op, ready)) + op->latency;
        write_forwarding(p, op, done);
        break;
    case OP_VECTOR:
        done = start_either(p, front, PORT_V0, with_accumulator(p, op, ready)) + op->latency;
        write_forwarding(p, op, done);
        break;
    case OP_ONE:
        ready = with_accumulator(p, op, ready);
        done = start_at(p, front, port_of[op->unit], ready, op->busy) + op->latency;
        write_forwarding(p, op, done);
        break;
    case OP_BRANCH:
    case OP_GENERAL:
        retire(p, front, op, follow_general(p, front, op, ready));
        return;
    default:
        p->front = *front;
        follow_memory(core, p, op, &touch[op->access], ready);
        *front = p->front;
        return;
    }
    retire_one(p, front, done);
}

/// The instructions from `begin` to `end` (addresses) come from fetch: a window a cycle.
static inline void fetch(struct pipeline *p, uint64_t begin, uint64_t end) {
    const uint64_t first = begin >> WINDOW_SHIFT, last = (end - 1) >> WINDOW_SHIFT;
    if (p->fetched > p->front.slot)
        stall(p, p->fetched, &p->starved);
    const uint64_t now = cycle_of(p->front.slot);
    p->fetched = latest(p->fetched, now > RUN_AHEAD ? now - RUN_AHEAD : 0);
    p->fetched += (last - first + (first != p->window)) * CYCLE;
    p->window = last;
}

/// With `spots`, what each instruction costs is counted there.
static inline __attribute__((always_inline)) void follow_all(struct core *core, const struct block *block,
                                                             unsigned first, unsigned count,
                                                             struct hot_spot *spots) {
    struct pipeline *p = core->pipeline;
    p->stalled = p->starved = 0;
    if (p->front.slot / ROW != p->row)
        pass_rows(p);
    fetch(p, block->vaddr + first * 4, block->vaddr + (first + count) * 4);
    struct front front = p->front;
    const bool crowded = block->mops > ROB || rob_room(p, &front, block->mops) > front.slot;
    const struct op *const end = block->op + first + count;
    for (const struct op *op = block->op + first; op < end; op++) {
        const struct hot_spot before = spots ? hot_spots_before(core, front.retired) : (struct hot_spot){0};
        follow(core, p, &front, op, block->touch, crowded);
        if (spots)
            hot_spots_add(spots++, core, front.retired, &before);
    }
    p->front = front;
    if (end[-1].wait == WAIT_REFETCH) // which ends a block
        p->fetched = latest(p->fetched, cycle_of(front.retired) + REFILL);
    core->ticks = p->ticks = cycle_of(front.retired) * TICKS;
    core->counts.stall_ticks += p->stalled;
    core->counts.fetch_ticks += p->starved;
}

static void run(struct core *core, const struct block *block, unsigned first, unsigned count) {
    follow_all(core, block, first, count, NULL);
}

static __attribute__((noinline)) void run_counted(struct core *core, const struct block *block,
                                                  unsigned first, unsigned count) {
    follow_all(core, block, first, count, hot_spots_of(core, block->spots) + first);
}

/// Before a block: makes up for time that has passed otherwise.
static inline void catch_up(const struct core *core, struct pipeline *p) {
    if (__builtin_expect(core->ticks == p->ticks, 1))
        return;
    replay_leave(p);
    const uint64_t clock = cycle_of_ticks(core->ticks);
    if (clock <= p->front.retired)
        return;
    p->front.retired = clock;
    if (clock > p->front.slot)
        go_to(p, clock);
}

void pipeline_run(struct core *core, const struct block *block, unsigned first, unsigned count) {
    catch_up(core, core->pipeline);
    replay_leave(core->pipeline);
    if (__builtin_expect(block->spots != NULL, 0))
        run_counted(core, block, first, count);
    else
        run(core, block, first, count);
}

enum { TAKEN = 1, MISPREDICTED = 2 };

/// How the branch at the end of `block`, if there is one, goes to `next`. Trains the predictor.
static unsigned predict(struct core *core, const struct block *block, uint64_t next) {
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
    core->counts.mispredicts += !predicted;
    return (next != after ? TAKEN : 0) | (predicted ? 0 : MISPREDICTED);
}

/// What comes after a branch is fetched.
static void redirect(struct pipeline *p, unsigned branch) {
    if (branch & TAKEN)
        p->window = 0;
    if (branch & MISPREDICTED)
        p->fetched = latest(p->fetched, p->resolved + REFILL);
}

void pipeline_branch(struct core *core, const struct block *block, uint64_t next) {
    replay_leave(core->pipeline);
    redirect(core->pipeline, predict(core, block, next));
}

void pipeline_run_block(struct core *core, const struct block *block, uint64_t next) {
    struct pipeline *p = core->pipeline;
    const unsigned branch = predict(core, block, next);
    if (__builtin_expect(block->spots != NULL, 0)) { // what is replayed is not followed
        pipeline_run(core, block, 0, block->insns);
        redirect(p, branch);
        return;
    }
    catch_up(core, p);
    if (replay(core, block, branch))
        return;
    p->base = cycle_of(p->front.slot);
    p->calls = 0;
    p->late_start = p->irregular = false;
    run(core, block, 0, block->insns);
    redirect(p, branch);
    replay_learn(p, block, branch);
}
