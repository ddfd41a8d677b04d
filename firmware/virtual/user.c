// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "user.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hierarchy.h"

enum {
    FRAMES = 1024,      // calls that are followed; of deeper ones the innermost
    SEARCHED = 64,      // frames that one return may skip: longjmp, exceptions
    NESTED = 32,        // marked functions inside each other
    LISTED = 64,        // calls of a region whose cycles are kept one by one
    PROGRESS = 1 << 18, // blocks between two lines of progress

    // Threads that share out work by who comes first do it in the host's time. So that they get what they
    // would get in modeled time, one that is ahead lets the others catch up.
    AHEAD = 10000 * TICKS_PER_CYCLE, // allowed
    COMPARE_EVERY = 64,              // blocks
    NAP_NS = 50000,
    NAPS = 40, // then who has not moved is asleep in the kernel, and not waited for
};

/// A marked function that a thread is in.
struct activation {
    unsigned mark;
    uint64_t depth; // of calls, at its entry
    unsigned barrier;
    struct tally since;
};

struct region {
    struct tally sum;
    uint64_t cycles[LISTED];
};

struct thread {
    unsigned vcpu;
    struct core *core;
    const struct place *last;
    uint64_t depth;
    uint64_t frame[FRAMES]; // return addresses; number n is at n modulo FRAMES
    unsigned active;
    struct activation activation[NESTED];
    uint64_t waiting, blocks;
    uint64_t asleep; // as many blocks had it executed when others gave up waiting for it
    struct tally since;
    struct region region[MARKS];
    bool live;
};

static const struct options *options;
static const struct block nothing;         // what a thread executed before its first block
static struct core unmodeled;              // of threads beyond the number of cores: its contents mean nothing
static struct thread on_core[MODEL_CORES]; // reused, never freed: others look at them
static struct thread *thread[USER_VCPUS];
static unsigned threads, threads_unmodeled;
static bool ended;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct core *host_core; // of the thread that this host thread runs: it creates new ones

struct core *user_core[USER_VCPUS + 1];

const char *user_open(const struct options *given) {
    options = given;
    for (unsigned vcpu = 0; vcpu <= USER_VCPUS; vcpu++)
        user_core[vcpu] = &unmodeled;
    bool meet = false;
    for (unsigned m = 0; m < options->marks; m++)
        meet |= options->mark[m].kind == MARK_BARRIER;
    hierarchy_share(meet ? options->threads : 1); // elsewhere cores do not learn of each other
    return results_open(options->results_path);
}

static struct tally now(const struct thread *t) {
    return (struct tally){0, t->core->ticks, t->waiting, t->core->counts};
}

/// sum += now - since
static void add_since(struct tally *sum, const struct thread *t, const struct tally *since) {
    const struct tally end = now(t);
    const uint64_t *from = (const uint64_t *)since, *to = (const uint64_t *)&end;
    _Static_assert(sizeof *sum % sizeof(uint64_t) == 0, "a tally is nothing but 64-bit numbers");
    for (size_t i = 0; i < sizeof *sum / sizeof(uint64_t); i++)
        ((uint64_t *)sum)[i] += to[i] - from[i];
}

/// `block` begins, the first one to be modeled (again): what others recorded before is not this one's.
static void restart(struct core *core, const struct block *block) {
    core->current = block;
    memset(core->slot + 1, 0, sizeof core->slot - sizeof core->slot[0]);
    core->paused = false;
}

void user_thread_begins(unsigned vcpu) {
    pthread_mutex_lock(&lock);
    threads++;
    unsigned c = 0;
    while (c < options->threads && on_core[c].live)
        c++;
    if (vcpu >= USER_VCPUS || c == options->threads) {
        threads_unmodeled++;
        pthread_mutex_unlock(&lock);
        return;
    }
    static const struct place nowhere;
    struct thread *t = &on_core[c];
    *t = (struct thread){.vcpu = vcpu, .core = &cores[c], .last = &nowhere, .asleep = ~UINT64_C(0)};
    if (host_core && t->core->ticks < host_core->ticks)
        t->core->ticks = host_core->ticks; // not before it was created
    restart(t->core, &nothing);
    t->since = now(t);
    t->live = true;
    thread[vcpu] = t;
    user_core[vcpu] = t->core;
    pthread_mutex_unlock(&lock);
}

/// Writes what the thread did, and takes it off its core. Called with the lock held.
static void retire(struct thread *t) {
    struct tally total = {.calls = 1};
    add_since(&total, t, &t->since);
    results_thread(t->vcpu, (unsigned)(t->core - cores), &total);
    for (unsigned m = 0; m < options->marks; m++)
        if (t->region[m].sum.calls)
            results_region(t->vcpu, options->mark[m].address, &t->region[m].sum, t->region[m].cycles, LISTED);
    t->live = false;
    thread[t->vcpu] = NULL;
    user_core[t->vcpu] = &unmodeled;
}

void user_thread_ends(unsigned vcpu) {
    pthread_mutex_lock(&lock);
    if (vcpu < USER_VCPUS && thread[vcpu])
        retire(thread[vcpu]);
    pthread_mutex_unlock(&lock);
}

void user_end(void) {
    pthread_mutex_lock(&lock);
    for (unsigned c = 0; c < MODEL_CORES; c++)
        if (on_core[c].live)
            retire(&on_core[c]);
    ended = true;
    results_end(threads, threads_unmodeled);
    pthread_mutex_unlock(&lock);
}

struct place *user_place(struct block *block) {
    struct place *place = calloc(1, sizeof *place);
    if (!place)
        abort();
    place->block = block;
    place->after = block->vaddr + block->insns * 4;
    const uint32_t last = block->words[block->insns - 1];
    if ((last & 0xfc000000) == 0x94000000 || (last & 0xfffffc1f) == 0xd63f0000) // BL, BLR
        place->flow = FLOW_CALLS;
    else if ((last & 0xfffffc1f) == 0xd65f0000) // RET
        place->flow = FLOW_RETURNS;
    for (unsigned m = 0; m < options->marks; m++)
        if (options->mark[m].address == block->vaddr)
            place->mark = (uint8_t)(m + 1);
    return place;
}

static void pause_core(struct thread *t) {
    core_drain(t->core);
    t->core->paused = true;
}

static void resume_core(struct thread *t, uint64_t ticks) {
    if (t->core->ticks < ticks) {
        t->waiting += ticks - t->core->ticks;
        t->core->ticks = ticks;
    }
    t->core->paused = false;
}

static void enter(struct thread *t, unsigned mark) {
    if (t->active == NESTED)
        return;
    const struct activation *inner = t->active ? &t->activation[t->active - 1] : NULL;
    if (inner && inner->mark == mark && inner->depth == t->depth)
        return; // a loop back to its first instruction
    struct activation *a = &t->activation[t->active++];
    *a = (struct activation){.mark = mark, .depth = t->depth};
    const enum mark_kind kind = options->mark[mark].kind;
    if (kind == MARK_BARRIER) {
        a->barrier = user_barrier_arrive(t->core);
        t->core->paused = true;
    } else if (kind == MARK_IDLE) {
        pause_core(t);
    } else if (kind == MARK_WORK && t->core->paused) {
        resume_core(t, user_barrier_released());
    }
    a->since = now(t);
}

static void leave(struct thread *t) {
    struct activation *a = &t->activation[--t->active];
    const enum mark_kind kind = options->mark[a->mark].kind;
    if (kind == MARK_BARRIER) {
        const uint64_t arrived = t->core->ticks;
        user_barrier_depart(t->core, a->barrier);
        t->waiting += t->core->ticks - arrived;
        t->core->paused = false;
    } else if (kind == MARK_IDLE) {
        resume_core(t, user_barrier_released());
    } else if (kind == MARK_WORK && t->active && options->mark[a[-1].mark].kind == MARK_IDLE) {
        pause_core(t);
    }
    for (const struct activation *outer = t->activation; outer < a; outer++)
        if (outer->mark == a->mark)
            return; // it called itself: the outermost call counts all of it
    struct region *region = &t->region[a->mark];
    if (region->sum.calls < LISTED)
        region->cycles[region->sum.calls] = (t->core->ticks - a->since.ticks) / TICKS_PER_CYCLE;
    region->sum.calls++;
    add_since(&region->sum, t, &a->since);
}

/// Brings the thread's calls up to date: `place` is where its last block has led.
static void follow(struct thread *t, const struct place *place) {
    if (t->last->flow == FLOW_CALLS) {
        t->frame[t->depth++ % FRAMES] = t->last->after;
    } else if (t->last->flow == FLOW_RETURNS) {
        const uint64_t lowest = t->depth > SEARCHED ? t->depth - SEARCHED : 0;
        for (uint64_t depth = t->depth; depth > lowest; depth--)
            if (t->frame[(depth - 1) % FRAMES] == place->block->vaddr) {
                t->depth = depth - 1;
                break;
            }
        while (t->active && t->activation[t->active - 1].depth > t->depth)
            leave(t);
    }
}

/// The thread that is furthest behind `t`, if it is too far; NULL when all are near.
static struct thread *straggler(const struct thread *t) {
    struct thread *last = NULL;
    for (struct thread *other = on_core; other < on_core + options->threads; other++)
        if (other->live && !other->core->paused && other->blocks != other->asleep &&
            other->core->ticks + AHEAD < t->core->ticks && (!last || other->core->ticks < last->core->ticks))
            last = other;
    return last;
}

static void let_others_catch_up(const struct thread *t) {
    struct thread *last = straggler(t);
    if (!last)
        return;
    const uint64_t blocks = last->blocks;
    const struct timespec nap = {.tv_nsec = NAP_NS};
    for (unsigned n = 0; n < NAPS && straggler(t) == last; n++)
        nanosleep(&nap, NULL);
    if (last->blocks == blocks)
        last->asleep = blocks;
}

static void progress(void) {
    if (pthread_mutex_trylock(&lock))
        return; // somebody else is writing
    if (!ended)
        results_progress();
    pthread_mutex_unlock(&lock);
}

void user_block(unsigned vcpu, const struct place *place) {
    struct thread *t = vcpu < USER_VCPUS ? thread[vcpu] : NULL;
    if (!t)
        return;
    const bool paused = t->core->paused;
    if (!paused)
        core_begin_block(t->core, place->block);
    if (t->last->flow != FLOW_ON)
        follow(t, place);
    t->last = place;
    if (place->mark)
        enter(t, place->mark - 1u);
    if (paused && !t->core->paused)
        restart(t->core, place->block);
    t->blocks++;
    if (!(t->blocks % COMPARE_EVERY) && options->threads > 1) {
        if (!t->core->paused)
            let_others_catch_up(t);
        else if (t->active && options->mark[t->activation[t->active - 1].mark].kind == MARK_BARRIER)
            sched_yield(); // it spins: let those that it waits for run
    }
    if (place->flow == FLOW_CALLS)
        host_core = t->core;
    if (__builtin_expect(!(t->blocks % PROGRESS), 0))
        progress();
}
