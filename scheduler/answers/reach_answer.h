/* The answer to a question of kind QUESTION_REACH: see proto/question.h. Pure.
 */
#pragma once

#include "lib/buffer.h"
#include "scheduler/mover/reach.h"

#include <stdbool.h>

struct json_value;

/* Appends the JSON of a page. False: nothing is known, and nothing was
 * appended. */
bool reach_answer_write(struct buffer *out, const struct reach *reach,
	const struct json_value *body);
