package main

// What differs from one Kubernetes minor to the next: the features' names, and how the allocator is made and chosen.

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

func allocatorFeatures(on sets.Set[string]) structured.Features {
	return structured.Features{
		AdminAccess:            on.Has("DRAAdminAccess"),
		ConsumableCapacity:     on.Has("DRAConsumableCapacity"),
		DeviceBindingAndStatus: on.HasAll("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"),
		DeviceTaints:           on.Has("DRADeviceTaints"),
		PartitionableDevices:   on.Has("DRAPartitionableDevices"),
		PrioritizedList:        on.Has("DRAPrioritizedList"),
	}
}

func expressions(on sets.Set[string]) cel.Features {
	return cel.Features{EnableConsumableCapacity: on.Has("DRAConsumableCapacity")}
}

func choose(variant string) {
	if variant == "" {
		structured.EnableAllocators()
		return
	}
	structured.EnableAllocators(variant)
}

func newAllocator(ctx context.Context, features structured.Features, state structured.AllocatedState, _ []*resourceapi.ResourceClaim,
	classes structured.DeviceClassLister, slices []*resourceapi.ResourceSlice, cache *cel.Cache) (structured.Allocator, error) {
	return structured.NewAllocator(ctx, features, state, classes, slices, cache)
}

func allocate(ctx context.Context, allocator structured.Allocator, node *v1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	return allocator.Allocate(ctx, node, claims)
}

func onNode(err error) bool {
	return errors.Is(err, structured.ErrFailedAllocationOnNode)
}
