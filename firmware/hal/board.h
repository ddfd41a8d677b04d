// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Brings up what every image needs of the board: UART with its fault reports, timer, counters. First call of
/// main.
void board_init(void);
