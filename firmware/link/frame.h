// SPDX-License-Identifier: Apache-2.0
// Frames: 0x00, COBS of {header, payload, CRC-32 of both}, 0x00. The zero in front ends whatever log text
// came before.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/cobs.h"
#include "schema/wire.h"

#define FRAME_CRC_BYTES   4u
#define FRAME_PAYLOAD_MAX (FRAME_MAX_BYTES - sizeof(struct frame_header) - FRAME_CRC_BYTES)

/// Bytes that a frame with this payload takes at most, its zeros and the encoder's slack included.
#define FRAME_ENCODED_MAX(payload_bytes)                                                                     \
    (2 + COBS_ENCODED_MAX(sizeof(struct frame_header) + (payload_bytes) + FRAME_CRC_BYTES) + COBS_PADDING)

/// Encodes a frame of the calling core, with its next sequence number, into `out`, which has room for
/// FRAME_ENCODED_MAX bytes. Returns how many it took.
size_t frame_encode(uint8_t *out, enum message_type type, const void *head, size_t head_bytes,
                    const void *tail, size_t tail_bytes);

/// Uses up the calling core's next sequence number.
void frame_skip(void);

/// Puts an encoded frame into the port; false when there is no room. Only core 0, and not inside a job.
bool frame_offer_encoded(const uint8_t *frame, size_t bytes);

/// Puts a frame whose payload is `head` then `tail` (at most FRAME_PAYLOAD_MAX together) into the port.
/// Sleeps until the host has made room. Core 0 only, and not inside a job; but a core that faults may.
void frame_send(enum message_type type, const void *head, size_t head_bytes, const void *tail,
                size_t tail_bytes);

/// The same without waiting: false when there is no room. The sequence number is used up all the same, so
/// that the console sees the gap.
bool frame_offer(enum message_type type, const void *head, size_t head_bytes, const void *tail,
                 size_t tail_bytes);

/// Bytes put into the port since boot.
uint64_t frame_bytes_sent(void);

/// A frame from the console. `payload` is 4-byte aligned and valid until the next frame_receive.
struct frame {
    enum message_type type;
    uint16_t seq;
    uint16_t payload_bytes;
    const uint8_t *payload;
};

/// Takes the next whole frame that has arrived; false when there is none yet. Damaged ones are counted and
/// skipped.
bool frame_receive(struct frame *frame);

/// Frames from the console that were too long, not COBS, or failed the CRC.
uint32_t frame_bad_count(void);
