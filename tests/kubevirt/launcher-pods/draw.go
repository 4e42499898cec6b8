package main

import (
	"fmt"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// draw is the source of all that is random in a case.
type draw struct{ *rand.Rand }

func newDraw(seed, number uint64) *draw {
	return &draw{rand.New(rand.NewPCG(seed, number))}
}

// chance is true in so many of 100 cases.
func (r *draw) chance(percent int) bool { return r.IntN(100) < percent }

// state is unset, true or false.
func (r *draw) state(percentUnset int) *bool {
	if r.chance(percentUnset) {
		return nil
	}
	return ptr(r.chance(50))
}

func (r *draw) name(prefix string) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	made := make([]byte, 5)
	for i := range made {
		made[i] = letters[r.IntN(len(letters))]
	}
	return prefix + string(made)
}

func (r *draw) uid() types.UID {
	return types.UID(fmt.Sprintf("%08x-%04x-4000-8000-%012x", r.Uint32(),
		r.Uint32()&0xffff, r.Uint64()&0xffffffffffff))
}

func pick[T any](r *draw, from ...T) T { return from[r.IntN(len(from))] }

// some picks up to most of them, none twice.
func some[T any](r *draw, most int, from ...T) []T {
	var picked []T
	for _, i := range r.Perm(len(from))[:r.IntN(min(most, len(from))+1)] {
		picked = append(picked, from[i])
	}
	return picked
}

func ptr[T any](value T) *T { return &value }

func quantity(text string) *resource.Quantity {
	return ptr(resource.MustParse(text))
}
