/* links.h - doubly linked lists through members of the items: lists with a head, and the pieces of
 * one block in address order.
 *
 * Macros, because items are of many types; arguments are evaluated more than once.
 * Cost: O(1).
 */
#pragma once

/* Puts @item, with the members @prev and @next, in front of the list that begins at @head. */
#define GE_LINK_FIRST(head, item, prev, next) \
  G_STMT_START \
  { \
    (item)->prev = NULL; \
    (item)->next = (head); \
    if ((item)->next != NULL) \
      (item)->next->prev = (item); \
    (head) = (item); \
  } \
  G_STMT_END

/* Takes @item out of the list that begins at @head. */
#define GE_UNLINK(head, item, prev, next) \
  G_STMT_START \
  { \
    if ((item)->prev != NULL) \
      (item)->prev->next = (item)->next; \
    else \
      (head) = (item)->next; \
    if ((item)->next != NULL) \
      (item)->next->prev = (item)->prev; \
  } \
  G_STMT_END

/* A split: @high, the upper part of what was @piece, follows it. */
#define GE_LINK_AFTER(piece, high) \
  G_STMT_START \
  { \
    (high)->prev = (piece); \
    (high)->next = (piece)->next; \
    if ((high)->next != NULL) \
      (high)->next->prev = (high); \
    (piece)->next = (high); \
  } \
  G_STMT_END

/* A merge: @piece absorbs the one after it, which the caller frees. */
#define GE_UNLINK_NEXT(piece) \
  G_STMT_START \
  { \
    (piece)->next = (piece)->next->next; \
    if ((piece)->next != NULL) \
      (piece)->next->prev = (piece); \
  } \
  G_STMT_END
