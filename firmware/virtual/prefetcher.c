// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// The prefetcher of loads (TRM: into L1D and L2, trained by virtual addresses), and the detection of stores
// that write whole lines one after the other.
#include "memory.h"

enum {
    SEQUENCE_NEAR = 8,   // lines that a sequential stream is fetched ahead into L1D: assumed
    SEQUENCE_ONCE = 16,  // in mode `fast`, where lines are there at once and one step will do: assumed
    SEQUENCE_FAR = 32,   // and into L2: assumed; what the bus carries in one latency is 25 lines on the Pi 5
    SEQUENCE_STEP = 4,   // lines by which it may advance at once: assumed
    STRIDES_AHEAD = 8,   // distance of the stride prefetcher: assumed
    CONFIDENT = 2,       // equal strides before it starts: assumed
    LONGEST_STRIDE = 64, // lines: assumed
};

/// Fetches the lines from *next, or from `first` where that lies outside, up to `last`.
static void run_ahead(struct core *core, uint64_t now, uint32_t *next, uint32_t first, uint32_t last,
                      bool into_l1d) {
    uint32_t line = *next - first <= last + 1 - first ? *next : first;
    while (line != last + 1 && memory_prefetch(core, now, line, into_l1d, LINE_PREFETCHED))
        line++;
    *next = line;
}

/// A sequential stream, whichever instructions read it: `line` continues one if it lies at most a few lines
/// beyond the last that did. Then the lines ahead of it are fetched.
static bool follow_sequence(struct core *core, uint64_t now, uint32_t line) {
    for (struct sequence *s = core->sequence; s < core->sequence + SEQUENCES; s++) {
        if (line - s->last - 1 >= SEQUENCE_STEP)
            continue;
        s->last = line;
        if (s->confidence < CONFIDENT && ++s->confidence < CONFIDENT)
            return true;
        if (!core->l2.ready) {
            run_ahead(core, now, &s->near, line + 1, line + SEQUENCE_ONCE, true);
            return true;
        }
        run_ahead(core, now, &s->near, line + 1, line + SEQUENCE_NEAR, true);
        run_ahead(core, now, &s->far, line + SEQUENCE_NEAR + 1, line + SEQUENCE_FAR, false);
        return true;
    }
    return false;
}

void prefetcher_train(struct core *core, uint64_t now, uint32_t site, uint64_t line) {
    struct stream *stream = &core->stream[site];
    const int32_t stride = (int32_t)((uint32_t)line - stream->last);
    stream->last = (uint32_t)line;
    if (follow_sequence(core, now, (uint32_t)line))
        return;
    core->sequence[core->next_sequence++ % SEQUENCES] = (struct sequence){.last = (uint32_t)line};
    if (stride != stream->stride) {
        stream->stride = stride;
        stream->confidence = 1;
        stream->lead = 0;
        return;
    }
    if (!stride || stride > LONGEST_STRIDE || stride < -LONGEST_STRIDE)
        return;
    if (stream->confidence < CONFIDENT && ++stream->confidence < CONFIDENT)
        return;
    unsigned n = stream->lead ? stream->lead : 1; // `line` itself was the first of them
    while (n <= STRIDES_AHEAD &&
           memory_prefetch(core, now, line + (uint64_t)((int64_t)stride * n), true, LINE_PREFETCHED))
        n++;
    stream->lead = (uint8_t)(n - 1);
}

struct store_stream *prefetcher_follow_store(struct core *core, uint64_t line, unsigned bytes) {
    struct store_stream *next = NULL;
    for (unsigned n = 0; n < STORE_STREAMS; n++) {
        struct store_stream *stream = &core->store_stream[n];
        if (stream->line == (uint32_t)line) {
            core->storing = n;
            stream->bytes += bytes;
            return stream;
        }
        if (stream->line + 1 == (uint32_t)line)
            next = stream;
    }
    if (!next) {
        next = &core->store_stream[core->next_store_stream++ % STORE_STREAMS];
        *next = (struct store_stream){.line = (uint32_t)line, .bytes = bytes};
    } else {
        const bool whole = next->bytes >= LINE_BYTES;
        next->confidence = whole ? next->confidence + (next->confidence < STORE_CONFIDENT) : 0;
        next->line = (uint32_t)line;
        next->bytes = bytes;
    }
    core->storing = (unsigned)(next - core->store_stream);
    return next;
}
