// SPDX-License-Identifier: Apache-2.0
// Two byte rings in uncached memory that a debug probe, or the virtual board's host, reads and writes while
// the core runs. The control block has SEGGER's RTT layout for 64-bit targets; the console finds it by its
// symbol.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "board_config.h"

struct rtt_ring {
    uint64_t name;
    uint64_t buffer;
    uint32_t size;
    uint32_t write; // next byte that the writer fills
    uint32_t read;  // next byte that the reader takes; equal to `write` when the ring is empty
    uint32_t flags;
};

struct rtt_control_block {
    char id[16];
    int32_t up_count;
    int32_t down_count;
    struct rtt_ring up;   // to the host
    struct rtt_ring down; // from the host
};
_Static_assert(sizeof(struct rtt_ring) == 32 && offsetof(struct rtt_control_block, up) == 24,
               "SEGGER's layout");

extern struct rtt_control_block _SEGGER_RTT;

/// Empties both rings and makes the control block valid, its id last.
void rtt_init(void);

/// Bytes that rtt_send would take now.
size_t rtt_room(void);
/// Puts all of `data` into the up ring, or nothing of it and returns false when there is no room.
bool rtt_send(const void *data, size_t bytes);

/// Takes up to `room` bytes that the host has sent; 0 when there are none.
size_t rtt_receive(uint8_t *out, size_t room);
