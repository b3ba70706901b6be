/* paddle-import.h - shared by the readers of PaddlePaddle programs: turns operators on named
 * variables into nodes and tensors.
 *
 * Each output of an operator is a tensor that writes a variable.  An input is the tensor that wrote
 * its variable last, in the order of the nodes, else the variable itself.  "@EMPTY@" is a variable
 * that nothing writes.
 */
#pragma once

#include "graphs/dims.h"
#include "graphs/graph.h"

#define PADDLE_NO_VARIABLE "@EMPTY@"

typedef struct
{
  GememGraph *graph;
  GArray *dims;          /* gint64, scratch */
  GememGraphDims *given; /* the number of dimensions that are not known, "-1", or NULL */
  GArray *writer;        /* guint32 by variable: the tensor that wrote it last */
} PaddleImport;

void gemem_paddle_import_init (PaddleImport *import, const char *name, GememGraphDims *given);
/* Frees the scratch arrays, not the graph. */
void gemem_paddle_import_clear (PaddleImport *import);
/* Puts the number that was given in the place of each -1 of the scratch dims, and 12 times it in that of -12. */
void gemem_paddle_import_fill (PaddleImport *import);
/* The scratch dims, as an array that is never NULL. */
const gint64 *gemem_paddle_import_dims (const PaddleImport *import);

/* Call after adding variables to the graph, before they are read or written. */
void gemem_paddle_import_take_variables (PaddleImport *import);
/* Adds an input or an output to the last node. */
void gemem_paddle_import_read (PaddleImport *import, guint32 variable);
void gemem_paddle_import_write (PaddleImport *import, guint32 variable);
