// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "report.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "a64_decode.h"
#include "races.h"
#include "sync.h"

enum { LISTED = 32, LISTED_EVENTS = 64, TEXT_BYTES = 8192 };

static int file = -1;
static int api;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned blocks, undecoded_sites, unresolved_sites, listed, unknown_events;
static uint16_t unknown_event[LISTED_EVENTS];
static struct {
    uint64_t pc;
    uint32_t word;
} undecoded[LISTED];

struct text {
    char bytes[TEXT_BYTES];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const size_t room = sizeof text->bytes - text->length;
    const int n = vsnprintf(text->bytes + text->length, room, format, arguments);
    va_end(arguments);
    if (n > 0 && (size_t)n < room)
        text->length += (size_t)n;
}

static void write_file(void) {
    if (file < 0)
        return;
    struct text text = {.length = 0};
    uint64_t executed = 0, verified = 0, mismatched = 0, dropped = 0;
    for (unsigned c = 0; c < MODEL_CORES; c++) {
        executed += cores[c].counts.undecoded;
        verified += cores[c].verified;
        mismatched += cores[c].mismatched;
        dropped += cores[c].log.dropped;
    }
    add(&text, "model_version %d\nqemu_api %d\nblocks %u\n", MODEL_VERSION, api, blocks);
    add(&text, "undecoded_sites %u\nundecoded_executed %llu\n", undecoded_sites,
        (unsigned long long)executed);
    add(&text, "unresolved_prefetch_sites %u\n", unresolved_sites);
    add(&text, "addresses_verified %llu\naddresses_mismatched %llu\n", (unsigned long long)verified,
        (unsigned long long)mismatched);
    add(&text, "early_departures %u\nlog_entries_dropped %llu\n", sync_violations(),
        (unsigned long long)dropped);
    for (unsigned i = 0; i < unknown_events; i++)
        add(&text, "unknown_event 0x%02x\n", unknown_event[i]);
    for (unsigned i = 0; i < listed; i++)
        add(&text, "undecoded 0x%08x at 0x%llx\n", undecoded[i].word, (unsigned long long)undecoded[i].pc);
    text.length += races_text(text.bytes + text.length, sizeof text.bytes - text.length);
    // One write of the whole text, then the cut: a reader sees the old or the new lines, or both in order.
    if (pwrite(file, text.bytes, text.length, 0) == (ssize_t)text.length &&
        ftruncate(file, (off_t)text.length))
        return;
}

const char *report_open(const struct options *options, int api_version) {
    api = api_version;
    if (!options->report_path)
        return NULL;
    file = open(options->report_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return "the report file cannot be created";
    write_file();
    return NULL;
}

void report_unknown_event(unsigned event) {
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (i < unknown_events && unknown_event[i] != event)
        i++;
    if (i == unknown_events && i < LISTED_EVENTS) {
        unknown_event[unknown_events++] = (uint16_t)event;
        write_file();
    }
    pthread_mutex_unlock(&lock);
}

void report_block(const struct block *block) {
    blocks++;
    if (!block->undecoded && !block->unresolved)
        return;
    pthread_mutex_lock(&lock);
    undecoded_sites += block->undecoded;
    unresolved_sites += block->unresolved;
    for (unsigned i = 0; i < block->insns && listed < LISTED; i++) {
        if (a64_decode(block->words[i]).class != A64_UNDECODED)
            continue;
        undecoded[listed].pc = block->vaddr + i * 4;
        undecoded[listed++].word = block->words[i];
    }
    write_file();
    pthread_mutex_unlock(&lock);
}

void report_executed(const struct core *core) {
    static uint64_t last[MODEL_CORES];
    uint64_t *reported = &last[core - cores];
    const uint64_t state = core->counts.undecoded + core->verified + races_found() + sync_violations();
    if (__builtin_expect(state == *reported, 1))
        return;
    *reported = state;
    pthread_mutex_lock(&lock);
    write_file();
    pthread_mutex_unlock(&lock);
}

/// QEMU ends: the last state.
__attribute__((destructor)) static void report_close(void) {
    write_file();
}
