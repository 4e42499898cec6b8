/* The fields of Placement, Plan and Outlook, for the OpenAPI documents alone:
 * the asker and the scheduler write them. */
#pragma once

#include "aggregator/apiserver/api_model.h"

extern const struct api_model placement_model;
extern const struct api_model plan_model;
extern const struct api_model outlook_model;
