// dra-allocator answers allocation cases with Kubernetes' own structured allocator, one JSON line per case.
// It is no scheduler: it asks for one node at a time, and what is in use it reads from the claims that it is given.
// Cases come from standard input, answers go to standard output; the oracle's differential test compares them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// A test case: a cluster, the claims of one pod, and how often to ask.
type question struct {
	Variant  string                       `json:"variant"`
	Features []string                     `json:"features"`
	Slices   []*resourceapi.ResourceSlice `json:"slices"`
	Classes  []*resourceapi.DeviceClass   `json:"classes"`
	Claims   []*resourceapi.ResourceClaim `json:"claims"`
	Node     *v1.Node                     `json:"node"`
	Wanted   []*resourceapi.ResourceClaim `json:"wanted"`
	// Repeat asks the same again and again, to see whether the answer is always the same, and to measure.
	Repeat int `json:"repeat"`
}

// What the allocator said: allocations, nothing, or an error that is for this node only or ends the attempt.
type answer struct {
	Allocations []resourceapi.AllocationResult `json:"allocations,omitempty"`
	Error       string                         `json:"error,omitempty"`
	OnNode      bool                           `json:"onNode,omitempty"`
	TimedOut    bool                           `json:"timedOut,omitempty"`
	Nanoseconds int64                          `json:"nanoseconds"`
}

type classes map[string]*resourceapi.DeviceClass

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if class, ok := c[name]; ok {
		return class, nil
	}
	return nil, fmt.Errorf("device class %s not found", name)
}

func (c classes) List() ([]*resourceapi.DeviceClass, error) {
	var list []*resourceapi.DeviceClass
	for _, class := range c {
		list = append(list, class)
	}
	return list, nil
}

// inUse sorts what claims hold into whole devices and shares, as the scheduler does. Administrative access holds nothing.
func inUse(claims []*resourceapi.ResourceClaim, shares bool) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if result.AdminAccess != nil && *result.AdminAccess {
				continue
			}
			id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			if result.ShareID == nil || !shares {
				state.AllocatedDevices.Insert(id)
				continue
			}
			state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
			state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
		}
	}
	return state
}

func ask(q question, caches map[cel.Features]*cel.Cache) (reply answer) {
	defer func() {
		if trouble := recover(); trouble != nil {
			reply = answer{Error: fmt.Sprintf("panic: %v", trouble)}
			if os.Getenv("DRA_ALLOCATOR_STACK") != "" {
				debug.PrintStack()
			}
		}
	}()
	features := sets.New(q.Features...)
	byName := classes{}
	for _, class := range q.Classes {
		byName[class.Name] = class
	}
	choose(q.Variant)
	known := expressions(features)
	cache := caches[known]
	if cache == nil {
		cache = cel.NewCache(1000, known)
		caches[known] = cache
	}
	for range max(q.Repeat, 1) {
		reply = once(q, allocatorFeatures(features), inUse(q.Claims, features.Has("DRAConsumableCapacity")), byName, cache)
	}
	return reply
}

func once(q question, features structured.Features, state structured.AllocatedState, byName classes, cache *cel.Cache) (reply answer) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	start := time.Now()
	allocator, err := structured.NewAllocator(ctx, features, state, byName, q.Slices, cache)
	if err == nil {
		reply.Allocations, err = allocator.Allocate(ctx, q.Node, q.Wanted)
	}
	reply.Nanoseconds = time.Since(start).Nanoseconds()
	if err != nil {
		reply.Error = err.Error()
		reply.OnNode = onNode(err)
		reply.TimedOut = errors.Is(err, context.DeadlineExceeded)
	}
	return reply
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	caches := map[cel.Features]*cel.Cache{}
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var q question
			var reply answer
			if trouble := json.Unmarshal(line, &q); trouble != nil {
				reply.Error = "not a case: " + trouble.Error()
			} else {
				reply = ask(q, caches)
			}
			text, trouble := json.Marshal(reply)
			if trouble != nil {
				fmt.Fprintln(os.Stderr, trouble)
				os.Exit(1)
			}
			out.Write(append(text, '\n'))
			out.Flush()
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
