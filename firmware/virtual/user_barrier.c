// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include <pthread.h>

#include "hierarchy.h"
#include "user.h"

// What the program's barrier itself costs the last one to arrive: one line handed from core to core, and
// back. Assumed; not measured.
enum { BARRIER_CYCLES = 150 };

/// One use of a barrier. Nobody leaves before all have arrived, so that the first departure completes it; and
/// nobody can be further ahead than the next one.
enum { INSTANCES = 4 };
static struct instance {
    unsigned cores; // bit n: cores[n] has arrived
    bool complete;
    uint64_t latest;
} instance[INSTANCES];

static unsigned current;
static uint64_t released;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

unsigned user_barrier_arrive(struct core *core) {
    core_drain(core);
    pthread_mutex_lock(&lock);
    if (instance[current].complete) {
        current = (current + 1) % INSTANCES;
        instance[current] = (struct instance){0};
    }
    instance[current].cores |= 1u << (core - cores);
    const unsigned number = current;
    pthread_mutex_unlock(&lock);
    return number;
}

static void complete(struct instance *barrier) {
    hierarchy_weave(barrier->cores);
    for (unsigned c = 0; c < MODEL_CORES; c++)
        if (barrier->cores >> c & 1 && cores[c].ticks > barrier->latest)
            barrier->latest = cores[c].ticks;
    if (barrier->cores & (barrier->cores - 1)) // one core alone waits for nobody
        barrier->latest += BARRIER_CYCLES * TICKS_PER_CYCLE;
    if (barrier->latest > released)
        released = barrier->latest;
    barrier->complete = true;
}

void user_barrier_depart(struct core *core, unsigned number) {
    struct instance *barrier = &instance[number];
    pthread_mutex_lock(&lock);
    if (!barrier->complete)
        complete(barrier);
    if (core->ticks < barrier->latest)
        core->ticks = barrier->latest;
    pthread_mutex_unlock(&lock);
}

uint64_t user_barrier_released(void) {
    pthread_mutex_lock(&lock);
    const uint64_t ticks = released;
    pthread_mutex_unlock(&lock);
    return ticks;
}
