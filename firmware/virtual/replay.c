// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "replay.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core.h"
#include "stages.h"

enum {
    ARENA = 24 << 20,  // bytes of states and steps; when it is full, all are forgotten
    BUCKETS = 1 << 13, // of states
    WORDS = 32,        // of the calendar, of 8 cycles each, that a state holds
    REACH = WORDS * 64,
    STEPS = 128,            // that are kept of one state: more would be searched too long
    LONGEST_STEP = 1 << 17, // of a block that is kept: no time in it comes near the calendar's end
    // Keeping a state costs as much as executing some twenty instructions. Where that does not pay it is left
    // off for some blocks.
    COST = 20,
    CREDIT = 100 * COST,
    FIRST_CREDIT = 20 * COST,
    PAUSE = 500,
};

/// The state of a pipeline, less what can have no effect any more. Times are relative to the dispatch cycle,
/// and 0 where they have passed.
struct relative {
    uint64_t window, waiting;
    uint64_t busy[WORDS], held[WORDS]; // from the next cycle on
    uint32_t caps;                     // of this cycle
    uint16_t slot, retired, fetched, committed, stores_done;
    uint16_t last[PORTS - PORT_V0];
    uint16_t busier; // bit n: of the nth pair of pipes, neither of which has a micro-op to start
    uint16_t ready[OP_NO_TARGET], forwarding[OP_NO_TARGET];
    uint16_t rob[ROB], load[LOADS], store[STORES];
} __attribute__((aligned(32)));

struct state {
    struct state *next; // of the same bucket
    uint64_t hash;
    struct step *steps;
    unsigned count; // of them
    struct relative relative;
};

/// A block that was executed in a state.
struct step {
    struct step *next; // of the same state, with another block or branch
    const struct block *block;
    struct state *to;
    uint64_t stalled, starved; // in ticks, as they are counted
    uint32_t cycles;           // that dispatch went on, as time
    uint32_t retired;          // the cycle in which the last instruction retired, relative to dispatch before
    uint32_t branch;           // as pipeline_branch takes it
    // Of a step that others branch off: the most `cycles` of all of these, and of those that are late: in
    // which a micro-op was placed before the dispatch cycle, so that it matters where the calendar's rows
    // begin.
    uint32_t most, most_late;
    uint16_t calls;
    struct call call[];
};

struct automaton {
    struct state *bucket[BUCKETS];
    uint8_t *arena;
    size_t used;
};

struct automaton *replay_new(void) {
    struct automaton *automaton = calloc(1, sizeof *automaton);
    if (!automaton)
        abort();
    automaton->arena =
        mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (automaton->arena == MAP_FAILED)
        abort();
    return automaton;
}

static void *room_for(struct automaton *automaton, size_t bytes) {
    void *room = automaton->arena + automaton->used;
    automaton->used += (bytes + 31) & ~(size_t)31;
    return room;
}

/// Makes room for a state and a step.
static void make_room(struct pipeline *p) {
    struct automaton *automaton = p->automaton;
    if (automaton->used + sizeof(struct state) + sizeof(struct step) + sizeof p->call + 64 <= ARENA)
        return;
    memset(automaton->bucket, 0, sizeof automaton->bucket);
    automaton->used = 0;
    p->from = NULL;
}

/// `time` relative to `base`, or 0. What does not fit sets bits of `beyond`.
static inline uint16_t relative_to(uint64_t base, uint64_t time, uint64_t *beyond) {
    const uint64_t relative = time > base ? time - base : 0;
    *beyond |= relative >> 16;
    return (uint16_t)relative;
}

/// Eight cycles of a calendar from `time` on.
static inline uint64_t eight_cycles(const uint64_t *calendar, uint64_t time) {
    const unsigned shift = time & 63;
    const uint64_t low = calendar[word_of(time)] >> shift;
    return shift ? low | calendar[word_of(time + 63)] << (64 - shift) : low;
}

static inline void add_eight(uint64_t *calendar, uint64_t time, uint64_t bits) {
    const unsigned shift = time & 63;
    calendar[word_of(time)] |= bits << shift;
    if (shift)
        calendar[word_of(time + 63)] |= bits >> (64 - shift);
}

/// The pipeline's state. False where it cannot be expressed.
static bool express(const struct pipeline *p, struct relative *to) {
    const struct front *front = &p->front;
    const uint64_t base = cycle_of(front->slot), issue = issue_cycle(front);
    uint64_t beyond = 0;
    if (latest(front->retired, p->furthest) >= base + REACH || base < RUN_AHEAD)
        return false;
    memset(to, 0, sizeof *to);
    to->window = p->window;
    to->waiting = front->waiting;
    to->slot = (uint16_t)(front->slot - base);
    to->caps = p->capped == base ? p->caps : 0;
    to->retired = relative_to(base, front->retired, &beyond);
    to->fetched = relative_to(base - RUN_AHEAD, p->fetched, &beyond);
    to->committed = relative_to(cycle_of(front->retired), p->committed, &beyond);
    to->stores_done = relative_to(base, p->stores_done, &beyond);
    for (unsigned port = PORT_V0; port < PORTS; port++)
        to->last[port - PORT_V0] = relative_to(base, p->last[port], &beyond);
    for (unsigned pair = 0; pair < 2; pair++)
        if (!to->last[2 * pair] && !to->last[2 * pair + 1])
            to->busier |= (uint16_t)((p->last[PORT_V0 + 2 * pair] > p->last[PORT_V1 + 2 * pair]) << pair);
    for (unsigned reg = 0; reg < OP_NO_TARGET; reg++) {
        to->ready[reg] = relative_to(issue, p->ready[reg], &beyond);
        to->forwarding[reg] = to->ready[reg] ? p->forwarding[reg] : 0;
    }
    // In these, times ascend: the last ones first, up to one that has passed.
    for (unsigned n = ROB; n--;)
        if (!(to->rob[n] =
                  relative_to(base, cycle_of(p->rob[(front->rob_next + n - ROB) % ROB_RING]), &beyond)))
            break;
    for (unsigned n = LOADS, place = p->load_next; n--;) {
        place = place ? place - 1 : LOADS - 1;
        if (!(to->load[n] = relative_to(base, p->load[place], &beyond)))
            break;
    }
    for (unsigned n = 0; n < STORES; n++)
        to->store[n] = relative_to(base, p->store[(p->store_next + n) % STORES], &beyond);
    for (unsigned word = 0; word < WORDS; word++) {
        to->busy[word] = eight_cycles(p->busy, issue + word * 64);
        to->held[word] = eight_cycles(p->held, issue + word * 64);
    }
    return !beyond;
}

/// Makes `from`, with the dispatch cycle `base`, the pipeline's state.
static void impress(struct pipeline *p, const struct relative *from, uint64_t base) {
    struct front *front = &p->front;
    const uint64_t issue = base + CYCLE;
    // What the calendar held when replaying began has passed, or is in `from`. Beyond that reach it was
    // empty.
    for (uint64_t row = p->row; row <= p->row + REACH / ROW + 1; row++)
        clear_row(p, row);
    p->row = base / ROW;
    p->limit = (p->row + ROWS) * ROW - LONGEST;
    for (unsigned word = 0; word < WORDS; word++) {
        add_eight(p->busy, issue + word * 64, from->busy[word]);
        add_eight(p->held, issue + word * 64, from->held[word]);
    }
    p->window = from->window;
    front->waiting = from->waiting;
    front->slot = base + from->slot;
    front->retired = base + from->retired;
    p->caps = from->caps;
    p->capped = from->caps ? base : 0;
    p->fetched = base - RUN_AHEAD + from->fetched;
    p->committed = cycle_of(front->retired) + from->committed;
    p->stores_done = base + from->stores_done;
    for (unsigned n = 0; n < PORTS - PORT_V0; n++)
        p->last[PORT_V0 + n] =
            from->last[n] ? base + from->last[n] : base - 1 + (~n & from->busier >> n / 2 & 1);
    for (unsigned reg = 0; reg < OP_NO_TARGET; reg++) {
        p->ready[reg] = from->ready[reg] ? issue + from->ready[reg] : 0;
        p->forwarding[reg] = from->forwarding[reg];
    }
    for (unsigned n = 0; n < ROB; n++)
        p->rob[(front->rob_next + n - ROB) % ROB_RING] = base + from->rob[n];
    for (unsigned n = 0; n < LOADS; n++)
        p->load[n] = base + from->load[n];
    for (unsigned n = 0; n < STORES; n++)
        p->store[n] = base + from->store[n];
    p->load_next = p->store_next = 0;
    p->furthest = 0;
}

static uint64_t hash_of(const struct relative *relative) {
    enum { LANES = 4 }; // so that one multiplication need not wait for the one before
    _Static_assert(sizeof *relative % (LANES * sizeof(uint64_t)) == 0, "whole lanes");
    const uint64_t *word = (const uint64_t *)relative;
    uint64_t hash[LANES] = {0};
    for (size_t n = 0; n < sizeof *relative / sizeof *word; n++) {
        uint64_t *lane = &hash[n % LANES];
        *lane = (*lane ^ word[n]) * UINT64_C(0x9e3779b97f4a7c15);
        *lane ^= *lane >> 32;
    }
    return hash[0] ^ hash[1] * 3 ^ hash[2] * 5 ^ hash[3] * 7;
}

/// The pipeline's state among those that are kept; NULL where it cannot be.
static struct state *find_state(struct pipeline *p) {
    struct automaton *automaton = p->automaton;
    struct relative relative;
    if (!express(p, &relative))
        return NULL;
    const uint64_t hash = hash_of(&relative);
    struct state **head = &automaton->bucket[hash % BUCKETS];
    for (struct state *state = *head; state; state = state->next)
        if (state->hash == hash && !memcmp(&state->relative, &relative, sizeof relative))
            return state;
    struct state *state = room_for(automaton, sizeof *state);
    *state = (struct state){*head, hash, NULL, 0, relative};
    *head = state;
    return state;
}

void replay_leave(struct pipeline *p) {
    if (p->state && p->replayed)
        impress(p, &p->state->relative, p->base);
    p->state = p->from = NULL;
    p->answers = 0;
}

/// The first step of `state` with this block.
static struct step *find_step(const struct state *state, const struct block *block, unsigned branch) {
    struct step *step = state->steps;
    while (step && (step->block != block || step->branch != branch))
        step = step->next;
    return step;
}

/// Of the steps that are like `step` up to call `n`, the one in which that took `took`; or NULL.
static inline struct step *find_answer(struct step *step, unsigned n, uint32_t took) {
    while (step && step->call[n].took != took)
        step = step->call[n].other;
    return step;
}

/// Whether the pipeline, whose dispatch cycle is `base`, can go this step now, whichever way memory answers:
/// it is only asked what the pipeline would ask, and when.
static inline bool fits(const struct pipeline *p, const struct step *step, uint64_t base) {
    return base + step->most < p->replay_end && base / ROW == (base + step->most_late) / ROW;
}

/// The pipeline goes back to the beginning of a block that it cannot replay. Memory has answered `count`
/// calls, as in `step` but for the last one.
static bool give_up(struct pipeline *p, const struct step *step, unsigned count, uint32_t took) {
    struct state *from = p->state;
    replay_leave(p);
    p->from = from;
    p->answers = count;
    if (count) {
        memcpy(p->call, step->call, count * sizeof p->call[0]);
        p->call[count - 1].took = took;
    }
    return false;
}

bool replay(struct core *core, const struct block *block, unsigned branch) {
    struct pipeline *p = core->pipeline;
    if (!p->state)
        return false;
    struct step *step = find_step(p->state, block, branch);
    const uint64_t base = p->base;
    if (!step || !fits(p, step, base))
        return give_up(p, NULL, 0, 0);
    for (unsigned n = 0; n < step->calls; n++) {
        const struct call *call = &step->call[n];
        const uint64_t at = base + call->at;
        const uint32_t took =
            (uint32_t)(pipeline_call(core, p, call->kind, call->touch, at, base + call->ready) - at);
        if (__builtin_expect(took == call->took, 1))
            continue;
        struct step *other = find_answer(call->other, n, took);
        if (!other)
            return give_up(p, step, n + 1, took);
        step = other;
    }
    core->counts.stall_ticks += step->stalled;
    core->counts.fetch_ticks += step->starved;
    core->ticks = p->ticks = (base + step->retired) * TICKS;
    p->base = base + step->cycles;
    p->state = step->to;
    p->replayed = true;
    p->credit = p->credit + (int)block->insns < CREDIT ? p->credit + (int)block->insns : CREDIT;
    return true;
}

/// Until when blocks can be replayed: where pipes become alike, or a stray bit of the calendar comes near.
static uint64_t find_end(struct pipeline *p) {
    while (p->strays && p->stray[p->first_stray] / ROW < p->row) {
        p->first_stray = (p->first_stray + 1) % STRAYS;
        p->strays--;
    }
    const uint64_t settled = ((p->row >> SETTLE_SHIFT) + 1) << SETTLE_SHIFT;
    const uint64_t near = p->strays ? p->stray[p->first_stray] - 2 * REACH - ROW : UINT64_MAX;
    return settled * ROW < near ? settled * ROW : near;
}

/// Whether to keep anything now.
static bool worthwhile(struct pipeline *p) {
    if (p->pause) {
        p->credit = FIRST_CREDIT;
        p->pause--;
        return false;
    }
    p->credit -= COST;
    if (p->credit < 0)
        p->pause = PAUSE;
    return p->credit >= 0;
}

/// Adds `step` to the steps of `state`. False where it is among them.
static bool add_step(struct state *state, struct step *step) {
    struct step *like = find_step(state, step->block, step->branch);
    if (!like) {
        step->next = state->steps;
        state->steps = step;
        return true;
    }
    like->most = step->most > like->most ? step->most : like->most;
    like->most_late = step->most_late > like->most_late ? step->most_late : like->most_late;
    for (unsigned n = 0; n < step->calls; n++) {
        if (like->call[n].took == step->call[n].took)
            continue;
        struct step *other = find_answer(like, n, step->call[n].took);
        if (!other) {
            step->call[n].other = like->call[n].other;
            like->call[n].other = step;
            return true;
        }
        like = other;
    }
    return false;
}

/// Keeps the block that the pipeline has executed as a step of the state before.
static void keep_step(struct pipeline *p, const struct block *block, unsigned branch, struct state *to) {
    const uint64_t cycles = cycle_of(p->front.slot) - p->base;
    if (!p->from || p->from->count == STEPS || p->irregular || cycles >= LONGEST_STEP ||
        (p->late_start && p->base / ROW != (p->base + cycles) / ROW))
        return;
    const size_t used = p->automaton->used;
    struct step *step = room_for(p->automaton, sizeof *step + p->calls * sizeof step->call[0]);
    *step = (struct step){.block = block,
                          .to = to,
                          .stalled = p->stalled,
                          .starved = p->starved,
                          .cycles = (uint32_t)cycles,
                          .retired = (uint32_t)(p->ticks / TICKS - p->base),
                          .branch = branch,
                          .most = (uint32_t)cycles,
                          .most_late = p->late_start ? (uint32_t)cycles : 0,
                          .calls = (uint16_t)p->calls};
    for (unsigned n = 0; n < p->calls; n++) {
        step->call[n] = p->call[n];
        step->call[n].other = NULL;
    }
    if (add_step(p->from, step))
        p->from->count++;
    else
        p->automaton->used = used;
}

void replay_learn(struct pipeline *p, const struct block *block, unsigned branch) {
    if (worthwhile(p) && p->front.slot >= p->blind) {
        make_room(p);
        struct state *state = find_state(p);
        if (state)
            keep_step(p, block, branch, state);
        p->base = cycle_of(p->front.slot);
        p->replay_end = find_end(p);
        p->replayed = false;
        p->state = p->base < p->replay_end ? state : NULL;
    }
    p->from = NULL;
}
