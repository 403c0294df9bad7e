package main

// What differs from one Kubernetes minor to the next: the features' names, and in 1.34 how the allocator is chosen.

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

func allocatorFeatures(on sets.Set[string]) structured.Features {
	return structured.Features{
		AdminAccess:          on.Has("DRAAdminAccess"),
		ConsumableCapacity:   on.Has("DRAConsumableCapacity"),
		DeviceTaints:         on.Has("DRADeviceTaints"),
		PartitionableDevices: on.Has("DRAPartitionableDevices"),
		PrioritizedList:      on.Has("DRAPrioritizedList"),
		DeviceBinding:        on.Has("DRADeviceBindingConditions"),
		DeviceStatus:         on.Has("DRAResourceClaimDeviceStatus"),
	}
}

func expressions(on sets.Set[string]) cel.Features {
	return cel.Features{EnableConsumableCapacity: on.Has("DRAConsumableCapacity")}
}

// 1.34 has no way to name an allocator: the features choose it.
func choose(string) {}

// 1.34 has no errors for one node: every error ends the attempt.
func onNode(error) bool {
	return false
}
