// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Reads up to `count` numbers separated by ':'. Returns how many, or 0 for anything malformed.
static unsigned numbers(const char *text, uint64_t *value, unsigned count) {
    unsigned n = 0;
    while (n < count) {
        char *end;
        errno = 0;
        if (*text < '0' || *text > '9') // strtoull would accept a sign and spaces
            return 0;
        value[n++] = strtoull(text, &end, 0);
        if (errno)
            return 0;
        if (!*end)
            return n;
        if (*end != ':')
            return 0;
        text = end + 1;
    }
    return 0;
}

static bool geometry(const char *text, struct geometry *cache) {
    uint64_t value[3];
    if (numbers(text, value, 3) != 3 || !value[0] || !value[1] || value[1] > 16 ||
        value[1] & (value[1] - 1) || value[2] > 10000)
        return false;
    const uint64_t sets = value[0] / 64 / value[1];
    if (!sets || sets * value[1] * 64 != value[0] || sets & (sets - 1))
        return false; // the set is chosen by address bits
    *cache = (struct geometry){value[0], (unsigned)value[1], (unsigned)value[2]};
    return true;
}

/// Bytes per second with 1, 2, ... cores; the last one given holds for more.
static bool bandwidths(const char *text, uint64_t *bytes_per_s) {
    const unsigned n = numbers(text, bytes_per_s, MODEL_CORES);
    for (unsigned i = 1; n && i < MODEL_CORES; i++)
        bytes_per_s[i] = i < n ? bytes_per_s[i] : bytes_per_s[n - 1];
    return n && bytes_per_s[0];
}

static bool tlb(const char *text, struct options *o) {
    uint64_t value[5];
    if (numbers(text, value, 5) != 5 || !value[0] || value[0] > 64 || !value[2] || value[1] % value[2] ||
        value[1] < value[2] || value[1] > 65536 || value[3] > 1000 || value[4] > 1000)
        return false;
    o->tlb.entries = (unsigned)value[0];
    o->tlb.second_entries = (unsigned)value[1];
    o->tlb.second_ways = (unsigned)value[2];
    o->tlb.second_cycles = (unsigned)value[3];
    o->tlb.walk_cycles = (unsigned)value[4];
    return true;
}

static bool npu(const char *text, struct options *o) {
    uint64_t value[6];
    if (numbers(text, value, 6) != 6 || !value[1] || value[2] > UINT32_MAX || !value[3] || !value[4] ||
        !value[5])
        return false;
    o->npu.base = value[0];
    o->npu.bytes = value[1];
    o->npu.startup_cycles = value[2];
    o->npu.bytes_per_s = value[3];
    o->npu.macs_per_s[0] = value[4];
    o->npu.macs_per_s[1] = value[5];
    return true;
}

static bool mark(struct options *o, enum mark_kind kind, const char *text) {
    if (o->marks == MARKS || numbers(text, &o->mark[o->marks].address, 1) != 1)
        return false;
    o->mark[o->marks++].kind = kind;
    return true;
}

static bool set(struct options *o, const char *key, const char *text) {
    uint64_t value[EVENTS];
    static const struct {
        const char *key;
        size_t offset;
    } words[] = {
        {"ram_base", offsetof(struct options, ram_base)},
        {"ram_bytes", offsetof(struct options, ram_bytes)},
        {"device_page", offsetof(struct options, device_page)},
        {"clock_hz", offsetof(struct options, clock_hz)},
        {"page_bytes", offsetof(struct options, page_bytes)},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strcmp(key, words[i].key))
            return numbers(text, (uint64_t *)((char *)o + words[i].offset), 1) == 1;
    if (!strcmp(key, "ram"))
        return *(o->ram_path = text);
    if (!strcmp(key, "report"))
        return *(o->report_path = text);
    if (!strcmp(key, "results"))
        return *(o->results_path = text);
    if (!strcmp(key, "l1d"))
        return geometry(text, &o->l1d);
    if (!strcmp(key, "l2"))
        return geometry(text, &o->l2);
    if (!strcmp(key, "l3"))
        return geometry(text, &o->l3);
    if (!strcmp(key, "dram_read"))
        return bandwidths(text, o->dram_read);
    if (!strcmp(key, "dram_write"))
        return bandwidths(text, o->dram_write);
    if (!strcmp(key, "tlb"))
        return tlb(text, o);
    if (!strcmp(key, "npu"))
        return npu(text, o);
    if (!strcmp(key, "mode"))
        return (o->timed = !strcmp(text, "timed")) || !strcmp(text, "fast");
    if (!strcmp(key, "verify"))
        return (o->verify = !strcmp(text, "on")) || !strcmp(text, "off");
    if (!strcmp(key, "check"))
        return (o->check = !strcmp(text, "on")) || !strcmp(text, "off");
    if (!strcmp(key, "hot_file"))
        return *(o->hot_path = text);
    if (!strcmp(key, "hot")) {
        const bool two = numbers(text, value, 2) == 2;
        o->hot_begin = value[0];
        o->hot_end = value[1];
        return two;
    }
    if (!strcmp(key, "events")) {
        const unsigned n = numbers(text, value, EVENTS);
        for (unsigned i = 0; i < n; i++)
            o->events[i] = (uint16_t)value[i];
        return n != 0;
    }
    if (!strcmp(key, "uncached")) {
        if (o->uncached_ranges == UNCACHED_RANGES || numbers(text, value, 2) != 2)
            return false;
        o->uncached[o->uncached_ranges].base = value[0];
        o->uncached[o->uncached_ranges++].bytes = value[1];
        return true;
    }
    if (!strcmp(key, "transient")) {
        if (o->transient.bytes || numbers(text, value, 2) != 2)
            return false;
        o->transient.base = value[0];
        o->transient.bytes = value[1];
        return true;
    }
    static const char *const kinds[] = {
        [MARK_REGION] = "region", [MARK_BARRIER] = "barrier", [MARK_IDLE] = "idle", [MARK_WORK] = "work"};
    for (enum mark_kind kind = MARK_REGION; kind <= MARK_WORK; kind++)
        if (!strcmp(key, kinds[kind]))
            return mark(o, kind, text);
    if (numbers(text, value, 1) != 1 || value[0] > 1000000000)
        return false;
    if (!strcmp(key, "dram_latency_cycles"))
        o->dram_latency_cycles = (unsigned)value[0];
    else if (!strcmp(key, "outstanding_misses"))
        o->outstanding_misses = (unsigned)value[0];
    else if (!strcmp(key, "outstanding_l2_misses"))
        o->outstanding_l2_misses = (unsigned)value[0];
    else if (!strcmp(key, "npu_hangs"))
        o->npu.hangs = (uint32_t)value[0];
    else if (!strcmp(key, "threads"))
        o->threads = (unsigned)value[0];
    else if (!strcmp(key, "parent"))
        o->parent = (int)value[0];
    else
        return false;
    return true;
}

/// What is wrong with where the guest's memory and the results are: they tell system mode from user mode.
static const char *wrong_place(const struct options *o) {
    if (o->results_path && (o->ram_path || o->device_page || !o->threads))
        return "results= goes with threads=, and without ram= and device_page=";
    if (o->results_path)
        return NULL;
    if (!o->ram_path || !o->ram_bytes)
        return "ram=, ram_base= and ram_bytes= are needed";
    if (o->device_page & 4095 || o->device_page < o->ram_base ||
        o->device_page - o->ram_base > o->ram_bytes - 4096)
        return "device_page= must be the address of a page of RAM";
    if (o->npu.bytes && (o->npu.base < o->ram_base || o->npu.bytes > o->ram_bytes ||
                         o->npu.base - o->ram_base > o->ram_bytes - o->npu.bytes))
        return "npu= must name a part of RAM";
    return NULL;
}

const char *options_parse(struct options *o, int argc, char **argv, char *message, unsigned message_bytes) {
    *o = (struct options){0};
    for (int i = 0; i < argc; i++) {
        char key[32];
        const char *equals = strchr(argv[i], '=');
        const size_t length = equals ? (size_t)(equals - argv[i]) : 0;
        if (length && length < sizeof key) {
            memcpy(key, argv[i], length);
            key[length] = 0;
            if (set(o, key, equals + 1))
                continue;
        }
        snprintf(message, message_bytes, "argument not understood: %s", argv[i]);
        return message;
    }
    const char *wrong = wrong_place(o);
    if (wrong)
        return wrong;
    if (!o->l1d.bytes || !o->l2.bytes)
        return "l1d= and l2= are needed";
    if (!o->clock_hz || !o->dram_read[0] || !o->dram_write[0])
        return "clock_hz=, dram_read= and dram_write= are needed";
    if (!o->outstanding_misses || o->outstanding_misses > MISSES_MAX || !o->outstanding_l2_misses ||
        o->outstanding_l2_misses > MISSES_MAX)
        return "outstanding_misses= and outstanding_l2_misses= must be 1 to 96";
    if (!o->tlb.entries || !o->page_bytes || o->page_bytes & (o->page_bytes - 1))
        return "tlb= and page_bytes=, a power of two, are needed";
    if (o->hot_path && (!o->timed || o->hot_begin < o->ram_base || o->hot_end <= o->hot_begin ||
                        o->hot_end - o->ram_base > o->ram_bytes))
        return "hot_file= goes with mode=timed and hot=, a part of RAM";
    if ((o->ram_base + o->ram_bytes) >> 36)
        return "the cache model holds addresses below 64 GiB";
    return NULL;
}
