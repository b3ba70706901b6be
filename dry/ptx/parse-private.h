/* parse-private.h - PTX that is read (parse.c), and its operands (operands.c). */
#pragma once

#include "dry/ptx/ptx-private.h"

typedef struct
{
  GememPtx *ptx;
  GememPtxFunction *function;     /* whose body is read; NULL: none */
  GHashTable *registers, *labels; /* name -> number + 1 */
  GHashTable *places;             /* variables of the function: name -> PtxPlace */
  GHashTable *module_places;
  GHashTable *tables; /* label -> GPtrArray of labels */
  GPtrArray *jumps;   /* (instruction, text) */
  char *label;        /* the last one */
  int depth;
} PtxParser;

typedef struct
{
  guint8 space;
  guint64 at;
  gsize size;
} PtxPlace;

/* A number as PTX writes it: "7", "-1", "0x1F", "0f3F800000". FALSE: it is none. */
gboolean gemem_ptx_parse_number (const char *text, guint64 *value);
/* Makes *@operand one that names nothing. */
void gemem_ptx_clear_operand (PtxOperand *operand);
/* An operand, which was cleared; @text is changed. FALSE: it is not understood. */
gboolean gemem_ptx_parse_operand (PtxParser *parser, char *text, PtxOperand *operand);
/* The number of register @name of the function. */
gint32 gemem_ptx_register_of (PtxParser *parser, const char *name);
