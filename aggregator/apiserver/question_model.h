/* The fields of Placement, Plan and Outlook, for the OpenAPI documents alone:
 * the asker and the scheduler write them. */
#pragma once

#include "aggregator/apiserver/api_model.h"

extern const struct model placement_model;
extern const struct model plan_model;
extern const struct model outlook_model;
