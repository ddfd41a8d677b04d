// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// A64 encodings (Armv8.2-A with dot product, fp16 and crypto: what a Cortex-A76 executes), loads and stores
// excepted: those are decoded field by field in a64_memory.c. Source: Arm Architecture Reference Manual,
// chapter C4.
//
//   ROW(pattern, class, destination)
//
// Pattern: 32 characters, bit 31 first; 0 and 1 must match, anything else is free, '_' is layout. The first
// row that matches wins, so special cases stand before the general row. Destination: the general register
// that is written: NONE, RD (bits 4:0; 31 is XZR), RD_SP (31 is SP), LINK (X30).
// clang-format off

// Data processing, immediate
ROW("xxx_10000_xxxxxxxxxxxxxxxxxxx_ddddd",             INT, RD)                // ADR, ADRP
ROW("xx0_100010_x_xxxxxxxxxxxx_nnnnn_ddddd",           INT, RD_SP)             // ADD, SUB
ROW("xx1_100010_x_xxxxxxxxxxxx_nnnnn_ddddd",           INT, RD)                // ADDS, SUBS
ROW("x11_100100_x_xxxxxx_xxxxxx_nnnnn_ddddd",          INT, RD)                // ANDS
ROW("xxx_100100_x_xxxxxx_xxxxxx_nnnnn_ddddd",          INT, RD_SP)             // AND, ORR, EOR
ROW("xxx_100101_xx_xxxxxxxxxxxxxxxx_ddddd",            INT, RD)                // MOVN, MOVZ, MOVK
ROW("xxx_100110_x_xxxxxx_xxxxxx_nnnnn_ddddd",          INT, RD)                // SBFM, BFM, UBFM
ROW("x00_100111_x_0_mmmmm_xxxxxx_nnnnn_ddddd",         INT_M, RD)              // EXTR

// Branches, exceptions, system
ROW("000101_xxxxxxxxxxxxxxxxxxxxxxxxxx",               BRANCH, NONE)           // B
ROW("100101_xxxxxxxxxxxxxxxxxxxxxxxxxx",               BRANCH_LINK, LINK)      // BL
ROW("01010100_xxxxxxxxxxxxxxxxxxx_0_xxxx",             BRANCH, NONE)           // B.cond
ROW("x01101xx_xxxxxxxxxxxxxxxxxxx_ttttt",              BRANCH, NONE)           // CBZ, CBNZ, TBZ, TBNZ
ROW("1101011_0001_11111_000000_nnnnn_00000",           BRANCH_LINK, LINK)      // BLR
ROW("1101011_0xx0_11111_000000_nnnnn_00000",           BRANCH, NONE)           // BR, RET, ERET
ROW("11010100_xxx_xxxxxxxxxxxxxxxx_000_xx",            SYSTEM, NONE)           // SVC, HVC, SMC, BRK, HLT
ROW("1101010100_0_00_011_0010_xxxx_xxx_11111",         HINT, NONE)             // NOP, YIELD, WFE, WFI, SEV
ROW("1101010100_0_00_011_0011_xxxx_xxx_11111",         SYSTEM, NONE)           // DSB, DMB, ISB, CLREX
ROW("1101010100_0_00_xxx_0100_xxxx_xxx_11111",         SYSTEM, NONE)           // MSR (immediate)
ROW("1101010100_0_01_xxx_xxxx_xxxx_xxx_ttttt",         SYSTEM, NONE)           // SYS: DC, IC, TLBI, AT
ROW("1101010100_0_1x_xxx_xxxx_xxxx_xxx_ttttt",         SYSTEM, NONE)           // MSR (register)
ROW("1101010100_1_xx_xxx_xxxx_xxxx_xxx_ttttt",         SYSTEM, RD)             // MRS, SYSL

// Data processing, register
ROW("xxx_01010_xx_x_mmmmm_xxxxxx_nnnnn_ddddd",         INT, RD)                // AND, BIC, ORR, ORN, EOR, EON, ANDS
ROW("xxx_01011_00_0_mmmmm_0000xx_nnnnn_ddddd",         INT, RD)                // ADD, SUB, LSL 0 to 3
ROW("xxx_01011_00_0_mmmmm_000100_nnnnn_ddddd",         INT, RD)                // LSL 4
ROW("xxx_01011_xx_0_mmmmm_xxxxxx_nnnnn_ddddd",         INT_M, RD)              // other shifts
ROW("xx0_01011_00_1_mmmmm_xxxxxx_nnnnn_ddddd",         INT_M, RD_SP)           // ADD, SUB (extended)
ROW("xx1_01011_00_1_mmmmm_xxxxxx_nnnnn_ddddd",         INT_M, RD)              // ADDS, SUBS (extended)
ROW("xxx_11010000_mmmmm_000000_nnnnn_ddddd",           INT, RD)                // ADC, SBC
ROW("xx1_11010010_mmmmm_xxxx_x0_nnnnn_0_xxxx",         INT, NONE)              // CCMN, CCMP
ROW("xx0_11010100_mmmmm_xxxx_0x_nnnnn_ddddd",          INT, RD)                // CSEL, CSINC, CSINV, CSNEG
ROW("x00_11010110_mmmmm_00001x_nnnnn_ddddd",           DIVIDE, RD)             // UDIV, SDIV
ROW("x00_11010110_mmmmm_0010xx_nnnnn_ddddd",           INT, RD)                // LSLV, LSRV, ASRV, RORV
ROW("x00_11010110_mmmmm_010xxx_nnnnn_ddddd",           MUL_W, RD)              // CRC32
ROW("x10_11010110_00000_000xxx_nnnnn_ddddd",           INT, RD)                // RBIT, REV, CLZ, CLS
ROW("000_11011_000_mmmmm_x_aaaaa_nnnnn_ddddd",         MUL_W, RD)              // MADD, MSUB (32 bits)
ROW("100_11011_000_mmmmm_x_aaaaa_nnnnn_ddddd",         MUL_X, RD)              // MADD, MSUB (64 bits)
ROW("100_11011_x01_mmmmm_x_aaaaa_nnnnn_ddddd",         MUL_W, RD)              // SMADDL, UMADDL, SMSUBL, UMSUBL
ROW("100_11011_x10_mmmmm_0_aaaaa_nnnnn_ddddd",         MUL_HIGH, RD)           // SMULH, UMULH

// Cryptography
ROW("01001110_00_10100_001xx_10_nnnnn_ddddd",          V_CRYPTO, NONE)         // AESE, AESD, AESMC, AESIMC
ROW("01011110_00_0_mmmmm_0xxx_00_nnnnn_ddddd",         V_CRYPTO, NONE)         // SHA1C ... SHA256SU1
ROW("01011110_00_10100_000xx_10_nnnnn_ddddd",          V_CRYPTO, NONE)         // SHA1H, SHA1SU1, SHA256SU0

// Vector copy and permute
ROW("0x001110000_xxxxx_0_0000_1_nnnnn_ddddd",          V, NONE)                // DUP (element)
ROW("0x001110000_xxxxx_0_0001_1_nnnnn_ddddd",          V_FROM_GPR, NONE)       // DUP (general)
ROW("0x001110000_xxxxx_0_01x1_1_nnnnn_ddddd",          V_TO_GPR, RD)           // SMOV, UMOV
ROW("01001110000_xxxxx_0_0011_1_nnnnn_ddddd",          V_INSERT_GPR, NONE)     // INS (general)
ROW("01101110000_xxxxx_0_xxxx_1_nnnnn_ddddd",          V, NONE)                // INS (element)
ROW("01011110000_xxxxx_0_0000_1_nnnnn_ddddd",          V, NONE)                // DUP (scalar)
ROW("0x001110_00_0_mmmmm_0_0x_x_00_nnnnn_ddddd",       V, NONE)                // TBL, TBX of 1 or 2 registers
ROW("0x001110_00_0_mmmmm_0_1x_x_00_nnnnn_ddddd",       V_TBL_LONG, NONE)       // of 3 or 4
ROW("0x001110_xx_0_mmmmm_0_xxx_10_nnnnn_ddddd",        V, NONE)                // ZIP, UZP, TRN
ROW("0x101110_00_0_mmmmm_0_xxxx_0_nnnnn_ddddd",        V, NONE)                // EXT

// Vector, across lanes
ROW("01x01110_00_11000_xxxxx_10_nnnnn_ddddd",          V_REDUCE_B, NONE)       // 16B; also FMAXNMV of f16
ROW("0xx01110_xx_11000_xxxxx_10_nnnnn_ddddd",          V_REDUCE, NONE)         // ADDV, SADDLV, SMAXV, FMAXV ...

// Vector, three registers: fp16, then the dot product and its group
ROW("0x101110_010_mmmmm_00111_1_nnnnn_ddddd",          V_DIVIDE_Q, NONE)       // FDIV 8H
ROW("0xx01110_x10_mmmmm_00xxx_1_nnnnn_ddddd",          V_FP, NONE)             // FADD, FMUL, FMLA, FMAX ... 8H
ROW("0xx01110_10_0_mmmmm_1_0010_1_nnnnn_ddddd",        V_DOT, NONE)            // SDOT, UDOT
ROW("00101110_xx_0_mmmmm_1_000x_1_nnnnn_ddddd",        V_MUL_D, NONE)          // SQRDMLAH, SQRDMLSH
ROW("01101110_xx_0_mmmmm_1_000x_1_nnnnn_ddddd",        V_MUL_Q, NONE)

// Vector, two registers
ROW("0xx01110_xx_10000_00110_10_nnnnn_ddddd",          V_SHIFT, NONE)          // SADALP, UADALP
ROW("0xx01110_xx_10000_10100_10_nnnnn_ddddd",          V_SHIFT, NONE)          // SQXTN, UQXTN
ROW("0x101110_xx_10000_1001x_10_nnnnn_ddddd",          V_SHIFT, NONE)          // SQXTUN, SHLL
ROW("0xx01110_xx_10000_1011x_10_nnnnn_ddddd",          V_CONVERT_Q, NONE)      // FCVTN, FCVTL, FCVTXN
ROW("00101110_xx_10000_11111_10_nnnnn_ddddd",          V_DIVIDE, NONE)         // FSQRT
ROW("01101110_xx_10000_11111_10_nnnnn_ddddd",          V_DIVIDE_Q, NONE)
ROW("00x01110_xx_10000_110xx_10_nnnnn_ddddd",          V_CONVERT_D, NONE)      // FRINT*, FCVT*
ROW("01x01110_xx_10000_110xx_10_nnnnn_ddddd",          V_CONVERT_Q, NONE)
ROW("00x01110_xx_10000_1110x_10_nnnnn_ddddd",          V_CONVERT_D, NONE)      // SCVTF, FCVTA*, FRECPE, FRSQRTE
ROW("01x01110_xx_10000_1110x_10_nnnnn_ddddd",          V_CONVERT_Q, NONE)
ROW("0xx01110_xx_10000_xxxxx_10_nnnnn_ddddd",          V, NONE)                // REV, CNT, ABS, CM* 0, XTN, SADDLP ...
ROW("0xx01110_x_111100_011xx_10_nnnnn_ddddd",          V, NONE)                // fp16: FCM* 0, FABS, FNEG
ROW("00101110_1_111100_11111_10_nnnnn_ddddd",          V_DIVIDE, NONE)         // fp16: FSQRT
ROW("01101110_1_111100_11111_10_nnnnn_ddddd",          V_DIVIDE_Q, NONE)
ROW("00x01110_x_111100_xxxxx_10_nnnnn_ddddd",          V_CONVERT_Q, NONE)      // fp16: FRINT*, FCVT*, SCVTF
ROW("01x01110_x_111100_xxxxx_10_nnnnn_ddddd",          V_CONVERT_H, NONE)

// Vector, three registers of different widths
ROW("0xx01110_xx_1_mmmmm_100x_00_nnnnn_ddddd",         V_MUL_LONG, NONE)       // SMLAL, SQDMLAL
ROW("0xx01110_xx_1_mmmmm_101x_00_nnnnn_ddddd",         V_MUL_LONG, NONE)       // SMLSL, SQDMLSL
ROW("0xx01110_xx_1_mmmmm_110x_00_nnnnn_ddddd",         V_MUL_LONG, NONE)       // SMULL, SQDMULL
ROW("0xx01110_xx_1_mmmmm_1110_00_nnnnn_ddddd",         V_MUL_LONG, NONE)       // PMULL
ROW("0xx01110_xx_1_mmmmm_0101_00_nnnnn_ddddd",         V_SHIFT, NONE)          // SABAL, UABAL
ROW("0xx01110_xx_1_mmmmm_0xxx_00_nnnnn_ddddd",         V, NONE)                // SADDL, SADDW, ADDHN, SABDL ...

// Vector, three registers of one width
ROW("0xx01110_xx_1_mmmmm_010xx_1_nnnnn_ddddd",         V_SHIFT, NONE)          // SSHL, SQSHL, SRSHL, SQRSHL
ROW("0xx01110_xx_1_mmmmm_01111_1_nnnnn_ddddd",         V_SHIFT, NONE)          // SABA, UABA
ROW("00x01110_xx_1_mmmmm_1001x_1_nnnnn_ddddd",         V_MUL_D, NONE)          // MLA, MLS, MUL, PMUL
ROW("01x01110_xx_1_mmmmm_1001x_1_nnnnn_ddddd",         V_MUL_Q, NONE)
ROW("00x01110_xx_1_mmmmm_10110_1_nnnnn_ddddd",         V_MUL_D, NONE)          // SQDMULH, SQRDMULH
ROW("01x01110_xx_1_mmmmm_10110_1_nnnnn_ddddd",         V_MUL_Q, NONE)
ROW("00101110_0x_1_mmmmm_11111_1_nnnnn_ddddd",         V_DIVIDE, NONE)         // FDIV
ROW("01101110_0x_1_mmmmm_11111_1_nnnnn_ddddd",         V_DIVIDE_Q, NONE)
ROW("0xx01110_xx_1_mmmmm_11xxx_1_nnnnn_ddddd",         V_FP, NONE)             // FADD, FMUL, FMLA, FMAX, FCM* ...
ROW("0xx01110_xx_1_mmmmm_xxxxx_1_nnnnn_ddddd",         V, NONE)                // ADD, AND, BSL, CM*, SMAX, SABD, ADDP ...

// Vector, immediate and shift by immediate
ROW("0xx0111100000_xxx_xxxx_x_1_xxxxx_ddddd",          V, NONE)                // MOVI, MVNI, ORR, BIC, FMOV
ROW("0xx011110_xxxx_xxx_1110x_1_nnnnn_ddddd",          V_CONVERT_Q, NONE)      // SCVTF (fixed point)
ROW("0xx011110_xxxx_xxx_11111_1_nnnnn_ddddd",          V_CONVERT_Q, NONE)      // FCVTZS (fixed point)
ROW("0xx011110_xxxx_xxx_xxxxx_1_nnnnn_ddddd",          V_SHIFT, NONE)          // SSHR, USRA, SHL, SHRN, SSHLL ...

// Vector by element
ROW("0xx01111_xx_xx_xxxx_1110_x_0_nnnnn_ddddd",        V_DOT, NONE)            // SDOT, UDOT
ROW("0xx01111_xx_xx_xxxx_0x01_x_0_nnnnn_ddddd",        V_FP, NONE)             // FMLA, FMLS
ROW("0xx01111_xx_xx_xxxx_1001_x_0_nnnnn_ddddd",        V_FP, NONE)             // FMUL, FMULX
ROW("00101111_xx_xx_xxxx_1111_x_0_nnnnn_ddddd",        V_MUL_D, NONE)          // SQRDMLSH
ROW("01101111_xx_xx_xxxx_1111_x_0_nnnnn_ddddd",        V_MUL_Q, NONE)
ROW("0xx01111_xx_xx_xxxx_xx1x_x_0_nnnnn_ddddd",        V_MUL_LONG, NONE)       // SMLAL, SMLSL, SMULL, SQDMULL
ROW("00x01111_xx_xx_xxxx_xxxx_x_0_nnnnn_ddddd",        V_MUL_D, NONE)          // MUL, MLA, SQDMULH
ROW("01x01111_xx_xx_xxxx_xxxx_x_0_nnnnn_ddddd",        V_MUL_Q, NONE)

// Scalar forms of the vector groups
ROW("01x11110_xx_1_mmmmm_010xx_1_nnnnn_ddddd",         V_SHIFT, NONE)          // SSHL, SQSHL ...
ROW("01x11110_xx_1_mmmmm_10110_1_nnnnn_ddddd",         V_MUL_D, NONE)          // SQDMULH, SQRDMULH
ROW("01x11110_xx_1_mmmmm_xxxxx_1_nnnnn_ddddd",         V, NONE)                // ADD, CM*, FABD, FCM* ...
ROW("01x11110_x10_mmmmm_00xxx_1_nnnnn_ddddd",          V_FP, NONE)             // fp16
ROW("01111110_xx_0_mmmmm_1_000x_1_nnnnn_ddddd",        V_MUL_D, NONE)          // SQRDMLAH, SQRDMLSH
ROW("01x11110_xx_10000_1xx1x_10_nnnnn_ddddd",          V_CONVERT_D, NONE)      // FCVT*, SQXTUN, FCVTXN, FRECPX
ROW("01x11110_xx_10000_11xxx_10_nnnnn_ddddd",          V_CONVERT_D, NONE)      // SCVTF, FRECPE, FRSQRTE
ROW("01x11110_xx_10000_10100_10_nnnnn_ddddd",          V_SHIFT, NONE)          // SQXTN, UQXTN
ROW("01x11110_xx_10000_xxxxx_10_nnnnn_ddddd",          V, NONE)                // ABS, NEG, CM* 0 ...
ROW("01x11110_x_111100_xxxxx_10_nnnnn_ddddd",          V_CONVERT_D, NONE)      // fp16
ROW("01x11110_xx_11000_xxxxx_10_nnnnn_ddddd",          V, NONE)                // ADDP, FADDP, FMAXP
ROW("01011110_xx_1_mmmmm_xxxx_00_nnnnn_ddddd",         V_MUL_LONG, NONE)       // SQDMLAL, SQDMLSL, SQDMULL
ROW("01x111110_xxxx_xxx_111xx_1_nnnnn_ddddd",          V_CONVERT_D, NONE)      // SCVTF, FCVTZS (fixed point)
ROW("01x111110_xxxx_xxx_xxxxx_1_nnnnn_ddddd",          V_SHIFT, NONE)          // SSHR, SHL, SQSHRN ...
ROW("01x11111_xx_xx_xxxx_0x01_x_0_nnnnn_ddddd",        V_FP, NONE)             // FMLA, FMLS by element
ROW("01x11111_xx_xx_xxxx_1001_x_0_nnnnn_ddddd",        V_FP, NONE)             // FMUL, FMULX by element
ROW("01x11111_xx_xx_xxxx_xxxx_x_0_nnnnn_ddddd",        V_MUL_LONG, NONE)       // SQDMULL, SQDMULH, SQRDMLAH by element

// Floating point
ROW("x0011110_xx_1_0x_110_000000_nnnnn_ddddd",         V_TO_GPR, RD)           // FMOV to a general register
ROW("x0011110_xx_1_0x_111_000000_nnnnn_ddddd",         V_FROM_GPR, NONE)       // FMOV from one
ROW("x0011110_xx_1_00_01x_000000_nnnnn_ddddd",         FP_FROM_GPR, NONE)      // SCVTF, UCVTF
ROW("x0011110_xx_1_xx_x0x_000000_nnnnn_ddddd",         FP_TO_GPR, RD)          // FCVT*S, FCVT*U
ROW("x0011110_xx_0_00_01x_xxxxxx_nnnnn_ddddd",         FP_FROM_GPR, NONE)      // SCVTF, UCVTF (fixed point)
ROW("x0011110_xx_0_11_00x_xxxxxx_nnnnn_ddddd",         FP_TO_GPR, RD)          // FCVTZS, FCVTZU (fixed point)
ROW("00011110_xx_1_000011_10000_nnnnn_ddddd",          V_DIVIDE, NONE)         // FSQRT
ROW("00011110_xx_1_0000xx_10000_nnnnn_ddddd",          V, NONE)                // FMOV, FABS, FNEG
ROW("00011110_xx_1_xxxxxx_10000_nnnnn_ddddd",          V_CONVERT_D, NONE)      // FCVT, FRINT*
ROW("00011110_xx_1_mmmmm_00_1000_nnnnn_xx000",         V_COMPARE_FLAGS, NONE)  // FCMP, FCMPE
ROW("00011110_xx_1_xxxxxxxx_100_00000_ddddd",          V, NONE)                // FMOV (immediate)
ROW("00011110_xx_1_mmmmm_xxxx_01_nnnnn_x_xxxx",        V_COMPARE_FLAGS, NONE)  // FCCMP
ROW("00011110_xx_1_mmmmm_0001_10_nnnnn_ddddd",         V_DIVIDE, NONE)         // FDIV
ROW("00011110_xx_1_mmmmm_xxxx_10_nnnnn_ddddd",         V_FP, NONE)             // FADD, FMUL, FMAX ...
ROW("00011110_xx_1_mmmmm_xxxx_11_nnnnn_ddddd",         V, NONE)                // FCSEL
ROW("00011111_xx_x_mmmmm_x_aaaaa_nnnnn_ddddd",         V_FP, NONE)             // FMADD, FMSUB, FNMADD, FNMSUB
