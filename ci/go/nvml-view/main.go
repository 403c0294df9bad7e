// nvml-view prints what go-nvml, go-nvlib and nvpci see of this machine's GPUs, as JSON.
// It changes nothing. It is no monitor: it stands for the Go programs that are built on these libraries.
// Data comes from libnvidia-ml.so.1 and /sys/bus/pci; a test compares it with a snapshot.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvlib/pkg/nvlib/info"
	"github.com/NVIDIA/go-nvlib/pkg/nvpci"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

type view struct {
	Driver   string   `json:"driver"`
	NVML     string   `json:"nvml"`
	CUDA     int      `json:"cuda"`
	Platform string   `json:"platform"`
	Profiles []string `json:"migProfiles"`
	GPUs     []gpu    `json:"gpus"`
	PCI      []pci    `json:"pci"`
}

type gpu struct {
	Name         string       `json:"name"`
	UUID         string       `json:"uuid"`
	Index        int          `json:"index"`
	Minor        int          `json:"minor"`
	PCI          string       `json:"pci"`
	Brand        string       `json:"brand"`
	Architecture string       `json:"architecture"`
	Compute      string       `json:"compute"`
	Addressing   string       `json:"addressing"`
	MemoryMiB    uint64       `json:"memoryMiB"`
	MIGCapable   bool         `json:"migCapable"`
	MIGEnabled   bool         `json:"migEnabled"`
	Fabric       bool         `json:"fabric"`
	Processes    []process    `json:"processes,omitempty"`
	Instances    []gpuProfile `json:"gpuInstanceProfiles,omitempty"`
	MIG          []mig        `json:"mig,omitempty"`
}

type gpuProfile struct {
	Id         uint32   `json:"id"`
	Slices     uint32   `json:"slices"`
	Count      uint32   `json:"count"`
	Free       string   `json:"free"`
	MemoryMB   uint64   `json:"memoryMB"`
	SM         uint32   `json:"sm"`
	Placements []string `json:"placements"`
}

type mig struct {
	Index     int                   `json:"index"`
	UUID      string                `json:"uuid"`
	Name      string                `json:"name"`
	Profile   string                `json:"profile"`
	GI        int                   `json:"gi"`
	CI        int                   `json:"ci"`
	Placement string                `json:"placement"`
	MemoryMiB uint64                `json:"memoryMiB"`
	Attrs     nvml.DeviceAttributes `json:"attributes"`
	Parent    string                `json:"parent"`
	Processes []process             `json:"processes,omitempty"`
}

type process struct {
	PID       uint32 `json:"pid"`
	MemoryMiB uint64 `json:"memoryMiB"`
	GI        *int   `json:"gi,omitempty"`
	CI        *int   `json:"ci,omitempty"`
}

type pci struct {
	Address string `json:"address"`
	Vendor  string `json:"vendor"`
	Device  string `json:"device"`
	Class   string `json:"class"`
	Driver  string `json:"driver"`
	Numa    int    `json:"numa"`
}

// got gives what NVML answers, or ends the program at an answer that is not expected here, with the line that asked.
func got[T any](value T, ret nvml.Return) T {
	if ret != nvml.SUCCESS {
		_, _, line, _ := runtime.Caller(1)
		fail(fmt.Errorf("main.go:%d: %v", line, nvml.ErrorString(ret)))
	}
	return value
}

func must[T any](value T, err error) T {
	if err != nil {
		fail(err)
	}
	return value
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func main() {
	lib := nvml.New()
	got(0, lib.Init())
	devices := device.New(lib)
	var v view
	v.Driver = got(lib.SystemGetDriverVersion())
	v.NVML = got(lib.SystemGetNVMLVersion())
	v.CUDA = got(lib.SystemGetCudaDriverVersion_v2())
	v.Platform = string(info.New(info.WithNvmlLib(lib), info.WithDeviceLib(devices)).ResolvePlatform())
	for _, profile := range must(devices.GetMigProfiles()) {
		v.Profiles = append(v.Profiles, profile.String())
	}
	for _, d := range must(devices.GetDevices()) {
		v.GPUs = append(v.GPUs, seen(d))
	}
	for _, d := range must(nvpci.New().GetGPUs()) {
		v.PCI = append(v.PCI, pci{d.Address, fmt.Sprintf("%#06x", d.Vendor), fmt.Sprintf("%#06x", d.Device), fmt.Sprintf("%#08x", d.Class), d.Driver, d.NumaNode})
	}
	got(0, lib.Shutdown())
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	if err := out.Encode(v); err != nil {
		fail(err)
	}
}

func seen(d device.Device) gpu {
	var g gpu
	g.Name = got(d.GetName())
	g.UUID = got(d.GetUUID())
	g.Index = got(d.GetIndex())
	g.Minor = got(d.GetMinorNumber())
	memory := got(d.GetMemoryInfo_v2())
	g.MemoryMiB = memory.Total >> 20
	g.PCI = must(d.GetPCIBusID())
	g.Brand = must(d.GetBrandAsString())
	g.Architecture = must(d.GetArchitectureAsString())
	g.Compute = must(d.GetCudaComputeCapabilityAsString())
	g.Addressing = must(d.GetAddressingModeAsString())
	g.MIGCapable = must(d.IsMigCapable())
	g.MIGEnabled = must(d.IsMigEnabled())
	g.Fabric = must(d.IsFabricAttached())
	if !g.MIGCapable {
		return g
	}
	for i := 0; i < nvml.GPU_INSTANCE_PROFILE_COUNT; i++ {
		if p, ret := d.GetGpuInstanceProfileInfo(i); ret == nvml.SUCCESS {
			g.Instances = append(g.Instances, profile(d, p))
		} else if ret != nvml.ERROR_NOT_SUPPORTED && ret != nvml.ERROR_INVALID_ARGUMENT {
			got(p, ret)
		}
	}
	g.Processes = processes(got(d.GetComputeRunningProcesses()))
	for _, m := range must(d.GetMigDevices()) {
		g.MIG = append(g.MIG, part(d, m))
	}
	return g
}

func profile(d device.Device, p nvml.GpuInstanceProfileInfo) gpuProfile {
	places := got(d.GetGpuInstancePossiblePlacements(&p))
	seen := gpuProfile{Id: p.Id, Slices: p.SliceCount, Count: p.InstanceCount, MemoryMB: p.MemorySizeMB, SM: p.MultiprocessorCount}
	for _, place := range places {
		seen.Placements = append(seen.Placements, fmt.Sprintf("%d:%d", place.Start, place.Size))
	}
	if free, ret := d.GetGpuInstanceRemainingCapacity(&p); ret == nvml.SUCCESS {
		seen.Free = fmt.Sprint(free)
	} else {
		seen.Free = nvml.ErrorString(ret)
	}
	return seen
}

func part(d device.Device, m device.MigDevice) mig {
	var seen mig
	seen.Index = got(m.GetIndex())
	seen.UUID = got(m.GetUUID())
	seen.Name = got(m.GetName())
	seen.GI = got(m.GetGpuInstanceId())
	seen.CI = got(m.GetComputeInstanceId())
	seen.Attrs = got(m.GetAttributes())
	memory := got(m.GetMemoryInfo())
	seen.MemoryMiB = memory.Total >> 20
	seen.Profile = must(m.GetProfile()).String()
	gi := got(d.GetGpuInstanceById(seen.GI))
	about := got(gi.GetInfo())
	seen.Placement = fmt.Sprintf("%d:%d", about.Placement.Start, about.Placement.Size)
	parent := got(m.GetDeviceHandleFromMigDeviceHandle())
	seen.Parent = got(parent.GetUUID())
	seen.Processes = processes(got(m.GetComputeRunningProcesses()))
	return seen
}

// noInstance is the id of an instance that a process on a whole card has.
const noInstance = 0xFFFFFFFF

func processes(infos []nvml.ProcessInfo) []process {
	var seen []process
	for _, info := range infos {
		p := process{PID: info.Pid, MemoryMiB: info.UsedGpuMemory >> 20}
		if info.GpuInstanceId != noInstance {
			gi, ci := int(info.GpuInstanceId), int(info.ComputeInstanceId)
			p.GI, p.CI = &gi, &ci
		}
		seen = append(seen, p)
	}
	return seen
}
