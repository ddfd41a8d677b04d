// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "sync.h"

#include <pthread.h>

#include "device_page.h"
#include "hierarchy.h"
#include "npu.h"

// From the last arrival to the first instruction behind the barrier: an atomic on a contended line for each
// core, then the line with the sense to all who wait. Assumed: 4 x 40 cycles between cores of a DSU, and 40
// more.
enum { BARRIER_CYCLES = 200 };
#define BARRIER_TICKS ((uint64_t)BARRIER_CYCLES * TICKS_PER_CYCLE)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned team = 1;
static uint32_t waiting; // bit n: core n has arrived, and its barrier is not complete
static uint64_t released[MODEL_CORES], epoch;
static unsigned violations;

/// All have arrived.
static void complete(void) {
    uint64_t latest = 0;
    hierarchy_weave((1u << MODEL_CORES) - 1); // those outside the team stand still
    npu_woven();
    for (unsigned c = 0; c < team; c++) {
        cores[c].delay_ticks = cores[c].ticks - cores[c].arrived_ticks;
        cores[c].arrived_ticks = cores[c].ticks;
        latest = cores[c].ticks > latest ? cores[c].ticks : latest;
        device_page_arrived(&cores[c]);
    }
    epoch++;
    for (unsigned c = 0; c < team; c++)
        released[c] = latest + BARRIER_TICKS;
    waiting &= ~((1u << team) - 1);
}

void sync_team(unsigned count) {
    pthread_mutex_lock(&lock);
    team = count < 1 ? 1 : count > MODEL_CORES ? MODEL_CORES : count;
    epoch++;
    hierarchy_share(team);
    npu_woven();
    // How core 0 wakes the others depends on the host, too.
    cores[0].stopped = cores[0].paused = team > 1;
    for (unsigned c = 0; c < team; c++) {
        released[c] = cores[0].ticks + BARRIER_TICKS;
        waiting &= ~(1u << c);
    }
    pthread_mutex_unlock(&lock);
}

void sync_arrive(struct core *core) {
    const unsigned number = (unsigned)(core - cores);
    const uint32_t mask = (1u << team) - 1;
    pthread_mutex_lock(&lock);
    core_drain(core);
    core->stopped = core->paused = true;
    core->arrived_ticks = core->ticks;
    core->delay_ticks = 0;
    waiting |= 1u << number;
    if ((waiting & mask) == mask)
        complete();
    pthread_mutex_unlock(&lock);
}

void sync_depart(struct core *core) {
    const unsigned number = (unsigned)(core - cores);
    pthread_mutex_lock(&lock);
    if (waiting >> number & 1) {
        waiting &= ~(1u << number);
        violations++;
    } else if (core->stopped) {
        core->ticks = released[number];
        core->epoch = epoch;
    }
    core->stopped = core->paused = false;
    pthread_mutex_unlock(&lock);
}

unsigned sync_violations(void) {
    return violations;
}
