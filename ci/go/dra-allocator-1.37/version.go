package main

// What differs from one Kubernetes minor to the next: the features' names.

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

func allocatorFeatures(on sets.Set[string]) structured.Features {
	return structured.Features{
		AdminAccess:             on.Has("DRAAdminAccess"),
		CompatibilityGroups:     on.Has("DRADeviceCompatibilityGroups"),
		ConsumableCapacity:      on.Has("DRAConsumableCapacity"),
		DerivedAttributes:       on.Has("DRADerivedAttributes"),
		DeviceBindingAndStatus:  on.HasAll("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"),
		DeviceTaints:            on.Has("DRADeviceTaints"),
		FractionalCapacityRange: on.Has("DRAFractionalCapacityRange"),
		ListTypeAttributes:      on.Has("DRAListTypeAttributes"),
		OptionalNodeOperations:  on.Has("DRAOptionalNodeOperations"),
		PartitionableDevices:    on.Has("DRAPartitionableDevices"),
		PrioritizedList:         on.Has("DRAPrioritizedList"),
	}
}

func expressions(on sets.Set[string]) cel.Features {
	return cel.Features{
		EnableConsumableCapacity: on.Has("DRAConsumableCapacity"),
		EnableListTypeAttributes: on.Has("DRAListTypeAttributes"),
	}
}
