package main

// How an allocator is named, and which errors are for one node: since 1.35.

import (
	"errors"

	"k8s.io/dynamic-resource-allocation/structured"
)

func choose(variant string) {
	if variant == "" {
		structured.EnableAllocators()
		return
	}
	structured.EnableAllocators(variant)
}

func onNode(err error) bool {
	return errors.Is(err, structured.ErrFailedAllocationOnNode)
}
