/* Base64 of RFC 4648, section 4. */
#pragma once

#include <stddef.h>

/* The digits of len bytes, with padding and without line breaks. The caller
 * frees the text, with secret_free() if the bytes are secret. */
char *base64_encode(const char *bytes, size_t len);

/* The text whose base64 this is; NULL if it is not that of a text. Line breaks
 * are ignored. The caller frees it, with secret_free() if it is secret. */
char *base64_decode_text(const char *text);
