// SPDX-License-Identifier: Apache-2.0
// The PL011 as the console's link: a queue in front of the transmitter, so that who sends does not wait for
// the line, and the receiver, whose interrupt ends a WFI before its FIFO is full.
#include "hal/uart.h"

#include "arch/string.h"
#include "hal/gic.h"
#include "hal/pl011.h"

#define QUEUE_BYTES 8192u // eight frames

#define WAKE_BY (INTERRUPT_RECEIVE | INTERRUPT_PAUSE)

static uint8_t queue[QUEUE_BYTES];
static uint32_t queued, sent; // bytes ever; the difference waits

/// Gives the transmitter what it takes now, and lets it wake the core while more is waiting.
static void pump(void) {
    if (sent == queued)
        return;
    while (sent != queued && !(uart->flags & TRANSMIT_FULL)) {
        uart->data = queue[sent % QUEUE_BYTES];
        sent++;
    }
    uart->interrupt_mask = sent == queued ? WAKE_BY : WAKE_BY | INTERRUPT_TRANSMIT;
}

void uart_listen(void) {
    uart->control |= RECEIVE_ENABLE;
    uart->interrupt_mask = WAKE_BY;
    gic_wake_by(BOARD_UART_INTERRUPT);
}

size_t uart_room(void) {
    pump();
    return QUEUE_BYTES - (queued - sent);
}

bool uart_queue(const void *data, size_t bytes) {
    if (bytes > uart_room())
        return false;
    size_t at = queued % QUEUE_BYTES, to_end = QUEUE_BYTES - at;
    size_t first = bytes < to_end ? bytes : to_end;
    memcpy(queue + at, data, first);
    memcpy(queue, (const uint8_t *)data + first, bytes - first);
    queued += (uint32_t)bytes;
    pump();
    return true;
}

void uart_drain(void) {
    uint32_t before = sent;
    for (unsigned tries = TRIES; sent != queued && tries != 0; tries--) {
        pump();
        if (sent != before)
            tries = TRIES;
        before = sent;
    }
}

size_t uart_receive(uint8_t *out, size_t room) {
    size_t count = 0;
    pump();
    while (count < room && !(uart->flags & RECEIVE_EMPTY))
        out[count++] = (uint8_t)uart->data; // a damaged byte fails its frame's CRC
    return count;
}
