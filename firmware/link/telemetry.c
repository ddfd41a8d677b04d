// SPDX-License-Identifier: Apache-2.0
#include "link/telemetry.h"

#if TELEMETRY

#include <arm_neon.h>

#include "arch/cpu.h"
#include "arch/string.h"
#include "board_config.h"
#include "hal/cores.h"
#include "link/frame.h"
#include "link/outbox.h"

#define BATCH            (FRAME_PAYLOAD_MAX / sizeof(struct kernel_event))
#define BATCH_ROOM       (2 * BATCH) // so that events can stay until a barrier says what they cost
#define SINCE_MAX        8           // events between two barriers that are kept an eye on
#define TOTALS_PER_FRAME (FRAME_PAYLOAD_MAX / sizeof(struct kernel_total))
#define TOTALS_INTERVAL  16 // steps; totals are sent again when a request ends
#define CALIBRATION_RUNS 64

/// What one core has counted. Cores do not share lines: each writes its own, and core 0 reads the others'
/// only while they wait.
static struct core_telemetry {
    _Alignas(128) struct kernel_total totals[PHASE_COUNT][KERNEL_COUNT];
    struct kernel_event batch[BATCH_ROOM];
    unsigned batched;
    struct {
        struct kernel_event *event; // NULL where single events are off
        struct kernel_total *total;
        uint64_t cycles;
        bool waits;     // for the NPU
    } since[SINCE_MAX]; // the last barrier
    unsigned since_count;
    enum phase last_phase;
    uint32_t last_step;
    uint64_t samples; // readings of all counters
    uint64_t events;
    uint64_t flush_cycles;
    uint64_t dropped_events;
    uint32_t dropped_batches;
    struct outbox outbox;
} cores[BOARD_CORES];

// Of the NPU since the last job of the cores: a layer has at most seven matrices in two halves, and pieces of
// attention (engine/offload_attention.h).
#define NPU_EVENTS_MAX   160
#define NPU_FRAME_EVENTS (FRAME_PAYLOAD_MAX / sizeof(struct npu_event))
static struct npu_event npu_events[NPU_EVENTS_MAX];
static unsigned npu_count;

static enum phase current_phase;
static uint32_t current_step;
static bool events_on = !BOARD_LINK_UART;            // a line has no room for them
static uint64_t cycles_per_sample, cycles_per_event; // of telemetry itself

static void take_sample(struct pmu_sample *sample) {
    pmu_read(sample);
    cores[core_number()].samples++;
}

_Static_assert(COUNTERS == 6 && sizeof(struct pmu_sample) == 8 * sizeof(uint64_t), "handled in pairs below");

static inline void add_pair(uint64_t *to, const uint64_t *from) {
    vst1q_u64(to, vaddq_u64(vld1q_u64(to), vld1q_u64(from)));
}

/// sum += end - begin
static void add_difference(struct pmu_sample *sum, const struct pmu_sample *begin,
                           const struct pmu_sample *end) {
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)begin, *now = (const uint64_t *)end;
    for (unsigned i = 0; i < 8; i += 2) {
        uint64x2_t difference = vsubq_u64(vld1q_u64(now + i), vld1q_u64(from + i));
        vst1q_u64(to + i, vaddq_u64(vld1q_u64(to + i), difference));
    }
}

/// The first events of the batch become a frame in the outbox.
static void put_batch(struct core_telemetry *own) {
    uint64_t begin = pmu_cycles();
    if (!outbox_put(&own->outbox, MESSAGE_TYPE_KERNELS, own->batch, BATCH, sizeof own->batch[0])) {
        own->dropped_batches++;
        own->dropped_events += BATCH;
    }
    own->batched -= BATCH;
    memmove(own->batch, own->batch + BATCH, own->batched * sizeof own->batch[0]);
    own->since_count = 0;
    own->flush_cycles += pmu_cycles() - begin;
    if (!cores_busy())
        telemetry_collect();
}

static struct kernel_event *add_event(struct core_telemetry *own) {
    if (!events_on)
        return NULL;
    if (own->batched == BATCH_ROOM)
        put_batch(own);
    return &own->batch[own->batched++];
}

/// Adds one event to the totals and to the batch. `sum` holds differences.
static void record(enum kernel kernel, unsigned layer, uint64_t work, uint64_t start,
                   const struct pmu_sample *sum) {
    unsigned core = core_number();
    struct core_telemetry *own = &cores[core];
    struct kernel_total *total = &own->totals[current_phase][kernel];
    struct kernel_event *event = add_event(own);
    own->events++;
    own->last_phase = current_phase;
    own->last_step = current_step;
    total->count++;
    total->work += work;
    total->cycles += sum->cycles;
    total->instructions += sum->instructions;
    for (unsigned i = 0; i < COUNTERS; i += 2)
        add_pair(total->counters + i, sum->counters + i);
    if (own->since_count < SINCE_MAX) {
        own->since[own->since_count].event = event;
        own->since[own->since_count].total = total;
        own->since[own->since_count].waits = kernel == KERNEL_NPU_WAIT;
        own->since[own->since_count++].cycles = sum->cycles;
    }
    if (event == NULL)
        return;
    event->kernel = (uint8_t)kernel;
    event->core = (uint8_t)core;
    event->layer = (uint16_t)layer;
    event->phase = (uint8_t)current_phase;
    event->step = current_step;
    event->start_cycles = start;
    event->cycles = sum->cycles;
    event->work = work;
    event->instructions = vqmovnd_u64(sum->instructions); // a field of 32 bits stops at its largest value
    for (unsigned i = 0; i < COUNTERS; i += 2)
        vst1_u32(event->counters + i, vqmovn_u64(vld1q_u64(sum->counters + i)));
}

/// Spreads a delay over the events since the last barrier, by their cycles: of work, and of waits for the
/// NPU, which may have become shorter.
static void spread(struct core_telemetry *own, const struct pmu_delay *delay) {
    const int64_t delays[2] = {(int64_t)delay->work, delay->waits};
    int64_t all[2] = {0}, shift = 0;
    for (unsigned i = 0; i < own->since_count; i++)
        all[own->since[i].waits] += (int64_t)own->since[i].cycles + 1;
    for (unsigned i = 0; i < own->since_count; i++) {
        const bool waits = own->since[i].waits;
        const int64_t cycles = (int64_t)own->since[i].cycles;
        int64_t part = delays[waits] * (cycles + 1) / all[waits];
        part = part < -cycles ? -cycles : part;
        own->since[i].total->cycles += part;
        if (own->since[i].event != NULL) {
            own->since[i].event->start_cycles += shift;
            own->since[i].event->cycles += part;
        }
        shift += part;
    }
}

void telemetry_waited(unsigned layer, bool began) {
    struct core_telemetry *own = &cores[core_number()];
    struct pmu_sample now, sum = {0};
    uint64_t arrived;
    struct pmu_delay delay;
    bool same_step = own->last_phase == current_phase && own->last_step == current_step;
    take_sample(&now);
    pmu_arrival(core_number(), &arrived, &delay);
    if (delay.work != 0 || delay.waits != 0)
        spread(own, &delay);
    if (own->batched >= BATCH)
        put_batch(own);
    if (!began || (own->events != 0 && same_step)) { // otherwise it waited for something to do
        sum.cycles = now.cycles - arrived;
        record(KERNEL_WAIT, layer, 0, arrived, &sum);
    }
    own->since_count = 0;
}

void span_begin(struct span *span) {
    take_sample(&span->begin);
}

void span_end(struct span *span, enum kernel kernel, unsigned layer, uint64_t work) {
    struct pmu_sample end, sum = {0};
    take_sample(&end);
    add_difference(&sum, &span->begin, &end);
    record(kernel, layer, work, span->begin.cycles, &sum);
}

void span_sum_begin(struct span_sum *sum) {
    take_sample(&sum->begin);
    if (sum->pieces++ == 0)
        sum->start_cycles = sum->begin.cycles;
}

void span_sum_end(struct span_sum *sum) {
    struct pmu_sample end;
    take_sample(&end);
    add_difference(&sum->sum, &sum->begin, &end);
}

void span_sum_switch(struct span_sum *from, struct span_sum *to) {
    take_sample(&to->begin);
    add_difference(&from->sum, &from->begin, &to->begin);
    if (to->pieces++ == 0)
        to->start_cycles = to->begin.cycles;
}

void span_sum_emit(struct span_sum *sum, enum kernel kernel, unsigned layer, uint64_t work) {
    if (sum->pieces != 0)
        record(kernel, layer, work, sum->start_cycles, &sum->sum);
    *sum = (struct span_sum){0};
}

void telemetry_npu(enum kernel kernel, unsigned layer, uint64_t macs, const struct npu_record *times) {
    if (!events_on)
        return;
    if (npu_count == NPU_EVENTS_MAX) {
        cores[core_number()].dropped_events++;
        return;
    }
    npu_events[npu_count++] = (struct npu_event){.kernel = (uint8_t)kernel,
                                                 .phase = (uint8_t)current_phase,
                                                 .layer = (uint16_t)layer,
                                                 .step = current_step,
                                                 .submitted = times->submitted,
                                                 .begin = times->begin,
                                                 .end = times->end,
                                                 .macs = macs,
                                                 .bytes = times->bytes,
                                                 .mac_cycles = times->mac_cycles};
}

static void send_npu_events(struct core_telemetry *own) {
    for (unsigned first = 0; first < npu_count; first += NPU_FRAME_EVENTS) {
        const unsigned left = npu_count - first, count = left < NPU_FRAME_EVENTS ? left : NPU_FRAME_EVENTS;
        if (frame_offer(MESSAGE_TYPE_NPU_EVENTS, npu_events + first, count * sizeof npu_events[0], NULL, 0))
            continue;
        own->dropped_batches++;
        own->dropped_events += count;
    }
    npu_count = 0;
}

void telemetry_collect(void) {
    struct core_telemetry *own = &cores[core_number()];
    uint64_t begin = pmu_cycles();
    for (unsigned core = 0; core < BOARD_CORES; core++)
        if (cores[core].outbox.count != 0)
            own->dropped_events += outbox_send(&cores[core].outbox, &own->dropped_batches);
    send_npu_events(own); // behind this core's own frames, which have their numbers already
    own->flush_cycles += pmu_cycles() - begin;
}

void telemetry_flush(void) {
    struct core_telemetry *own = &cores[core_number()];
    uint64_t begin = pmu_cycles();
    send_npu_events(own);
    // Core 0 last: the end of a step is among its events, and ends what the console shows of it.
    for (struct core_telemetry *core = cores + BOARD_CORES; core-- > cores;) {
        if (core != own && core->since_count != 0) { // it waits for its next job, and has not done so yet
            uint64_t arrived;
            struct pmu_delay delay;
            pmu_arrival((unsigned)(core - cores), &arrived, &delay);
            spread(core, &delay);
        }
        core->since_count = 0;
        for (unsigned first = 0; first < core->batched; first += BATCH) {
            unsigned left = core->batched - first, count = left < BATCH ? left : BATCH;
            if (frame_offer(MESSAGE_TYPE_KERNELS, core->batch + first, count * sizeof core->batch[0], NULL,
                            0))
                continue;
            own->dropped_batches++;
            own->dropped_events += count;
        }
        core->batched = 0;
    }
    own->flush_cycles += pmu_cycles() - begin;
}

static void put_totals(const struct kernel_total *list, unsigned count, bool wait) {
    if (wait)
        frame_send(MESSAGE_TYPE_TOTALS, list, count * sizeof *list, NULL, 0);
    else
        frame_offer(MESSAGE_TYPE_TOTALS, list, count * sizeof *list, NULL, 0);
}

/// Sends the totals that are not zero, as many to a frame as fit.
static void send_totals(bool wait) {
    struct kernel_total out[TOTALS_PER_FRAME];
    unsigned count = 0;
    for (unsigned i = 0; i < BOARD_CORES * PHASE_COUNT * KERNEL_COUNT; i++) {
        unsigned core = i / (PHASE_COUNT * KERNEL_COUNT), phase = i / KERNEL_COUNT % PHASE_COUNT;
        unsigned kernel = i % KERNEL_COUNT;
        if (cores[core].totals[phase][kernel].count == 0)
            continue;
        out[count] = cores[core].totals[phase][kernel];
        out[count].core = (uint8_t)core;
        out[count].phase = (uint8_t)phase;
        out[count].kernel = (uint8_t)kernel;
        if (++count == TOTALS_PER_FRAME) {
            put_totals(out, count, wait);
            count = 0;
        }
    }
    if (count != 0)
        put_totals(out, count, wait);
}

void telemetry_send_totals(void) {
    telemetry_flush();
    send_totals(true);
}

void telemetry_step(enum phase phase, uint32_t step) {
    if (step % TOTALS_INTERVAL == TOTALS_INTERVAL - 1) {
        uint64_t begin = pmu_cycles();
        send_totals(false);
        cores[core_number()].flush_cycles += pmu_cycles() - begin;
    }
    current_phase = phase;
    current_step = step;
}

void telemetry_events(bool on) {
    telemetry_flush();
    events_on = on;
}

void telemetry_restart(void) {
    telemetry_flush();
    for (unsigned core = 0; core < BOARD_CORES; core++)
        memset(cores[core].totals, 0, sizeof cores[core].totals);
}

void telemetry_status(struct status *status) {
    status->dropped_events = status->telemetry_cycles = status->telemetry_events = 0;
    status->dropped_batches = 0;
    for (const struct core_telemetry *core = cores; core < cores + BOARD_CORES; core++) {
        status->dropped_events += core->dropped_events;
        status->dropped_batches += core->dropped_batches;
        status->telemetry_cycles +=
            core->flush_cycles + core->samples * cycles_per_sample + core->events * cycles_per_event;
        status->telemetry_events += core->events;
    }
}

void telemetry_init(void) {
    struct core_telemetry *own = &cores[core_number()];
    struct pmu_sample sample = {0};
    // The first round warms the caches: what counts is the second.
    for (unsigned round = 0; round < 2; round++) {
        uint64_t begin = pmu_cycles();
        for (unsigned i = 0; i < CALIBRATION_RUNS; i++)
            take_sample(&sample);
        uint64_t middle = pmu_cycles();
        for (unsigned i = 0; i < CALIBRATION_RUNS; i++) {
            own->batched = 0;
            record(KERNEL_STEP, NO_LAYER, 0, 0, &sample);
        }
        cycles_per_sample = (middle - begin) / CALIBRATION_RUNS;
        cycles_per_event = (pmu_cycles() - middle) / CALIBRATION_RUNS;
    }
    memset(own, 0, sizeof *own);
}

#endif
