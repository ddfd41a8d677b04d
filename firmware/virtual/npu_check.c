// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "npu_check.h"

#include <sys/mman.h>

#include "npu.h"
#include "races.h"

enum { INPUT = 1, RESULT = 2 }; // a line was that of some job; which one, the device knows

/// What is known of a line.
struct line {
    uint8_t held;     // bit n: core n has touched it since it was last invalidated
    uint8_t stale;    // bit n: and before results came into it
    uint8_t used;     // INPUT, RESULT
    uint32_t written; // by the instruction here, last
};

static const struct options *board;
static struct line *lines;

const char *npu_check_open(const struct options *options) {
    if (!options->npu.bytes)
        return NULL;
    lines = mmap(NULL, (options->ram_bytes >> LINE_SHIFT) * sizeof *lines, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (lines == MAP_FAILED)
        return "check=on: there is no address space for it";
    board = options;
    return NULL;
}

static struct line *line_at(uint64_t address) {
    return &lines[(address - board->ram_base) >> LINE_SHIFT];
}

/// Notes lines of `part` that are dirty, and that they are in use.
static void begin(struct extent part, uint8_t used, enum finding_kind kind, uint32_t sequence) {
    for (uint64_t at = part.base & ~UINT64_C(63); at < part.base + part.bytes; at += LINE_BYTES) {
        if (races_dirty(at))
            races_note(kind, at, sequence, line_at(at)->written);
        __atomic_fetch_or(&line_at(at)->used, used, __ATOMIC_RELAXED);
    }
}

static struct extent row_of(const struct npu_job *job, uint32_t row) {
    return (struct extent){job->out + (uint64_t)row * job->out_stride, npu_job_row_bytes(job)};
}

void npu_check_begin(uint32_t sequence, const struct npu_work *work) {
    if (!board)
        return;
    for (unsigned n = 0; n < npu_input_count(work); n++)
        begin(npu_input(work, n), INPUT, FINDING_DIRTY_INPUT, sequence);
    for (uint32_t row = 0; row < work->job.rows; row++)
        begin(row_of(&work->job, row), RESULT, FINDING_DIRTY_RESULT, sequence);
}

void npu_check_end(const struct npu_job *job) {
    if (!board)
        return;
    for (uint32_t row = 0; row < job->rows; row++) {
        const struct extent part = row_of(job, row);
        for (uint64_t at = part.base; at < part.base + part.bytes; at += LINE_BYTES)
            line_at(at)->stale = line_at(at)->held;
    }
}

void npu_check_access(const struct core *core, uint64_t address, unsigned bytes, uint32_t pc, bool writes) {
    if (!board)
        return;
    const uint8_t self = (uint8_t)(1u << (core - cores));
    struct line *line = line_at(address);
    const struct extent part = {address, bytes};
    uint32_t sequence;
    if (line->used & RESULT && (sequence = npu_unobserved(core, part, true)))
        races_note(writes ? FINDING_RESULT_WRITTEN : FINDING_EARLY, address & ~UINT64_C(63), sequence, pc);
    else if (line->stale & self)
        races_note(FINDING_STALE_RESULT, address & ~UINT64_C(63), 0, pc);
    if (writes && line->used & INPUT && (sequence = npu_unobserved(core, part, false)))
        races_note(FINDING_INPUT_WRITTEN, address & ~UINT64_C(63), sequence, pc);
    if (!(line->held & self))
        __atomic_fetch_or(&line->held, self, __ATOMIC_RELAXED);
    if (writes)
        line->written = pc;
}

void npu_check_forget(uint64_t address) {
    if (board)
        line_at(address)->held = line_at(address)->stale = 0;
}
