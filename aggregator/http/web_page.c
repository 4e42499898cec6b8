#include "aggregator/http/web_page.h"

#include "lib/http/httpd_static.h"

/* build/gen/page_files.c has them. */
extern const struct httpd_static_file page_files[];
extern const size_t page_files_count;

void web_page_serve_file(struct httpd_request *request, const char *name)
{
	httpd_static_serve(page_files, page_files_count, name, request);
}

void web_page_serve(void *owner, struct httpd_request *request)
{
	(void)owner;
	web_page_serve_file(request, "index.html");
}
