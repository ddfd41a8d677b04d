// SPDX-License-Identifier: Apache-2.0
// What the firmware's own sources have to know when they are part of a test program.
#pragma once

#define BOARD_HAS_DEVICE_PAGE 1
#define BOARD_DEVICE_PAGE     DEVICE_PAGE
#define BOARD_SINKS           4
#define BOARD_CONTEXT         512
#define BOARD_BATCH           32
