// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "device_page.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npu.h"
#include "report.h"
#include "schema/device_page.h"
#include "sync.h"

_Static_assert(offsetof(struct device_page, npu_reset) + 4 <= DOORBELL_BYTES, "a doorbell lies outside");
_Static_assert(sizeof((struct device_page *)0)->counter_events / sizeof(uint16_t) == EVENTS, "six counters");
_Static_assert(sizeof((struct device_page *)0)->core / sizeof(struct device_page_sample) == MODEL_CORES,
               "cores");

static struct device_page *page;
static const struct options *board;

const char *device_page_open(const struct options *options) {
    board = options;
    const int fd = open(options->ram_path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return "the RAM file cannot be opened";
    struct stat file;
    const off_t offset = (off_t)(options->device_page - options->ram_base);
    if (fstat(fd, &file) || file.st_size < offset + PAGE_BYTES) {
        close(fd);
        return "the RAM file is too small";
    }
    page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    const char *error = "the RAM file cannot be mapped";
    if (page != MAP_FAILED) {
        memset(page, 0, sizeof *page);
        error = npu_open(options, fd, page);
    }
    close(fd);
    if (error)
        return error;
    page->version = DEVICE_PAGE_VERSION;
    page->counter_hz = options->clock_hz;
    page->model_version = MODEL_VERSION;
    page->mode = options->timed;
    memcpy(page->counter_events, options->events, sizeof page->counter_events);
    __atomic_store_n(&page->magic, DEVICE_PAGE_MAGIC, __ATOMIC_RELEASE);
    return NULL;
}

static void latch(struct core *core) {
    core_drain(core);
    struct device_page_sample *sample = &page->core[core - cores]; // not page->latch: cores store it at once
    sample->cycles = core_cycles(core);
    sample->instructions = core->counts.instructions;
    for (unsigned i = 0; i < EVENTS; i++) {
        bool known;
        sample->counters[i] = core_event(core, page->counter_events[i], &known);
        if (!known)
            report_unknown_event(page->counter_events[i]);
    }
    sample->watch_accesses = core->counts.watch_accesses;
    sample->watch_refills = core->counts.watch_refills;
    report_executed(core);
}

void device_page_arrived(const struct core *core) {
    struct device_page_sample *sample = &page->core[core - cores];
    sample->arrived = core->arrived_ticks / TICKS_PER_CYCLE;
    sample->delay = core->delay_ticks / TICKS_PER_CYCLE;
    sample->waits = core->wait_ticks / TICKS_PER_CYCLE;
}

void device_page_stored(struct core *core, unsigned offset, unsigned segments) {
    core_catch_up(core, segments);
    switch (offset) {
    case offsetof(struct device_page, latch):
        latch(core);
        break;
    case offsetof(struct device_page, sync_cores):
        sync_team(page->sync_cores);
        break;
    case offsetof(struct device_page, sync_arrive):
        sync_arrive(core);
        break;
    case offsetof(struct device_page, sync_depart):
        sync_depart(core);
        break;
    case offsetof(struct device_page, pause):
        core->paused = true;
        break;
    case offsetof(struct device_page, npu_start):
        npu_start(core);
        break;
    case offsetof(struct device_page, npu_wait):
        npu_wait(core);
        break;
    case offsetof(struct device_page, npu_look):
        npu_look(core);
        break;
    case offsetof(struct device_page, npu_reset):
        npu_reset(core);
        break;
    }
    // Every latch looks at the region too, so that the other cores learn of it.
    core->watch_base = page->watch_base;
    core->watch_end = page->watch_bytes ? page->watch_base + page->watch_bytes : 0;
}
