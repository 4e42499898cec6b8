/* The fields of Placement, Plan, Outlook and LoadHistory, for the OpenAPI
 * documents alone: the asker, the scheduler or another module writes them. */
#pragma once

#include "aggregator/apiserver/api_model.h"

extern const struct api_model placement_model;
extern const struct api_model plan_model;
extern const struct api_model outlook_model;
extern const struct api_model history_model;
