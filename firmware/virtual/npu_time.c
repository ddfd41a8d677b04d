// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "npu_time.h"

#include "core.h"
#include "schema/image.h"

enum {
    BURST_LINES = 8, // assumed: 512 bytes at a time
    IN_FLIGHT = 8    // bursts that wait for the bus at once. Assumed: 64 lines, a core's L2 has 46
};

static struct {
    const struct options *board;
    struct npu_timing job[NPU_RECORDS];
    uint64_t startup; // ticks
    uint32_t last;    // accepted
    uint64_t link[2]; // ticks of a burst on the NPU's own way to the bus: read, written
    // What the weave has come to: jobs before `head` have ended, those up to `queued` were submitted.
    uint32_t head, queued;
    uint64_t free;            // when the last one ended
    uint64_t moved, asked;    // bursts of the head; when its next one is due
    uint64_t done[IN_FLIGHT]; // when its last ones were over
} npu = {.head = 1};

static uint64_t latest(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static struct npu_timing *job_of(uint32_t sequence) {
    return &npu.job[sequence % NPU_RECORDS];
}

/// Ticks for `amount` of something that goes at `per_second`, rounded up.
static uint64_t ticks_for(uint64_t amount, uint64_t per_second) {
    const unsigned __int128 ticks = (unsigned __int128)amount * TICKS_PER_CYCLE * npu.board->clock_hz;
    return (uint64_t)((ticks + per_second - 1) / per_second);
}

void npu_time_init(const struct options *options) {
    npu.board = options;
    npu.startup = options->npu.startup_cycles * TICKS_PER_CYCLE;
    const uint64_t own = ticks_for(BURST_LINES * LINE_BYTES, options->npu.bytes_per_s);
    npu.link[0] = latest(own, BURST_LINES * timing.dram_read[0]);
    npu.link[1] = latest(own, BURST_LINES * timing.dram_write[0]);
}

const struct npu_timing *npu_time_of(uint32_t sequence) {
    const struct npu_timing *job = job_of(sequence);
    return sequence && job->sequence == sequence ? job : NULL;
}

bool npu_time_room(void) {
    return npu.last + 1 - npu.head < NPU_RECORDS;
}

bool npu_time_pending(void) {
    return npu.last >= npu.head;
}

/// Results are written as they become ready: evenly among what is read.
static uint64_t writes_among(const struct npu_timing *job, uint64_t bursts) {
    return bursts * job->writes / job->bursts;
}

static bool next_writes(const struct npu_timing *job) {
    return writes_among(job, npu.moved + 1) > writes_among(job, npu.moved);
}

/// Of all bursts but the first `moved`, on the NPU's own way.
static uint64_t rest_of(const struct npu_timing *job, uint64_t moved) {
    const uint64_t writes = job->writes - writes_among(job, moved);
    return writes * npu.link[1] + (job->bursts - moved - writes) * npu.link[0];
}

/// The job's end if nothing else uses the bus from burst `moved` on, which is due at `asked`.
static void estimate(struct npu_timing *job, uint64_t moved, uint64_t asked) {
    job->end = job->hangs ? UINT64_MAX : latest(job->begin + job->mac_ticks, asked + rest_of(job, moved));
}

static void estimate_queued(struct npu_timing *job, uint64_t free) {
    job->begin = free == UINT64_MAX ? free : latest(job->submitted + npu.startup, free);
    if (job->begin == UINT64_MAX)
        job->end = UINT64_MAX;
    else
        estimate(job, 0, job->begin);
}

void npu_time_add(uint32_t sequence, const struct npu_work *work, uint64_t now) {
    const struct options *board = npu.board;
    const struct npu_job *job = &work->job;
    const bool bytes = job->format == TENSOR_FORMAT_Q8_0 || work->pages;
    const uint64_t burst = BURST_LINES * LINE_BYTES, moves = npu_job_bytes(work);
    const uint64_t writes = (uint64_t)job->rows * npu_job_row_bytes(job);
    struct npu_timing *timing = job_of(sequence);
    const struct npu_timing *before = npu_time_of(sequence - 1);
    const uint64_t free = before ? before->end : 0;
    *timing = (struct npu_timing){.sequence = sequence,
                                  .hangs = board->npu.hangs == sequence,
                                  .mac_ticks = ticks_for(npu_job_macs(work), board->npu.macs_per_s[bytes]),
                                  .bytes = moves,
                                  .bursts = (moves + burst - 1) / burst,
                                  .writes = writes / burst,
                                  .submitted = now};
    estimate_queued(timing, free);
    npu.last = sequence;
}

void npu_time_give_up(uint32_t sequence, uint64_t now) {
    for (uint32_t n = npu.head; n <= sequence; n++)
        job_of(n)->end = now < job_of(n)->end ? now : job_of(n)->end;
}

/// The head, if its submission was woven, begins.
static void begin_head(void) {
    if (npu.head > npu.queued)
        return;
    struct npu_timing *job = job_of(npu.head);
    job->begin = latest(job->submitted + npu.startup, npu.free);
    npu.asked = job->begin;
    npu.moved = 0;
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        npu.done[i] = 0;
}

static void end_head(uint64_t now) {
    struct npu_timing *job = job_of(npu.head++);
    job->end = npu.free = now;
    job->ended = true;
    begin_head();
}

uint64_t npu_time_next(void) {
    return npu.head > npu.queued || job_of(npu.head)->hangs ? UINT64_MAX : npu.asked;
}

unsigned npu_time_burst(bool *writes) {
    *writes = next_writes(job_of(npu.head));
    return BURST_LINES;
}

uint32_t npu_time_moved(uint64_t done) {
    const struct npu_timing *job = job_of(npu.head);
    const uint64_t over = npu.asked + npu.link[next_writes(job)];
    npu.done[npu.moved++ % IN_FLIGHT] = done;
    if (npu.moved == job->bursts) {
        const uint64_t moved = latest(over, done);
        end_head(latest(job->begin + job->mac_ticks, moved));
        return job->sequence;
    }
    // The next one: behind this one, as the arithmetic needs it, and when a place for it is free.
    const uint64_t needed = job->begin + job->mac_ticks * npu.moved / job->bursts;
    npu.asked = latest(latest(over, needed), npu.done[npu.moved % IN_FLIGHT]);
    return 0;
}

void npu_time_submitted(uint32_t sequence, uint64_t now) {
    job_of(sequence)->submitted = now;
    npu.queued = sequence;
    if (npu.head == sequence)
        begin_head();
}

void npu_time_was_reset(uint32_t sequence, uint64_t now) {
    while (npu.head <= sequence)
        end_head(now);
}

void npu_time_estimate(void) {
    uint64_t free = npu.free;
    for (uint32_t n = npu.head; n <= npu.last; n++) {
        struct npu_timing *job = job_of(n);
        if (n == npu.head && n <= npu.queued)
            estimate(job, npu.moved, npu.asked);
        else
            estimate_queued(job, free);
        free = job->end;
    }
}
