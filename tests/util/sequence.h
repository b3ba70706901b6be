/* sequence.h - random lists of operations; the same seed gives the same list everywhere. */
#pragma once

#include "tests/util/trial.h"

typedef struct
{
  guint operations;
  guint live;         /* most blocks alive at once */
  guint64 largest;    /* largest request, hostile ones aside */
  guint streams;      /* 1: all on stream 0 */
  guint pools;        /* 1: the default pool only */
  gboolean uses;      /* use_on_stream, completions and synchronisation too */
  guint trims;        /* per thousand operations */
  guint hostile;      /* per thousand requests: beyond any device */
  gboolean events;    /* streams released blocks one by one, and wait for each other */
  gboolean order;     /* frees name their stream; work is pending; streams wait for each other */
  guint graphs;       /* most loaded at once; 0: no graphs */
  gboolean subgraphs; /* graphs on all streams, static subgraphs among them */
} TestMix;

/* GArray of TestOp; ids ascend from 0. */
GArray *test_sequence (guint64 seed, const char *purpose, const TestMix *mix);
