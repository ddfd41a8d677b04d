// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "weave.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hierarchy.h"
#include "memory.h"
#include "npu_time.h"

enum {
    LOG_ENTRIES = 1 << 24,   // of each core, between two barriers: more than 0.5 GB of lines read
    ALONE_ENTRIES = 1 << 12, // the same while only one core runs
    ALL = (1 << MODEL_CORES) - 1,
    AGENTS = MODEL_CORES + 1, // on the bus: the cores and
    NPU = MODEL_CORES,        // the NPU
    READS = 256,              // lines that one core has read last and may not have used yet
    OWNERS = 1 << 14,         // lines of which the last writer is remembered
    // A core uses the bus together with others while it has one of so many last transfers: more than all of
    // them have under way at once, since they may get their turns in bursts of that length. Assumed.
    TOGETHER = 256
};

static struct {
    unsigned cores;
    struct cache l3; // unused where the board has none
    struct channel dram;
    uint64_t owner[OWNERS]; // by line: line << 8 | core; what the cores see of each other between two weaves
    uint64_t transfers;     // over the bus
    uint64_t last_use[AGENTS]; // of `transfers`, by agent
} shared;

/// One core's log while it is replayed.
struct replay {
    struct core *core;
    size_t next;
    uint64_t time;  // of entry `next`; UINT64_MAX at the end
    uint64_t delay; // that others have caused up to here
    int64_t waited; // of it, in waits for the NPU
    uint64_t end;   // of its last transfer over the bus
    struct {
        uint64_t line, done;
    } read[READS];                   // by line: when the last ones read were there
    struct misses reads, overwrites; // the core's miss registers
    uint32_t waits_for;              // job of the NPU: nothing goes on before its end; 0: none
    bool overwrote; // the entry before was WEAVE_OVERWRITE: the line takes the place of the one that leaves
                    // now
};

static struct core *core_of(unsigned n) {
    return &cores[n];
}

void hierarchy_log(void) {
    if (shared.cores)
        return;
    shared.cores = 1;
    if (cores[0].l3.entry)
        cache_copy(&shared.l3, &cores[0].l3);
    channel_init(&shared.dram, DRAM_INTERVAL);
    for (unsigned n = 0; n < MODEL_CORES; n++) {
        struct weave_log *log = &core_of(n)->log;
        log->entry = mmap(NULL, LOG_ENTRIES * sizeof *log->entry, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (log->entry == MAP_FAILED)
            abort();
    }
}

bool weave_alone_so_far(void) {
    return shared.cores == 1;
}

void hierarchy_share(unsigned count) {
    if (count < 2 && !shared.cores)
        return;
    hierarchy_log();
    if (shared.cores == 1)
        hierarchy_weave(ALL);
    shared.cores = count;
}

void weave_log(struct core *core, uint64_t now, uint64_t line, enum weave_kind kind, uint64_t latency,
               bool waits) {
    struct weave_log *log = &core->log;
    if (shared.cores == 1 && log->count >= ALONE_ENTRIES && !npu_time_pending())
        hierarchy_weave(ALL); // nobody else runs
    if (log->count == LOG_ENTRIES) {
        log->dropped++;
        return;
    }
    log->entry[log->count++] = (struct weave_entry){
        .when = now, .line = (uint32_t)line, .kind = kind, .waits = waits, .latency = (uint32_t)latency};
}

static uint64_t *owner_of(uint64_t line) {
    return &shared.owner[line % OWNERS];
}

bool weave_held_elsewhere(const struct core *core, uint64_t line) {
    const uint64_t owner = *owner_of(line);
    return core->log.entry && owner >> 8 == line && (owner & 0xff) != (uint64_t)(core - cores);
}

/// How many others use the bus at the moment at which `agent` moves `lines`; of the profile's figures, which
/// are for so many cores, the last one holds for more.
static unsigned others_on_the_bus(unsigned agent, unsigned lines) {
    shared.last_use[agent] = shared.transfers += lines;
    unsigned others = 0;
    for (unsigned n = 0; n < AGENTS; n++)
        others += n != agent && shared.last_use[n] && shared.transfers - shared.last_use[n] < TOGETHER;
    return others < MODEL_CORES ? others : MODEL_CORES - 1;
}

static uint64_t transfer(struct replay *replay, uint64_t now, const uint64_t *cost) {
    const unsigned others = others_on_the_bus((unsigned)(replay->core - cores), 1);
    const uint64_t begin = channel_take(&shared.dram, now, cost[others]);
    if (begin + cost[others] > replay->end)
        replay->end = begin + cost[others];
    return begin;
}

/// Asks the other cores' L2 for a line. True where one has it.
static bool snoop(const struct core *reader, unsigned mask, uint64_t line, bool *dirty) {
    bool held = false;
    *dirty = false;
    for (unsigned n = 0; n < MODEL_CORES; n++) {
        bool was_dirty = false;
        if (mask >> n & 1 && core_of(n) != reader)
            held |= memory_snoop(core_of(n), line, &was_dirty);
        *dirty |= was_dirty;
    }
    return held;
}

/// Puts a line into L3. Returns when a write to DRAM that this causes has begun.
static uint64_t into_l3(struct replay *replay, uint64_t now, uint64_t line, uint32_t dirty) {
    uint32_t victim = tag_of(line) | dirty;
    if (shared.l3.entry && !memory_transient(line)) {
        uint32_t *held = cache_find(&shared.l3, line);
        if (held) {
            *held |= dirty;
            cache_use(&shared.l3, held);
            return now;
        }
        victim = cache_insert(&shared.l3, line, dirty, 0);
    }
    return victim != NO_LINE && victim & LINE_DIRTY ? transfer(replay, now, timing.dram_write) : now;
}

/// A core reads a line into its L2. Returns when it has it.
static uint64_t read_line(struct replay *replay, unsigned mask, uint64_t now, uint64_t line) {
    bool dirty;
    const bool elsewhere = snoop(replay->core, mask, line, &dirty);
    if (dirty) {
        into_l3(replay, now, line, LINE_DIRTY);
        *owner_of(line) = 0;
    }
    uint32_t *held = shared.l3.entry ? cache_find(&shared.l3, line) : NULL;
    if (held) {
        if (elsewhere || *held & LINE_DIRTY)
            cache_use(&shared.l3, held); // stays for the others
        else
            *held = NO_LINE;
    }
    if (held || elsewhere)
        return now + timing.l3_wait;
    return transfer(replay, now, timing.dram_read) + timing.dram_wait;
}

/// A core writes a line: no other one may keep it.
static void own(const struct core *writer, unsigned mask, uint64_t line) {
    for (unsigned n = 0; n < MODEL_CORES; n++)
        if (mask >> n & 1 && core_of(n) != writer)
            memory_invalidate(core_of(n), line);
    if (shared.l3.entry)
        cache_remove(&shared.l3, line);
    *owner_of(line) = line << 8 | (uint64_t)(writer - cores);
}

static void set_time(struct replay *replay) {
    const struct weave_log *log = &replay->core->log;
    replay->time = replay->next < log->count ? log->entry[replay->next].when + replay->delay : UINT64_MAX;
}

/// The job has ended that the last entry waits for. Here the core may catch up: it has waited anyway.
static void go_on(struct replay *replay) {
    const struct weave_entry *entry = &replay->core->log.entry[replay->next - 1];
    const struct npu_timing *job = npu_time_of(replay->waits_for);
    const uint64_t asked = entry->when + replay->delay;
    const uint64_t now = job && job->end > asked ? job->end : asked;
    const uint64_t modeled = entry->when + (uint64_t)entry->latency * TICKS_PER_CYCLE;
    const uint64_t before = replay->delay;
    replay->delay = now > modeled ? now - modeled : 0;
    replay->waited += (int64_t)(replay->delay - before);
    replay->waits_for = 0;
    set_time(replay);
}

/// The next burst of the NPU.
static void replay_npu(struct replay *replays, unsigned count) {
    bool writes;
    const unsigned lines = npu_time_burst(&writes), others = others_on_the_bus(NPU, lines);
    const uint64_t cost = lines * (writes ? timing.dram_write : timing.dram_read)[others];
    const uint32_t ended = npu_time_moved(channel_take(&shared.dram, npu_time_next(), cost) + cost);
    for (struct replay *replay = replays; ended && replay < replays + count; replay++)
        if (replay->waits_for == ended)
            go_on(replay);
}

static void replay_entry(struct replay *replay, unsigned mask) {
    struct core *core = replay->core;
    const struct weave_entry *entry = &core->log.entry[replay->next];
    const uint64_t line = entry->line, asked = replay->time;
    uint64_t begin = asked, done = asked;
    replay->next++;
    switch ((enum weave_kind)entry->kind) {
    case WEAVE_NPU_SUBMIT:
        npu_time_submitted(entry->line, asked);
        break;
    case WEAVE_NPU_WAIT:
        replay->waits_for = entry->line;
        replay->time = UINT64_MAX;
        if (!npu_time_of(entry->line) || npu_time_of(entry->line)->ended)
            go_on(replay);
        return;
    case WEAVE_NPU_RESET:
        npu_time_was_reset(entry->line, asked);
        break;
    case WEAVE_READ:
        // It could not have asked for this line before it had a miss register for it.
        begin = misses_wait(&replay->reads, asked);
        done = read_line(replay, mask, begin, line);
        misses_hold(&replay->reads, done);
        replay->read[line % READS].line = line;
        replay->read[line % READS].done = done;
        break;
    case WEAVE_USE:
        done = replay->read[line % READS].line == line ? replay->read[line % READS].done : asked;
        break;
    case WEAVE_OVERWRITE:
        begin = misses_wait(&replay->overwrites, asked);
        own(core, mask, line);
        break;
    case WEAVE_EVICT:
    case WEAVE_EVICT_DIRTY:
        done = into_l3(replay, asked, line, entry->kind == WEAVE_EVICT_DIRTY ? LINE_DIRTY : 0);
        if (replay->overwrote)
            misses_hold(&replay->overwrites, done);
        break;
    case WEAVE_OWN:
        own(core, mask, line);
        break;
    case WEAVE_CLEAN:
        begin = misses_wait(&replay->overwrites, asked);
        misses_hold(&replay->overwrites, transfer(replay, begin, timing.dram_write) + timing.dram_write[0]);
        break;
    }
    replay->overwrote = entry->kind == WEAVE_OVERWRITE;
    replay->delay += begin - asked;
    if (entry->waits && done > begin + entry->latency)
        replay->delay += done - begin - entry->latency;
    set_time(replay);
}

/// The replay whose next entry comes first in modeled time; NULL at the end.
static struct replay *first_of(struct replay *replays, unsigned count) {
    struct replay *first = NULL;
    uint64_t time = UINT64_MAX;
    for (struct replay *replay = replays; replay < replays + count; replay++) {
        if (replay->time < time) {
            first = replay;
            time = replay->time;
        }
    }
    return first;
}

/// When all cores have stopped, or the end of time while one still waits for the NPU.
static uint64_t all_known_until(const struct replay *replays, unsigned count) {
    uint64_t until = 0;
    for (const struct replay *replay = replays; replay < replays + count; replay++) {
        const uint64_t time = replay->waits_for ? UINT64_MAX : replay->core->ticks + replay->delay;
        until = time > until ? time : until;
    }
    return until;
}

void hierarchy_weave(unsigned mask) {
    static struct replay replays[MODEL_CORES]; // (large)
    unsigned count = 0;
    for (unsigned n = 0; n < MODEL_CORES; n++) {
        if (!(mask >> n & 1) || !core_of(n)->log.entry)
            continue;
        replays[count] = (struct replay){.core = core_of(n)};
        replays[count].reads.count = core_of(n)->l2_misses.count;
        replays[count].overwrites.count = core_of(n)->l2_overwrites.count;
        set_time(&replays[count++]);
    }
    for (;;) {
        struct replay *first = first_of(replays, count);
        const uint64_t npu = npu_time_next();
        if (first && first->time <= npu)
            replay_entry(first, mask);
        else if (npu < (first ? first->time : all_known_until(replays, count)))
            replay_npu(replays, count);
        else
            break;
    }
    for (struct replay *replay = replays; replay < replays + count; replay++) {
        struct core *core = replay->core;
        const uint64_t before = core->ticks;
        core->ticks += replay->delay;
        if (core->ticks < replay->end) // as core_drain does with a core's own bus
            core->ticks = replay->end;
        core->counts.stall_ticks += core->ticks - before;
        core->wait_ticks = replay->waited;
        core->log.count = 0;
        if (core->l3.entry)
            cache_copy(&core->l3, &shared.l3);
    }
}
