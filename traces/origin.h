/* origin.h - who caused an allocation: the line of the program, the operator, the stack as text.
 *
 * A call stack as recorded begins in the allocator and ends in the interpreter; a person needs the
 * line that they wrote.  These rules choose it, in one place for tables, messages and pages:
 *  - line: the innermost Python frame outside of installed packages; else that of a package other
 *    than PyTorch; else the innermost Python frame; else the innermost native frame that has a line number and is no framework's; else that
 *    of a gradient (PyTorch computes gradients in threads without Python); else one that is no
 *    framework's; else the innermost frame.
 *  - operator: the innermost frame that is an operator (a frame without a file, or a call of
 *    PyTorch's dispatcher, at::_ops::NAME::call), except one that only allocates (aten::empty and
 *    the like) if another operator surrounds it.
 */
#pragma once

#include "base/macros.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

#define GEMEM_GRADIENT "torch::autograd::generated::" /* functions of PyTorch that compute one */

typedef enum
{
  GEMEM_FRAME_OPERATOR, /* no file: an operator of a framework, or a range of a profile */
  GEMEM_FRAME_PYTHON,
  GEMEM_FRAME_NATIVE, /* C, C++ */
} GememFrameLanguage;

/* The name and file of @frame; "" if unknown.  Owned by @info. */
const char *gemem_frame_name (const GememTraceInfo *info, const GememFrame *frame);
const char *gemem_frame_file (const GememTraceInfo *info, const GememFrame *frame);
GememFrameLanguage gemem_frame_language (const GememTraceInfo *info, const GememFrame *frame);
/* Appends "train.py:212 forward" (without ":0"), or the name alone for an operator; of a native
 * function without its arguments, of one in a shared library "libc10.so f": from 2.12 on PyTorch may write
 * the offset in the library for a line. */
void gemem_frame_append (GString *out, const GememTraceInfo *info, const GememFrame *frame);

/* TRUE for a Python frame outside of installed packages and of what these write while the program runs. */
gboolean gemem_frame_is_program (const GememTraceInfo *info, const GememFrame *frame);

/* TRUE for a native frame of PyTorch's that computes a gradient, or of the engine that runs these: the
 * backward pass. */
gboolean gemem_frame_is_gradient (const GememTraceInfo *info, const GememFrame *frame);

/* The number of the frame that stands for the line of the program in @stack; 0: @stack is 0.
 * O(frames). */
guint32 gemem_origin_line (const GememTraceInfo *info, guint32 stack);
/* The same among @n frames, innermost first; 0: @n is 0. */
guint32 gemem_origin_choose (const GememTraceInfo *info, const guint32 *frames, guint n);
/* The operator that allocated: a new string ("mm", "aten::mm" as recorded); NULL: none is known.
 * O(frames). */
char *gemem_origin_operator (const GememTraceInfo *info, guint32 stack);
/* Appends what is known of the origin of a block, for one line of a message: "train.py:212 forward
 * (mm) [activation]"; nothing for stack 0 and tag 0. */
void gemem_origin_append (GString *out, const GememTraceInfo *info, guint32 stack, guint32 tag);

GEMEM_END_DECLS
