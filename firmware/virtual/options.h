// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// The plug-in's arguments. The console writes them from the board profile
// (console/maxconsole/virtual/plugin.py).
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MODEL_CORES = 4, MISSES_MAX = 96, EVENTS = 6, UNCACHED_RANGES = 4, MARKS = 64 };

struct geometry {
    uint64_t bytes;
    unsigned ways;
    unsigned latency_cycles; // load to use
};

/// What a function means to the model in user mode (user.h).
enum mark_kind {
    MARK_REGION,  // counted, with all that it calls
    MARK_BARRIER, // threads wait in it for each other
    MARK_IDLE,    // waits for work: costs nothing
    MARK_WORK,    // called from an idle one: costs what it costs
};

struct options {
    const char *ram_path;             // ram=PATH: the file behind guest RAM
    uint64_t ram_base, ram_bytes;     // ram_base=, ram_bytes=: physical
    uint64_t device_page;             // device_page=: physical; inside RAM
    uint64_t clock_hz;                // clock_hz=
    struct geometry l1d, l2, l3;      // l1d=BYTES:WAYS:CYCLES, l2=, l3= (left out where there is none)
    uint64_t dram_read[MODEL_CORES];  // dram_read=N:N:N:N: bytes per second, by how many cores read at once
    uint64_t dram_write[MODEL_CORES]; // dram_write=: the same for writes
    unsigned dram_latency_cycles;     // dram_latency_cycles=
    unsigned outstanding_misses;      // outstanding_misses=: lines in flight to L1D
    unsigned outstanding_l2_misses;   // outstanding_l2_misses=: and to L2
    bool timed;                       // mode=timed or fast
    uint64_t page_bytes;              // page_bytes=: of the guest's mapping, for the TLBs
    struct {
        unsigned entries, second_entries, second_ways;
        unsigned second_cycles, walk_cycles; // beyond a hit in the first level; beyond one in the second
    } tlb;                   // tlb=ENTRIES:SECOND_ENTRIES:SECOND_WAYS:SECOND_CYCLES:WALK_CYCLES
    uint16_t events[EVENTS]; // events=N:N:...: PMU event numbers behind the six counters at power-on
    struct {
        uint64_t base, bytes; // where results may go: physical; 0 bytes where there is no NPU
        uint64_t
            startup_cycles;   // from its submission, or the end of the job before, to a job's first transfer
        uint64_t bytes_per_s; // of its own way to the bus
        uint64_t macs_per_s[2]; // with weights of 4 bits, of 8
        uint32_t hangs;         // npu_hangs=N: job N never ends (for tests); 0: none
    } npu;                      // npu=BASE:BYTES:STARTUP_CYCLES:BYTES_PER_S:MACS4_PER_S:MACS8_PER_S
    unsigned uncached_ranges;   // uncached=BASE:BYTES, repeated: mapped non-cacheable by the firmware
    struct {
        uint64_t base, bytes;
    } uncached[UNCACHED_RANGES];
    struct {
        uint64_t base, bytes;
    } transient;              // transient=BASE:BYTES: mapped write-back transient by the firmware
    const char *report_path;  // report=PATH: what the model could not follow, as text
    int parent;               // parent=PID: end with this process
    const char *results_path; // results=PATH: user mode; ram= and device_page= are left out
    unsigned threads;         // threads=: at once, that are modeled; at most the number of cores
    unsigned marks; // region=ADDRESS, barrier=, idle=, work=, repeated: first instructions of functions
    struct {
        uint64_t address;
        enum mark_kind kind;
    } mark[MARKS];
    const char *hot_path;        // hot_file=PATH: what each instruction of a region costs (hot_spots.h)
    uint64_t hot_begin, hot_end; // hot=BEGIN:END: that region, in bytes
    bool check;                  // check=on: look for races and stale reads (slow)
    bool registers;              // of the guest can be read: not from the command line
    bool verify;                 // verify=on: compare every derived address with the real one (slow)
};

/// Parses `key=value` arguments. Returns NULL, or what is wrong (static text or `message`).
const char *options_parse(struct options *options, int argc, char **argv, char *message,
                          unsigned message_bytes);
