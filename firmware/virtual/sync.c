// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "sync.h"

#include <pthread.h>

// From the last arrival to the first instruction behind the barrier: an atomic on a contended line for each
// core, then the line with the sense to all who wait. Assumed: 4 x 40 cycles between cores of a DSU, and 40
// more.
enum { BARRIER_CYCLES = 200 };
#define BARRIER_TICKS ((uint64_t)BARRIER_CYCLES * TICKS_PER_CYCLE)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned team = 1;
static uint32_t waiting; // bit n: core n has arrived, and its barrier is not complete
static uint64_t released[MODEL_CORES], epoch;
static uint64_t began;              // of the interval since the last barrier, in ticks
static uint64_t lines[MODEL_CORES]; // to and from DRAM, as of the last barrier
static unsigned violations;

static uint64_t lines_of(const struct core *core) {
    return core->counts.dram_reads + core->counts.dram_writes;
}

/// Each core was modeled as if it had the memory bus to itself. Where all together have moved more than the
/// bus can carry, those that used it most were held up for as long as that took, the others in proportion.
static void share_bus(void) {
    uint64_t moved[MODEL_CORES], all = 0, most = 0, latest = 0;
    for (unsigned c = 0; c < team; c++) {
        moved[c] = lines_of(&cores[c]) - lines[c];
        lines[c] += moved[c];
        all += moved[c];
        most = moved[c] > most ? moved[c] : most;
        latest = cores[c].ticks > latest ? cores[c].ticks : latest;
    }
    const uint64_t possible = began + all * timing.dram_line;
    for (unsigned c = 0; c < team; c++) {
        const uint64_t delay =
            possible > latest ? (uint64_t)((double)(possible - latest) * (double)moved[c] / (double)most) : 0;
        cores[c].ticks += delay;
        cores[c].delay_ticks = delay;
        cores[c].counts.stall_ticks += delay;
    }
}

/// All have arrived.
static void complete(void) {
    uint64_t latest = 0;
    if (team > 1)
        share_bus();
    for (unsigned c = 0; c < team; c++) {
        cores[c].arrived_ticks = cores[c].ticks;
        latest = cores[c].ticks > latest ? cores[c].ticks : latest;
    }
    epoch++;
    began = latest + BARRIER_TICKS;
    for (unsigned c = 0; c < team; c++)
        released[c] = began;
    waiting &= ~((1u << team) - 1);
}

void sync_team(unsigned count) {
    pthread_mutex_lock(&lock);
    team = count < 1 ? 1 : count > MODEL_CORES ? MODEL_CORES : count;
    epoch++;
    began = cores[0].ticks;
    // How core 0 wakes the others depends on the host, too.
    cores[0].stopped = cores[0].paused = team > 1;
    for (unsigned c = 0; c < team; c++) {
        lines[c] = lines_of(&cores[c]);
        released[c] = began + BARRIER_TICKS;
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
