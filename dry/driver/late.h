/* late.h - what the host knows to be done in a dry run, and a GPU that is late: there, what is put on streams counts as done only when
 * the host has waited for it.
 *
 * Why: in a dry run all work is done at once, so an allocator that asks whether another stream is done with a block (record_stream) is
 * always told yes. On a GPU it may be told no, and asks for other memory. A run with $GEMEM_DRY_LATE is the other end of what may
 * happen (dry/verdict/trial.c). Without it, a note names the library that asked so; if there is none, both ends are one.
 *
 * What the host knows follows from its waits alone: a stream's work in the order in which it was put there, an event's work before it,
 * and what a stream was told to wait for. A program that asks in a loop, without putting anything else on any stream, is told
 * yes in the end, as on a GPU.
 *
 * Invariants: without $GEMEM_DRY_LATE every answer is yes. The strict stand-in, whose work takes time, keeps nothing here.
 */
#pragma once

#include "dry/driver/streams.h"

void gemem_driver_late_begin (void); /* a dry run begins; reads the environment */
/* Work was put on @stream. */
void gemem_driver_late_work (const DriverStream *stream);
/* @event was recorded on @stream; what is on @stream from now on waits for @event. */
void gemem_driver_late_record (const DriverEvent *event, const DriverStream *stream);
void gemem_driver_late_join (const DriverStream *stream, const DriverEvent *event);
/* The host waited. */
void gemem_driver_late_wait_event (const DriverEvent *event);
void gemem_driver_late_wait_stream (const DriverStream *stream);
void gemem_driver_late_wait_context (DriverContext *context);
/* Whether the program is told that it is done. */
gboolean gemem_driver_late_event_done (const DriverEvent *event);
gboolean gemem_driver_late_stream_done (const DriverStream *stream);
/* A stream or event is destroyed. */
void gemem_driver_late_forget (const DriverObject *object);
