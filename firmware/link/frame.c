// SPDX-License-Identifier: Apache-2.0
#include "link/frame.h"

#include "arch/cpu.h"
#include "arch/exception.h"
#include "arch/string.h"
#include "hal/idle.h"
#include "link/cobs.h"
#include "link/crc32.h"
#include "link/rtt.h"

static uint16_t next_seq;
static uint64_t bytes_sent;
static uint32_t bad_count;

#define WAIT_MICROSECONDS 500

/// What a frame is made of.
struct parts {
    enum message_type type;
    const void *head, *tail;
    size_t head_bytes, tail_bytes;
};

static bool reserve(struct rtt_writer *writer, const struct parts *parts) {
    size_t bytes = sizeof(struct frame_header) + parts->head_bytes + parts->tail_bytes + FRAME_CRC_BYTES;
    if (bytes > FRAME_MAX_BYTES)
        panic("message %u has %lu bytes", parts->type, bytes);
    return rtt_reserve(writer, FRAME_ENCODED(bytes) + 2);
}

static void encode(struct rtt_writer *writer, const struct parts *parts, uint16_t seq) {
    struct frame_header header = {.type = (uint8_t)parts->type, .core = (uint8_t)core_number(), .seq = seq};
    uint32_t start = writer->at;
    uint32_t crc = crc32(0, &header, sizeof header);
    crc = crc32(crc, parts->head, parts->head_bytes);
    crc = crc32(crc, parts->tail, parts->tail_bytes);

    struct cobs_encoder encoder;
    rtt_put(writer, 0);
    cobs_begin(&encoder, writer);
    cobs_put(&encoder, &header, sizeof header);
    cobs_put(&encoder, parts->head, parts->head_bytes);
    cobs_put(&encoder, parts->tail, parts->tail_bytes);
    cobs_put(&encoder, &crc, sizeof crc);
    cobs_end(&encoder);
    rtt_put(writer, 0);
    rtt_publish(writer);
    bytes_sent += (writer->at >= start ? 0 : writer->size) + writer->at - start;
}

void frame_send(enum message_type type, const void *head, size_t head_bytes, const void *tail, size_t tail_bytes) {
    struct parts parts = {type, head, tail, head_bytes, tail_bytes};
    struct rtt_writer writer;
    while (!reserve(&writer, &parts))
        idle(WAIT_MICROSECONDS);
    encode(&writer, &parts, next_seq++);
}

bool frame_offer(enum message_type type, const void *head, size_t head_bytes, const void *tail, size_t tail_bytes) {
    struct parts parts = {type, head, tail, head_bytes, tail_bytes};
    struct rtt_writer writer;
    uint16_t seq = next_seq++;
    if (!reserve(&writer, &parts))
        return false;
    encode(&writer, &parts, seq);
    return true;
}

uint64_t frame_bytes_sent(void) { return bytes_sent; }
uint32_t frame_bad_count(void) { return bad_count; }

// The frame being collected, and bytes received but not looked at yet.
static uint8_t encoded[FRAME_ENCODED(FRAME_MAX_BYTES)] __attribute__((aligned(8)));
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
            received_bytes = rtt_receive(received, sizeof received);
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
