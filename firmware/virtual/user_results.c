// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Results as lines of JSON: one for each thread that ends and for each region in it, and a last one. Lines of
// progress come before.
#include <stdio.h>

#include "user.h"

static FILE *file;

const char *results_open(const char *path) {
    file = fopen(path, "we");
    return file ? NULL : "the file of results cannot be created";
}

/// Every event that the model knows, by its PMU number, and what has no number.
static void print(const struct tally *tally) {
    static struct core core; // large; only ever used here, with the caller's lock held
    core.counts = tally->counts;
    core.ticks = tally->ticks;
    fprintf(file, "\"calls\":%llu,\"cycles\":%llu,\"waiting\":%llu,\"dram_reads\":%llu,\"dram_writes\":%llu",
            (unsigned long long)tally->calls, (unsigned long long)core_cycles(&core),
            (unsigned long long)(tally->waiting / TICKS_PER_CYCLE),
            (unsigned long long)tally->counts.dram_reads, (unsigned long long)tally->counts.dram_writes);
    fprintf(file, ",\"undecoded\":%llu,\"events\":{", (unsigned long long)tally->counts.undecoded);
    const char *comma = "";
    for (unsigned event = 0; event < 0x100; event++) {
        bool known;
        const uint64_t value = core_event(&core, event, &known);
        if (!known)
            continue;
        fprintf(file, "%s\"0x%02x\":%llu", comma, event, (unsigned long long)value);
        comma = ",";
    }
    fputc('}', file);
}

void results_progress(void) {
    uint64_t instructions = 0, ticks = 0;
    for (struct core *core = cores; core < cores + MODEL_CORES; core++) {
        instructions += core->counts.instructions;
        ticks = core->ticks > ticks ? core->ticks : ticks;
    }
    fprintf(file, "{\"kind\":\"progress\",\"instructions\":%llu,\"cycles\":%llu}\n",
            (unsigned long long)instructions, (unsigned long long)(ticks / TICKS_PER_CYCLE));
    fflush(file);
}

void results_thread(unsigned vcpu, unsigned core, const struct tally *tally) {
    fprintf(file, "{\"kind\":\"thread\",\"thread\":%u,\"core\":%u,", vcpu, core);
    print(tally);
    fputs("}\n", file);
}

void results_region(unsigned vcpu, uint64_t address, const struct tally *tally, const uint64_t *cycles,
                    unsigned listed) {
    fprintf(file, "{\"kind\":\"region\",\"thread\":%u,\"address\":%llu,", vcpu, (unsigned long long)address);
    print(tally);
    fputs(",\"each\":[", file);
    for (unsigned i = 0; i < listed && i < tally->calls; i++)
        fprintf(file, "%s%llu", i ? "," : "", (unsigned long long)cycles[i]);
    fputs("]}\n", file);
}

void results_end(unsigned threads, unsigned unmodeled) {
    uint64_t ticks = 0;
    for (struct core *core = cores; core < cores + MODEL_CORES; core++)
        ticks = core->ticks > ticks ? core->ticks : ticks;
    fprintf(file, "{\"kind\":\"end\",\"model_version\":%d,\"threads\":%u,\"unmodeled\":%u,\"cycles\":%llu}\n",
            MODEL_VERSION, threads, unmodeled, (unsigned long long)(ticks / TICKS_PER_CYCLE));
    fflush(file);
}
