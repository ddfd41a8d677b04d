// SPDX-License-Identifier: Apache-2.0
#include "link/port.h"

#include "board_config.h"

#if BOARD_LINK_UART

#include "hal/uart.h"

void port_init(void) {
    uart_listen();
}

size_t port_room(void) {
    return uart_room();
}

bool port_send(const void *data, size_t bytes) {
    return uart_queue(data, bytes);
}

size_t port_receive(uint8_t *out, size_t room) {
    return uart_receive(out, room);
}

void port_flush(void) {
    uart_drain();
}

#else

#include "link/rtt.h"

void port_init(void) {
    rtt_init();
}

size_t port_room(void) {
    return rtt_room();
}

bool port_send(const void *data, size_t bytes) {
    return rtt_send(data, bytes);
}

size_t port_receive(uint8_t *out, size_t room) {
    return rtt_receive(out, room);
}

void port_flush(void) {} // the rings are memory that the host reads whenever it likes

#endif
