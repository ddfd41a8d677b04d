// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "npu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hierarchy.h"
#include "npu_check.h"
#include "npu_time.h"

_Static_assert(sizeof((struct device_page *)0)->npu_record / sizeof(struct npu_record) == NPU_RECORDS,
               "records");
_Static_assert(NPU_DEPTH < NPU_RECORDS, "an unobserved job has a record");

/// An accepted job.
struct accepted {
    struct npu_work work; // owns its pages
    uint8_t *results;     // computed, and not observed yet
    bool reset;
};

/// What a core knows of the others' jobs: all that was at the last barrier, and what it did itself.
struct knowledge {
    uint32_t issued, observed; // last ones
};

static const struct options *board;
static struct device_page *page;
static uint8_t *ram;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct accepted accepted[NPU_RECORDS];
static uint32_t last; // accepted
static struct knowledge known[MODEL_CORES];
static const struct core *user; // has submitted or reset since the last barrier

const char *npu_open(const struct options *options, int fd, struct device_page *device) {
    if (!options->npu.bytes)
        return NULL;
    board = options;
    page = device;
    ram = mmap(NULL, options->ram_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (ram == MAP_FAILED)
        return "the RAM file cannot be mapped";
    npu_time_init(options);
    page->npu_present = 1;
    return NULL;
}

static struct accepted *accepted_of(uint32_t sequence) {
    return &accepted[sequence % NPU_RECORDS];
}

static struct knowledge *known_to(const struct core *core) {
    return &known[core - cores];
}

/// As far as the core knows, and of those that have a record.
static uint32_t first_unobserved(const struct core *core) {
    const uint32_t first = known_to(core)->observed + 1,
                   oldest = last < NPU_RECORDS ? 1 : last - NPU_RECORDS + 1;
    return first > oldest ? first : oldest;
}

static uint64_t whole_cycles(uint64_t ticks) {
    return (ticks + TICKS_PER_CYCLE - 1) / TICKS_PER_CYCLE * TICKS_PER_CYCLE;
}

static uint64_t now_of(const struct core *core) {
    return whole_cycles(core->ticks);
}

static void write_record(uint32_t sequence) {
    const struct npu_timing *timing = npu_time_of(sequence);
    struct npu_record *record = &page->npu_record[sequence % NPU_RECORDS];
    const bool reset = accepted_of(sequence)->reset;
    *record = (struct npu_record){.sequence = sequence,
                                  .code = reset ? NPU_CODE_RESET : NPU_CODE_DONE,
                                  .submitted = timing->submitted / TICKS_PER_CYCLE,
                                  .begin = timing->begin / TICKS_PER_CYCLE,
                                  .end = timing->end / TICKS_PER_CYCLE,
                                  .mac_cycles = timing->mac_ticks / TICKS_PER_CYCLE,
                                  .bytes = timing->bytes};
}

void npu_woven(void) {
    if (!board)
        return;
    pthread_mutex_lock(&lock);
    uint32_t observed = 0;
    for (unsigned n = 0; n < MODEL_CORES; n++)
        observed = known[n].observed > observed ? known[n].observed : observed;
    for (unsigned n = 0; n < MODEL_CORES; n++)
        known[n] = (struct knowledge){last, observed};
    user = NULL;
    npu_time_estimate();
    for (uint32_t n = last > NPU_RECORDS ? last - NPU_RECORDS + 1 : 1; n <= last; n++)
        write_record(n);
    pthread_mutex_unlock(&lock);
}

/// Whether the job's memory is in use by one that the core has not observed.
static bool collides(const struct core *core, const struct npu_work *work) {
    const struct extent results = npu_job_results(&work->job);
    for (uint32_t n = first_unobserved(core); n <= last; n++) {
        const struct npu_work *other = &accepted_of(n)->work;
        const struct extent theirs = npu_job_results(&other->job);
        if (npu_results_meet(&work->job, &other->job) || npu_reads(other, results) || npu_reads(work, theirs))
            return true;
    }
    return false;
}

uint32_t npu_unobserved(const struct core *core, struct extent part, bool results) {
    uint32_t found = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t n = first_unobserved(core); n <= last && !found; n++) {
        const struct npu_work *work = &accepted_of(n)->work;
        if (results ? npu_job_writes(&work->job, part) : npu_reads(work, part))
            found = n;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static const uint64_t *copy_of_pages(const struct npu_job *job) {
    const size_t bytes = npu_job_page_count(job) * sizeof(uint64_t);
    uint64_t *pages = bytes ? malloc(bytes) : NULL;
    if (bytes && !pages)
        abort();
    return bytes ? memcpy(pages, ram + (job->weights - board->ram_base), bytes) : NULL;
}

/// Reads the descriptor, and the addresses of pages. Returns NPU_CODE_DONE, or why the job is refused.
static enum npu_code fetch(const struct core *core, struct npu_work *work) {
    const uint64_t address = page->npu_descriptor;
    if (user && user != core)
        return NPU_CODE_ORDER;
    if (last - known_to(core)->observed >= NPU_DEPTH || !npu_time_room())
        return NPU_CODE_BUSY;
    if (address % _Alignof(struct npu_job))
        return NPU_CODE_ALIGNMENT;
    if (address < board->ram_base || address - board->ram_base > board->ram_bytes - sizeof work->job ||
        (address & ~UINT64_C(4095)) == board->device_page)
        return NPU_CODE_ADDRESS;
    memcpy(&work->job, ram + (address - board->ram_base), sizeof work->job);
    enum npu_code code = npu_job_check(&work->job, board);
    if (code != NPU_CODE_DONE)
        return code;
    work->pages = copy_of_pages(&work->job);
    code = npu_work_check(work, board);
    return code == NPU_CODE_DONE && collides(core, work) ? NPU_CODE_OVERLAP : code;
}

/// While one core works alone, what the NPU costs it is known at once.
static void weave_alone(void) {
    if (!weave_alone_so_far())
        return;
    hierarchy_weave((1u << MODEL_CORES) - 1);
    npu_woven();
}

void npu_start(struct core *core) {
    struct npu_work work = {.pages = NULL};
    if (!board)
        return;
    hierarchy_log();
    weave_alone();
    pthread_mutex_lock(&lock);
    page->npu_code = fetch(core, &work);
    if (page->npu_code == NPU_CODE_DONE) {
        user = core;
        known_to(core)->issued = page->npu_sequence = ++last;
        free((void *)accepted_of(last)->work.pages);
        *accepted_of(last) = (struct accepted){work, npu_job_compute(&work, ram, board), false};
        npu_time_add(last, &work, now_of(core));
        weave_log(core, now_of(core), last, WEAVE_NPU_SUBMIT, 0, false);
        npu_check_begin(last, &work);
        write_record(last);
    } else {
        free((void *)work.pages);
    }
    pthread_mutex_unlock(&lock);
}

/// Results up to `sequence` come into memory.
static void observe(const struct core *core, uint32_t sequence) {
    for (uint32_t n = first_unobserved(core); n <= sequence; n++) {
        struct accepted *of = accepted_of(n);
        if (of->results) {
            npu_job_store(&of->work.job, of->results, ram, board);
            npu_check_end(&of->work.job);
        }
        free(of->results);
        of->results = NULL;
    }
    if (sequence > known_to(core)->observed)
        known_to(core)->observed = sequence;
}

/// What is known of a job before its time is looked at: NPU_CODE_BUSY where that decides.
static enum npu_code state_of(const struct core *core, uint32_t sequence) {
    if (!sequence || sequence > known_to(core)->issued)
        return NPU_CODE_UNKNOWN;
    if (!npu_time_of(sequence))
        return NPU_CODE_DONE; // long ago
    return accepted_of(sequence)->reset ? NPU_CODE_RESET : NPU_CODE_BUSY;
}

/// The core looks at the job; it may wait until `deadline`.
static enum npu_code look(struct core *core, uint32_t sequence, uint64_t deadline) {
    const enum npu_code state = state_of(core, sequence);
    if (state != NPU_CODE_BUSY)
        return state;
    const uint64_t now = now_of(core), end = npu_time_of(sequence)->end;
    if (end > deadline) { // also one that never comes
        core->ticks = deadline;
        return deadline > now ? NPU_CODE_TIMEOUT : NPU_CODE_BUSY;
    }
    const uint64_t goes_on = now > end ? now : whole_cycles(end);
    weave_log(core, now, sequence, WEAVE_NPU_WAIT, (goes_on - now) / TICKS_PER_CYCLE, true);
    core->ticks = goes_on;
    observe(core, sequence);
    return NPU_CODE_DONE;
}

static void answer(struct core *core, uint64_t patience) {
    struct npu_core *asks = &page->npu_core[core - cores];
    if (!board)
        return;
    core_drain(core);
    weave_alone();
    pthread_mutex_lock(&lock);
    asks->code = look(core, asks->sequence, now_of(core) + patience * TICKS_PER_CYCLE);
    pthread_mutex_unlock(&lock);
    weave_alone();
}

void npu_wait(struct core *core) {
    const uint64_t cycles = board ? page->npu_timeout : 0;
    answer(core, cycles < UINT32_MAX ? cycles : UINT32_MAX);
}

void npu_look(struct core *core) {
    answer(core, 0);
}

void npu_reset(struct core *core) {
    if (!board)
        return;
    weave_alone();
    pthread_mutex_lock(&lock);
    page->npu_code = user && user != core ? NPU_CODE_ORDER : NPU_CODE_DONE;
    if (page->npu_code == NPU_CODE_DONE && last) {
        user = core;
        for (uint32_t n = first_unobserved(core); n <= last; n++) {
            struct accepted *of = accepted_of(n);
            of->reset = of->results != NULL;
            free(of->results);
            of->results = NULL;
        }
        known_to(core)->observed = last;
        npu_time_give_up(last, now_of(core));
        weave_log(core, now_of(core), last, WEAVE_NPU_RESET, 0, false);
    }
    pthread_mutex_unlock(&lock);
    weave_alone();
}
