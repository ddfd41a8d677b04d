// SPDX-License-Identifier: Apache-2.0
#include "link/frame.h"

#include "arch/cpu.h"
#include "arch/exception.h"
#include "arch/string.h"
#include "hal/idle.h"
#include "link/cobs.h"
#include "link/crc32.h"
#include "link/port.h"

static uint16_t next_seq;
static uint64_t bytes_sent;
static uint32_t bad_count;

#define WAIT_MICROSECONDS 500

// The frame being sent. Built in cached memory and copied, because an RTT ring is not cached: there, every
// byte stored out of line would be a bus access of its own.
static uint8_t plain[FRAME_MAX_BYTES + COBS_PADDING] __attribute__((aligned(16)));
static uint8_t stuffed[1 + COBS_ENCODED_MAX(FRAME_MAX_BYTES) + COBS_PADDING] __attribute__((aligned(16)));

/// Room that a frame with this payload may need.
static size_t room_for(size_t payload_bytes) {
    if (payload_bytes > FRAME_PAYLOAD_MAX)
        panic("a message of %lu bytes", payload_bytes);
    return COBS_ENCODED_MAX(sizeof(struct frame_header) + payload_bytes + FRAME_CRC_BYTES) + 2;
}

static void send(uint16_t seq, enum message_type type, const void *head, size_t head_bytes, const void *tail,
                 size_t tail_bytes) {
    struct frame_header header = {.type = (uint8_t)type, .core = (uint8_t)core_number(), .seq = seq};
    size_t bytes = sizeof header;
    memcpy(plain, &header, sizeof header);
    memcpy(plain + bytes, head, head_bytes);
    bytes += head_bytes;
    memcpy(plain + bytes, tail, tail_bytes);
    bytes += tail_bytes;
    uint32_t crc = crc32(0, plain, bytes);
    memcpy(plain + bytes, &crc, sizeof crc);
    bytes += sizeof crc;
    memset(plain + bytes, 0, COBS_PADDING);

    size_t encoded_bytes = cobs_encode(stuffed + 1, plain, bytes);
    stuffed[0] = stuffed[1 + encoded_bytes] = 0;
    port_send(stuffed, encoded_bytes + 2);
    bytes_sent += encoded_bytes + 2;
}

void frame_send(enum message_type type, const void *head, size_t head_bytes, const void *tail,
                size_t tail_bytes) {
    size_t room = room_for(head_bytes + tail_bytes);
    while (port_room() < room)
        idle(WAIT_MICROSECONDS);
    send(next_seq++, type, head, head_bytes, tail, tail_bytes);
}

bool frame_offer(enum message_type type, const void *head, size_t head_bytes, const void *tail,
                 size_t tail_bytes) {
    uint16_t seq = next_seq++;
    if (port_room() < room_for(head_bytes + tail_bytes))
        return false;
    send(seq, type, head, head_bytes, tail, tail_bytes);
    return true;
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
