/* OpenAPI documents of the API, from its tables of fields. Pure. */
#pragma once

#include "lib/buffer.h"

void openapi_v2(struct buffer *out);	/* /openapi/v2 */
void openapi_index(struct buffer *out); /* /openapi/v3 */
void openapi_v3(struct buffer *out);	/* /openapi/v3/apis/GROUP/VERSION */
