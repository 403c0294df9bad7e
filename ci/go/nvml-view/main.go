// nvml-view prints what go-nvml, go-nvlib and nvpci see of this machine's GPUs, as JSON.
// It changes nothing. It is no monitor: it stands for the Go programs that are built on these libraries.
// Data comes from libnvidia-ml.so.1 and /sys/bus/pci; a test compares it with a snapshot.
package main

import (
	"encoding/json"
	"fmt"
	"os"

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
}

type pci struct {
	Address string `json:"address"`
	Vendor  string `json:"vendor"`
	Device  string `json:"device"`
	Class   string `json:"class"`
	Driver  string `json:"driver"`
	Numa    int    `json:"numa"`
}

// ok ends the program at the first NVML code that is none of those that are expected.
func ok(what string, ret nvml.Return) {
	if ret != nvml.SUCCESS {
		fail(fmt.Errorf("%s: %v", what, nvml.ErrorString(ret)))
	}
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
	ok("nvmlInit", lib.Init())
	devices := device.New(lib)
	var v view
	var ret nvml.Return
	v.Driver, ret = lib.SystemGetDriverVersion()
	ok("driver version", ret)
	v.NVML, ret = lib.SystemGetNVMLVersion()
	ok("NVML version", ret)
	v.CUDA, ret = lib.SystemGetCudaDriverVersion_v2()
	ok("CUDA version", ret)
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
	ok("nvmlShutdown", lib.Shutdown())
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	if err := out.Encode(v); err != nil {
		fail(err)
	}
}

func seen(d device.Device) gpu {
	var g gpu
	var ret nvml.Return
	g.Name, ret = d.GetName()
	ok("name", ret)
	g.UUID, ret = d.GetUUID()
	ok("UUID", ret)
	g.Index, ret = d.GetIndex()
	ok("index", ret)
	g.Minor, ret = d.GetMinorNumber()
	ok("minor", ret)
	memory, ret := d.GetMemoryInfo_v2()
	ok("memory", ret)
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
			ok("GPU instance profile", ret)
		}
	}
	for _, m := range must(d.GetMigDevices()) {
		g.MIG = append(g.MIG, part(d, m))
	}
	return g
}

func profile(d device.Device, p nvml.GpuInstanceProfileInfo) gpuProfile {
	places, ret := d.GetGpuInstancePossiblePlacements(&p)
	ok("placements", ret)
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
	var ret nvml.Return
	seen.Index, ret = m.GetIndex()
	ok("MIG index", ret)
	seen.UUID, ret = m.GetUUID()
	ok("MIG UUID", ret)
	seen.Name, ret = m.GetName()
	ok("MIG name", ret)
	seen.GI, ret = m.GetGpuInstanceId()
	ok("GI id", ret)
	seen.CI, ret = m.GetComputeInstanceId()
	ok("CI id", ret)
	seen.Attrs, ret = m.GetAttributes()
	ok("attributes", ret)
	memory, ret := m.GetMemoryInfo()
	ok("MIG memory", ret)
	seen.MemoryMiB = memory.Total >> 20
	seen.Profile = must(m.GetProfile()).String()
	gi, ret := d.GetGpuInstanceById(seen.GI)
	ok("GPU instance", ret)
	about, ret := gi.GetInfo()
	ok("GPU instance info", ret)
	seen.Placement = fmt.Sprintf("%d:%d", about.Placement.Start, about.Placement.Size)
	parent, ret := m.GetDeviceHandleFromMigDeviceHandle()
	ok("parent", ret)
	seen.Parent, ret = parent.GetUUID()
	ok("parent's UUID", ret)
	return seen
}
