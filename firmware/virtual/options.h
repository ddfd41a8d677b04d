// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// The plug-in's arguments. The console writes them from the board profile
// (console/maxconsole/virtual/plugin.py).
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { EVENTS = 6, UNCACHED_RANGES = 4 };

struct geometry {
    uint64_t bytes;
    unsigned ways;
    unsigned latency_cycles; // load to use
};

struct options {
    const char *ram_path;         // ram=PATH: the file behind guest RAM
    uint64_t ram_base, ram_bytes; // ram_base=, ram_bytes=: physical
    uint64_t device_page;         // device_page=: physical; inside RAM
    uint64_t clock_hz;            // clock_hz=
    struct geometry l1d, l2, l3;  // l1d=BYTES:WAYS:CYCLES, l2=, l3= (left out where there is none)
    uint64_t dram_bytes_per_s;    // dram_bytes_per_s=: effective, of one core
    unsigned dram_latency_cycles; // dram_latency_cycles=
    unsigned outstanding_misses;  // outstanding_misses=: lines in flight
    uint16_t events[EVENTS];      // events=N:N:...: PMU event numbers behind the six counters at power-on
    unsigned uncached_ranges;     // uncached=BASE:BYTES, repeated: mapped non-cacheable by the firmware
    struct {
        uint64_t base, bytes;
    } uncached[UNCACHED_RANGES];
    const char *report_path; // report=PATH: what the model could not follow, as text
    int parent;              // parent=PID: end with this process
    bool check;              // check=on: look for races and stale reads (slow)
    bool verify;             // verify=on: compare every derived address with the real one (slow)
};

/// Parses `key=value` arguments. Returns NULL, or what is wrong (static text or `message`).
const char *options_parse(struct options *options, int argc, char **argv, char *message,
                          unsigned message_bytes);
