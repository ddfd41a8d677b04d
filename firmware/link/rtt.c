// SPDX-License-Identifier: Apache-2.0
#include "link/rtt.h"

#include "arch/cpu.h"
#include "arch/string.h"

#define IN_RTT __attribute__((section(".rtt"), aligned(CACHE_LINE)))

IN_RTT struct rtt_control_block _SEGGER_RTT;
IN_RTT static uint8_t up_buffer[BOARD_RTT_UP_BYTES];
IN_RTT static uint8_t down_buffer[BOARD_RTT_DOWN_BYTES];

// What the other side writes is read through these, once per use.
static volatile struct rtt_ring *const up = &_SEGGER_RTT.up;
static volatile struct rtt_ring *const down = &_SEGGER_RTT.down;

static void ring_init(volatile struct rtt_ring *ring, const char *name, uint8_t *buffer, uint32_t size) {
    ring->name = (uintptr_t)name;
    ring->buffer = (uintptr_t)buffer;
    ring->size = size;
    ring->write = 0;
    ring->read = 0;
    ring->flags = 0;
}

void rtt_init(void) {
    static const char id[16] = "SEGGER RTT";
    volatile struct rtt_control_block *block = &_SEGGER_RTT;
    block->id[0] = 0;
    barrier_store();
    ring_init(up, "frames", up_buffer, sizeof up_buffer);
    ring_init(down, "commands", down_buffer, sizeof down_buffer);
    block->up_count = 1;
    block->down_count = 1;
    for (unsigned i = 1; i < sizeof id; i++)
        block->id[i] = id[i];
    barrier_store(); // a host that sees the id sees the rings
    block->id[0] = id[0];
    barrier_store();
}

size_t rtt_room(void) {
    uint32_t write = up->write, read = up->read;
    if (read >= sizeof up_buffer)
        return 0; // the host wrote nonsense: wait until it has mended it
    uint32_t used = write >= read ? write - read : write + (uint32_t)sizeof up_buffer - read;
    return sizeof up_buffer - 1 - used;
}

bool rtt_send(const void *data, size_t bytes) {
    if (bytes > rtt_room())
        return false;
    barrier_full(); // the host has read the old bytes before new ones are stored
    size_t write = up->write, to_end = sizeof up_buffer - write;
    size_t first = bytes < to_end ? bytes : to_end;
    memcpy(up_buffer + write, data, first);
    memcpy(up_buffer, (const uint8_t *)data + first, bytes - first);
    barrier_store(); // bytes before the index that makes them visible
    write += bytes;
    up->write = (uint32_t)(write < sizeof up_buffer ? write : write - sizeof up_buffer);
    return true;
}

size_t rtt_receive(uint8_t *out, size_t room) {
    uint32_t write = down->write, read = down->read;
    if (write == read || write >= sizeof down_buffer)
        return 0;
    barrier_load(); // the index before the bytes that it makes visible
    size_t count = 0;
    while (read != write && count < room) {
        out[count++] = down_buffer[read];
        read = read + 1 == sizeof down_buffer ? 0 : read + 1;
    }
    barrier_full(); // the bytes are read before the host may overwrite them
    down->read = read;
    return count;
}
