"""What NVIDIA's own Python binding makes of the library. Run by tests/python.rs over 1xA100-SXM4-40GB,1xH100-SXM5-80GB,1xL4."""

import ctypes

import pynvml as n


def code(call, *args):
    try:
        call(*args)
    except n.NVMLError as error:
        return error.value
    return 0


assert code(n.nvmlDeviceGetCount) == n.NVML_ERROR_UNINITIALIZED
n.nvmlInit()
assert n.nvmlSystemGetDriverVersion() == "580.95.05"
assert n.nvmlSystemGetNVMLVersion() == "13.580.95.05"
assert n.nvmlSystemGetCudaDriverVersion() == 13000
assert n.nvmlDeviceGetCount() == 3
a100, h100, l4 = (n.nvmlDeviceGetHandleByIndex(index) for index in range(3))

# Identity
names = [n.nvmlDeviceGetName(gpu) for gpu in (a100, h100, l4)]
assert names == ["NVIDIA A100-SXM4-40GB", "NVIDIA H100 80GB HBM3", "NVIDIA L4"], names
for index, gpu in enumerate((a100, h100, l4)):
    uuid = n.nvmlDeviceGetUUID(gpu)
    assert uuid.startswith("GPU-") and len(uuid) == 40
    assert n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByUUID(uuid)) == index
    pci = n.nvmlDeviceGetPciInfo(gpu)
    assert pci.busId == f"{pci.domain:08X}:{pci.bus:02X}:{pci.device:02X}.0"
    assert n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByPciBusId(pci.busId)) == index
    assert n.nvmlDeviceGetMinorNumber(gpu) == index
    assert n.nvmlDeviceGetBrand(gpu) == n.NVML_BRAND_NVIDIA
    ext = n.nvmlPciInfoExt_v1_t(version=n.nvmlPciInfoExt_v1)
    n.nvmlDeviceGetPciInfoExt(gpu, ctypes.byref(ext))
    assert (ext.baseClass, ext.subClass) == (3, 2)
    n.nvmlDeviceGetSerial(gpu)
    n.nvmlDeviceGetVbiosVersion(gpu)
assert n.nvmlDeviceGetCudaComputeCapability(h100) == (9, 0)
assert n.nvmlDeviceGetArchitecture(l4) == n.NVML_DEVICE_ARCH_ADA
assert n.nvmlDeviceGetPciInfo(a100).pciDeviceId == 0x20B010DE

# Monitors
for gpu in (a100, h100, l4):
    memory, memory2 = n.nvmlDeviceGetMemoryInfo(gpu), n.nvmlDeviceGetMemoryInfo(gpu, version=n.nvmlMemory_v2)
    assert memory.total == memory2.total == memory2.used + memory2.free + memory2.reserved
    assert memory.used == memory2.used + memory2.reserved
    assert 20 < n.nvmlDeviceGetTemperature(gpu, n.NVML_TEMPERATURE_GPU) < 100
    assert n.nvmlDeviceGetTemperatureV(gpu, n.NVML_TEMPERATURE_GPU) > 20
    assert n.nvmlDeviceGetUtilizationRates(gpu).gpu == 0
    low, high = n.nvmlDeviceGetPowerManagementLimitConstraints(gpu)
    assert low <= n.nvmlDeviceGetEnforcedPowerLimit(gpu) <= high
    assert 0 < n.nvmlDeviceGetPowerUsage(gpu) < high
    assert n.nvmlDeviceGetClockInfo(gpu, n.NVML_CLOCK_SM) <= n.nvmlDeviceGetMaxClockInfo(gpu, n.NVML_CLOCK_SM)
    assert n.nvmlDeviceGetComputeRunningProcesses(gpu) == []
    assert n.nvmlDeviceGetGraphicsRunningProcesses(gpu) == []
    assert n.nvmlDeviceGetMPSComputeRunningProcesses(gpu) == []
    assert n.nvmlDeviceGetEncoderUtilization(gpu)[0] == 0
    assert n.nvmlDeviceGetPerformanceState(gpu) in range(16)
    assert n.nvmlDeviceGetComputeMode(gpu) == n.NVML_COMPUTEMODE_DEFAULT
    assert n.nvmlDeviceGetPersistenceMode(gpu) == n.NVML_FEATURE_DISABLED
    assert n.nvmlDeviceGetTotalEccErrors(gpu, n.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, n.NVML_VOLATILE_ECC) == 0
    assert n.nvmlDeviceGetCurrPcieLinkGeneration(gpu) == n.nvmlDeviceGetMaxPcieLinkGeneration(gpu)
    assert n.nvmlDeviceGetBAR1MemoryInfo(gpu).bar1Total > 0
    values = n.nvmlDeviceGetFieldValues(gpu, [n.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, 9999])
    assert [value.nvmlReturn for value in values] == [0, n.NVML_ERROR_NOT_SUPPORTED]
    assert code(n.nvmlDeviceGetFanSpeed, gpu) == n.NVML_ERROR_NOT_SUPPORTED

# Modes
n.nvmlDeviceSetPersistenceMode(l4, n.NVML_FEATURE_ENABLED)
assert n.nvmlDeviceGetPersistenceMode(l4) == n.NVML_FEATURE_ENABLED
n.nvmlDeviceSetComputeMode(l4, n.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS)
assert n.nvmlDeviceGetComputeMode(l4) == n.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS
assert code(n.nvmlDeviceGetMigMode, l4) == n.NVML_ERROR_NOT_SUPPORTED
assert n.nvmlDeviceGetMigMode(a100) == [0, 0]
assert n.nvmlDeviceSetMigMode(a100, n.NVML_DEVICE_MIG_ENABLE) == n.NVML_ERROR_RESET_REQUIRED
assert n.nvmlDeviceGetMigMode(a100) == [0, 1]
assert n.nvmlDeviceSetMigMode(h100, n.NVML_DEVICE_MIG_ENABLE) == 0
assert n.nvmlDeviceGetMigMode(h100) == [1, 1]

# MIG
profiles = {}
for index in range(n.NVML_GPU_INSTANCE_PROFILE_COUNT):
    try:
        profile = n.nvmlDeviceGetGpuInstanceProfileInfo(h100, index)
        profiles[index] = profile
        v1 = n.nvmlDeviceGetGpuInstanceProfileInfo(h100, index, version=1)
        assert (v1.id, v1.memorySizeMB) == (profile.id, profile.memorySizeMB)
    except n.NVMLError_NotSupported:
        pass
small, half = profiles[n.NVML_GPU_INSTANCE_PROFILE_1_SLICE], profiles[n.NVML_GPU_INSTANCE_PROFILE_3_SLICE]
assert (small.id, small.memorySizeMB, half.id) == (19, 9984, 9)
gi = n.nvmlDeviceCreateGpuInstance(h100, half.id)
info = n.nvmlGpuInstanceGetInfo(gi)
assert info.profileId == half.id and info.placement.size == 4
ci_profile = n.nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, n.NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE, 0)
ci = n.nvmlGpuInstanceCreateComputeInstance(gi, ci_profile.id)
mig = n.nvmlComputeInstanceGetInfo(ci).device
assert n.nvmlDeviceIsMigDeviceHandle(mig).value == 1  # the binding forgets to unwrap it
assert n.nvmlDeviceGetName(mig) == "NVIDIA H100 80GB HBM3 MIG 3g.40gb"
assert n.nvmlDeviceGetUUID(mig).startswith("MIG-")
assert n.nvmlDeviceGetUUID(n.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig)) == n.nvmlDeviceGetUUID(h100)
assert n.nvmlDeviceGetUUID(n.nvmlDeviceGetMigDeviceHandleByIndex(h100, 0)) == n.nvmlDeviceGetUUID(mig)
assert n.nvmlDeviceGetMaxMigDeviceCount(h100) == 7
assert code(n.nvmlDeviceGetMigDeviceHandleByIndex, h100, 1) == n.NVML_ERROR_NOT_FOUND
assert n.nvmlDeviceGetGpuInstanceId(mig) == info.id
assert n.nvmlDeviceGetAttributes(mig).memorySizeMB == half.memorySizeMB
assert n.nvmlDeviceGetGpuInstanceRemainingCapacity(h100, half.id) == 1
assert code(n.nvmlGpuInstanceDestroy, gi) == n.NVML_ERROR_IN_USE
n.nvmlComputeInstanceDestroy(ci)
n.nvmlGpuInstanceDestroy(gi)
assert code(n.nvmlGpuInstanceGetInfo, gi) == n.NVML_ERROR_INVALID_ARGUMENT

# Events
events = n.nvmlEventSetCreate()
n.nvmlDeviceRegisterEvents(l4, n.nvmlEventTypeXidCriticalError, events)
assert code(n.nvmlEventSetWait_v2, events, 20) == n.NVML_ERROR_TIMEOUT
n.nvmlEventSetFree(events)

assert str(n.NVMLError(n.NVML_ERROR_IN_USE)) == "In use by another client"
n.nvmlShutdown()
assert code(n.nvmlShutdown) == n.NVML_ERROR_UNINITIALIZED
print("all as it should be")
