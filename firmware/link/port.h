// SPDX-License-Identifier: Apache-2.0
// What carries the frames: RTT rings, or the UART, as the board's profile says. Both take bytes without
// waiting for the console.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Opens it. After board_init.
void port_init(void);

/// Bytes that port_send would take now.
size_t port_room(void);
/// Takes all of `data`, or nothing of it and returns false when there is no room.
bool port_send(const void *data, size_t bytes);

/// Takes up to `room` bytes that the console has sent; 0 when there are none.
size_t port_receive(uint8_t *out, size_t room);

/// Waits until everything is out of the firmware's hands: for a core that will not run again.
void port_flush(void);
