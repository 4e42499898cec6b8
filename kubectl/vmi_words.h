/* Whether a VM can move, in words. Pure. */
#pragma once

#include <stdbool.h>

struct buffer;
struct json_value;

/* vmi is a VirtualMachineInstance. Appends why it cannot move. */
bool vmi_words_can_move(struct buffer *why, const struct json_value *vmi);
