#include "lib/http/httpd_headers.h"

#include "lib/http/httpd_private.h"
#include "lib/memory.h"

#include <stdlib.h>

void httpd_headers_set(struct httpd_request *request, const char *name,
	const char *value)
{
	free(request->header_value);
	request->header_name = name;
	request->header_value = xstrdup(value);
}
