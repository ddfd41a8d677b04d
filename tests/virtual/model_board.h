// SPDX-License-Identifier: Apache-2.0
// The board of programs that run the pipeline model without an emulator.
#pragma once

#include "virtual/core.h"
#include "virtual/report.h"

#define CODE UINT64_C(0x40000000)
#define DATA UINT64_C(0x50000000)

void report_executed(const struct core *core) {
    (void)core;
}

static char *board[] = {"mode=timed",
                        "ram=none",
                        "ram_base=0x40000000",
                        "ram_bytes=0x20000000",
                        "device_page=0x40000000",
                        "clock_hz=2400000000",
                        "page_bytes=2097152",
                        "l1d=65536:4:4",
                        "l2=524288:8:12",
                        "tlb=48:1280:5:3:20",
                        "dram_read=13800000000:13800000000:13800000000:13800000000",
                        "dram_write=13800000000:13800000000:13800000000:13800000000",
                        "dram_latency_cycles=280",
                        "outstanding_misses=20",
                        "outstanding_l2_misses=46"};
