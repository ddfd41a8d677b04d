// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// A64 encodings (Armv8.2-A with dot product, fp16 and crypto: what a Cortex-A76 executes), loads and stores
// excepted: those are decoded field by field in a64_memory.c. Source: Arm Architecture Reference Manual,
// chapter C4.
//
//   ROW(pattern, class, operands)
//
// Pattern: 32 characters, bit 31 first; 0 and 1 must match, anything else is free, '_' is layout. The first
// row that matches wins, so special cases stand before the general row.
//
// Operands: "written=read". A register is a file and a field. File: X (31 is XZR), S (31 is SP), V. Field: d
// bits 4:0, n 9:5, m 20:16, a 14:10, e the element register of "by element" (4 bits for 16-bit elements). A
// digit: so many consecutive registers. F: the flags. L: X30. '+': the accumulator, needed last.
// clang-format off

// Data processing, immediate
ROW("xxx_10000_xxxxxxxxxxxxxxxxxxx_ddddd",             INT, "Xd=")                // ADR, ADRP
ROW("xx0_100010_x_xxxxxxxxxxxx_nnnnn_ddddd",           INT, "Sd=Sn")              // ADD, SUB
ROW("xx1_100010_x_xxxxxxxxxxxx_nnnnn_ddddd",           INT, "XdF=Sn")             // ADDS, SUBS
ROW("x11_100100_x_xxxxxx_xxxxxx_nnnnn_ddddd",          INT, "XdF=Xn")             // ANDS
ROW("xxx_100100_x_xxxxxx_xxxxxx_nnnnn_ddddd",          INT, "Sd=Xn")              // AND, ORR, EOR
ROW("x11_100101_xx_xxxxxxxxxxxxxxxx_ddddd",            INT, "Xd=Xd")              // MOVK
ROW("xxx_100101_xx_xxxxxxxxxxxxxxxx_ddddd",            INT, "Xd=")                // MOVN, MOVZ
ROW("x01_100110_x_xxxxxx_xxxxxx_nnnnn_ddddd",          INT_M, "Xd=XnXd")          // BFM
ROW("xxx_100110_x_xxxxxx_xxxxxx_nnnnn_ddddd",          INT, "Xd=Xn")              // SBFM, UBFM
ROW("x00_100111_x_0_mmmmm_xxxxxx_nnnnn_ddddd",         EXTRACT, "Xd=XnXm")        // EXTR; ROR is made INT by a64_decode

// Branches, exceptions, system
ROW("000101_xxxxxxxxxxxxxxxxxxxxxxxxxx",               BRANCH, "=")               // B
ROW("100101_xxxxxxxxxxxxxxxxxxxxxxxxxx",               BRANCH_LINK, "L=")         // BL
ROW("01010100_xxxxxxxxxxxxxxxxxxx_0_xxxx",             BRANCH, "=F")              // B.cond
ROW("x01101xx_xxxxxxxxxxxxxxxxxxx_ddddd",              BRANCH, "=Xd")             // CBZ, CBNZ, TBZ, TBNZ
ROW("1101011_0001_11111_000000_nnnnn_00000",           BRANCH_LINK, "L=Xn")       // BLR
ROW("1101011_0xx0_11111_000000_nnnnn_00000",           BRANCH, "=Xn")             // BR, RET, ERET
ROW("11010100_xxx_xxxxxxxxxxxxxxxx_000_xx",            SYSTEM, "=")               // SVC, HVC, SMC, BRK, HLT
ROW("1101010100_0_00_011_0010_xxxx_xxx_11111",         HINT, "=")                 // NOP, YIELD, WFE, WFI, SEV
ROW("1101010100_0_00_011_0011_xxxx_xxx_11111",         SYSTEM, "=")               // DSB, DMB, ISB, CLREX
ROW("1101010100_0_00_xxx_0100_xxxx_xxx_11111",         SYSTEM, "=")               // MSR (immediate)
ROW("1101010100_0_01_xxx_xxxx_xxxx_xxx_ddddd",         SYSTEM, "=Xd")             // SYS: DC, IC, TLBI, AT
ROW("1101010100_0_1x_xxx_xxxx_xxxx_xxx_ddddd",         SYSTEM, "=Xd")             // MSR (register)
ROW("1101010100_1_xx_xxx_xxxx_xxxx_xxx_ddddd",         SYSTEM, "Xd=")             // MRS, SYSL

// Data processing, register
ROW("x11_01010_xx_x_mmmmm_xxxxxx_nnnnn_ddddd",         INT, "XdF=XnXm")           // ANDS, BICS
ROW("xxx_01010_xx_x_mmmmm_xxxxxx_nnnnn_ddddd",         INT, "Xd=XnXm")            // AND, BIC, ORR, ORN, EOR, EON
ROW("xx1_01011_00_0_mmmmm_0000xx_nnnnn_ddddd",         INT, "XdF=XnXm")           // ADDS, SUBS, LSL 0 to 3
ROW("xx0_01011_00_0_mmmmm_0000xx_nnnnn_ddddd",         INT, "Xd=XnXm")            // ADD, SUB
ROW("xx1_01011_00_0_mmmmm_000100_nnnnn_ddddd",         INT, "XdF=XnXm")           // LSL 4
ROW("xx0_01011_00_0_mmmmm_000100_nnnnn_ddddd",         INT, "Xd=XnXm")
ROW("xx1_01011_xx_0_mmmmm_xxxxxx_nnnnn_ddddd",         INT_M, "XdF=XnXm")         // other shifts
ROW("xx0_01011_xx_0_mmmmm_xxxxxx_nnnnn_ddddd",         INT_M, "Xd=XnXm")
ROW("xx0_01011_00_1_mmmmm_xxxxxx_nnnnn_ddddd",         INT_M, "Sd=SnXm")          // ADD, SUB (extended)
ROW("xx1_01011_00_1_mmmmm_xxxxxx_nnnnn_ddddd",         INT_M, "XdF=SnXm")         // ADDS, SUBS (extended)
ROW("xx1_11010000_mmmmm_000000_nnnnn_ddddd",           INT, "XdF=XnXmF")          // ADCS, SBCS
ROW("xx0_11010000_mmmmm_000000_nnnnn_ddddd",           INT, "Xd=XnXmF")           // ADC, SBC
ROW("xx1_11010010_mmmmm_xxxx_00_nnnnn_0_xxxx",         INT, "F=XnXmF")            // CCMN, CCMP
ROW("xx1_11010010_xxxxx_xxxx_10_nnnnn_0_xxxx",         INT, "F=XnF")              // of an immediate
ROW("xx0_11010100_mmmmm_xxxx_0x_nnnnn_ddddd",          INT, "Xd=XnXmF")           // CSEL, CSINC, CSINV, CSNEG
ROW("000_11010110_mmmmm_00001x_nnnnn_ddddd",           DIVIDE_W, "Xd=XnXm")       // UDIV, SDIV
ROW("100_11010110_mmmmm_00001x_nnnnn_ddddd",           DIVIDE_X, "Xd=XnXm")
ROW("x00_11010110_mmmmm_0010xx_nnnnn_ddddd",           INT, "Xd=XnXm")            // LSLV, LSRV, ASRV, RORV
ROW("x00_11010110_mmmmm_010xxx_nnnnn_ddddd",           MUL_W, "Xd=XnXm")          // CRC32
ROW("x10_11010110_00000_000xxx_nnnnn_ddddd",           INT, "Xd=Xn")              // RBIT, REV, CLZ, CLS
ROW("000_11011_000_mmmmm_x_aaaaa_nnnnn_ddddd",         MUL_W, "Xd=XnXmXa")        // MADD, MSUB (32 bits)
ROW("100_11011_000_mmmmm_x_aaaaa_nnnnn_ddddd",         MUL_X, "Xd=XnXm+Xa")       // MADD, MSUB (64 bits)
ROW("100_11011_x01_mmmmm_x_aaaaa_nnnnn_ddddd",         MUL_W, "Xd=XnXmXa")        // SMADDL, UMADDL, SMSUBL, UMSUBL
ROW("100_11011_x10_mmmmm_0_aaaaa_nnnnn_ddddd",         MUL_HIGH, "Xd=XnXm")       // SMULH, UMULH

// Cryptography
ROW("01001110_00_10100_0010x_10_nnnnn_ddddd",          V_AES, "Vd=VnVd")          // AESE, AESD
ROW("01001110_00_10100_0011x_10_nnnnn_ddddd",          V_AES, "Vd=Vn")            // AESMC, AESIMC
ROW("01011110_00_0_mmmmm_0xxx_00_nnnnn_ddddd",         V_SHA, "Vd=VnVmVd")        // SHA1C ... SHA256SU1
ROW("01011110_00_10100_000xx_10_nnnnn_ddddd",          V_SHA, "Vd=VnVd")          // SHA1H, SHA1SU1, SHA256SU0

// Vector copy and permute
ROW("0x001110000_xxxxx_0_0000_1_nnnnn_ddddd",          V, "Vd=Vn")                // DUP (element)
ROW("0x001110000_xxxxx_0_0001_1_nnnnn_ddddd",          V_FROM_GPR, "Vd=Xn")       // DUP (general)
ROW("0x001110000_xxxxx_0_01x1_1_nnnnn_ddddd",          V_TO_GPR, "Xd=Vn")         // SMOV, UMOV
ROW("01001110000_xxxxx_0_0011_1_nnnnn_ddddd",          V_INSERT_GPR, "Vd=Xn+Vd")  // INS (general)
ROW("01101110000_xxxxx_0_xxxx_1_nnnnn_ddddd",          V, "Vd=VnVd")              // INS (element)
ROW("01011110000_xxxxx_0_0000_1_nnnnn_ddddd",          V, "Vd=Vn")                // DUP (scalar)
ROW("0x001110_00_0_mmmmm_0_00_0_00_nnnnn_ddddd",       V, "Vd=Vn1Vm")             // TBL of 1 to 4 registers
ROW("0x001110_00_0_mmmmm_0_01_0_00_nnnnn_ddddd",       V, "Vd=Vn2Vm")
ROW("0x001110_00_0_mmmmm_0_10_0_00_nnnnn_ddddd",       V_TBL_LONG, "Vd=Vn3Vm")
ROW("0x001110_00_0_mmmmm_0_11_0_00_nnnnn_ddddd",       V_TBL_LONG, "Vd=Vn4Vm")
ROW("0x001110_00_0_mmmmm_0_00_1_00_nnnnn_ddddd",       V, "Vd=Vn1VmVd")           // TBX
ROW("0x001110_00_0_mmmmm_0_01_1_00_nnnnn_ddddd",       V, "Vd=Vn2VmVd")
ROW("0x001110_00_0_mmmmm_0_10_1_00_nnnnn_ddddd",       V_TBX_LONG, "Vd=Vn3VmVd")
ROW("0x001110_00_0_mmmmm_0_11_1_00_nnnnn_ddddd",       V_TBX_LONG, "Vd=Vn4VmVd")
ROW("0x001110_xx_0_mmmmm_0_xxx_10_nnnnn_ddddd",        V, "Vd=VnVm")              // ZIP, UZP, TRN
ROW("0x101110_00_0_mmmmm_0_xxxx_0_nnnnn_ddddd",        V, "Vd=VnVm")              // EXT

// Vector, across lanes
ROW("01001110_xx_11000_011xx_10_nnnnn_ddddd",          V_REDUCE_FP_H, "Vd=Vn")    // FMAXV, FMAXNMV of 8H
ROW("00001110_xx_11000_011xx_10_nnnnn_ddddd",          V_REDUCE_FP, "Vd=Vn")      // of 4H
ROW("0x101110_xx_11000_011xx_10_nnnnn_ddddd",          V_REDUCE_FP, "Vd=Vn")      // of 4S
ROW("01x01110_00_11000_xxxxx_10_nnnnn_ddddd",          V_REDUCE_B, "Vd=Vn")       // ADDV, SADDLV, SMAXV of 16B
ROW("01x01110_01_11000_xxxxx_10_nnnnn_ddddd",          V_REDUCE_H, "Vd=Vn")       // of 8H
ROW("00x01110_00_11000_xxxxx_10_nnnnn_ddddd",          V_REDUCE_H, "Vd=Vn")       // of 8B
ROW("0xx01110_xx_11000_xxxxx_10_nnnnn_ddddd",          V_REDUCE, "Vd=Vn")         // of 4S and 4H

// Vector, three registers: fp16, then the dot product and its group
ROW("0x101110_010_mmmmm_00111_1_nnnnn_ddddd",          V_DIVIDE_Q, "Vd=VnVm")     // FDIV 8H
ROW("0xx01110_x10_mmmmm_00001_1_nnnnn_ddddd",          V_FMLA, "Vd=VnVm+Vd")      // FMLA, FMLS 8H
ROW("0x001110_010_mmmmm_00011_1_nnnnn_ddddd",          V_FMUL, "Vd=VnVm")         // FMULX
ROW("0x101110_010_mmmmm_00011_1_nnnnn_ddddd",          V_FMUL, "Vd=VnVm")         // FMUL
ROW("0x001110_x10_mmmmm_00111_1_nnnnn_ddddd",          V_FMLA, "Vd=VnVm")         // FRECPS, FRSQRTS
ROW("0xx01110_x10_mmmmm_00xxx_1_nnnnn_ddddd",          V, "Vd=VnVm")              // FADD, FMAX, FCM*, FABD ... 8H
ROW("0xx01110_10_0_mmmmm_1_0010_1_nnnnn_ddddd",        V_DOT, "Vd=VnVm+Vd")       // SDOT, UDOT
ROW("00101110_xx_0_mmmmm_1_000x_1_nnnnn_ddddd",        V_MLA_D, "Vd=VnVm+Vd")     // SQRDMLAH, SQRDMLSH
ROW("01101110_xx_0_mmmmm_1_000x_1_nnnnn_ddddd",        V_MLA_Q, "Vd=VnVm+Vd")

// Vector, two registers
ROW("0xx01110_xx_10000_00110_10_nnnnn_ddddd",          V_SHIFT_ADD, "Vd=Vn+Vd")   // SADALP, UADALP
ROW("01x01110_xx_10000_10100_10_nnnnn_ddddd",          V_SHIFT_ROUND, "Vd=VnVd")  // SQXTN2, UQXTN2
ROW("00x01110_xx_10000_10100_10_nnnnn_ddddd",          V_SHIFT_ROUND, "Vd=Vn")    // SQXTN, UQXTN
ROW("01101110_xx_10000_10010_10_nnnnn_ddddd",          V_SHIFT_ROUND, "Vd=VnVd")  // SQXTUN2
ROW("00101110_xx_10000_10010_10_nnnnn_ddddd",          V_SHIFT_ROUND, "Vd=Vn")    // SQXTUN
ROW("0x101110_xx_10000_10011_10_nnnnn_ddddd",          V_SHIFT, "Vd=Vn")          // SHLL
ROW("0xx01110_x1_10000_10111_10_nnnnn_ddddd",          V_CONVERT_D, "Vd=Vn")      // FCVTL of single to double
ROW("01x01110_xx_10000_10110_10_nnnnn_ddddd",          V_CONVERT_Q, "Vd=VnVd")    // FCVTN2, FCVTXN2
ROW("0xx01110_xx_10000_1011x_10_nnnnn_ddddd",          V_CONVERT_Q, "Vd=Vn")      // FCVTN, FCVTL, FCVTXN
ROW("00101110_xx_10000_11111_10_nnnnn_ddddd",          V_DIVIDE, "Vd=Vn")         // FSQRT
ROW("01101110_x1_10000_11111_10_nnnnn_ddddd",          V_DIVIDE_DOUBLE, "Vd=Vn")
ROW("01101110_xx_10000_11111_10_nnnnn_ddddd",          V_DIVIDE_Q, "Vd=Vn")
ROW("01x01110_x1_10000_110xx_10_nnnnn_ddddd",          V_CONVERT_D, "Vd=Vn")      // FRINT*, FCVT* of 2D
ROW("01x01110_x1_10000_1110x_10_nnnnn_ddddd",          V_CONVERT_D, "Vd=Vn")      // SCVTF, FRECPE of 2D
ROW("00x01110_xx_10000_110xx_10_nnnnn_ddddd",          V_CONVERT_D, "Vd=Vn")      // FRINT*, FCVT*
ROW("01x01110_xx_10000_110xx_10_nnnnn_ddddd",          V_CONVERT_Q, "Vd=Vn")
ROW("00x01110_xx_10000_1110x_10_nnnnn_ddddd",          V_CONVERT_D, "Vd=Vn")      // SCVTF, FCVTA*, FRECPE, FRSQRTE
ROW("01x01110_xx_10000_1110x_10_nnnnn_ddddd",          V_CONVERT_Q, "Vd=Vn")
ROW("01001110_xx_10000_10010_10_nnnnn_ddddd",          V, "Vd=VnVd")              // XTN2
ROW("0xx01110_xx_10000_00011_10_nnnnn_ddddd",          V, "Vd=VnVd")              // SUQADD, USQADD
ROW("0xx01110_xx_10000_xxxxx_10_nnnnn_ddddd",          V, "Vd=Vn")                // REV, CNT, ABS, CM* 0, XTN, SADDLP ...
ROW("0xx01110_x_111100_011xx_10_nnnnn_ddddd",          V, "Vd=Vn")                // fp16: FCM* 0, FABS, FNEG
ROW("00101110_1_111100_11111_10_nnnnn_ddddd",          V_DIVIDE, "Vd=Vn")         // fp16: FSQRT
ROW("01101110_1_111100_11111_10_nnnnn_ddddd",          V_DIVIDE_Q, "Vd=Vn")
ROW("00x01110_x_111100_xxxxx_10_nnnnn_ddddd",          V_CONVERT_Q, "Vd=Vn")      // fp16: FRINT*, FCVT*, SCVTF
ROW("01x01110_x_111100_xxxxx_10_nnnnn_ddddd",          V_CONVERT_H, "Vd=Vn")

// Vector, three registers of different widths
ROW("0xx01110_xx_1_mmmmm_100x_00_nnnnn_ddddd",         V_MLA_LONG, "Vd=VnVm+Vd")  // SMLAL, SQDMLAL
ROW("0xx01110_xx_1_mmmmm_101x_00_nnnnn_ddddd",         V_MLA_LONG, "Vd=VnVm+Vd")  // SMLSL, SQDMLSL
ROW("0xx01110_xx_1_mmmmm_110x_00_nnnnn_ddddd",         V_MUL_LONG, "Vd=VnVm")     // SMULL, SQDMULL
ROW("0xx01110_xx_1_mmmmm_1110_00_nnnnn_ddddd",         V_MUL_POLY, "Vd=VnVm")     // PMULL
ROW("0xx01110_xx_1_mmmmm_0101_00_nnnnn_ddddd",         V_SHIFT_ADD, "Vd=VnVm+Vd") // SABAL, UABAL
ROW("01x01110_xx_1_mmmmm_01x0_00_nnnnn_ddddd",         V, "Vd=VnVmVd")            // ADDHN2, RADDHN2, SUBHN2
ROW("0xx01110_xx_1_mmmmm_0xxx_00_nnnnn_ddddd",         V, "Vd=VnVm")              // SADDL, SADDW, ADDHN, SABDL ...

// Vector, three registers of one width
ROW("0xx01110_xx_1_mmmmm_01000_1_nnnnn_ddddd",         V_SHIFT, "Vd=VnVm")        // SSHL, USHL
ROW("0xx01110_xx_1_mmmmm_010xx_1_nnnnn_ddddd",         V_SHIFT_ROUND, "Vd=VnVm")  // SQSHL, SRSHL, SQRSHL
ROW("0xx01110_xx_1_mmmmm_01111_1_nnnnn_ddddd",         V_SHIFT_ADD, "Vd=VnVm+Vd") // SABA, UABA
ROW("00x01110_xx_1_mmmmm_10010_1_nnnnn_ddddd",         V_MLA_D, "Vd=VnVm+Vd")     // MLA, MLS
ROW("01x01110_xx_1_mmmmm_10010_1_nnnnn_ddddd",         V_MLA_Q, "Vd=VnVm+Vd")
ROW("00x01110_xx_1_mmmmm_10011_1_nnnnn_ddddd",         V_MUL_D, "Vd=VnVm")        // MUL, PMUL
ROW("01x01110_xx_1_mmmmm_10011_1_nnnnn_ddddd",         V_MUL_Q, "Vd=VnVm")
ROW("00x01110_xx_1_mmmmm_10110_1_nnnnn_ddddd",         V_MUL_D, "Vd=VnVm")        // SQDMULH, SQRDMULH
ROW("01x01110_xx_1_mmmmm_10110_1_nnnnn_ddddd",         V_MUL_Q, "Vd=VnVm")
ROW("00101110_0x_1_mmmmm_11111_1_nnnnn_ddddd",         V_DIVIDE, "Vd=VnVm")       // FDIV
ROW("01101110_01_1_mmmmm_11111_1_nnnnn_ddddd",         V_DIVIDE_DOUBLE, "Vd=VnVm")
ROW("01101110_0x_1_mmmmm_11111_1_nnnnn_ddddd",         V_DIVIDE_Q, "Vd=VnVm")
ROW("0x001110_xx_1_mmmmm_11001_1_nnnnn_ddddd",         V_FMLA, "Vd=VnVm+Vd")      // FMLA, FMLS
ROW("0x001110_xx_1_mmmmm_11111_1_nnnnn_ddddd",         V_FMLA, "Vd=VnVm")         // FRECPS, FRSQRTS
ROW("0xx01110_0x_1_mmmmm_11011_1_nnnnn_ddddd",         V_FMUL, "Vd=VnVm")         // FMUL, FMULX
ROW("0xx01110_xx_1_mmmmm_11xxx_1_nnnnn_ddddd",         V, "Vd=VnVm")              // FADD, FMAX, FCM*, FABD ...
ROW("0x101110_01_1_mmmmm_00011_1_nnnnn_ddddd",         V, "Vd=VnVmVd")            // BSL
ROW("0x101110_1x_1_mmmmm_00011_1_nnnnn_ddddd",         V, "Vd=VnVmVd")            // BIT, BIF
ROW("0xx01110_xx_1_mmmmm_xxxxx_1_nnnnn_ddddd",         V, "Vd=VnVm")              // ADD, AND, CM*, SMAX, SABD, ADDP ...

// Vector, immediate and shift by immediate
ROW("0xx0111100000_xxx_0xx1_x_1_xxxxx_ddddd",          V, "Vd=Vd")                // ORR, BIC of 32 bits
ROW("0xx0111100000_xxx_10x1_x_1_xxxxx_ddddd",          V, "Vd=Vd")                // of 16 bits
ROW("0xx0111100000_xxx_xxxx_x_1_xxxxx_ddddd",          V, "Vd=")                  // MOVI, MVNI, FMOV
ROW("0xx011110_xxxx_xxx_1110x_1_nnnnn_ddddd",          V_CONVERT_Q, "Vd=Vn")      // SCVTF (fixed point)
ROW("0xx011110_xxxx_xxx_11111_1_nnnnn_ddddd",          V_CONVERT_Q, "Vd=Vn")      // FCVTZS (fixed point)
ROW("0xx011110_xxxx_xxx_00x10_1_nnnnn_ddddd",          V_SHIFT_ADD, "Vd=Vn+Vd")   // SSRA, SRSRA
ROW("0x1011110_xxxx_xxx_010x0_1_nnnnn_ddddd",          V_SHIFT, "Vd=VnVd")        // SRI, SLI
ROW("0xx011110_xxxx_xxx_00100_1_nnnnn_ddddd",          V_SHIFT_ROUND, "Vd=Vn")    // SRSHR
ROW("0xx011110_xxxx_xxx_011x0_1_nnnnn_ddddd",          V_SHIFT_ROUND, "Vd=Vn")    // SQSHL, SQSHLU
ROW("010011110_xxxx_xxx_10000_1_nnnnn_ddddd",           V_SHIFT, "Vd=VnVd")        // SHRN2
ROW("000011110_xxxx_xxx_10000_1_nnnnn_ddddd",           V_SHIFT, "Vd=Vn")          // SHRN
ROW("01x011110_xxxx_xxx_100xx_1_nnnnn_ddddd",          V_SHIFT_ROUND, "Vd=VnVd")  // RSHRN2, SQSHRN2, SQSHRUN2
ROW("00x011110_xxxx_xxx_100xx_1_nnnnn_ddddd",          V_SHIFT_ROUND, "Vd=Vn")    // RSHRN, SQSHRN, SQSHRUN
ROW("0xx011110_xxxx_xxx_xxxxx_1_nnnnn_ddddd",          V_SHIFT, "Vd=Vn")          // SSHR, SHL, SSHLL

// Vector by element
ROW("0xx01111_xx_xx_xxxx_1110_x_0_nnnnn_ddddd",        V_DOT, "Vd=VnVm+Vd")       // SDOT, UDOT
ROW("0xx01111_xx_xx_xxxx_0x01_x_0_nnnnn_ddddd",        V_FMLA, "Vd=VnVe+Vd")      // FMLA, FMLS
ROW("0xx01111_xx_xx_xxxx_1001_x_0_nnnnn_ddddd",        V_FMUL, "Vd=VnVe")         // FMUL, FMULX
ROW("00101111_xx_xx_xxxx_11x1_x_0_nnnnn_ddddd",        V_MLA_D, "Vd=VnVe+Vd")     // SQRDMLAH, SQRDMLSH
ROW("01101111_xx_xx_xxxx_11x1_x_0_nnnnn_ddddd",        V_MLA_Q, "Vd=VnVe+Vd")
ROW("0xx01111_xx_xx_xxxx_101x_x_0_nnnnn_ddddd",        V_MUL_LONG, "Vd=VnVe")     // SMULL, SQDMULL
ROW("0xx01111_xx_xx_xxxx_xx1x_x_0_nnnnn_ddddd",        V_MLA_LONG, "Vd=VnVe+Vd")  // SMLAL, SMLSL, SQDMLAL
ROW("00101111_xx_xx_xxxx_0x00_x_0_nnnnn_ddddd",        V_MLA_D, "Vd=VnVe+Vd")     // MLA, MLS
ROW("01101111_xx_xx_xxxx_0x00_x_0_nnnnn_ddddd",        V_MLA_Q, "Vd=VnVe+Vd")
ROW("00x01111_xx_xx_xxxx_xxxx_x_0_nnnnn_ddddd",        V_MUL_D, "Vd=VnVe")        // MUL, SQDMULH
ROW("01x01111_xx_xx_xxxx_xxxx_x_0_nnnnn_ddddd",        V_MUL_Q, "Vd=VnVe")

// Scalar forms of the vector groups
ROW("01x11110_xx_1_mmmmm_01000_1_nnnnn_ddddd",         V_SHIFT, "Vd=VnVm")        // SSHL, USHL
ROW("01x11110_xx_1_mmmmm_010xx_1_nnnnn_ddddd",         V_SHIFT_ROUND, "Vd=VnVm")  // SQSHL ...
ROW("01x11110_xx_1_mmmmm_10110_1_nnnnn_ddddd",         V_MUL_D, "Vd=VnVm")        // SQDMULH, SQRDMULH
ROW("01011110_0x_1_mmmmm_11011_1_nnnnn_ddddd",         V_FMUL, "Vd=VnVm")         // FMULX
ROW("01011110_xx_1_mmmmm_11111_1_nnnnn_ddddd",         V_FMLA, "Vd=VnVm")         // FRECPS, FRSQRTS
ROW("01x11110_xx_1_mmmmm_xxxxx_1_nnnnn_ddddd",         V, "Vd=VnVm")              // ADD, CM*, FABD, FCM* ...
ROW("01x11110_x10_mmmmm_00xxx_1_nnnnn_ddddd",          V_FMLA, "Vd=VnVm")         // fp16
ROW("01111110_xx_0_mmmmm_1_000x_1_nnnnn_ddddd",        V_MLA_D, "Vd=VnVm+Vd")     // SQRDMLAH, SQRDMLSH
ROW("01x11110_xx_10000_10100_10_nnnnn_ddddd",          V_SHIFT_ROUND, "Vd=Vn")    // SQXTN, UQXTN
ROW("01111110_xx_10000_10010_10_nnnnn_ddddd",          V_SHIFT_ROUND, "Vd=Vn")    // SQXTUN
ROW("01x11110_xx_10000_1xx1x_10_nnnnn_ddddd",          V_CONVERT_D, "Vd=Vn")      // FCVT*, FCVTXN, FRECPX
ROW("01x11110_xx_10000_11xxx_10_nnnnn_ddddd",          V_CONVERT_D, "Vd=Vn")      // SCVTF, FRECPE, FRSQRTE
ROW("01x11110_xx_10000_00011_10_nnnnn_ddddd",          V, "Vd=VnVd")              // SUQADD, USQADD
ROW("01x11110_xx_10000_xxxxx_10_nnnnn_ddddd",          V, "Vd=Vn")                // ABS, NEG, CM* 0 ...
ROW("01x11110_x_111100_xxxxx_10_nnnnn_ddddd",          V_CONVERT_D, "Vd=Vn")      // fp16
ROW("01x11110_xx_11000_xxxxx_10_nnnnn_ddddd",          V, "Vd=Vn")                // ADDP, FADDP, FMAXP
ROW("01011110_xx_1_mmmmm_1101_00_nnnnn_ddddd",         V_MUL_LONG, "Vd=VnVm")     // SQDMULL
ROW("01011110_xx_1_mmmmm_xxxx_00_nnnnn_ddddd",         V_MLA_LONG, "Vd=VnVm+Vd")  // SQDMLAL, SQDMLSL
ROW("01x111110_xxxx_xxx_111xx_1_nnnnn_ddddd",          V_CONVERT_D, "Vd=Vn")      // SCVTF, FCVTZS (fixed point)
ROW("01x111110_xxxx_xxx_00x10_1_nnnnn_ddddd",          V_SHIFT_ADD, "Vd=Vn+Vd")   // SSRA, SRSRA
ROW("011111110_xxxx_xxx_010x0_1_nnnnn_ddddd",          V_SHIFT, "Vd=VnVd")        // SRI, SLI
ROW("01x111110_xxxx_xxx_00000_1_nnnnn_ddddd",          V_SHIFT, "Vd=Vn")          // SSHR
ROW("010111110_xxxx_xxx_01010_1_nnnnn_ddddd",          V_SHIFT, "Vd=Vn")          // SHL
ROW("01x111110_xxxx_xxx_xxxxx_1_nnnnn_ddddd",          V_SHIFT_ROUND, "Vd=Vn")    // SRSHR, SQSHL, SQSHRN ...
ROW("01x11111_xx_xx_xxxx_0x01_x_0_nnnnn_ddddd",        V_FMLA, "Vd=VnVe+Vd")      // FMLA, FMLS by element
ROW("01x11111_xx_xx_xxxx_1001_x_0_nnnnn_ddddd",        V_FMUL, "Vd=VnVe")         // FMUL, FMULX by element
ROW("01x11111_xx_xx_xxxx_0x11_x_0_nnnnn_ddddd",        V_MLA_LONG, "Vd=VnVe+Vd")  // SQDMLAL, SQDMLSL by element
ROW("01111111_xx_xx_xxxx_11x1_x_0_nnnnn_ddddd",        V_MLA_LONG, "Vd=VnVe+Vd")  // SQRDMLAH by element
ROW("01x11111_xx_xx_xxxx_xxxx_x_0_nnnnn_ddddd",        V_MUL_LONG, "Vd=VnVe")     // SQDMULL, SQDMULH by element

// Floating point
ROW("x0011110_xx_1_0x_110_000000_nnnnn_ddddd",         V_TO_GPR, "Xd=Vn")         // FMOV to a general register
ROW("x0011110_xx_1_01_111_000000_nnnnn_ddddd",         V_FROM_GPR, "Vd=XnVd")     // FMOV from one to the upper half
ROW("x0011110_xx_1_0x_111_000000_nnnnn_ddddd",         V_FROM_GPR, "Vd=Xn")       // FMOV from one
ROW("x0011110_xx_1_00_01x_000000_nnnnn_ddddd",         FP_FROM_GPR, "Vd=Xn")      // SCVTF, UCVTF
ROW("x0011110_xx_1_xx_x0x_000000_nnnnn_ddddd",         FP_TO_GPR, "Xd=Vn")        // FCVT*S, FCVT*U
ROW("x0011110_xx_0_00_01x_xxxxxx_nnnnn_ddddd",         FP_FROM_GPR, "Vd=Xn")      // SCVTF, UCVTF (fixed point)
ROW("x0011110_xx_0_11_00x_xxxxxx_nnnnn_ddddd",         FP_TO_GPR, "Xd=Vn")        // FCVTZS, FCVTZU (fixed point)
ROW("00011110_01_1_000011_10000_nnnnn_ddddd",          V_DIVIDE_DOUBLE, "Vd=Vn")  // FSQRT
ROW("00011110_xx_1_000011_10000_nnnnn_ddddd",          V_DIVIDE, "Vd=Vn")
ROW("00011110_xx_1_0000xx_10000_nnnnn_ddddd",          V, "Vd=Vn")                // FMOV, FABS, FNEG
ROW("00011110_xx_1_xxxxxx_10000_nnnnn_ddddd",          V_CONVERT_D, "Vd=Vn")      // FCVT, FRINT*
ROW("00011110_xx_1_xxxxx_00_1000_nnnnn_x1000",         V_COMPARE_FLAGS, "F=Vn")   // FCMP, FCMPE with 0
ROW("00011110_xx_1_mmmmm_00_1000_nnnnn_x0000",         V_COMPARE_FLAGS, "F=VnVm") // FCMP, FCMPE
ROW("00011110_xx_1_xxxxxxxx_100_00000_ddddd",          V, "Vd=")                  // FMOV (immediate)
ROW("00011110_xx_1_mmmmm_xxxx_01_nnnnn_x_xxxx",        V_COMPARE_FLAGS, "F=VnVmF") // FCCMP
ROW("00011110_01_1_mmmmm_0001_10_nnnnn_ddddd",         V_DIVIDE_DOUBLE, "Vd=VnVm") // FDIV
ROW("00011110_xx_1_mmmmm_0001_10_nnnnn_ddddd",         V_DIVIDE, "Vd=VnVm")
ROW("00011110_xx_1_mmmmm_x000_10_nnnnn_ddddd",         V_FMUL, "Vd=VnVm")         // FMUL, FNMUL
ROW("00011110_xx_1_mmmmm_xxxx_10_nnnnn_ddddd",         V, "Vd=VnVm")              // FADD, FMAX ...
ROW("00011110_xx_1_mmmmm_xxxx_11_nnnnn_ddddd",         V, "Vd=VnVmF")             // FCSEL
ROW("00011111_xx_x_mmmmm_x_aaaaa_nnnnn_ddddd",         V_FMLA, "Vd=VnVm+Va")      // FMADD, FMSUB, FNMADD, FNMSUB
