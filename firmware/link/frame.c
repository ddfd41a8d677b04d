// SPDX-License-Identifier: Apache-2.0
#include "link/frame.h"

#include "arch/cpu.h"
#include "arch/exception.h"
#include "arch/string.h"
#include "board_config.h"
#include "hal/idle.h"
#include "link/cobs.h"
#include "link/crc32.h"
#include "link/port.h"

// Every core numbers its own frames, so that it can encode them without asking another.
static struct { _Alignas(CACHE_LINE) uint16_t next; } sequences[BOARD_CORES];
static uint64_t bytes_sent;
static uint32_t bad_count;

#define WAIT_MICROSECONDS 500

// The frame being sent. Built in cached memory and copied, because an RTT ring is not cached: there, every
// byte stored out of line would be a bus access of its own.
static uint8_t encoded_frame[FRAME_ENCODED_MAX(FRAME_PAYLOAD_MAX)] __attribute__((aligned(16)));

size_t frame_encode(uint8_t *out, enum message_type type, const void *head, size_t head_bytes,
                    const void *tail, size_t tail_bytes) {
    uint8_t plain[FRAME_MAX_BYTES + COBS_PADDING] __attribute__((aligned(16)));
    unsigned core = core_number();
    struct frame_header header = {
        .type = (uint8_t)type, .core = (uint8_t)core, .seq = sequences[core].next++};
    size_t bytes = sizeof header;
    if (head_bytes + tail_bytes > FRAME_PAYLOAD_MAX)
        panic("a message of %lu bytes", head_bytes + tail_bytes);
    memcpy(plain, &header, sizeof header);
    memcpy(plain + bytes, head, head_bytes);
    bytes += head_bytes;
    memcpy(plain + bytes, tail, tail_bytes);
    bytes += tail_bytes;
    uint32_t crc = crc32(0, plain, bytes);
    memcpy(plain + bytes, &crc, sizeof crc);
    bytes += sizeof crc;
    memset(plain + bytes, 0, COBS_PADDING);

    size_t encoded_bytes = cobs_encode(out + 1, plain, bytes);
    out[0] = out[1 + encoded_bytes] = 0;
    return encoded_bytes + 2;
}

void frame_skip(void) {
    sequences[core_number()].next++;
}

bool frame_offer_encoded(const uint8_t *frame, size_t bytes) {
    if (!port_send(frame, bytes))
        return false;
    bytes_sent += bytes;
    return true;
}

void frame_send(enum message_type type, const void *head, size_t head_bytes, const void *tail,
                size_t tail_bytes) {
    size_t bytes = frame_encode(encoded_frame, type, head, head_bytes, tail, tail_bytes);
    while (port_room() < bytes)
        idle(WAIT_MICROSECONDS);
    frame_offer_encoded(encoded_frame, bytes);
}

bool frame_offer(enum message_type type, const void *head, size_t head_bytes, const void *tail,
                 size_t tail_bytes) {
    size_t bytes = frame_encode(encoded_frame, type, head, head_bytes, tail, tail_bytes);
    return port_room() >= bytes && frame_offer_encoded(encoded_frame, bytes);
}

uint64_t frame_bytes_sent(void) {
    return bytes_sent;
}
uint32_t frame_bad_count(void) {
    return bad_count;
}

// The frame being collected, and bytes received but not looked at yet.
static uint8_t encoded[COBS_ENCODED_MAX(FRAME_MAX_BYTES)] __attribute__((aligned(8)));
static size_t encoded_bytes;
static bool too_long;
static uint8_t received[256];
static size_t received_bytes, received_at;

/// Checks what lies in `encoded` and turns it into a frame.
static bool decode(struct frame *frame) {
    size_t bytes = cobs_decode(encoded, encoded_bytes);
    if (bytes == COBS_BAD || bytes < sizeof(struct frame_header) + FRAME_CRC_BYTES || bytes > FRAME_MAX_BYTES)
        return false;
    uint32_t crc;
    memcpy(&crc, encoded + bytes - sizeof crc, sizeof crc);
    if (crc32(0, encoded, bytes - sizeof crc) != crc)
        return false;
    struct frame_header header;
    memcpy(&header, encoded, sizeof header);
    frame->type = header.type;
    frame->seq = header.seq;
    frame->payload = encoded + sizeof header;
    frame->payload_bytes = (uint16_t)(bytes - sizeof header - sizeof crc);
    return true;
}

bool frame_receive(struct frame *frame) {
    for (;;) {
        if (received_at == received_bytes) {
            received_at = 0;
            received_bytes = port_receive(received, sizeof received);
            if (received_bytes == 0)
                return false;
        }
        uint8_t byte = received[received_at++];
        if (byte != 0) {
            if (encoded_bytes < sizeof encoded)
                encoded[encoded_bytes++] = byte;
            else
                too_long = true;
            continue;
        }
        bool empty = encoded_bytes == 0, good = !too_long && !empty && decode(frame);
        encoded_bytes = 0;
        too_long = false;
        if (good)
            return true;
        if (!empty)
            bad_count++;
    }
}
