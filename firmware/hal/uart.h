// SPDX-License-Identifier: Apache-2.0
// The debug UART: early log and the report of a fault. Output only; lost when nobody takes it, never waited
// for long.
#pragma once

/// Enables the transmitter and makes the UART the first place for fault reports.
void uart_init(void);
void uart_write(const char *text);
void uart_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
