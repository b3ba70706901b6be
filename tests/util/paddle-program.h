/* paddle-program.h - PaddlePaddle programs in tests: read from text, drawn at random, the result of
 * a rewrite as text, and a word-by-word version of the pseudo-code of paddle.md 8.1 and 8.4 over
 * sets of names.
 *
 * A program has one statement per line:
 *   x[-1,100] y[8]:int64 w[100,10]! v[8]@1
 *                    variables: shape, element type (float32), ! for persistable, @ and the block
 *                    that declares it; "s[]" has an empty shape
 *   mul x w -> a b   operator i is node "op<i>"; an input is the latest tensor of its name, else
 *                    the variable
 *   relu a -> b pairs=0,0 force_cpu optimize=p,g backward
 *   {                the operators up to } form a block of the operator before
 */
#pragma once

#include "planners/paddle/passes.h"

/* Returns a sealed graph; fails the test on text that is no program. */
GememGraph *test_paddle_program (const char *text);

/* A straight program of @operators operators over about @variables variables. @again: dead names
 * are written again. */
char *test_paddle_random (guint64 seed, guint operators, guint variables, gboolean again);

/* Lines "rename OP FROM TO INDEX POOL-SIZE", "print LINE", "op IN... -> OUT...", "pool NAME
 * DIM...". */
char *test_paddle_rewrite_text (const PaddleProgram *program, const PaddleRewrite *rewrite);

typedef enum
{
  TEST_PADDLE_1_3,  /* 8.1 with the pool of 1.3 */
  TEST_PADDLE_1_2,  /* 8.1 with the pool of 1.2 */
  TEST_PADDLE_PASS, /* 8.4 */
} TestPaddleKind;

/* The same text, computed from sets and lists of names, for a straight program. @least: elements
 * of 8.4 (MinChunkSize). */
char *test_paddle_naive (const GememGraph *graph, TestPaddleKind kind, guint level, guint least);

/* TRUE if after the renames every read, resolved by name as PaddlePaddle does, sees the value it
 * saw before. */
gboolean test_paddle_keeps_meaning (const PaddleProgram *program, const PaddleRewrite *rewrite);
