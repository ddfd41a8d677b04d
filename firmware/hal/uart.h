// SPDX-License-Identifier: Apache-2.0
// The debug UART: early log and the report of a fault. Text is lost when nobody takes it, never waited for
// long. Where the profile makes it the console's link it carries frames, too.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Enables the transmitter and makes the UART the first place for fault reports.
void uart_init(void);
void uart_write(const char *text);
void uart_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Enables the receiver; from now on bytes that arrive end a WFI of the calling core.
void uart_listen(void);

/// Bytes that uart_queue would take now.
size_t uart_room(void);
/// Queues all of `data`, or nothing of it and returns false when there is no room. The queue moves on with
/// every call of uart_room, uart_queue and uart_receive.
bool uart_queue(const void *data, size_t bytes);
/// Waits until the queue is empty, but not for a line that does not move.
void uart_drain(void);

/// Takes up to `room` bytes that have arrived; 0 when there are none.
size_t uart_receive(uint8_t *out, size_t room);
