/* The objects of load.plimsoll.io on another listener, whose clients come
 * without kube-apiserver: that listener decides who may read. Objects alone: no
 * questions, and no documents that describe the API. */
#pragma once

#include "aggregator/apiserver/api_objects.h"
#include "lib/http/httpd_routes.h"

/* sources outlive the listener, and are open. */
struct httpd_routes api_mount_routes(struct api_sources *sources);
