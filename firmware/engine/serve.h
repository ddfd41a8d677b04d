// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Answers commands for ever, asleep while there are none.
_Noreturn void serve(void);
