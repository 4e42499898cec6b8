/* API objects as kubectl's -o json and -o yaml print them. Hidden characters
 * become \u escapes, so the text means the same and is safe to look at.
 * Pure. */
#pragma once

struct buffer;
struct json_value;

/* Appends value, indented by four blanks a level; depth is the level of its
 * first line, which is not indented itself. No newline at the end. */
void object_text_json(struct buffer *out, const struct json_value *value,
	int depth);

/* Appends value in block style, two blanks a level, with a newline. The first
 * line is not indented itself. */
void object_text_yaml(struct buffer *out, const struct json_value *value,
	int depth);
