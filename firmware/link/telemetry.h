// SPDX-License-Identifier: Apache-2.0
// Spans: what one kernel call cost one core. Every span is added to totals per kernel, phase and core, and,
// while events are on, becomes a record of the next KERNELS frame. -DTELEMETRY=0 turns all of it into
// nothing.
//
// Spans do not nest, except KERNEL_STEP, which encloses one prefill batch or one decode step.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hal/npu.h"
#include "hal/pmu.h"
#include "schema/wire.h"

#ifndef TELEMETRY
#define TELEMETRY 1
#endif

/// One piece of work: begin, end. `work` is multiply-accumulates, or elements where a kernel does none.
struct span {
    struct pmu_sample begin;
};

/// One event made of pieces, for work that alternates with other work inside a loop. Start from `= {0}`.
/// The event starts where the first piece does, and its cycles are those of the pieces alone.
struct span_sum {
    struct pmu_sample begin;
    struct pmu_sample sum;
    uint64_t start_cycles;
    uint32_t pieces;
};

#if TELEMETRY

void span_begin(struct span *span);
void span_end(struct span *span, enum kernel kernel, unsigned layer, uint64_t work);

void span_sum_begin(struct span_sum *sum);
void span_sum_end(struct span_sum *sum);
/// Ends a piece of `from` and begins one of `to` at the same instant, with one reading of the counters.
void span_sum_switch(struct span_sum *from, struct span_sum *to);
/// Records the pieces as one event and empties `sum`. Without pieces it does nothing.
void span_sum_emit(struct span_sum *sum, enum kernel kernel, unsigned layer, uint64_t work);

/// The calling core has just gone on after waiting for others: an event of KERNEL_WAIT, from its arrival to
/// now. What the others have cost the core until then goes to the event before. With `began` it has begun a
/// job: only a wait since an event of the same step counts.
void telemetry_waited(unsigned layer, bool began);

/// Records a finished job of the NPU. Core 0.
void telemetry_npu(enum kernel kernel, unsigned layer, uint64_t macs, const struct npu_record *times);

/// Sends the frames that all cores have made. Core 0, outside of jobs.
void telemetry_collect(void);

/// Phase and number of the enclosing prefill batch or decode step, for the events that follow. Between steps,
/// that is, outside of every span; now and then it sends the totals, if there is room.
void telemetry_step(enum phase phase, uint32_t step);

/// Sends what all cores have batched, while only core 0 works. Dropped, and counted as dropped, when the ring
/// has no room.
void telemetry_flush(void);

/// Turns single events on or off; totals are always kept. They start on, and off where a UART is the link.
void telemetry_events(bool on);

/// Measures what an event costs. After pmu_init.
void telemetry_init(void);

/// Sends all totals that are not zero, as one or more TOTALS frames. Waits for room.
void telemetry_send_totals(void);

/// Forgets all totals. Between requests.
void telemetry_restart(void);

/// Fills the telemetry fields of a STATUS message.
void telemetry_status(struct status *status);

#else

static inline void span_begin(struct span *span) {
    (void)span;
}
static inline void span_end(struct span *span, enum kernel kernel, unsigned layer, uint64_t work) {
    (void)span, (void)kernel, (void)layer, (void)work;
}
static inline void span_sum_begin(struct span_sum *sum) {
    (void)sum;
}
static inline void span_sum_end(struct span_sum *sum) {
    (void)sum;
}
static inline void span_sum_switch(struct span_sum *from, struct span_sum *to) {
    (void)from, (void)to;
}
static inline void span_sum_emit(struct span_sum *sum, enum kernel kernel, unsigned layer, uint64_t work) {
    (void)sum, (void)kernel, (void)layer, (void)work;
}
static inline void telemetry_waited(unsigned layer, bool began) {
    (void)layer, (void)began;
}
static inline void telemetry_npu(enum kernel kernel, unsigned layer, uint64_t macs,
                                 const struct npu_record *times) {
    (void)kernel, (void)layer, (void)macs, (void)times;
}
static inline void telemetry_collect(void) {}
static inline void telemetry_step(enum phase phase, uint32_t step) {
    (void)phase, (void)step;
}
static inline void telemetry_flush(void) {}
static inline void telemetry_events(bool on) {
    (void)on;
}
static inline void telemetry_init(void) {}
static inline void telemetry_send_totals(void) {}
static inline void telemetry_restart(void) {}
static inline void telemetry_status(struct status *status) {
    (void)status;
}

#endif
