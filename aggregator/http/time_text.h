/* Times in answers: Unix seconds, with up to six decimals as needed. Pure. */
#pragma once

#include "lib/decimal.h"
#include "lib/json.h"

enum { TIME_TEXT_MAX = DECIMAL_MAX + 8 };

/* Writes up to TIME_TEXT_MAX bytes with a NUL; returns the length without. */
size_t time_text_put(char *out, uint64_t us);

void time_text_write(struct json *j, const char *key, uint64_t us);
