/* Memory allocation that never fails: the process aborts instead.
 *
 * Restarting a daemon is better than running it without memory: the x functions
 * print one line and abort. In return, every size from outside is capped before
 * it is allocated. scoped_* frees at the end of a scope; take_ptr() transfers
 * ownership out of it. */
#pragma once

#include <stddef.h>

/* Zeroed memory for count elements of size bytes; never NULL. */
void *xcalloc(size_t count, size_t size) __attribute__((malloc));

/* Grows or shrinks an array; new elements are not initialised. */
void *xrealloc(void *old, size_t count, size_t size);

char *xstrdup(const char *text) __attribute__((malloc));
char *xstrndup(const char *text, size_t max) __attribute__((malloc));
void *xmemdup(const void *bytes, size_t size) __attribute__((malloc));

/* A formatted string; the caller frees it. */
char *xasprintf(const char *format, ...)
	__attribute__((format(printf, 1, 2), malloc));

/* Makes room for one more element: doubles *capacity if count reached it. */
void *xgrow(void *array, size_t count, size_t *capacity, size_t size);
/* The same for an array that grows by one element at a time and keeps no
 * capacity: its size is the next power of two. */
void *xgrow_at(void *array, size_t count, size_t size);

/* Replaces *text, which is owned, by a copy of value; NULL stays NULL. */
void xreplace(char **text, const char *value);

/* Copies text to *at, where there is room, and moves *at behind its NUL.
 * Returns the copy; NULL gives NULL. */
char *place_text(char **at, const char *text);

/* Overwrites a key or token, then frees it. NULL is fine. */
void secret_free(char *text);

/* From now on a freed block of 128 KiB or more goes back to the kernel at once.
 * Without this, glibc keeps blocks as large as the largest that was freed. */
void memory_return_large_blocks(void);

void scoped_free_run(void *pointer);
void scoped_fd_run(const int *fd);

#define scoped_free __attribute__((cleanup(scoped_free_run)))
#define scoped_fd __attribute__((cleanup(scoped_fd_run)))

#define take_ptr(p)                                                            \
	__extension__({                                                        \
		__typeof__(p) taken_ = (p);                                    \
		(p) = NULL;                                                    \
		taken_;                                                        \
	})

#define count_of(array) (sizeof(array) / sizeof((array)[0]))
