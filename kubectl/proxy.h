/* A kubectl proxy that runs until it ends, or until Ctrl-C (SIGINT), SIGTERM or
 * SIGHUP ends the plugin and it. */
#pragma once

#include "kubectl/call.h"

/* The proxy serves on this address, "127.0.0.1:PORT". Returns the URL to open
 * in a browser, on the heap, or NULL. */
typedef char *(*proxy_serving)(void *owner, const char *address);

/* Without xdg-open no browser opens; a browser outlives the plugin. *status is
 * the proxy's exit status, or 128 and the signal. It shows its own words on
 * standard error. -EINTR: a signal ended it; else as call_run(). */
must_check int proxy_run(int *status, const struct call *call,
	proxy_serving serving, void *owner, struct error *err);
