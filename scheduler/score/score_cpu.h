/* The figures of the term for CPU, and its constants. Pure. */
#pragma once

/* The part of the points for CPU that is for the room: it decides where the pod
 * adds no shortage. The rest is for the shortage that it adds. */
#define SCORE_ROOM_PART 0.2

/* The expected shortage that a pod adds within the next hour, in core-seconds,
 * at which half of these points are lost: one core for five minutes. */
#define SCORE_HALF_SHORTAGE 300.0
#define SCORE_SHORTAGE_S 3600.0

/* In cores. A pod with which there is less shortage than this adds all of it:
 * the shortage without the pod is not computed. It is worth .005 points. */
#define SCORE_LEAST_SHORTAGE 1e-5

/* Kin that move together this far "peak together" for people. */
#define SCORE_PEAK_TOGETHER 0.2

/* The scale of score_headroom(), in standard deviations: headroom above this
 * adds less and less. */
#define SCORE_HEADROOM 4.0

/* The shared cores of a node, what the pod adds to their use, and their
 * expected use with the pod, in cores; the variance and the third moment of
 * that with all kin, in cores squared and cubed. The expected shortage with the
 * pod, and the part of it that the pod adds, in cores. */
struct score_cpu {
	double cores, by_pod, expected, variance, third;
	double shortage, added;
};

/* 0 to 1 for the result of model_headroom(): a half at 0, 0.85 at
 * SCORE_HEADROOM, never 0 and never 1. */
double score_headroom(double headroom);
